#include "report/explain/sections.h"

#include <algorithm>

#include "lab/run.h"
#include "model/stage.h"
#include "pictures/tile_picture.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

std::string problem(const lab::Run& run) {
  if (!run.program.empty()) return fact("program", text::shortened(run.program, 80));
  return fact("problem", product(run) + ", fp32, row-major");
}

// The variant that may be chosen in place of the first, and with which the busiest SM is done
// first. Null if there is none.
const model::Variant* best_other(
    const lab::Run& run, const model::Stage& stage, const model::Variant& first) {
  const model::Variant* best = nullptr;
  const auto clocks = [&](const model::Variant& v) {
    return model::spread(v, run.gpu, run.M, run.N).clocks;
  };
  for (const model::Variant& v : stage.variants) {
    if (!v.for_small || &v == &first || v.shared_bytes > run.gpu.smem_bytes_per_block) continue;
    if (best == nullptr || clocks(v) < clocks(*best)) best = &v;
  }
  return best;
}

// The stage's variant in whose place the row's runs. Null: that is the stage's own.
const model::Variant* stood_in_for(const lab::Row& row) {
  for (const model::Variant& v : row.stage->variants) {
    if (v.otherwise == row.variant) return &v;
  }
  return nullptr;
}

// Why this variant runs, where the stage has several to choose from.
std::string choice(const lab::Run& run, const lab::Row& row) {
  if (!model::has_clock(run.gpu) || run.M == 0 || run.N == 0 || stood_in_for(row)) return "";
  const model::Variant& first = model::first_variant(*row.stage, run.gpu);
  const model::Variant& chosen = model::suited_variant(*row.stage, run.gpu, run.M, run.N);
  const bool is_first = &chosen == &first;
  const model::Variant* const other = is_first ? best_other(run, *row.stage, first) : &first;
  if (other == nullptr) return "";
  const std::string name = chosen.name, of_other = other->name;
  if (row.variant != &chosen) {
    return fact("choice", "by --variant; without it, " + name + " would be chosen for this C");
  }
  const model::Spread now = model::spread(chosen, run.gpu, run.M, run.N);
  const model::Spread instead = model::spread(*other, run.gpu, run.M, run.N);
  const bool cuts = chosen.sharing == model::Sharing::cut;
  std::string why = name + " was chosen: with " + of_other + (cuts ? " and no tile cut, " : ", ");
  if (!is_first && instead.tiles < run.gpu.sms) {
    why +=
        text::printed("only %lld of %d SMs would have a block, and ", instead.tiles, run.gpu.sms);
  }
  const std::string results = text::grouped(instead.results) + " results";
  why += "the busiest SM would " +
         (instead.results == now.results
              ? "also compute " + results
              : "compute " + results + " instead of " + text::grouped(now.results));
  if (!is_first && instead.results == now.results) {
    why += text::printed(", but with %lld warps instead of %lld", instead.warps, now.warps);
  }
  const bool tensor = chosen.multiplier != model::Multiplier::ffma;
  if (tensor) {
    why += text::printed(
        ". Its products and loads would take at least %.0f clocks for each step of K, instead of "
        "%.0f",
        instead.clocks, now.clocks);
  }
  const std::string at_most = tensor ? "7/10" : "3/4";
  return fact(
      "choice",
      why + (is_first ? ". A smaller tile is chosen only where they are at most " + at_most + "."
                      : ". --variant " + of_other + " overrides."));
}

std::string grid_of_blocks(const lab::Run& run, const model::Variant& v) {
  const lab::Grid blocks = lab::grid(run, v);
  return fact(
      "grid", text::printed(
                  "ceil(N/BN) x ceil(M/BM) = ceil(%d/%d) x ceil(%d/%d) = %lld x %lld = ", run.N,
                  v.BN, run.M, v.BM, blocks.x, blocks.y) +
                  text::grouped(blocks.x * blocks.y) + " blocks");
}

// "2 parts of 459 and 53 K tiles", "8 parts of 4 K tiles", "5 parts of 7 K tiles, the last of 4".
std::string parts_of_a_tile(const model::ShareOut& shares, int k_tiles) {
  const int last = k_tiles - (shares.parts - 1) * shares.depth;
  if (shares.parts == 2 && last != shares.depth) {
    return text::printed("2 parts of %d and %d K tiles", shares.depth, last);
  }
  return text::printed("%d parts of %d K tiles", shares.parts, shares.depth) +
         (last != shares.depth ? text::printed(", the last of %d", last) : "");
}

// For a launch whose blocks are not arranged like the tiles of C.
std::string row_of_blocks(const lab::Run& run, const model::Variant& v) {
  const model::ShareOut shares = lab::shares(run, v);
  const int rows = (run.M + v.BM - 1) / v.BM, cols = (run.N + v.BN - 1) / v.BN;
  const int tiles = rows * cols, cut = tiles - shares.whole;
  std::string text = fact(
      "tiles", text::printed(
                   "ceil(M/BM) x ceil(N/BN) = ceil(%d/%d) x ceil(%d/%d) = %d x %d = ", run.M, v.BM,
                   run.N, v.BN, rows, cols) +
                   text::grouped(tiles) + " of C");
  const std::string blocks = text::grouped(model::blocks_of(shares, tiles)) + " blocks in one row";
  if (v.sharing == model::Sharing::persistent) {
    return text +
           fact(
               "grid",
               blocks +
                   (model::is_in_turns(shares, tiles)
                        ? text::printed(", one per SM: each takes every %dth tile", shares.blocks)
                        : ", one per tile") +
                   ", in an order of the kernel's own");
  }
  if (cut == 0) {
    std::string why;
    if (v.sharing == model::Sharing::cut) {
      why =
          tiles % run.gpu.sms == 0
              ? text::printed("; none is cut, since each of %d SMs gets equally many", run.gpu.sms)
              : "; none is cut, since that would save too little";
    }
    return text + fact("grid", blocks + ", one per tile, in an order of the kernel's own" + why);
  }
  const int k_tiles = model::padded_K(lab::product_of(run), v) / v.BK;
  const double bytes = 4.0 * static_cast<double>(model::floats_of_sums(shares, v, tiles));
  const std::string which =
      shares.whole == 0 ? "all" : text::grouped(shares.whole) + " whole, " + text::grouped(cut);
  text += fact("shared out", which + " cut along K in " + parts_of_a_tile(shares, k_tiles));
  text += fact(
      "grid",
      blocks + (shares.whole > 0 ? ", one per whole tile and one per part" : ", one per part"));
  return text + fact(
                    "sums", text::significant(bytes / 1e6) +
                                " MB in memory for the sums of the parts, allocated once");
}

