// expect: a kernel needs no ::
  // ---- your code ----
  ::exit(0);
  // ---- end of your code ----
