# slides.awk [-v answers=1] FOLDER/TEACHING.md: the sessions of the lecturer's page as slides, in
# pandoc's markdown. Each heading of the first level begins a slide; its class says of which kind it
# is. The slides keep the parts for students: a session's goal, commands without output, figures,
# questions. Commands to show have a slide after the question that they answer. With answers=1 the slides keep
# the whole session, and an answer follows its question. Paths of figures are relative to the current
# folder.

# Begins a slide with the next line that is not empty.
function slide(of, is) { title = of; kind = is; due = 1 }
function put(line) {
  if (due && line != "") {
    print "\n# " title (kind == "answer" ? ": the answer" : "") (kind ? " {." kind "}" : "") "\n"
    due = 0
  }
  print line
}

FNR == 1 {
  folder = FILENAME
  if (!sub(/[^\/]*$/, "", folder)) folder = ""
  sessions = $0
  sub(/^# /, "", sessions)
  slide("From three loops to tensor cores", "title")
  put("How to multiply matrices on a GPU, and how to see what each step gains.")
  put("")
  put(sessions " for students who know C++ and are new to CUDA. A laptop is enough: no GPU is needed.")
  put("")
  put("[Keys: space or → for the next slide, shift and space or ← for the one before, d for dark or light.]{.keys}")
}
/^```/ { fenced = !fenced }
!fenced && /^<details>/ && held { slide(demo); put(held); held = "" }
!fenced && /^## / {
  in_session = /^## Session /
  part = "plan"
  if (in_session) slide(substr($0, 4), "session")
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
  if (answers) slide(title, "answer")
  next
}
!fenced && /^<\/details>/ {
  hidden = 0
  if (answers) slide(title)
  next
}
# A figure has a slide of its own, and so has what follows.
!fenced && /^!\[.*\]\([^)]*\)$/ {
  if (!answers && (hidden || part == "homework")) next
  sub(/\]\(/, "](" folder)
  while (sub(/[^\/(]+\/\.\.\//, "")) {}
  around = kind
  slide(title, "figure")
  put($0)
  slide(title, around)
  next
}
answers { put($0); next }
hidden || part == "homework" { next }
# From the plan, keeps only the paragraph with the students' goal.
part == "plan" {
  if (/^\*\*Afterwards\*\*/) goal = 1
  if (goal && $0 == "") { goal = 0; put("") }
  if (goal) put($0)
  next
}
# The output of a command might be an answer.
fenced && !/^(```|\$ )/ { next }
part == "show" && /^(```|\$ )/ { demo = title; held = held $0 "\n"; next }
{ put($0) }
