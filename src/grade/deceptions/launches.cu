// expect: launch: a kernel launches no kernel here
  // ---- your code ----
  launch(multiply, 1, 1, 0, M, N, K, A, B, C);
  // ---- end of your code ----
