// expect: does not come to an end
  // ---- your code ----
  while (M > 0) {
    if (K < 0) break;
  }
  // ---- end of your code ----
