// The ways in which C++ accesses memory, each as a small kernel with what the tracer must see.
#pragma once

#include <vector>

namespace trace {

struct Idiom {
  const char* text;
  void (*run)(const float* in, float* out);  // launches one block of 32 threads
  // per thread: accesses and bytes
  int gmem_loads, gmem_load_bytes, gmem_stores, gmem_store_bytes;
  int smem_loads = 0, smem_load_bytes = 0, smem_stores = 0, smem_store_bytes = 0;
};
extern const std::vector<Idiom> idioms;
extern const std::vector<Idiom> narrow_idioms;  // with types of 1 and 2 bytes, and pairs of them

// Kernels whose lanes diverge and reconverge, with the requests that a warp makes in lockstep.
// Lanes that reconverge in the wrong iteration make as many requests, but touch more sectors.
struct Divergence {
  const char* text;
  void (*run)(const float* in, float* out);
  int gmem_load_requests, gmem_load_sectors;
};
extern const std::vector<Divergence> divergences;

// Collective operations: out[t] of every lane t after a launch of one warp over zeros.
struct Exchange {
  const char* text;
  void (*run)(const float* in, float* out);
  int (*expected)(int t);
};
extern const std::vector<Exchange> exchanges;
extern const std::vector<Exchange> vocabulary;  // functions of CUDA that most kernels do not use

// Loads and stores of wmma fragments by one warp, and the instructions that multiply.
struct Requests {
  const char* text;
  void (*run)(const float* in, float* out);
  int gmem_load_requests, gmem_load_sectors, gmem_store_requests, gmem_store_sectors;
  int smem_load_requests, smem_load_wavefronts, mmas;
};
extern const std::vector<Requests> matrix_requests;

// Local variables: the minimum and maximum of the bytes that they take per thread, and whether the
// kernel accesses locals that are not its own.
struct Local {
  const char* text;
  void (*run)(const float* in, float* out);
  int least_bytes, most_bytes;
  bool foreign;
};
extern const std::vector<Local> locals;

// Kernels that announce too few or too many accesses to the tracer, which an audit must find.
struct Unannounced {
  const char* text;
  void (*run)(const float* in, float* out);
  bool stores, announced;
  int thread;
};
extern const std::vector<Unannounced> unannounced;

// Kernels that cannot continue, and the message about them.
struct Fault {
  const char* text;
  void (*run)(const float* in, float* out);
  const char* says;
};
extern const std::vector<Fault> faults;

}  // namespace trace
