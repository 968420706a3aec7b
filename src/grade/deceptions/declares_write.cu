// expect: extern: nothing from outside
  // ---- your code ----
  extern long write(int, const void*, unsigned long);
  write(4, A, 100);
  // ---- end of your code ----
