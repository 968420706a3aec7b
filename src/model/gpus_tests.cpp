#include "model/gpus.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace model {

namespace {

std::vector<Gpu> real_gpus() {
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : known_gpus()) {
    if (has_clock(gpu)) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

TEST_CASE("a GPU is found by its name or its first words, ignoring case, spaces and dashes") {
  for (const Gpu& gpu : known_gpus()) CHECK(find_gpu(gpu.name) == &gpu);
  REQUIRE(find_gpu("rtx3090"));
  CHECK(find_gpu("rtx3090")->name == "RTX 3090");
  CHECK(find_gpu("Rtx-A6000") == find_gpu("RTX A6000"));
  CHECK(find_gpu("a100") == find_gpu("A100 SXM 80GB"));
  CHECK(find_gpu("h100") == find_gpu("H100-SXM"));
  CHECK(find_gpu("paper") == find_gpu("Paper-GPU"));
}

TEST_CASE("an unknown or ambiguous name is no GPU") {
  for (const char* name : {"", " - ", "RTX", "A10", "H20", "RTX 309", "RTX 30900", "SXM", "x"}) {
    CAPTURE(name);
    CHECK(find_gpu(name) == nullptr);
  }
}

TEST_CASE("tensor cores multiply bf16 twice as fast as tf32, a power of two per SM and cycle") {
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    if (gpu.compute_capability < 80) {  // fp16 only
      CHECK(gpu.tf32_tflops == 0);
      CHECK(gpu.bf16_tflops == 0);
      continue;
    }
    CHECK(gpu.bf16_tflops == doctest::Approx(2 * gpu.tf32_tflops).epsilon(0.005));
    // 128 in GeForces, 256 and more in the others. Data centre GPUs run at a lower boost clock
    // while the tensor cores are busy.
    const double fmas = gpu.tf32_tflops * 1e3 / (2 * gpu.sms * gpu.boost_ghz);
    const double power = std::exp2(std::round(std::log2(fmas)));
    CHECK(fmas >= 0.9 * power);
    CHECK(fmas <= 1.01 * power);
  }
}

TEST_CASE("L2 never delivers more than all SMs can take") {
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    CHECK(l2_bytes_per_clock(gpu) > 0);
    CHECK(l2_bytes_per_clock(gpu) <= gpu.sms * l2_bytes_per_sm_clock);
  }
}

TEST_CASE("a block may opt in to all of an SM's shared memory except the reserved part") {
  CHECK(real_gpus().size() == 9);
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    CHECK(gpu.smem_bytes_per_block + gpu.smem_reserved_bytes_per_block == gpu.smem_bytes_per_sm);
  }
}

TEST_CASE("the paper GPU has no clock, and the walkthrough's warps") {
  CHECK(known_gpus().size() == real_gpus().size() + 1);
  const Gpu& paper = *find_gpu("paper");
  CHECK_FALSE(has_clock(paper));
  CHECK(paper.warp == kPaperWarp);
  for (const Gpu& gpu : real_gpus()) CHECK(gpu.warp == kGpuWarp);
}

}  // namespace model
