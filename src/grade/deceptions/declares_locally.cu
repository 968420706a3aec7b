// expect: it calls
  // ---- your code ----
  int klogctl(int);
  klogctl(0);
  // ---- end of your code ----
