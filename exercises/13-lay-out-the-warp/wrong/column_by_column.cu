// expect: those of As four
  // ---- your code ----
  lane_row = lane % 8;
  lane_col = lane / 8;
  // ---- end of your code ----
