// expect: throw: there are no exceptions
  // ---- your code ----
  throw 1;
  // ---- end of your code ----
