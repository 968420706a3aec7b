// expect: comment is not closed
  // ---- your code ----
  /* all the rest
  // ---- end of your code ----
