// expect: naive() is not among the functions
  // ---- your code ----
  naive(M, N, K, 1.0f, A, B, 0.0f, C);
  // ---- end of your code ----
