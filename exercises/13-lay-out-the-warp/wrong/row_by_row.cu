// expect: there are four times as many of those
  // ---- your code ----
  lane_row = lane / 4;
  lane_col = lane % 4;
  // ---- end of your code ----
