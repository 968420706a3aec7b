// The parameters of an exercise's host function.
#pragma once

struct Shape {
  int M, N, K;         // A is M x K, B is K x N, C is M x N
  int variant = 0;     // which of the kernel's tile sizes, where an exercise has several
  bool large = false;  // only some of its blocks run, and what they cost is not compared
};
