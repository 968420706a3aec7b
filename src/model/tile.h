// A tile, what kernels ask of its sizes, and the variant that a kernel and a tile make.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/stage.h"

namespace model {

// A kernel's template takes those of these sizes that it needs.
struct Tile {
  int BM, BN, BK = 0;  // a block computes BM x BN of C, BK of K at a time
  int WM = 0, WN = 0;  // a warp's part of it; 0: warps have none
  int TM = 1, TN = 1;  // a thread's part of it
  int STAGES = 0;      // tiles of A and of B in the ring; 0: there is none
  bool for_small = false;
  char suffix[8] = "";  // of the variant's name, behind BMxBNxBK

  constexpr int threads() const { return (BM / TM) * (BN / TN); }  // that multiply
  constexpr bool divides_among_warps() const { return WM == 0 || (BM % WM == 0 && BN % WN == 0); }
  constexpr bool has_32_lanes() const { return WM == 0 || (WM / TM) * (WN / TN) == 32; }
};

// A kernel, its launch and its name, which the compiler writes: "... [with auto kernel = NAME]".
template <auto kernel>
KernelRef ref() {
  static const std::string name = [](std::string_view pretty) {
    const std::size_t begin = pretty.find("kernel = ") + 9;
    return std::string(pretty.substr(begin, pretty.find_first_of(";]", begin) - begin));
  }(__PRETTY_FUNCTION__);
  return {
      reinterpret_cast<const void*>(kernel), name.c_str(),
      [](const Task& task, const OnlyIf& only_if) { launch_kernel(kernel, task, only_if); }};
}

// What a kernel with a tile tells of its launch. gemm_steps.cu names one of these structs below
// each of its kernels. They check the tile.
template <Tile t>
struct Launch {
  static_assert(
      t.BM % t.TM == 0 && t.BN % t.TN == 0,
      "the tile's rows and columns must divide evenly among the threads");
  static_assert(t.divides_among_warps(), "the tile must divide evenly among the warps");
  static_assert(t.has_32_lanes(), "a warp has 32 lanes, each with TM x TN results");

