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

# Reads FILE: of[1] to of[lines]; own[i] says whether line i is a student's.
function read_file(    line, inside, regions, i) {
  delete of
  delete own
  lines = 0
  while ((getline line < file) > 0) {
    of[++lines] = line
    if (line ~ /^ *\/\/ ---- end of your code ----$/) inside = 0
    own[lines] = inside
    if (line ~ /^ *\/\/ ---- your code ----$/) inside = ++regions
  }
  close(file)
  left_out = lines == 0 && file ~ /^exercises\/solutions\//
  if (lines == 0 && !left_out) refuse(FNR, file " cannot be read")
  if (!regions) for (i = 1; i <= lines; ++i) own[i] = 1
}

# Whether the place's lines of FILE stand at line i.
function stand_at(i,    j) {
  if (olds == 0) {
    return of[i - 1] ~ /\/\/ ---- your code ----$/ && of[i] ~ /\/\/ ---- end of your code ----$/
  }
  for (j = 0; j < olds; ++j) {
    if (!own[i + j] || of[i + j] != old[j]) return 0
  }
  return 1
}

function end_place(    i, at, times) {
  if (!place) return
  for (i = 1; i <= lines && !(olds == 0 && times); ++i) {
    if (stand_at(i) && !(olds == 0 && i in put)) {
      ++times
      at = i
    }
  }
  if (!left_out && times == 0) refuse(place, "these lines are not in a region of " file)
  if (times > 1) refuse(place, "these lines are " times " times in " file "; add the next ones")
  for (i = at; i < at + olds; ++i) {
    if (i in gone) refuse(place, "a line is edited twice")
    gone[i] = 1
  }
  put[at] = new
  place = olds = 0
  new = ""
}

function end_edit(    i, path) {
  end_place()
  if (name && !changes) refuse(names[name], name " changes nothing")
  if (name && !left_out) {
    path = file
    sub(/.*\./, into "/" name ".", path)
    for (i = 1; i <= lines; ++i) {
      printf "%s", put[i] > path
      if (!(i in gone)) print of[i] > path
    }
    close(path)
    made = made name "\t" path "\t" words "\t" file "\n"
  }
  delete gone
  delete put
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
  next
}

/^\.\.\.$/ { end_place(); next }

/^[-+ ]/ {
  if (!name) refuse(FNR, "first give the edit a name and words about it: NAME: WORDS")
  if (!place) blanks = 0
  for (place = place ? place : FNR; blanks > 0; --blanks) {
    old[olds++] = ""
    new = new "\n"
  }
  if (!/^\+/) old[olds++] = substr($0, 2)
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
