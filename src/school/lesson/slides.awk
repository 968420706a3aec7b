# slides.awk [-v answers=1] FOLDER/TEACHING.md: the sessions of the lecturer's page as slides, in
# pandoc's markdown. Each heading of the first level begins a slide. The slides keep the parts for
# students: a session's goal, commands without output, figures, questions. With answers=1 they keep
# the whole session. Paths of figures are relative to the current folder.

function slide(title) { print "\n# " title "\n" }

FNR == 1 {
  folder = FILENAME
  if (!sub(/[^\/]*$/, "", folder)) folder = ""
  title = $0
  sub(/^# /, "", title)
  slide(title)
}
/^```/ { fenced = !fenced }
!fenced && /^## / {
  in_session = /^## Session /
  part = "plan"
  if (in_session) slide(substr($0, 4))
  next
}
!in_session { next }
!fenced && /^### / {
  part = /^### Question / ? "question" : /^### Show: / ? "show" : "homework"
  sub(/^### (Show: )?/, "")
  if (answers || part != "homework") slide(toupper(substr($0, 1, 1)) substr($0, 2))
  next
}
!fenced && /^<details>/ {
  hidden = 1
  if (answers) print "::: answer"
  next
}
!fenced && /^<\/details>/ {
  hidden = 0
  if (answers) print ":::"
  next
}
!fenced && /^!\[.*\]\([^)]*\)$/ {
  sub(/\]\(/, "](" folder)
  while (sub(/[^\/(]+\/\.\.\//, "")) {}
}
answers { print; next }
hidden || part == "homework" { next }
# From the plan, keeps only the paragraph with the students' goal.
part == "plan" {
  if (/^\*\*Afterwards\*\*/) goal = 1
  if (goal && $0 == "") { goal = 0; print }
  if (goal) print
  next
}
# The output of a command might be an answer.
fenced && !/^(```|\$ )/ { next }
{ print }
