// expect: times a line
  // ---- your code ----
  // ---- end of your code ----
  // ---- your code ----
  // ---- end of your code ----
