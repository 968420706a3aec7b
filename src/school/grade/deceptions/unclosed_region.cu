// expect: restore it
  // ---- your code ----
  C[0] = 0.0f;
