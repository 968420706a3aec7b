// The ways in which C++ touches memory, one small kernel each, and what the tracer must see.
#pragma once

#include <vector>

struct Idiom {
  const char* text;
  void (*run)(const float* in, float* out);  // launches one block of 32 threads
  // of one thread: accesses and bytes
  int gmem_loads, gmem_load_bytes, gmem_stores, gmem_store_bytes;
  int smem_loads, smem_load_bytes, smem_stores, smem_store_bytes;
};
extern const std::vector<Idiom> idioms;

// Kernels whose lanes part and meet again, and the requests that a warp makes in lockstep.
struct Divergence {
  const char* text;
  void (*run)(const float* in, float* out);
  int gmem_load_requests;
};
extern const std::vector<Divergence> divergences;

// A kernel whose threads need more local memory than there is.
void run_too_deep(const float* in, float* out);