  static constexpr Tile tile = t;
  static constexpr const char* name = nullptr;  // of the variant; null: the tile's sizes
  static constexpr int block_x = t.WM > 0 ? t.threads() : t.BN / t.TN;
  static constexpr int block_y = t.WM > 0 ? 1 : t.BM / t.TM;
  static constexpr int shared_bytes = 0;  // of dynamic shared memory
  static constexpr int pipeline = t.STAGES > 0 ? t.STAGES - 1 : 0;
  static constexpr Sharing sharing = Sharing::grid;
  static constexpr Multiplier multiplier = Multiplier::ffma;
  static constexpr decltype(Variant::share_out) share_out = nullptr;
  static constexpr bool has_maps = false, has_units = false;
  static constexpr const Contrast* contrast = nullptr;
};

// The threads copy a tile of rows x cols in whole rows, each `vec` neighbours at a time.
constexpr bool copies_whole_rows(int threads, int vec, int rows, int cols) {
  const int floats = threads * vec;
  return floats >= cols && floats % cols == 0 && rows % (floats / cols) == 0;
}
template <Tile t, int VEC_A, int VEC_B = VEC_A>
struct CopiedByThreads : Launch<t> {
  static_assert(
      copies_whole_rows(t.threads(), VEC_A, t.BM, t.BK) &&
          copies_whole_rows(t.threads(), VEC_B, t.BK, t.BN),
      "the threads must copy whole rows of a tile at a time");
};

// The same, and a thread loads and stores four floats at a time.
template <Tile t, int VEC_A, int VEC_B = VEC_A>
struct Float4s : CopiedByThreads<t, VEC_A, VEC_B> {
  static_assert(t.TM % 4 == 0 && t.TN % 4 == 0 && t.BK % 4 == 0, "a float4 holds four neighbours");
};

// The same, and each row of A's tile is padded by 4 floats.
template <Tile t, int VEC_A, int VEC_B = VEC_A>
struct Padded : Float4s<t, VEC_A, VEC_B> {
  static_assert(t.BK <= 16 && t.BM % 8 == 0, "the padding of As keeps the banks of 8 rows apart");
};

// Dynamic shared memory holds a ring of such places.
template <class Base, class Place>
struct InRing : Base {
  static_assert(Base::tile.STAGES >= 2, "a tile is multiplied while at least one is in flight");
  static constexpr int shared_bytes = Base::tile.STAGES * sizeof(Place);
};

// The lanes of a warp hold its part of the tile together.
template <Tile t, int VEC, class Place>
struct OfFragments : InRing<CopiedByThreads<t, 1, VEC>, Place> {
  static_assert(t.WM % 32 == 0 && t.WN % 32 == 0, "four mma multiply for 32 rows and 32 columns");
  static_assert(t.BK % 16 == 0, "a K tile has an even number of steps: two sets of fragments");
  static constexpr Sharing sharing = Sharing::ordered;
  static constexpr Multiplier multiplier = Multiplier::mma_tf32;
};

// A copy engine fills the ring. A warpgroup reads two tiles at once if it multiplies by one
// product.
template <Tile t, class Place, Multiplier by, int BYTES_OF_ELEMENT = 4>
struct CopiedInBoxes : InRing<Launch<t>, Place> {
  static_assert(t.BM <= 256 && t.BN <= 256, "a box has at most 256 rows, a wgmma 256 columns");
  static_assert(
      by == Multiplier::mma_tf32 || t.threads() % 128 == 0,
      "each warpgroup multiplies for 64 lines of the tile");
  static_assert(
      by == Multiplier::wgmma_3xtf32 || t.STAGES >= 3, "one tile arrives while two are read");
  static_assert(t.BK * BYTES_OF_ELEMENT == 128, "a row of a box takes all 32 banks");
  static constexpr Sharing sharing = Sharing::ordered;
  static constexpr auto share_out = slices_of_K;
  static constexpr Multiplier multiplier = by;
  static constexpr bool has_maps = true;
};

// Blocks stay on their SM, and beside the warpgroups that multiply, one only copies.
template <class Base>
struct Specialized : Base {
  static_assert(Base::block_x % 128 == 0, "each warpgroup has equally many lines of the tile");
  static constexpr int block_x = Base::block_x + 128;
  static constexpr Sharing sharing = Sharing::persistent;
};

// The tile with a warp's part of it, which lanes hold together where tensor cores multiply.
constexpr Tile with_warps(Tile t, int WM, int WN, int lanes_down) {
  t.WM = WM, t.WN = WN, t.TM = WM / lanes_down, t.TN = WN / (32 / lanes_down);
  return t;
}

// The variant that the kernel of this struct makes with the tile.
template <template <Tile, int> class KernelOf, Tile t>
Variant variant() {
  using Aligned = KernelOf<t, 4>;  // VEC: how many floats move at once where rows are aligned
  using Any = KernelOf<t, 1>;
  static const std::string depth = std::to_string(t.BK);
  static const std::string sizes =
      std::to_string(t.BM) + "x" + std::to_string(t.BN) + (t.BK > 0 ? "x" + depth : "") + t.suffix;
  constexpr Tile whole = Aligned::tile;
  return {
      .name = Aligned::name != nullptr ? Aligned::name : sizes.c_str(),
      .BM = whole.BM,
      .BN = whole.BN,
      .BK = whole.BK,
      .WM = whole.WM,
      .WN = whole.WN,
      .TM = whole.TM,
      .TN = whole.TN,
      .pipeline = Aligned::pipeline,
      .block_x = Aligned::block_x,
      .block_y = Aligned::block_y,
      .shared_bytes = Aligned::shared_bytes,
      .kernel = ref<Aligned::kernel>(),
      .kernel_any = ref<Any::kernel>(),
      .for_small = t.for_small,
      .sharing = Aligned::sharing,
      .share_out = Aligned::share_out,
      .multiplier = Aligned::multiplier,
      .has_maps = Aligned::has_maps,
      .has_units = Aligned::has_units,
      .contrast = Aligned::contrast};
}

inline std::vector<Variant> joined(std::vector<Variant> first, const std::vector<Variant>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

#ifndef MOST_TILES  // of each list
#define MOST_TILES std::size(tiles)
#endif

// One for each tile of an array, and then `more`.
template <template <Tile, int> class KernelOf, const auto& tiles>
std::vector<Variant> variants(const std::vector<Variant>& more = {}) {
  const auto each = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::vector<Variant>{variant<KernelOf, tiles[i]>()...};
  };
  return joined(each(std::make_index_sequence<MOST_TILES>{}), more);
}

// The same for arrays of tiles that are only for C with few results (suited_variant). With a
// contrast, they are an earlier stage's.
template <template <Tile, int> class KernelOf, const auto&... tiles>
std::vector<Variant> few(const Contrast& contrast) {
  std::vector<Variant> all;
  (..., (all = joined(std::move(all), variants<KernelOf, tiles>())));
  for (Variant& variant : all) {
    variant.for_small = false;
    variant.for_few_results = true;
    variant.contrast = contrast.name != nullptr ? &contrast : nullptr;
  }
  return all;
}
template <template <Tile, int> class KernelOf, const auto& tiles, const auto& tiles_for_few>
std::vector<Variant> variants(const std::vector<Variant>& more = {}) {
  return joined(variants<KernelOf, tiles>(few<KernelOf, tiles_for_few>({})), more);
}

// Which variant stands in for the stage's own where A and B are not for them, and which for that
// one, each with what its lesson predicts.
inline std::vector<Variant> with_stand_ins(
    std::vector<Variant> variants, const Variant& other, const Contrast& of_other,
    const Variant& last, const Contrast& of_last) {
  static Variant stand_in = other, last_one = last;
  stand_in.predicted = &of_other.lesson.predicted;
  stand_in.stand_in = &last_one;
  stand_in.share_out = nullptr;  // what adds the parts up would run unasked
  last_one.predicted = &of_last.lesson.predicted;
  for (Variant& own : variants) own.stand_in = own.contrast == nullptr ? &stand_in : nullptr;
  return variants;
}

}  // namespace model
