#!/bin/bash
# book.sh FOLDER PROGRAM [ANSWERS]: writes the walkthrough, the exercises and exercises/TEACHING.md
# as a folder of pages for a web server. PROGRAM writes the pages to play with. With ANSWERS=1 the
# folder has the answers of TEACHING.md, which students should not see. Run it in the folder of
# walkthrough.md. Exit codes: 0 written, 2 not; then FOLDER is as it was.
set -uo pipefail
shopt -s nullglob
out=$1 program=$2 answers=${3:-}
[ "$out" = / ] || out=${out%/}
list=.gemm_steps-book # in FOLDER: the names of all files that make book wrote
refuse() { echo "book: $*" >&2; exit 2; }
case $answers in
  "" | 0) answers= ;;
  1) ;;
  *) refuse "ANSWERS=$answers: give 1 for the book with answers, or nothing" ;;
esac
command -v pandoc > /dev/null ||
  refuse "pandoc, which writes the HTML, is missing; install it, for example by: apt install pandoc"

files_in() { (cd "$1" && find . ! -type d ! -path "./$list" | LC_ALL=C sort); }
if [ -L "$out" ] || { [ -e "$out" ] && [ ! -d "$out" ]; }; then
  refuse "$out: is not a folder; give another one, for example BOOK=build/book"
elif [ -d "$out" ]; then
  foreign=$(files_in "$out" | LC_ALL=C comm -23 - <(cat "$out/$list" 2> /dev/null)) || exit 2
  foreign=${foreign%%$'\n'*}
  [ -z "$foreign" ] || refuse "$out: has ${foreign#./}, which make book did not write; nothing" \
    "was replaced, so give another folder, for example BOOK=build/book"
fi
mkdir -p -- "$(dirname -- "$out")" 2> /dev/null
new=$(mktemp -d -- "$out.XXXXXX" 2> /dev/null) || refuse "$out: cannot be written"
trap 'rm -rf -- "$new"' EXIT
trap 'exit 130' INT TERM

mkdir "$new/players" "$new/files" && cp src/school/book/book.{css,js} "$new" ||
  refuse "$new: cannot be written"
# write_page FILE FLAGS...: has the program write a page; its last line says why it did not.
write_page() {
  local file=$new/$1 message
  shift
  message=$("$program" --page "$file" "$@" 2>&1) && [ -s "$file" ] ||
    refuse "$program --page ${file##*/}${*:+ $*}: wrote no page${message:+: ${message##*$'\n'}}"
}
write_page lesson.html
for stage in $(sed -n 's/^## Stage \([1-9][0-9]*\):.*/\1/p' walkthrough.md); do
  write_page "players/stage-$stage.html" --stage "$stage"
done

BOOK=$new ANSWERS=$answers FILES=$(echo exercises/*/README.md figures/*.svg) \
  pandoc --lua-filter src/school/book/book.lua --to html --output /dev/null < /dev/null || exit 2
touch "$new/.nojekyll" # GitHub Pages then takes the files as they are
files_in "$new" > "$new/$list" && chmod 755 "$new" || refuse "$new: cannot be written"
if [ -d "$out" ]; then
  mv -T -- "$out" "$new.old" 2> /dev/null || refuse "$out: cannot be replaced"
  mv -T -- "$new" "$out" || { mv -T -- "$new.old" "$out"; refuse "$out: cannot be replaced"; }
  rm -rf -- "$new.old"
else
  mv -T -- "$new" "$out" || refuse "$out: cannot be written"
fi
echo "$out/index.html"