std::string traced_blocks(
    const lab::Run& run, const model::Variant& v, const model::Counts& counts) {
  const model::ShareOut shares = lab::shares(run, v);
  const bool in_turns = model::is_in_turns(shares, model::tiles_of(v, run.M, run.N));
  const char* const sample = in_turns            ? " (one with most tiles, the one with the last)"
                             : shares.parts == 1 ? " (corners, edges, middle)"
                             : shares.whole == 0 ? " (all parts of two tiles)"
                                                 : " (a whole tile, and all parts of another)";
  return fact(
      "traced", text::grouped(counts.blocks_traced) + " of " + text::grouped(counts.blocks) +
                    " blocks, " + text::grouped(counts.threads_traced) + " threads" +
                    (lab::is_total(counts) ? ": the counts below are the whole launch's"
                                           : std::string(sample) + "; --trace all traces all"));
}

std::string launch_shape(const lab::Run& run, const lab::Row& row, text::Style style, bool whole) {
  const model::Variant& v = *row.variant;
  std::string text = heading("The launch", style) + problem(run);
  text += fact("kernel", lab::kernel_name(row));
  if (const model::Variant* const own = stood_in_for(row)) {
    text += fact(
        "", std::string("(in place of ") + own->kernel.name +
                ", whose copy engine needs every row of A, B and C to start at a multiple of 16 "
                "bytes; it copies single floats)");
  } else if (!row.aligned && v.kernel_any.function != v.kernel.function) {
    text += fact(
        "", "(copies single floats: not every row of A, B and C starts at a multiple of 16 bytes)");
  }
  const std::string depth =
      v.BK > 0 ? text::printed(", %d of K at a time: BM x BN, BK", v.BK) : ": BM x BN";
  text += fact("block's tile", text::printed("%d x %d of C", v.BM, v.BN) + depth);
  text += choice(run, row);
  // What the picture below says as well.
  if (v.WM > 0 && !whole)
    text += fact("warp's tile", text::printed("%d x %d of C: WM x WN", v.WM, v.WN));
  if ((v.TM > 0 || v.TN > 0) && !whole) {
    text += fact(
        "thread's tile",
        text::printed("%d x %d of C: TM x TN", std::max(v.TM, 1), std::max(v.TN, 1)));
  }
  if (!whole) text += fact("results", text::exact(lab::results_per_thread(v)) + " of C per thread");
  if (v.pipeline > 1) text += fact("pipeline", text::printed("%d tiles in flight", v.pipeline));
  text += fact(
      "block", text::printed(
                   "%d x %d = %d threads, %d warps", v.block_x, v.block_y, v.threads(),
                   run.gpu.warp.warps_of(v.threads())));
  text += v.sharing == model::Sharing::grid ? grid_of_blocks(run, v) : row_of_blocks(run, v);
  if (row.counts) text += traced_blocks(run, v, *row.counts);
  return text;
}

// For a kernel that is not a stage.
std::string own_launch_shape(const lab::Run& run, const lab::Row& row, text::Style style) {
  const lab::LaunchShape& shape = *row.launch;
  const auto extent = [](lab::LaunchShape::Extent e) {
    return text::printed("%u x %u x %u", e.x, e.y, e.z);
  };
  const auto volume = [](lab::LaunchShape::Extent e) { return 1LL * e.x * e.y * e.z; };
  std::string text = heading("The launch", style) + problem(run);
  text +=
      fact("block", extent(shape.block) + " = " + text::grouped(volume(shape.block)) + " threads");
  text += fact("grid", extent(shape.grid) + " = " + text::grouped(volume(shape.grid)) + " blocks");
  text += fact(
      "shared memory", text::grouped(shape.static_shared_bytes) + " B static, " +
                           text::grouped(shape.dynamic_shared_bytes) + " B dynamic");
  if (shape.launches > 1) {
    text += fact("launches", text::grouped(shape.launches) + "; this is the first one's shape");
  }
  const model::Counts& counts = *row.counts;
  return text +
         fact(
             "traced", text::grouped(counts.blocks_traced) + " of " + text::grouped(counts.blocks) +
                           " blocks, " + text::grouped(counts.threads_traced) + " threads");
}

}  // namespace

std::vector<Part> explain_tiles(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  if (row.stage && row.variant) {
    std::string text = launch_shape(run, row, style, whole) + "\n";
    for (const std::string& line : pictures::tile_picture(*row.variant, run.M, run.N)) {
      text += (line.empty() ? "" : text::repeated(" ", kIndent)) + line + "\n";
    }
    return {{text + swizzles_of(explained)}};
  }
  if (row.launch && row.variant && row.counts) return {{own_launch_shape(run, row, style)}};
  return {{heading("The problem", style) + problem(run)}};
}

}  // namespace report
