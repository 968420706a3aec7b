#include "model/gpus.h"

#include <doctest/doctest.h>

TEST_CASE("a GPU is found without case, spaces and dashes, or by the words its name begins with") {
  for (const Gpu& gpu : known_gpus()) CHECK(find_gpu(gpu.name) == &gpu);
  REQUIRE(find_gpu("rtx3090"));
  CHECK(find_gpu("rtx3090")->name == "RTX 3090");
  CHECK(find_gpu("Rtx-A6000") == find_gpu("RTX A6000"));
  CHECK(find_gpu("a100") == find_gpu("A100 SXM 80GB"));
  CHECK(find_gpu("h100") == find_gpu("H100-SXM"));
}

TEST_CASE("an unknown or ambiguous name is no GPU") {
  for (const char* name : {"", " - ", "RTX", "A10", "H20", "RTX 309", "RTX 30900", "SXM", "x"}) {
    CAPTURE(name);
    CHECK(find_gpu(name) == nullptr);
  }
}

TEST_CASE("a block may opt in to all of an SM's shared memory less what is reserved") {
  CHECK(known_gpus().size() == 9);
  for (const Gpu& gpu : known_gpus()) {
    CAPTURE(gpu.name);
    CHECK(gpu.smem_bytes_per_block + gpu.smem_reserved_bytes_per_block == gpu.smem_bytes_per_sm);
  }
}
