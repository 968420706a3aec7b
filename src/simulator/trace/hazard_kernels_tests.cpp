#include "simulator/trace/hazard_kernels.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "simulator/trace/trace.h"

namespace trace {

namespace {

std::vector<HazardKernel> all_kernels() {
  std::vector<HazardKernel> all;
  for (const auto* some :
       {&hazards_in_shared_memory, &hazards_of_warps, &hazards_of_pipelines,
        &hazards_in_global_memory, &hazards_of_order}) {
    REQUIRE(!some->empty());
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

// The hazards in the order in which they are reported, without those that are only in memory.
std::vector<model::Hazard> hazards_of(const HazardKernel& kernel, const char* gpu = "RTX 3090") {
  alignas(256) static float in[1024], out[1024];
  for (int i = 0; i < 1024; ++i) {
    in[i] = static_cast<float>(i);
    out[i] = 0;
  }
  const machine::GlobalArray known[] = {{"in", in, sizeof in}, {"out", out, sizeof out, true}};
  return trace({model::find_gpu(gpu)}, known, [&] { kernel.run(in, out); }).hazards;
}

std::string text_of(const std::vector<model::Hazard>& hazards) {
  std::ostringstream text;
  for (const model::Hazard& hazard : hazards) {
    text << model::entry_of(hazard.kind).name << ' ' << hazard.array << ' ' << hazard.byte << ' '
         << hazard.block << ' ' << hazard.other_block << ' ' << hazard.first.thread << ' '
         << hazard.second.thread << " remedy " << static_cast<int>(hazard.remedy) << '\n';
  }
  return text.str();
}

}  // namespace

TEST_CASE("faults in small kernels are found by any number of threads, and none in correct ones") {
  const int threads = omp_get_max_threads();
  for (const HazardKernel& kernel : all_kernels()) {
    CAPTURE(std::string(kernel.text));
    std::set<std::string> results;
    std::vector<model::Hazard> hazards;
    for (const int count : {1, 2, 5}) {
      omp_set_num_threads(count);
      hazards = hazards_of(kernel);
      std::sort(hazards.begin(), hazards.end(), [](const auto& a, const auto& b) {
        return std::tie(a.kind, a.first.places, a.second.places) <
               std::tie(b.kind, b.first.places, b.second.places);
      });
      results.insert(text_of(hazards));
    }
    omp_set_num_threads(threads);
    CAPTURE(*results.rbegin());
    CHECK(results.size() == 1);
    CHECK(names_of(hazards) == kernel.finds);
    if (!kernel.remedy) continue;
    CHECK(std::any_of(hazards.begin(), hazards.end(), [&](const model::Hazard& hazard) {
      return hazard.remedy == *kernel.remedy;
    }));
  }
}

TEST_CASE("on the paper GPU a warp orders only its 4 lanes") {
  const std::map<std::string, std::string> finds = {
      {"__syncwarp of the lower half orders the lower half", "race"},
      {"a tile of 8 reads its own part", "race"},
      {"a tile of 4 in a tile of 16", "race"},
      {"a shuffle in a warp after half of it has left", ""},
      {"a shuffle in segments of 12", "bad_width"}};
  std::size_t tried = 0;
  for (const HazardKernel& kernel : all_kernels()) {
    const auto expected = finds.find(kernel.text);
    if (expected == finds.end()) continue;
    ++tried;
    CAPTURE(std::string(kernel.text));
    const std::vector<model::Hazard> hazards = hazards_of(kernel, "paper");
    CAPTURE(text_of(hazards));
    CHECK(names_of(hazards) == expected->second);
  }
  CHECK(tried == finds.size());
}

}  // namespace trace
