#include "simulator/trace/checks.h"

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "model/tensor_core.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"
#include "simulator/trace/hopper_pipeline.h"

namespace {

std::vector<float> numbers(std::size_t count, float (*number)(std::size_t)) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = number(i);
  return all;
}

std::uint32_t next() {
  static std::mt19937 random(11);
  return static_cast<std::uint32_t>(random());
}

constexpr int kBoxBytes = 32 * 1024;

// By all threads of the block: a barrier for one arrival.
__device__ void initialize(std::uint64_t& full) {
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
}

// One box, as it lies in shared memory.
__global__ void load_box(
    const __grid_constant__ CUtensorMap map, int x, int y, int words, float* out) {
  extern __shared__ __align__(1024) char buffer[];
  __shared__ std::uint64_t full;
  initialize(full);
  if (threadIdx.x == 0) {
    prefetch_tensormap(&map);
    mbarrier_arrive_expect_tx(&full, words * 4);
    cp_async_bulk_tensor_2d(buffer, &map, x, y, &full);
  }
  mbarrier_wait(&full, 0);
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    out[i] = reinterpret_cast<const float*>(buffer)[i];
  }
}

struct BoxCase {
  model::Swizzle swizzle;
  TensorBox box;
  int x, y;
};
const BoxCase kBoxes[] = {
    {model::Swizzle::span_128, {64, 32}, 0, 0},   {model::Swizzle::span_128, {64, 32}, 32, 64},
    {model::Swizzle::span_128, {64, 32}, 64, 7},  {model::Swizzle::span_128, {256, 32}, -4, -5},
    {model::Swizzle::span_128, {8, 32}, 36, 99},  {model::Swizzle::span_64, {40, 16}, 16, 80},
    {model::Swizzle::span_32, {16, 8}, 64, 90},   {model::Swizzle::none, {20, 12}, 64, 3},
    {model::Swizzle::none, {3, 256}, -100, 97},   {model::Swizzle::span_128, {16, 32}, 1000, 0},
    {model::Swizzle::span_128, {16, 32}, 0, -90},
};
constexpr int kRows = 100, kColumns = 70, kPitch = 72;

float at(const std::vector<float>& matrix, int row, int column) {
  const bool inside = row >= 0 && row < kRows && column >= 0 && column < kColumns;
  return inside ? matrix[row * kPitch + column] : 0;
}

std::string loads_boxes() {
  const Array<float> matrix(
      numbers(kRows * kPitch, [](std::size_t i) { return static_cast<float>(i + 1); }));
  for (const BoxCase& test : kBoxes) {
    const int words = test.box.rows * test.box.columns;
    const CUtensorMap map =
        tensor_map_2d(matrix.device, kRows, kColumns, kPitch * 4, test.box, test.swizzle);
    std::vector<float> expected(words);
    for (int row = 0; row < test.box.rows; ++row) {
      for (int column = 0; column < test.box.columns; ++column) {
        const std::uint32_t address = (row * test.box.columns + column) * 4;
        expected[model::swizzled(address, test.swizzle) / 4] =
            at(matrix.host, test.y + row, test.x + column);
      }
    }
    const std::string wrong =
        wrong_in(load_box, dim3(1), dim3(64), kBoxBytes, expected, map, test.x, test.y, words);
    if (!wrong.empty()) return "box " + std::to_string(&test - kBoxes) + ": " + wrong;
  }
  return "";
}

std::string rounds_to_tf32() {
  std::vector<float> values(64 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Halfway cases, their neighbours, and anything else.
    const std::uint32_t bits = next();
    const std::uint32_t last[] = {0x1000, 0x0fff, 0x1001, 0x3000, 0x1fff, bits & 0x1fff};
    values[i] = std::bit_cast<float>((bits & ~0x3fffu) | last[i % 6]);
  }
  const float special[] = {
      INFINITY,
      -INFINITY,
      std::bit_cast<float>(0x7f7fffffu),
      std::bit_cast<float>(0x00000001u),
      std::bit_cast<float>(0x00001000u),
      std::bit_cast<float>(0x007fffffu),
      -0.0f,
      std::bit_cast<float>(0x7f800001u),
      std::bit_cast<float>(0x7fc00001u),
      std::bit_cast<float>(0xffffffffu)};
  std::copy(std::begin(special), std::end(special), values.begin());
  const Array<float> matrix(values);
  const CUtensorMap map = tensor_map_2d(
      matrix.device, 64, 32, 128, {64, 32}, model::Swizzle::none, TensorElement::tfloat32);
  std::vector<float> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = model::tf32_copied(values[i]);
  return wrong_in(
      load_box, dim3(1), dim3(64), kBoxBytes, expected, map, 0, 0, static_cast<int>(values.size()));
}

