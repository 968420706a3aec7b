#include "simt/trace.h"

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simt/idioms.h"

namespace {

struct alignas(256) Arrays {
  float in[1024];
  float out[1024];
};

Counts trace_block(void (*run)(const float*, float*)) {
  static Arrays arrays;
  for (int i = 0; i < 1024; ++i) arrays.in[i] = static_cast<float>(i);
  const Gpu& gpu = *find_gpu("RTX 3090");
  const simt::GlobalArray known[] = {{"in", arrays.in, sizeof arrays.in},
                                     {"out", arrays.out, sizeof arrays.out}};
  return simt::trace({&gpu}, known, [&] { run(arrays.in, arrays.out); });
}

void check_equal_lanes(const Traffic& traffic, int accesses, int bytes) {
  CHECK(traffic.accesses.min == accesses);
  CHECK(traffic.accesses.max == accesses);
  CHECK(traffic.bytes.min == bytes);
  CHECK(traffic.bytes.max == bytes);
}

}  // namespace

TEST_CASE("every C++ idiom is seen as the accesses that are written") {
  REQUIRE(!idioms.empty());
  for (const Idiom& idiom : idioms) {
    CAPTURE(std::string(idiom.text));
    const Counts counts = trace_block(idiom.run);
    CHECK(counts.threads_traced == 32);
    check_equal_lanes(counts.gmem_loads, idiom.gmem_loads, idiom.gmem_load_bytes);
    check_equal_lanes(counts.gmem_stores, idiom.gmem_stores, idiom.gmem_store_bytes);
    check_equal_lanes(counts.smem_loads, idiom.smem_loads, idiom.smem_load_bytes);
    check_equal_lanes(counts.smem_stores, idiom.smem_stores, idiom.smem_store_bytes);
  }
}

TEST_CASE("lanes that part and meet again make the requests of a warp in lockstep") {
  REQUIRE(!divergences.empty());
  for (const Divergence& divergence : divergences) {
    CAPTURE(std::string(divergence.text));
    CHECK(trace_block(divergence.run).gmem_loads.requests == divergence.gmem_load_requests);
  }
}

TEST_CASE("a thread that needs too much local memory ends the program with one sentence") {
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // libgomp's threads do not survive a fork; one thread needs none.
    omp_set_num_threads(1);
    trace_block(run_too_deep);
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
}
