// The ways in which C++ touches memory, one small kernel each, and what the tracer must see.
#pragma once

#include <vector>

namespace trace {

struct Idiom {
  const char* text;
  void (*run)(const float* in, float* out);  // launches one block of 32 threads
  // of one thread: accesses and bytes
  int gmem_loads, gmem_load_bytes, gmem_stores, gmem_store_bytes;
  int smem_loads, smem_load_bytes, smem_stores, smem_store_bytes;
};
extern const std::vector<Idiom> idioms;

// Kernels whose lanes part and meet again, and the requests that a warp makes in lockstep. Lanes
// that meet at the wrong round make as many, but touch more sectors.
struct Divergence {
  const char* text;
  void (*run)(const float* in, float* out);
  int gmem_load_requests, gmem_load_sectors;
};
extern const std::vector<Divergence> divergences;

// What threads do together: out[t] of every lane t, in a launch of one warp, over zeros.
struct Exchange {
  const char* text;
  void (*run)(const float* in, float* out);
  int (*expected)(int t);
};
extern const std::vector<Exchange> exchanges;

// Local variables. Of one thread the bytes that they take, at least and at most; and whether the
// kernel reaches for some that are not its own.
struct Local {
  const char* text;
  void (*run)(const float* in, float* out);
  int least_bytes, most_bytes;
  bool foreign;
};
extern const std::vector<Local> locals;

// Kernels of which the tracer is told too little or too much: what an audit must find.
struct Unannounced {
  const char* text;
  void (*run)(const float* in, float* out);
  bool stores, announced;
  int thread;
};
extern const std::vector<Unannounced> unannounced;

// Kernels that cannot go on, and what is said about them.
struct Fault {
  const char* text;
  void (*run)(const float* in, float* out);
  const char* says;
};
extern const std::vector<Fault> faults;

}  // namespace trace