// Adds four products to c (64 x N) when the barrier's first phase is complete: `multiply` starts
// one, as wgmma adds it to the thread's part of the sums.
template <int kN, class Start>
__device__ __forceinline__ void add_products(
    std::uint64_t& full, const float* c, float* out, Start multiply) {
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  const auto element = [&](int i) {
    return (row + i / 2 % 2 * 8) * kN + column + i / 4 * 8 + i % 2;
  };
  float d[kN / 2];
  for (int i = 0; i < kN / 2; ++i) d[i] = c[element(i)];
  mbarrier_wait(&full, 0);
  wgmma_fence_operand(d);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) multiply(d, step);
  wgmma_commit_group();
  wgmma_wait_group<0>();
  wgmma_fence_operand(d);
  for (int i = 0; i < kN / 2; ++i) out[element(i)] = d[i];
}

// A row-major 64 x 8 k fragment by fragment through registers, and an N x 32 tile in shared memory.
template <int kN>
__global__ void multiply_tile(
    const __grid_constant__ CUtensorMap map, const float* a, const float* c, float* out) {
  extern __shared__ __align__(1024) char buffer[];
  __shared__ std::uint64_t full;
  initialize(full);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(&full, kN * 128);
    cp_async_bulk_tensor_2d(buffer, &map, 0, 0, &full);
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned fragments[4][4];
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 4; ++i) {
      const int row = warp * 16 + lane / 4 + i % 2 * 8;
      fragments[step][i] = __float_as_uint(a[row * 32 + step * 8 + lane % 4 + i / 2 * 4]);
    }
  }
  const std::uint64_t descriptor = wgmma_descriptor_of_swizzled_tile(buffer);
  add_products<kN>(full, c, out, [&](float(&d)[kN / 2], int step) {
    wgmma_m64nNk8_tf32(d, fragments[step], descriptor + step * 2);
  });
}

template <int kN>
std::string multiplies(float (*number)(std::size_t)) {
  const Array<float> a(numbers(64 * 32, number)), b(numbers(kN * 32, number));
  const Array<float> c(numbers(64 * kN, number));
  const CUtensorMap map = tensor_map_2d(b.device, kN, 32, 128, {kN, 32});
  std::vector<float> expected(64 * kN);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < kN; ++column) {
      expected[row * kN + column] = model::tensor_core_dot(
          {&a.host[row * 32], 32}, {&b.host[column * 32], 32}, c.host[row * kN + column],
          model::kHopperTensorCore);
    }
  }
  return wrong_in(
      multiply_tile<kN>, dim3(1), dim3(128), kBoxBytes, expected, map, a.device, c.device);
}

float small_integer(std::size_t) {
  return static_cast<float>(static_cast<int>(next() % 31) - 15);
}
float of_any_size(std::size_t) {
  const float unit = static_cast<float>(next()) / 4294967296.0f - 0.5f;
  return std::ldexp(unit, static_cast<int>(next() % 24) - 12);
}
float of_extreme_size(std::size_t i) {
  if (i % 97 == 0) return 0;
  if (i % 89 == 0) return std::bit_cast<float>(next() & 0x807fffffu);  // subnormal
  const float unit = static_cast<float>(next()) / 4294967296.0f - 0.5f;
  return std::ldexp(unit, static_cast<int>(next() % 120) - 60);
}

// Most are subnormal in fp16, which ends at 2^-24.
float of_subnormal_size(std::size_t) {
  const float unit = static_cast<float>(next()) / 4294967296.0f - 0.5f;
  return std::ldexp(unit, -23 + static_cast<int>(next() % 14));
}

// The same for a row-major A (64 x 64 in k) of 16-bit elements in shared memory. B is row-major
// bf16 in boxes of 64 columns, or its columns are f16.
struct Bf16Tile {
  std::uint16_t a[64][64];
  std::uint16_t b[4][64][64];
};
struct F16Tile {
  std::uint16_t a[64][64];
  std::uint16_t b[128][64];
};

