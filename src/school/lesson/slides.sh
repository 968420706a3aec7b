#!/bin/bash
# slides.sh FILE.html [ANSWERS]: writes the slides of exercises/TEACHING.md as one self-contained
# file; with ANSWERS=1 those for the lecturer. Run it in the folder of exercises/. Exit codes: 0
# written, 2 not.
set -uo pipefail
out=$1 answers=${2:-}
refuse() { echo "slides: $*" >&2; exit 2; }
case $answers in
  "" | 0) answers= ;;
  1) ;;
  *) refuse "ANSWERS=$answers: give 1 for the slides with answers, or nothing" ;;
esac
command -v pandoc > /dev/null ||
  refuse "pandoc, which writes the HTML, is missing; install it, for example by: apt install pandoc"
new=$(mktemp "$out.XXXXXX") || refuse "$out: cannot be written"
trap 'rm -f "$new"' EXIT

# Embeds the figures in the text. Their paths have no spaces.
embed() {
  local line figure='^(!\[.*\])\(([^)]*\.svg)\)$' data
  while IFS= read -r line; do
    if [[ $line =~ $figure ]]; then
      data=$(base64 -w 0 "${BASH_REMATCH[2]}") || return
      line="${BASH_REMATCH[1]}(data:image/svg+xml;base64,$data)"
    fi
    printf '%s\n' "$line"
  done
}

awk -v answers="$answers" -f src/school/lesson/slides.awk exercises/TEACHING.md | embed |
  pandoc --from markdown-smart-tex_math_dollars --to html5 --section-divs \
    --template src/school/lesson/slides.html --metadata pagetitle="gemm_steps${answers:+, with answers}" \
    --output "$new" && chmod 644 "$new" && mv "$new" "$out" || refuse "$out: was not written"
echo "$out"
