// expect: is not among the names
  // ---- your code ----
  __builtin_trap();
  // ---- end of your code ----