template <class Tile, int kN>
__global__ void multiply_halves(
    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
    const float* c, float* out) {
  constexpr bool kIsF16 = std::is_same_v<Tile, F16Tile>;
  extern __shared__ __align__(1024) char buffer[];
  auto& [a, b] = *reinterpret_cast<Tile*>(buffer);
  __shared__ std::uint64_t full;
  initialize(full);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(&full, sizeof a + kN * 128);
    cp_async_bulk_tensor_2d(a, &map_a, 0, 0, &full);
    for (int box = 0; box < (kIsF16 ? 1 : kN / 64); ++box) {
      cp_async_bulk_tensor_2d(b[box], &map_b, box * 64, 0, &full);
    }
  }
  const std::uint64_t of_a = wgmma_descriptor_of_swizzled_tile(a);
  add_products<kN>(full, c, out, [&](float(&d)[kN / 2], int step) {
    if constexpr (kIsF16) {
      wgmma_m64nNk16_f16(d, of_a + step * 2, wgmma_descriptor_of_swizzled_tile(b) + step * 2);
    } else {
      wgmma_m64nNk16_bf16(d, of_a + step * 2, wgmma_descriptor_of_transposed_boxes(b) + step * 128);
    }
  });
}

// Both matrices may end before their boxes do: bf16 has 61 rows of A, 53 of B, which has kN - 6
// columns. `b_is_rows`: B is row-major.
struct Halves {
  model::NarrowFormat format;
  TensorElement element;
  int rows, depth, pitch_of_a, left_of_b;
  bool b_is_rows;
};
constexpr Halves kBf16{model::kBfloat16, TensorElement::bfloat16, 61, 53, 56, 6, true};
constexpr Halves kF16{model::kFp16, TensorElement::float16, 64, 64, 64, 0, false};

template <class Tile, int kN>
std::string multiplies_halves(const Halves& of, float (*number)(std::size_t)) {
  const auto halves = [&](std::size_t count) {
    std::vector<std::uint16_t> all;
    for (const float x : numbers(count, number)) all.push_back(model::narrowed(x, of.format));
    return all;
  };
  const int columns = kN - of.left_of_b, pitch_of_b = of.b_is_rows ? kN : of.depth;
  const Array<std::uint16_t> a(halves(of.rows * of.pitch_of_a));
  const Array<std::uint16_t> b(halves(kN * of.depth));
  const Array<float> c(numbers(64 * kN, number));
  const auto map_of = [&](const std::uint16_t* matrix, int rows, int width, int pitch, int box) {
    return tensor_map_2d(
        matrix, rows, width, 2 * pitch, {box, 64}, model::Swizzle::span_128, of.element);
  };
  // Element k of a row of A or of a column of B, of which outside ones are zeros.
  const auto factors = [&](bool inside, auto bits_of) {
    std::vector<float> all(64);
    for (int k = 0; inside && k < of.depth; ++k) all[k] = model::widened(bits_of(k), of.format);
    return all;
  };
  std::vector<float> expected(64 * kN);
  for (int row = 0; row < 64; ++row) {
    const auto of_a =
        factors(row < of.rows, [&](int k) { return a.host[row * of.pitch_of_a + k]; });
    for (int column = 0; column < kN; ++column) {
      const auto of_b = factors(column < columns, [&](int k) {
        return b.host[of.b_is_rows ? k * pitch_of_b + column : column * pitch_of_b + k];
      });
      expected[row * kN + column] = model::tensor_core_dot(
          of_a, of_b, c.host[row * kN + column], model::kHopperTensorCoreOfHalves, of.format);
    }
  }
  return wrong_in(
      multiply_halves<Tile, kN>, dim3(1), dim3(128), static_cast<int>(sizeof(Tile)), expected,
      map_of(a.device, of.rows, of.depth, of.pitch_of_a, 64),
      of.b_is_rows ? map_of(b.device, of.depth, columns, pitch_of_b, 64)
                   : map_of(b.device, kN, of.depth, pitch_of_b, kN),
      c.device);
}
template <int kN>
std::string multiplies_bf16(float (*number)(std::size_t)) {
  return multiplies_halves<Bf16Tile, kN>(kBf16, number);
}
std::string multiplies_f16(float (*number)(std::size_t)) {
  return multiplies_halves<F16Tile, 128>(kF16, number);
}

// Two warps take turns: each lets the other go on.
__global__ void take_turns(int turns, float* out) {
  __shared__ float value;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) value = 0;
  __syncthreads();
  if (warp == 1) bar_arrive(1, 64);
  for (int turn = 0; turn < turns; ++turn) {
    bar_sync(1 + warp, 64);
    if (threadIdx.x % 32 == 0) value = 2 * value + static_cast<float>(warp);
    bar_arrive(2 - warp, 64);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = value;
}

std::string takes_turns() {
  return wrong_in(take_turns, dim3(1), dim3(64), 0, std::vector<float>{0b01010101}, 4);
}

