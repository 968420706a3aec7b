// The request for a measurement: the problem, where kernels run, and how they are traced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lab {

enum class Device { automatic, gpu, cpu };
enum class Trace { sample, all, none };

// How the random values of A and B are distributed.
enum class Data {
  uniform,   // in [-1, 1)
  normal,    // with mean 0 and deviation 1
  positive,  // uniform in [0, 1)
  wide,      // uniform times 2^e, with a random e from -20 to 20 for each element
  wide_k,    // the same, where a column of A and the row of B that it meets have one e
  relu,      // uniform, with 0 in place of what is negative
  spike      // every 64th column of A is uniform, and meets a row of zeros in B; the others are
             // uniform times 2^-40
};
const char* name_of(Data data);  // as the flag spells it

// An empty string or optional was not given. The help text says what each field means.
struct Request {
  std::optional<int> size, m, n, k;  // 0 or more; problem_size resolves them
  float alpha = 1;
  float beta = 0;  // if not given: 1 with C from a file, else 0
  std::uint64_t seed = 1;
  Data data = Data::uniform;
  std::string a, b, c;  // .npy files
  Device device = Device::automatic;
  std::string gpu;  // the GPU for occupancy and limits
  Trace trace = Trace::sample;
  bool hazards = true;
  std::optional<int> reps;  // 1 or more
};

struct ProblemSize {
  int M, N, K;
  bool operator==(const ProblemSize&) const = default;
};

// --m, --n and --k override --size, which overrides `otherwise`, for each side separately.
ProblemSize problem_size(const Request& request, int otherwise);

// The same with the size that runs if none was given, which is larger on a GPU.
ProblemSize size_to_run(const Request& request, bool on_gpu);

// A product that a CPU computes soon, with the same kernels: its rows are aligned alike. A side
// that is short already stays.
ProblemSize shortened(ProblemSize sides);

}  // namespace lab
