#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "simulator/trace/idioms.h"
#include "simulator/trace/trace.h"

namespace trace {
namespace {

struct alignas(256) Arrays {
  float in[1024];
  float out[1024];
};
Arrays arrays;

// Of whole numbers, in an array of zeros.
model::Counts trace_block(void (*run)(const float*, float*)) {
  for (int i = 0; i < 1024; ++i) arrays.in[i] = static_cast<float>(i);
  std::fill(std::begin(arrays.out), std::end(arrays.out), 0.0f);
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out}};
  return trace({model::find_gpu("RTX 3090")}, known, [&] { run(arrays.in, arrays.out); });
}

void check_equal_lanes(const model::Traffic& traffic, int accesses, int bytes) {
  CHECK(traffic.accesses.min == accesses);
  CHECK(traffic.accesses.max == accesses);
  CHECK(traffic.bytes.min == bytes);
  CHECK(traffic.bytes.max == bytes);
}

}  // namespace

TEST_CASE("functions of CUDA that most kernels do not use give the GPU's results") {
  REQUIRE(!vocabulary.empty());
  for (const Exchange& exchange : vocabulary) {
    CAPTURE(std::string(exchange.text));
    trace_block(exchange.run);
    for (int t = 0; t < 32; ++t) {
      CAPTURE(t);
      CHECK(arrays.out[t] == exchange.expected(t));
    }
  }
}

TEST_CASE("types of 1 and 2 bytes and pairs of them are one access each") {
  REQUIRE(!narrow_idioms.empty());
  for (const Idiom& idiom : narrow_idioms) {
    CAPTURE(std::string(idiom.text));
    const model::Counts counts = trace_block(idiom.run);
    check_equal_lanes(counts.gmem_loads, idiom.gmem_loads, idiom.gmem_load_bytes);
    check_equal_lanes(counts.gmem_stores, idiom.gmem_stores, idiom.gmem_store_bytes);
    check_equal_lanes(counts.smem_loads, idiom.smem_loads, idiom.smem_load_bytes);
    check_equal_lanes(counts.smem_stores, idiom.smem_stores, idiom.smem_store_bytes);
  }
}

// As seen in the code that nvcc makes for sm_80 and sm_90 (src/simulator/cuda/headers/mma.h).
TEST_CASE("wmma fragments are loaded and stored by the requests that nvcc makes of them") {
  REQUIRE(!matrix_requests.empty());
  for (const Requests& expected : matrix_requests) {
    CAPTURE(std::string(expected.text));
    const model::Counts counts = trace_block(expected.run);
    CHECK(counts.gmem_loads.requests == expected.gmem_load_requests);
    CHECK(counts.gmem_loads.pieces == expected.gmem_load_sectors);
    CHECK(counts.gmem_stores.requests == expected.gmem_store_requests);
    CHECK(counts.gmem_stores.pieces == expected.gmem_store_sectors);
    CHECK(counts.smem_loads.requests == expected.smem_load_requests);
    CHECK(counts.smem_loads.pieces == expected.smem_load_wavefronts);
    CHECK(counts.mmas == expected.mmas);
  }
}

}  // namespace trace
