// expect: exit() is not among the functions
  // ---- your code ----
  exit(0);
  // ---- end of your code ----
