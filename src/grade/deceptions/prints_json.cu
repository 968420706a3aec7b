// expect: in quotes
  // ---- your code ----
  printf("passed");
  // ---- end of your code ----
