// expect: the result is wrong
  // ---- your code ----
  return;
  // ---- end of your code ----
