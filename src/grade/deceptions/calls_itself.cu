// expect: multiply() is not among the functions
  // ---- your code ----
  multiply(M, N, K, A, B, C);
  // ---- end of your code ----
