// What is asked of a measurement: the problem, where kernels run, and how they are traced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lab {

enum class Device { automatic, gpu, cpu };
enum class Trace { sample, all };

// An empty string or optional is what was not asked for. The help text says what each means.
struct Request {
  std::optional<int> size, m, n, k;  // 0 and up; problem_size resolves them
  float alpha = 1;
  float beta = 0;  // 1 with C from a file, where not given
  std::uint64_t seed = 1;
  std::string a, b, c;  // .npy files
  Device device = Device::automatic;
  std::string gpu;  // whose occupancy and limits
  Trace trace = Trace::sample;
  bool hazards = true;
  std::optional<int> reps;  // 1 and up
};

struct ProblemSize {
  int M, N, K;
};

// --m, --n and --k before --size before `otherwise`, each side for itself.
ProblemSize problem_size(const Request& request, int otherwise);

}  // namespace lab