std::string multiplies_in_a_pipeline() {
  constexpr int K = 256, kRounds = 2;
  const Array<float> a(numbers(128 * K, of_any_size)), b(numbers(K * 128, of_any_size));

  constexpr int kRowsOfC = 117, kColumnsOfC = 100;
  Array<float> c(std::vector<float>(128 * 128, 7.0f));
  const CUtensorMap map_a = tensor_map_2d(a.device, 128, K, K * 4, {kTileRows, 32});
  const CUtensorMap map_c = tensor_map_2d(c.device, kRowsOfC, kColumnsOfC, 512, {kTileRows, 32});
  launch(
      multiply_pipelined<Mistake::none>, dim3(1), dim3(384), kPipelineBytes, map_a, map_c, b.device,
      K, kRounds);
  if (std::string error = error_of_launch(); !error.empty()) return error;
  std::vector<float> expected(128 * 128, 7.0f), column(K);
  for (int n = 0; n < kColumnsOfC; ++n) {
    for (int k = 0; k < K; ++k) column[k] = b.host[k * 128 + n];
    for (int row = 0; row < kRowsOfC; ++row) {
      expected[row * 128 + n] =
          model::tensor_core_dot({&a.host[row * K], K}, column, 0, model::kHopperTensorCore);
    }
  }
  return difference(c.fetch(), expected, [](std::size_t) { return std::string("C"); });
}

// Every thread arrives in every phase, and sees what the others stored before.
__global__ void pass_around(int rounds, float* out) {
  __shared__ std::uint64_t barrier;
  __shared__ float slot[96];
  if (threadIdx.x == 0) mbarrier_init(&barrier, blockDim.x);
  __syncthreads();
  float value = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    slot[threadIdx.x] = value;
    mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 0);
    value = slot[(threadIdx.x + 1) % blockDim.x];
    mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 1);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

std::string passes_phases() {
  constexpr int kBlocks = 5, kThreads = 96, kRounds = 10;
  std::vector<float> expected(kBlocks * kThreads);
  for (int t = 0; t < kBlocks * kThreads; ++t) {
    expected[t] = static_cast<float>((t % kThreads + kRounds) % kThreads);
  }
  return wrong_in(pass_around, dim3(kBlocks), dim3(kThreads), 0, expected, kRounds);
}

}  // namespace

extern const std::vector<trace::Check> trace::hopper_checks = {
    {"the copy engine's boxes: swizzles and edges", loads_boxes},
    {"the copy engine rounds to tf32", rounds_to_tf32},
    {"m64n16k8 cuts its sums as modelled", [] { return multiplies<16>(of_any_size); }},
    {"m64n32k8 cuts its sums as modelled", [] { return multiplies<32>(of_any_size); }},
    {"m64n64k8 of small integers", [] { return multiplies<64>(small_integer); }},
    {"m64n128k8 of small integers", [] { return multiplies<128>(small_integer); }},
    {"m64n192k8 of small integers", [] { return multiplies<192>(small_integer); }},
    {"m64n256k8 of small integers", [] { return multiplies<256>(small_integer); }},
    {"m64n256k8 cuts its sums as modelled", [] { return multiplies<256>(of_any_size); }},
    {"m64n64k8 of very large and small numbers", [] { return multiplies<64>(of_extreme_size); }},
    {"m64n64k16 of bf16, small integers", [] { return multiplies_bf16<64>(small_integer); }},
    {"m64n128k16 of bf16, small integers", [] { return multiplies_bf16<128>(small_integer); }},
    {"m64n256k16 of bf16, small integers", [] { return multiplies_bf16<256>(small_integer); }},
    {"m64n256k16 of bf16 cuts its sums as modelled",
     [] { return multiplies_bf16<256>(of_any_size); }},
    {"m64n64k16 of bf16, very large and small",
     [] { return multiplies_bf16<64>(of_extreme_size); }},
    {"m64n128k16 of f16, small integers", [] { return multiplies_f16(small_integer); }},
    {"m64n128k16 of f16 cuts its sums as modelled", [] { return multiplies_f16(of_any_size); }},
    {"m64n128k16 of f16, very large and small", [] { return multiplies_f16(of_extreme_size); }},
    {"m64n128k16 of f16, subnormal numbers", [] { return multiplies_f16(of_subnormal_size); }},
    {"the phases of a barrier", passes_phases},
    {"two warps take turns at two barriers", takes_turns},
    {"a pipeline with a producer and two consumers", multiplies_in_a_pipeline},
};

#ifdef HOPPER_MAIN
int main(int count, char** arguments) {
  return trace::run_checks(trace::hopper_checks, count, arguments);
}
#endif
