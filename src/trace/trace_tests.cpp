#include "trace/trace.h"

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "machine/code_place.h"
#include "trace/idioms.h"
#include "trace/token.h"

extern "C" char etext;  // from the linker: where the code ends

namespace trace {

namespace {

struct alignas(256) Arrays {
  float in[1024];
  float out[1024];
};

Arrays arrays;

model::Counts trace_block(void (*run)(const float*, float*), const char* name = "RTX 3090") {
  for (int i = 0; i < 1024; ++i) arrays.in[i] = static_cast<float>(i);
  const model::Gpu& gpu = *model::find_gpu(name);
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out}};
  return trace({&gpu}, known, [&] { run(arrays.in, arrays.out); });
}

void check_equal_lanes(const model::Traffic& traffic, int accesses, int bytes) {
  CHECK(traffic.accesses.min == accesses);
  CHECK(traffic.accesses.max == accesses);
  CHECK(traffic.bytes.min == bytes);
  CHECK(traffic.bytes.max == bytes);
}

}  // namespace

TEST_CASE("the tracer sees every C++ idiom as the accesses in its source") {
  REQUIRE(!idioms.empty());
  for (const Idiom& idiom : idioms) {
    CAPTURE(std::string(idiom.text));
    for (const char* gpu : {"RTX 3090", "paper"}) {
      CAPTURE(gpu);
      const model::Counts counts = trace_block(idiom.run, gpu);
      CHECK(counts.threads_traced == 32);
      check_equal_lanes(counts.gmem_loads, idiom.gmem_loads, idiom.gmem_load_bytes);
      check_equal_lanes(counts.gmem_stores, idiom.gmem_stores, idiom.gmem_store_bytes);
      check_equal_lanes(counts.smem_loads, idiom.smem_loads, idiom.smem_load_bytes);
      check_equal_lanes(counts.smem_stores, idiom.smem_stores, idiom.smem_store_bytes);
    }
  }
}

// A token has this many bits for a place.
TEST_CASE("the program's code is small enough for the places in the tracer's tokens") {
  CHECK(&etext - &__executable_start < 1 << (32 - kPlaceShift));
}

TEST_CASE("an ldmatrix is one request: each lane gives a row and receives as many bytes") {
  const auto ldmatrix = std::find_if(exchanges.begin(), exchanges.end(), [](const Exchange& e) {
    return std::string(e.text).starts_with("ldmatrix");
  });
  REQUIRE(ldmatrix != exchanges.end());
  const model::Counts counts = trace_block(ldmatrix->run);
  check_equal_lanes(counts.smem_loads, 1, 16);
  CHECK(counts.smem_loads.requests == 1);
  CHECK(counts.smem_loads.pieces == 4);
  CHECK(counts.smem_loads.bank_conflicts == 0);
}

TEST_CASE("an mma is counted once for its warp") {
  const auto mma = std::find_if(exchanges.begin(), exchanges.end(), [](const Exchange& e) {
    return std::string(e.text).starts_with("mma");
  });
  REQUIRE(mma != exchanges.end());
  CHECK(trace_block(mma->run).mmas == 1);
  CHECK(trace_block(mma->run).mma_products == 16 * 8 * 8);
  CHECK(trace_block(idioms[0].run).mmas == 0);
}

TEST_CASE("lanes that diverge and reconverge make the requests of a warp in lockstep") {
  REQUIRE(!divergences.empty());
  for (const Divergence& divergence : divergences) {
    CAPTURE(std::string(divergence.text));
    const model::Traffic loads = trace_block(divergence.run).gmem_loads;
    CHECK(loads.requests == divergence.gmem_load_requests);
    CHECK(loads.pieces == divergence.gmem_load_sectors);
  }
}

TEST_CASE("collective operations give the GPU's results") {
  REQUIRE(!exchanges.empty());
  for (const Exchange& exchange : exchanges) {
    CAPTURE(std::string(exchange.text));
    std::fill(std::begin(arrays.out), std::end(arrays.out), 0.0f);
    trace_block(exchange.run);
    for (int t = 0; t < 32; ++t) {
      CAPTURE(t);
      CHECK(arrays.out[t] == exchange.expected(t));
    }
  }
}

TEST_CASE("on the paper GPU warpSize is 4, and lanes exchange within 4") {
  const auto result_of = [](const std::string& text) {
    const auto wanted = std::find_if(
        exchanges.begin(), exchanges.end(), [&](const Exchange& e) { return e.text == text; });
    REQUIRE(wanted != exchanges.end());
    trace_block(wanted->run, "paper");
    return std::vector<float>(arrays.out, arrays.out + 32);
  };
  CHECK(result_of("dim3 and warpSize")[0] == 32 + 4);
  const std::vector<float> moved = result_of("__shfl_down_sync");
  for (int t = 0; t < 32; ++t) {
    CAPTURE(t);
    CHECK(moved[t] == (t % 4 + 3 < 4 ? t + 3 : t));
  }
}

TEST_CASE("local variables are measured over all calls, and other threads must not access them") {
  REQUIRE(!locals.empty());
  for (const Local& local : locals) {
    CAPTURE(std::string(local.text));
    const model::Counts counts = trace_block(local.run);
    CHECK(model::has_fatal(counts) == local.foreign);
    if (local.foreign) {
      REQUIRE(counts.hazards.size() == 1);
      CHECK(counts.hazards[0].kind == model::HazardKind::foreign_local);
    } else {
      CHECK(counts.hazards.empty());
      CHECK(counts.local_bytes >= local.least_bytes);
      CHECK(counts.local_bytes <= local.most_bytes);
    }
  }
}

TEST_CASE("the trace tells which thread stored each word of the result, if any") {
  REQUIRE(!exchanges.empty());
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out, true}};
  std::vector<std::uint64_t> writers;
  machine::Machine machine{model::find_gpu("RTX 3090")};
  machine.wrote = [&](std::span<const std::uint64_t> last) {
    writers.assign(last.begin(), last.end());
  };
  trace(machine, known, [] { exchanges[0].run(arrays.in, arrays.out); });  // 32 threads
  REQUIRE(writers.size() == std::size(arrays.out));
  for (std::size_t word = 0; word < writers.size(); ++word) {
    CAPTURE(word);
    CHECK(writers[word] == (word < 32 ? word + 1 : 0));
  }
}

TEST_CASE("a kernel that cannot continue is a fault with its block and thread") {
  REQUIRE(!faults.empty());
  for (const Fault& fault : faults) {
    CAPTURE(std::string(fault.text));
    CHECK_THROWS_AS(trace_block(fault.run), machine::KernelFault);
    CHECK_THROWS_WITH(trace_block(fault.run), doctest::Contains(fault.says));
    CHECK_THROWS_WITH(trace_block(fault.run), doctest::Contains("block (0, 0, 0), thread ("));
  }
  const auto of_warp = std::find_if(exchanges.begin(), exchanges.end(), [](const Exchange& e) {
    return std::string(e.text).starts_with("mma");
  });
  REQUIRE(of_warp != exchanges.end());
  CHECK_THROWS_WITH(
      trace_block(of_warp->run, "paper"),
      doctest::Contains("it waits at mma, which takes 32 lanes, but its warp has only 4"));
  // The next launch is not affected.
  CHECK(trace_block(idioms[0].run).gmem_loads.requests == 1);
}

}  // namespace trace
