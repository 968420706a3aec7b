// expect: memory is reached for where there is none
  // ---- your code ----
  const float* far = reinterpret_cast<const float*>(0x10000);
  C[0] = far[0];
  // ---- end of your code ----
