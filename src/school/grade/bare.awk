# The text of an answer without comments and spaces, so that two answers can be compared: its marked
# regions, or the whole file if it has none, and the `answer NAME: TEXT` lines that have a text, except
# the student's name. For formulas (-v formulas=1), only those lines.
BEGIN { all = 1 }
{
  sub(/\r$/, "")
  line = $0
  sub(/^[ \t]*(\/\/)?[ \t]*/, "", line)
  if (line ~ /^answer [^:]*:/) {
    gsub(/[ \t]/, "", line)
    if (line !~ /:$/ && line !~ /^answerstudent:/) answers = answers line "\n"
    next
  }
  if (line ~ /^---- your code ----/) { if (all) text = ""; all = 0; inside = 1; next }
  if (line ~ /^---- end of your code ----/) { inside = 0; next }
  if (formulas || !(all || inside)) next
  rest = $0
  while (rest != "") {
    if (comment) {
      end = index(rest, "*/")
      if (end == 0) break
      comment = 0
      rest = substr(rest, end + 2)
    }
    at = match(rest, /\/[\/*]/)
    text = text (at ? substr(rest, 1, at - 1) : rest)
    if (!at || substr(rest, at, 2) == "//") break
    comment = 1
    rest = substr(rest, at + 2)
  }
}
END {
  gsub(/[ \t\v\f]/, "", text)
  printf "%s%s", answers, text
}
