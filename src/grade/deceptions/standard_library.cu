// expect: std: the C++ library
  // ---- your code ----
  std::quick_exit(0);
  // ---- end of your code ----
