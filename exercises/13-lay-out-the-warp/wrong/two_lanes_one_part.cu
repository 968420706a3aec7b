// expect: must belong to one lane
  // ---- your code ----
  lane_row = lane / 2 % 8;
  lane_col = lane % 4;
  // ---- end of your code ----
