// expect: it calls exit
  // ---- your code ----
  auto leave = &exit;
  leave(0);
  // ---- end of your code ----
