// expect: must belong to one lane
  // ---- your code ----
  lane_row = lane / 8;
  lane_col = lane % 8;
  // ---- end of your code ----
