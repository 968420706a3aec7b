#include "trace/hazard_kernels.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "trace/trace.h"

namespace trace {

namespace {

using Kind = model::HazardKind;

const std::map<Kind, const char*> kNames = {
    {Kind::index_out_of_range, "index_out_of_range"},
    {Kind::out_of_bounds, "out_of_bounds"},
    {Kind::misaligned, "misaligned"},
    {Kind::barrier_divergence, "barrier_divergence"},
    {Kind::race, "race"},
    {Kind::uninitialized, "uninitialized"},
    {Kind::copy_not_waited_for, "copy_not_waited_for"},
    {Kind::race_on_result, "race_on_result"},
    {Kind::race_between_blocks, "race_between_blocks"},
    {Kind::read_only_is_stored, "read_only_is_stored"},
    {Kind::copy_of_bad_size, "copy_of_bad_size"},
    {Kind::copy_of_bad_zeros, "copy_of_bad_zeros"},
    {Kind::copy_to_global, "copy_to_global"},
    {Kind::copy_from_shared, "copy_from_shared"},
    {Kind::tile_not_waited_for, "tile_not_waited_for"},
    {Kind::tile_in_use, "tile_in_use"},
    {Kind::not_fenced, "not_fenced"},
    {Kind::store_not_waited_for, "store_not_waited_for"},
    {Kind::nothing_shuffled, "nothing_shuffled"},
    {Kind::bad_width, "bad_width"},
    {Kind::never_written, "never_written"},
    {Kind::threads_left, "threads_left"},
    {Kind::several_barriers, "several_barriers"}};

std::vector<HazardKernel> all_kernels() {
  std::vector<HazardKernel> all;
  for (const auto* some :
       {&hazards_in_shared_memory, &hazards_of_warps, &hazards_in_global_memory}) {
    REQUIRE(!some->empty());
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

struct alignas(256) Arrays {
  float in[1024];
  float out[1024];
};

// The hazards in the order in which they are reported, without those that are only in memory.
std::vector<model::Hazard> hazards_of(const HazardKernel& kernel, const char* gpu = "RTX 3090") {
  static Arrays arrays;
  for (int i = 0; i < 1024; ++i) {
    arrays.in[i] = static_cast<float>(i);
    arrays.out[i] = 0;
  }
  const machine::GlobalArray known[] = {
      {"in", arrays.in, sizeof arrays.in}, {"out", arrays.out, sizeof arrays.out, true}};
  return trace({model::find_gpu(gpu)}, known, [&] { kernel.run(arrays.in, arrays.out); }).hazards;
}

std::string text_of(const std::vector<model::Hazard>& hazards) {
  std::ostringstream text;
  for (const model::Hazard& hazard : hazards) {
    text << kNames.at(hazard.kind) << ' ' << hazard.array << ' ' << hazard.byte << ' '
         << hazard.block << ' ' << hazard.other_block << ' ' << hazard.first.thread << ' '
         << hazard.second.thread << '\n';
  }
  return text.str();
}

// "race uninitialized": each kind once.
std::string kinds_of(const std::vector<model::Hazard>& hazards) {
  std::set<std::string> kinds;
  for (const model::Hazard& hazard : hazards) kinds.insert(kNames.at(hazard.kind));
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " ") + kind;
  return text;
}

}  // namespace

TEST_CASE("faults in small kernels are found, and none in correct ones") {
  for (const HazardKernel& kernel : all_kernels()) {
    CAPTURE(std::string(kernel.text));
    const std::vector<model::Hazard> hazards = hazards_of(kernel);
    CAPTURE(text_of(hazards));
    CHECK(kinds_of(hazards) == kernel.finds);
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
    CHECK(kinds_of(hazards) == expected->second);
  }
  CHECK(tried == finds.size());
}

TEST_CASE("the hazards do not depend on the number of threads that run blocks") {
  const int threads = omp_get_max_threads();
  for (const HazardKernel& kernel : all_kernels()) {
    CAPTURE(std::string(kernel.text));
    std::set<std::string> said;
    for (const int count : {1, 2, 5}) {
      omp_set_num_threads(count);
      std::vector<model::Hazard> hazards = hazards_of(kernel);
      std::sort(hazards.begin(), hazards.end(), [](const auto& a, const auto& b) {
        return std::tie(a.kind, a.first.places, a.second.places) <
               std::tie(b.kind, b.first.places, b.second.places);
      });
      said.insert(text_of(hazards));
    }
    omp_set_num_threads(threads);
    const std::vector<std::string> all(said.begin(), said.end());
    CAPTURE(all.back());
    CHECK(all.size() == 1);
  }
}

}  // namespace trace
