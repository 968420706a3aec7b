# edits.awk: makes files out of others by small edits, as exercises/*/wrong.txt and
# src/experiments/changes.txt list them.
#
#   awk -v into=FOLDER -f src/text/edits.awk LIST
#
# Prints a line for each file it made: the edit's name, the file's path, its words, and FILE,
# separated by tabs. The list:
#
#   # ...            a comment
#   edits of FILE    the edits that follow are edits of FILE. If FILE is a solution and is not here,
#                    they are left out
#   NAME: WORDS      an edit: a name for it, and words about it. Those of a wrong answer are what the
#                    message must contain
#   -LINE            a line of FILE that is taken out
#   +LINE            a line that is put in
#    LINE            a line of FILE that stays; it says where the others are
#   ...              lines of FILE that stay: the edit goes on at another place
#
# The lines of FILE that belong to one place must stand there exactly so, one after the other, once
# within the student's regions (or once in the file, if it has none). A place without such lines is
# the next region that is empty. Everything else is an error: exit code 1.

function refuse(line, what) {
  print FILENAME ":" line ": " what > "/dev/stderr"
  failed = 1
  exit 1
}

# Reads FILE: whole has its lines, with the end of a line before the first, too. In own, which is as long, only
# the student's can be found: \003 stands for the line behind a region, and \001 for others.
function read_file(    line, hidden, inside, regions) {
  whole = own = "\n"
  while ((getline line < file) > 0) {
    hidden = line
    if (line ~ /^ *\/\/ ---- end of your code ----$/) inside = 0
    if (!inside) gsub(/./, line ~ /^ *\/\/ ---- end of your/ ? "\003" : "\001", hidden)
    if (line ~ /^ *\/\/ ---- your code ----$/) inside = ++regions
    whole = whole line "\n"
    own = own hidden "\n"
  }
  close(file)
  left_out = whole == "\n" && file ~ /^exercises\/solutions\//
  if (whole == "\n" && !left_out) refuse(FNR, file " cannot be read")
  if (!regions) own = whole
}

# Puts `new` into the place of `old`, or into the next empty region.
function end_place(    sought, at, rest, next_at, times) {
  if (!place) return
  sought = old == "" ? "\001\n\003" : "\n" old
  at = index(left, sought)
  for (rest = left; (next_at = index(rest, sought)) > 0; ++times) rest = substr(rest, next_at + 1)
  if (!left_out && !at) refuse(place, "these lines are not in a region of " file)
  if (times > 1 && old != "") {
    refuse(place, "these lines are " times " times in " file "; add the next ones")
  }
  if (old == "") ++at
  text = substr(text, 1, at) new substr(text, at + 1 + length(old))
  rest = substr(left, at + 1 + length(old))
  left = substr(left, 1, at)
  gsub(/[^\n]/, "\002", new) # is not edited again
  left = left new rest
  place = 0
  old = new = ""
}

function end_edit(    path) {
  end_place()
  if (name && !changes) refuse(names[name], name " changes nothing")
  if (name && !left_out) {
    path = file
    sub(/.*\./, into "/" name ".", path)
    printf "%s", substr(text, 2) > path
    close(path)
    made = made name "\t" path "\t" words "\t" file "\n"
  }
  name = ""
  changes = 0
}

/^#/ { next }

# An empty line stays, like any other, if its place goes on behind it.
/^$/ { ++blanks; next }

/^edits of / {
  end_edit()
  file = substr($0, 10)
  read_file()
  next
}

/^[A-Za-z0-9_]+: *[^ ]/ {
  end_edit()
  if (!file) refuse(FNR, "first say what is edited: edits of FILE")
  name = substr($0, 1, index($0, ":") - 1)
  words = $0
  sub(/^[^:]*: */, "", words)
  if (name in names) refuse(FNR, "there is another " name)
  names[name] = FNR
  text = whole
  left = own
  next
}

/^\.\.\.$/ { end_place(); next }

/^[-+ ]/ {
  if (!name) refuse(FNR, "first give the edit a name and words about it: NAME: WORDS")
  if (!place) blanks = 0
  for (place = place ? place : FNR; blanks > 0; --blanks) {
    old = old "\n"
    new = new "\n"
  }
  if (!/^\+/) old = old substr($0, 2) "\n"
  if (!/^-/) new = new substr($0, 2) "\n"
  if (!/^ /) changes = 1
  next
}

{ refuse(FNR, "no line of an edit: " $0) }

END {
  if (failed) exit 1
  end_edit()
  printf "%s", made
}
