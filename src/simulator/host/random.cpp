// cuRAND's generators for host code, and what those in kernels need (headers/curand_kernel.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numbers>
#include <string>
#include <utility>

#include "simulator/cuda/headers/curand.h"
#include "simulator/host/call.h"
#include "simulator/host/memory.h"
#include "simulator/host/stream.h"
#include "simulator/machine/memory.h"

// The object that a curandGenerator_t points to.
struct curandGenerator_st {
  cudaStream_t stream = nullptr;
  std::uint64_t seed = 0, drawn = 0;  // how many numbers were drawn
};

namespace host {
namespace {

Pool<curandGenerator_st> generators;

// The source of one number. Each has its own, so that they can be drawn in any order. Steele, Lea
// and Flood, "Fast splittable pseudorandom number generators", 2014.
struct Bits {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
};

Bits bits_of(std::uint64_t seed, std::uint64_t number) {
  Bits of_seed{seed}, of_both{of_seed() ^ number};
  return {of_both()};
}

// More than 0, at most 1, with the precision of a double.
double uniform(Bits& bits) {
  return std::ldexp(static_cast<double>((bits() >> 11) + 1), -53);
}

// By Box and Muller.
double normal(Bits& bits) {
  const double radius = std::sqrt(-2 * std::log(uniform(bits)));
  return radius * std::cos(2 * std::numbers::pi * uniform(bits));
}

std::string why_not(curandGenerator_t generator) {
  return generators.holds(generator) ? ""
                                     : "the generator was not created, or was destroyed before";
}

curandStatus_t change(
    const Call& call, curandGenerator_t generator, const std::function<void()>& change) {
  if (const std::string why = why_not(generator); !why.empty()) {
    call.note(why);
    return CURAND_STATUS_NOT_INITIALIZED;
  }
  change();
  return CURAND_STATUS_SUCCESS;
}

template <class T, class Draw>
curandStatus_t generate(
    const Call& call, curandGenerator_t generator, T* numbers, std::size_t count, Draw draw) {
  if (const std::string why = why_not(generator); !why.empty()) {
    call.note(why);
    return CURAND_STATUS_NOT_INITIALIZED;
  }
  const Pointed place = place_of(numbers);
  if (!place.for_gpu || place.bytes / sizeof(T) < count) {
    call.note("the numbers need memory of the GPU, and room for all of them");
    return CURAND_STATUS_LAUNCH_FAILURE;
  }
  in_stream(generator->stream, [=] {
    const machine::OpenDeviceMemory open(numbers);
    const std::uint64_t first = std::exchange(generator->drawn, generator->drawn + count);
    constexpr std::size_t kPart = 1 << 16;
#pragma omp parallel for
    for (std::size_t begin = 0; begin < count; begin += kPart) {
      if (is_late()) continue;
      for (std::size_t i = begin; i < std::min(count, begin + kPart); ++i) {
        Bits bits = bits_of(generator->seed, first + i);
        numbers[i] = static_cast<T>(draw(bits));
      }
    }
    note_lateness();
  });
  return CURAND_STATUS_SUCCESS;
}

// Normal numbers come in pairs.
template <class T, class Draw>
curandStatus_t generate_pairs(
    const Call& call, curandGenerator_t generator, T* numbers, std::size_t count, Draw draw) {
  if (count % 2 == 0) return generate(call, generator, numbers, count, draw);
  call.note("of normal numbers there must be an even number");
  return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
}

}  // namespace
}  // namespace host

using namespace host;

const char* _cudaGetErrorEnum(curandStatus_t status) {
  switch (status) {
#define SIMT_STATUS(name, number) \
  case name:                      \
    return #name;
    SIMT_STATUSES_OF_CURAND
#undef SIMT_STATUS
  }
  return "CURAND_STATUS_UNKNOWN";
}

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t) {
  const Call call;
  if (generator == nullptr) {
    call.note("there is no result");
    return CURAND_STATUS_INITIALIZATION_FAILED;
  }
  *generator = generators.make();
  note("cuRAND's numbers have the right distribution here, but are others than a GPU's.");
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  return change(Call(), generator, [=] { generators.destroy(generator); });
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) {
    call.note(kNoStream);
    return CURAND_STATUS_PREEXISTING_FAILURE;
  }
  return change(call, generator, [=] { generator->stream = stream; });
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(
    curandGenerator_t generator, unsigned long long seed) {
  return change(Call(), generator, [=] {
    generator->seed = seed;
    generator->drawn = 0;
  });
}

curandStatus_t curandGenerateUniform(
    curandGenerator_t generator, float* numbers, std::size_t count) {
  return generate(Call(), generator, numbers, count, uniform);
}

curandStatus_t curandGenerateUniformDouble(
    curandGenerator_t generator, double* numbers, std::size_t count) {
  return generate(Call(), generator, numbers, count, uniform);
}

curandStatus_t curandGenerateNormal(
    curandGenerator_t generator, float* numbers, std::size_t count, float mean, float deviation) {
  return generate_pairs(Call(), generator, numbers, count, [=](Bits& bits) {
    return mean + deviation * normal(bits);
  });
}

curandStatus_t curandGenerateNormalDouble(
    curandGenerator_t generator, double* numbers, std::size_t count, double mean,
    double deviation) {
  return generate_pairs(Call(), generator, numbers, count, [=](Bits& bits) {
    return mean + deviation * normal(bits);
  });
}

namespace {

// A linear map of XORWOW's 160 bits: what each of them becomes.
using Map = std::array<std::array<std::uint32_t, 5>, 160>;

Map squared(const Map& map) {
  Map result{};
  for (std::size_t row = 0; row < map.size(); ++row) {
    for (std::size_t bit = 0; bit < map.size(); ++bit) {
      if ((map[row][bit / 32] >> bit % 32 & 1) == 0) continue;
      for (std::size_t word = 0; word < 5; ++word) result[row][word] ^= map[bit][word];
    }
  }
  return result;
}

// How XORWOW draws one number.
Map one_step() {
  Map map{};
  for (std::size_t bit = 0; bit < map.size(); ++bit) {
    std::array<std::uint32_t, 5> v{};
    v[bit / 32] = std::uint32_t{1} << bit % 32;
    const std::uint32_t t = v[0] ^ v[0] >> 2;
    map[bit] = {v[1], v[2], v[3], v[4], v[4] ^ v[4] << 4 ^ t ^ t << 1};
  }
  return map;
}

}  // namespace

bool simt::fill_skips(Skips& numbers, Skips& sequences) {
  Map map = one_step();  // of 2^power numbers
  for (int power = 0; power < 67 + 64; ++power) {
    const int digit = power / 2, of_sequences = (power - 67) / 2;
    if (power < 64 && power % 2 == 0) std::memcpy(numbers[digit], &map, sizeof map);
    if (power >= 67 && power % 2 == 1) std::memcpy(sequences[of_sequences], &map, sizeof map);
    map = squared(map);
  }
  return true;
}

bool simt::note_other_random_numbers() {
  note(
      "cuRAND's numbers in kernels have the right distribution here, but are others than a GPU's, "
      "because the CUDA toolkit's curand_kernel.h is not here.");
  return true;
}
