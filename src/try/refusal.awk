# refusal.awk refused.txt MESSAGES: prints one sentence if a compiler's errors come from a part of CUDA
# that is not traced here, as src/simulator/cuda/refused.txt lists it; else nothing. Only the first error
# counts that names such a part: the others may follow from it.
function fits(name, kind, i) {
  for (i = 1; i <= count; ++i) {
    if (kinds[i] == kind && (stars[i] ? index(name, names[i]) == 1 : name == names[i])) return i
  }
  return 0
}
function file_of(place) {
  sub(/:[0-9]+$/, "", place)
  return place
}
FNR == NR && /^#/ { next }
FNR == NR && /^[^ ]/ {
  kind = $1
  why = substr($0, length(kind) + 2)
  next
}
FNR == NR {
  for (i = 1; i <= NF; ++i) {
    kinds[++count] = kind
    sentences[count] = why
    stars[count] = sub(/\*$/, "", $i)
    names[count] = $i
  }
  next
}
{ gsub(/\033\[[0-9;]*[mK]/, "") }
# "In file included from a.h:1," and on the next lines "                 from my.cu:2:", once for a.h.
/^(In file included| +) from / {
  file = user
  user = $0
  sub(/.* from /, "", user)
  sub(/[,:]$/, "", user)
  if (!/^In file/) includer[file_of(file)] = user
}
!/: (fatal )?error: / { next }
{
  place = text = $0
  sub(/(:[0-9]+)?: (fatal )?error: .*/, "", place)
  sub(/.*: (fatal )?error: /, "", text)
}
text ~ /: No such file or directory$/ {
  sub(/: No such file.*/, "", text)
  if (found = fits(text, "header")) answer(text)
  next
}
# Headers of a toolkit that g++ finds by itself are refused with what is wrong in them.
{
  header = file_of(place)
  while (sub(/^[^\/]*\//, "", header)) {
    if (!(found = fits(header, "inside")) && !(found = fits(header, "header"))) continue
    for (place = user; file_of(place) in includer;) place = includer[file_of(place)]
    if (place == "") place = file_of($0)
    answer(header)
  }
}
{
  undeclared = text ~ /not declared|does not name a type|not been declared|incomplete type|must be available/
  parts = split(text, quoted, "'")
  for (part = 2; part <= parts; part += 2) {
    words = split(quoted[part], word, /[^A-Za-z0-9_]+/)
    for (w = 1; w <= words; ++w) {
      if (word[w] == "") continue
      if ((undeclared && part == 2 && (found = fits(word[w], "name"))) || (found = fits(word[w], "type"))) answer(word[w])
    }
  }
}
sub(/^static assertion failed: the matrices of sgemm/, "the matrices of sgemm", text) {
  print ENVIRON["KERNEL"] ": " text
  exit
}
text ~ /unable to find string literal operator/ {
  print place ": a space is missing between a string and the name after it"
  exit
}
function answer(name) {
  gsub(/\*/, name, sentences[found])
  print place ": " name ": " sentences[found] (sentences[found] ~ /:$/ ? " " text : "")
  exit
}
