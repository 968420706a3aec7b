// expect: no backslash
  // ---- your code ----
  // here \
  exit(0);
  // ---- end of your code ----
