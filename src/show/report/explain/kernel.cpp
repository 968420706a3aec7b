// --explain's sections about the kernel's lines and the tiles of its block.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"
#include "show/report/explain/explain.h"
#include "show/report/words.h"
#include "simulator/simulator.h"
#include "text/numbers.h"

namespace report {

namespace {

using pictures::counted;

using Lines = std::vector<std::string>;

// One box, cut into parts of that size. Of more parts than there is room for the first are drawn.
Lines box(
    const char* name, int rows, int columns, int part_rows, int part_columns, const char* parts) {
  constexpr long long kMostDown = 4;
  const long long most_across = text::report_width() < text::kReportWidth ? 4 : 8;
  const auto size = [](long long down, long long across) {
    return text::printed("%lld x %lld", down, across);
  };
  const auto cut = [](long long length, int part) {
    return part > 0 ? (length + part - 1) / part : 1;
  };
  const long long all_down = cut(rows, part_rows), all_across = cut(columns, part_columns);
  const int down = static_cast<int>(std::clamp(all_down, 1LL, kMostDown));
  const int across = static_cast<int>(std::clamp(all_across, 1LL, most_across));
  const bool more_down = all_down > down, more_across = all_across > across;
  const std::string edge = text::repeated("─", 2 * across + 1) + (more_across ? "─ ─" : "");
  Lines lines{name, size(rows, columns), "┌" + edge + (more_across ? "" : "┐")};
  for (int row = 0; row < down; ++row) {
    lines.push_back(
        std::string("│ ") + (row == 0 ? "■ " : "□ ") + text::repeated("□ ", across - 1) +
        (more_across ? " …" : "│"));
  }
  lines.push_back(
      more_down ? "  " + text::repeated("⋮ ", across) : "└" + edge + (more_across ? "" : "┘"));
  lines.push_back(size(all_down, all_across) + " " + parts);
  return lines;
}

// C (M x N) cut into block tiles, and then what `v` cuts these into; a tile that is cut further is
// the one filled in. The sizes are the variant's; which elements of its tile a lane takes is the
// kernel's business, and drawn as one piece.
std::string tile_picture(const model::Variant& v, int M, int N) {
  const int TM = std::max(v.TM, 1), TN = std::max(v.TN, 1);
  std::vector<Lines> boxes{box("matrix C", M, N, v.BM, v.BN, "blocks")};
  if (v.WM > 0 && v.WN > 0) {
    boxes.push_back(box("block's tile", v.BM, v.BN, v.WM, v.WN, "warps"));
    boxes.push_back(box("warp's tile", v.WM, v.WN, TM, TN, "lanes"));
  } else {
    boxes.push_back(box("block's tile", v.BM, v.BN, TM, TN, "threads"));
  }
  if (TM * TN > 1) boxes.push_back(box("thread's tile", TM, TN, 1, 1, "results"));

  std::vector<text::Cells> picture(std::ranges::max(boxes, {}, &Lines::size).size(), {" "});
  for (const Lines& lines : boxes) {
    for (std::size_t row = 0; row < picture.size(); ++row) {
      // ■ of one box is the next box.
      if (&lines != &boxes.front()) picture[row].push_back(row == 3 ? " →" : "");
      picture[row].push_back(row < lines.size() ? lines[row] : "");
    }
  }
  const std::vector<int> widths = text::widths_of(picture, picture[0].size());
  std::string text;
  for (const text::Cells& cells : picture) text += text::in_columns(cells, widths);
  return text;
}

std::string place(int line, int helper_line) {
  return line == 0         ? "?"
         : helper_line > 0 ? text::printed("%d, in %d", line, helper_line)
                           : text::printed("%d", line);
}

std::string grouped_or_dash(const std::optional<std::int64_t>& count) {
  return count ? text::grouped(*count) : "-";
}

// "32 LDS + 8 LDS.128", of the code.
std::string instructions(const model::CompiledLine& line) {
  constexpr const char* kLoads[] = {"LDS.8", "LDS.16", "LDS", "LDS.64", "LDS.128"};
  std::string text;
  for (std::size_t i = 0; i < std::size(kLoads); ++i) {
    if (line.by_bytes[i] == 0) continue;
    text += (text.empty() ? "" : " + ") + text::printed("%d %s", line.by_bytes[i], kLoads[i]);
  }
  return text;
}

std::string loads_as_compiled(const lab::Row& row, text::Style style) {
  const model::CompiledLoads& compiled = *row.shared_loads->compiled;
  if (compiled.lines.empty()) return "";
  const auto columns = [](const text::Cells& cells) {
    std::string line = "  " + text::in_columns(cells, {-10, -12, 10, 11, 11, 11, 0, -1});
    line.pop_back();
    return text::shortened(line, text::report_width()) + "\n";
  };
  std::string text = heading(
      "Its loads from shared memory as nvcc compiled them for " + row.shared_loads->architecture +
          " (in the traced blocks)",
      style);
  text += columns({"", "", "as written", "", "as compiled", "", "", "in the code"});
  text += columns({"line", "", "requests", "wavefronts", "requests", "wavefronts"});
  const auto counts = [&](const std::string& name, const model::CompiledLine& line) {
    std::string arrays;
    for (const std::string& array : line.arrays) arrays += (arrays.empty() ? "" : ", ") + array;
    return columns(
        {name, text::shortened(arrays, 12), text::grouped(line.requests),
         text::grouped(line.wavefronts), grouped_or_dash(line.compiled_requests),
         grouped_or_dash(line.compiled_wavefronts), "", instructions(line)});
  };
  for (const model::CompiledLine& line : compiled.lines) {
    text += counts(place(line.line, line.helper_line), line);
  }
  const model::CompiledLine all = compiled.all();
  if (compiled.lines.size() > 1) text += counts("all", all);
  if (!all.compiled_requests || !all.compiled_wavefronts) {
    text += verdict(
        "-: cannot be told. The code does not say how often a warp makes these loads, or which "
        "array each of them reads.");
  }
  return text;
}

std::string that_may_be_merged(const lab::Row& row, text::Style style) {
  const std::vector<model::MergeableLine> lines = model::mergeable_lines(*row.counts);
  if (lines.empty()) return "";
  std::string text = heading("Loads from shared memory that the compiler may merge", style);
  for (const model::MergeableLine& line : lines) {
    const std::string where = place(line.line, line.helper_line);
    text += line.share == 1
                ? text::printed(
                      "  line %s, %s: %d loads in one, %.2f instead of %.2f wavefronts\n",
                      where.c_str(), line.array.c_str(), line.loads, line.wavefronts_merged,
                      line.wavefronts)
                : text::printed(
                      "  line %s, %s: %d loads in one, of %.0f %% of the line's loads\n",
                      where.c_str(), line.array.c_str(), line.loads, 100 * line.share);
  }
  return text +
         verdict(
             "Each warp loads neighbouring words, and all its lanes are aligned alike. If the "
             "compiler also unrolls the loop around them, it merges them. " +
             row.shared_loads->why_unknown);
}

// The part of the kernel about its loads from shared memory: as nvcc compiled them, or which of
// them it may merge. Empty for a stage, and if there is nothing of the kind.
std::string shared_loads_of(const lab::Row& row, text::Style style) {
  if (!row.shared_loads || !row.counts) return "";
  return row.shared_loads->compiled ? loads_as_compiled(row, style)
                                    : that_may_be_merged(row, style);
}

}  // namespace

SectionParts explain_kernel(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.variant || !row.counts) return {};
  const std::string file = trace::file_unless(trace::users_file, row.source_file);
  const std::string title = heading(
      "What each line " + (file.empty() ? "" : "of " + file + " ") +
          "asks of memory (in the traced blocks)" + (whole ? "; other lines are left out" : ""),
      style);
  const std::string annotated = annotated_source(row, style, whole);
  if (annotated.empty()) {
    return {
        {title + verdict("The lines are unknown, because addr2line (of binutils) is missing.")}};
  }
  constexpr int kRows = 8, kRowsOfWhole = 2;  // of a picture
  const std::string picture = worst_request(row, style, whole ? kRowsOfWhole : kRows);
  return {
      {title + annotated + (picture.empty() ? "" : "\n" + picture)}, {shared_loads_of(row, style)}};
}

namespace {

constexpr int kChunks = 8;  // of 16 bytes, in the 32 banks

// Of a chunk in its row, or the chunk at a place. With one key nothing is swizzled.
int place_of(int keys, int row, int chunk) {
  return chunk ^ row % keys;
}

// Of the lanes that read together.
std::string turns(const model::RowSwizzle& swizzle, int keys) {
  constexpr int kBytes = 16;
  model::WarpAccess access{.active = 0, .bytes = kBytes, .address = {}};
  int lane = 0;
  for (const int chunk : swizzle.chunks) {
    for (int row = 0; row < swizzle.rows; ++row, ++lane) {
      access.active |= 1u << lane;
      access.address[lane] = std::uint64_t(row * kChunks + place_of(keys, row, chunk)) * kBytes;
    }
  }
  return counted(model::wavefronts_of_load(access).size(), "wavefront");
}

// Which chunk lies in which banks, with those in brackets that are read together.
std::string map(const model::RowSwizzle& swizzle) {
  const auto cells = [&](int row, int keys) {
    std::string text;
    for (int at = 0; at < kChunks; ++at) {
      const int chunk = place_of(keys, row, at);
      const bool is_read = std::ranges::count(swizzle.chunks, chunk) > 0;
      text += text::printed(is_read ? "[%d] " : " %d  ", chunk);
    }
    return text;
  };
  std::string text = text::printed(
      "  %-8s%-36s%s\n", "", ("as it is: " + turns(swizzle, 1)).c_str(),
      ("swizzled: " + turns(swizzle, swizzle.keys)).c_str());
  std::string banks;
  for (int at = 0; at < kChunks; ++at) banks += text::printed("%2d  ", 4 * at);
  text += text::printed("  %-7s%s    %s\n", "bank", banks.c_str(), banks.c_str());
  for (int row = 0; row < swizzle.rows; ++row) {
    text += text::printed(
        "  row %-3d%s    %s\n", row, cells(row, 1).c_str(), cells(row, swizzle.keys).c_str());
  }
  return text;
}

// The steps along K of the lane that reads the first chunk of one row.
std::string walk(const model::RowSwizzle& swizzle) {
  constexpr int kRow = 3;
  const int first = place_of(swizzle.keys, kRow, swizzle.chunks[0]);
  std::string places = std::to_string(first), bytes;
  for (const int step : swizzle.walk) {
    places += text::printed(", %d", first ^ step);
    bytes += text::printed("%s%d", bytes.empty() ? "" : ", ", 16 * step);
  }
  return fact(
      "walk", text::printed(
                  "in row %d from step to step along K: place %s. That is the first address XOR %s "
                  "bytes: the row's key stays in it, so nothing is computed anew.",
                  kRow, places.c_str(), bytes.c_str()));
}

// How the tiles lie in shared memory, where they are swizzled.
std::vector<model::RowSwizzle> swizzles_of(const lab::Row& row) {
  if (!row.stage || !row.variant) return {};
  return model::lesson_of(*row.stage, *row.variant).swizzles;
}

// All that the whole says of them.
std::string rules_of_swizzles(const lab::Row& row) {
  std::string rules;
  for (const model::RowSwizzle& swizzle : swizzles_of(row)) {
    rules += text::printed(
        "%sc ^ r %% %d in %s's%s", rules.empty() ? "" : ", ", swizzle.keys, swizzle.tile,
        rules.empty() ? " row r" : "");
  }
  if (rules.empty()) return "";
  return fact("swizzle", "chunk c at " + rules + "; --section swizzle draws it");
}

std::string problem(const lab::Run& run) {
  if (!run.program.empty()) return fact("program", text::shortened(run.program, 80));
  return fact("problem", product(run) + ", fp32, row-major") +
         (run.checked ? fact("checked", checked_words(run)) : "");
}

// Why this variant runs, where the stage has several to choose from.
std::string choice(const Known& known) {
  if (!known.choice) return "";
  const auto& [chosen, other, now, instead] = *known.choice;
  const int sms = known.run.gpu.sms;
  const std::string name = chosen->name, of_other = other->name;
  if (known.row.variant != chosen) {
    return fact("choice", "by --variant; without it, " + name + " would be chosen for this C");
  }
  const bool cuts = chosen->share_out != nullptr;
  std::string why = name + " was chosen: with " + of_other + (cuts ? " and no tile cut, " : ", ");
  if (!known.is_first && instead.tiles < sms) {
    why += text::printed("only %lld of %d SMs would have a block, and ", instead.tiles, sms);
  }
  const std::string results = text::grouped(instead.results) + " results";
  why += "the busiest SM would " +
         (instead.results == now.results
              ? "also compute " + results
              : "compute " + results + " instead of " + text::grouped(now.results));
  if (!known.is_first && instead.results == now.results) {
    why += text::printed(", but with %lld warps instead of %lld", instead.warps, now.warps);
  }
  const bool tensor = chosen->multiplier != model::Multiplier::ffma;
  if (tensor) {
    why += text::printed(
        ". Its products and loads would take at least %.0f clocks for each step of K, instead of "
        "%.0f",
        instead.clocks, now.clocks);
  }
  const std::string at_most = tensor ? "7/10" : "3/4";
  return fact(
      "choice", why + (known.is_first ? ". A smaller tile is chosen only where they are at most " +
                                            at_most + "."
                                      : ". --variant " + of_other + " overrides."));
}

// "2 slices of 459 and 53 K tiles", "8 slices of 4 K tiles"; uneven ones end in ", the last of 4".
std::string slices_of_a_tile(const SharedOut& shares) {
  const int last = shares.k_tiles - (shares.slices - 1) * shares.depth;
  if (shares.slices == 2 && last != shares.depth) {
    return text::printed("2 slices of %d and %d K tiles", shares.depth, last);
  }
  return text::printed("%d slices of %d K tiles", shares.slices, shares.depth) +
         (last != shares.depth ? text::printed(", the last of %d", last) : "");
}

// For a launch whose blocks are not arranged like the tiles of C.
std::string row_of_blocks(const Known& known) {
  const lab::Run& run = known.run;
  const model::Variant& v = *known.row.variant;
  const SharedOut& shares = *known.shares;
  const int rows = (run.M + v.BM - 1) / v.BM, cols = (run.N + v.BN - 1) / v.BN;
  const int tiles = shares.tiles, cut = shares.cut_tiles();
  std::string text = fact(
      "tiles", text::printed(
                   "ceil(M/BM) x ceil(N/BN) = ceil(%d/%d) x ceil(%d/%d) = %d x %d = ", run.M, v.BM,
                   run.N, v.BN, rows, cols) +
                   text::grouped(tiles) + " of C");
  const std::string blocks = counted(known.grid->x, "block") + " in one row";
  if (v.sharing == model::Sharing::persistent) {
    return text + fact(
                      "grid",
                      blocks +
                          (shares.in_turns ? text::printed(
                                                 ", one per SM: block b takes tiles b, b + %d, ...",
                                                 shares.blocks)
                                           : ", one per tile") +
                          ", in an order of the kernel's own");
  }
  if (cut == 0) {
    std::string why;
    if (v.share_out != nullptr) {
      why =
          tiles % run.gpu.sms == 0
              ? text::printed("; none is cut, since each of %d SMs gets equally many", run.gpu.sms)
              : "; none is cut, since that would save too little";
    }
    return text + fact("grid", blocks + ", one per tile, in an order of the kernel's own" + why);
  }
  const std::string which =
      shares.whole == 0 ? "all" : text::grouped(shares.whole) + " whole, " + text::grouped(cut);
  text += fact("shared out", which + " cut along K in " + slices_of_a_tile(shares));
  text += fact(
      "grid",
      blocks + (shares.whole > 0 ? ", one per whole tile and one per slice" : ", one per slice"));
  return text + fact(
                    "sums", text::significant(1e-6 * static_cast<double>(shares.sums_bytes)) +
                                " MB in memory for the sums of the slices, allocated once");
}

std::string along_part(const model::Counts& counts, const model::Variant& v, bool in_turns) {
  if (counts.blocks_traced != 1) return " (corners, edges, middle) along a slice of K";
  return std::string(" (the first, for all are alike") +
         (model::multiplies_parts(v) ? "; of a C of two tiles" : "") + ") along a slice of K" +
         (in_turns ? " and of its tiles" : "");
}

// "5 of 64 blocks, 1,280 threads"
std::string traced_words(const model::Counts& counts) {
  return text::grouped(counts.blocks_traced) + " of " + counted(counts.blocks, "block") + ", " +
         counted(counts.threads_traced, "thread");
}

std::string traced_blocks(const Known& known) {
  const model::Counts& counts = *known.row.counts;
  const SharedOut& shares = *known.shares;
  const std::string sample = counts.along_part_of_K
                                 ? along_part(counts, *known.row.variant, shares.in_turns)
                             : shares.in_turns    ? " (one with most tiles, the one with the last)"
                             : shares.slices == 1 ? " (corners, edges, middle)"
                             : shares.whole == 0  ? " (all slices of two tiles)"
                                                  : " (a whole tile, and all slices of another)";
  return fact(
      "traced",
      traced_words(counts) + (lab::is_total(counts) ? ": the counts below are the whole launch's"
                                                    : sample + "; --trace all traces all"));
}

std::string launch_shape(const Known& known, text::Style style, bool whole) {
  const lab::Run& run = known.run;
  const lab::Row& row = known.row;
  const model::Variant& v = *row.variant;
  std::string text = heading("The launch", style) + problem(run);
  text += fact("kernel", lab::kernel_name(row));
  if (!row.aligned && v.kernel_any.function != v.kernel.function) {
    text += fact(
        "", v.has_maps
                ? "(stores single floats: not every row of C starts at a multiple of 16 bytes)"
                : "(copies single floats: not every row of A, B and C starts at a multiple of "
                  "16 bytes)");
  }
  if (v.has_maps && model::bytes_of_element(v) == 4 && !model::multiplies_parts(v) &&
      (run.N % 4 != 0 || run.K % 4 != 0)) {
    text += fact(
        "copies",
        "of A and B are made first, and timed, too: the copy engine needs rows that start at "
        "multiples of 16 bytes");
  }
  const std::string depth =
      v.BK > 0 ? text::printed(", %d of K at a time: BM x BN, BK", v.BK) : ": BM x BN";
  text += fact("block's tile", text::printed("%d x %d of C", v.BM, v.BN) + depth);
  text += choice(known);
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
      "block", text::printed("%d x %d = %d threads, ", v.block_x, v.block_y, v.threads()) +
                   counted(run.gpu.warp.warps_of(v.threads()), "warp"));
  if (v.sharing != model::Sharing::grid) {
    text += row_of_blocks(known);
  } else {
    text += fact(
        "grid", text::printed(
                    "ceil(N/BN) x ceil(M/BM) = ceil(%d/%d) x ceil(%d/%d) = %lld x %lld = ", run.N,
                    v.BN, run.M, v.BM, known.grid->x, known.grid->y) +
                    counted(known.grid->x * known.grid->y, "block"));
  }
  if (row.counts) text += traced_blocks(known);
  return text;
}

// For a kernel that is not a stage.
std::string own_launch_shape(const lab::Run& run, const lab::Row& row, text::Style style) {
  const lab::LaunchShape& shape = *row.launch;
  const auto extent = [](machine::Extent e) {
    return text::printed("%u x %u x %u", e.x, e.y, e.z);
  };
  std::string text = heading("The launch", style) + problem(run);
  text += fact("block", extent(shape.block) + " = " + counted(shape.block.volume(), "thread"));
  text += fact("grid", extent(shape.grid) + " = " + counted(shape.grid.volume(), "block"));
  text += fact(
      "shared memory", text::grouped(shape.static_shared_bytes) + " B static, " +
                           text::grouped(shape.dynamic_shared_bytes) + " B dynamic");
  if (shape.launches > 1) {
    text += fact("launches", text::grouped(shape.launches) + "; this is the first one's shape");
  }
  return text + fact("traced", traced_words(*row.counts));
}

}  // namespace

SectionParts explain_launch(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (row.stage && row.variant) return {{launch_shape(known, style, whole)}};
  if (row.launch && row.variant && row.counts) return {{own_launch_shape(run, row, style)}};
  return {{heading("The problem", style) + problem(run)}};
}

SectionParts explain_swizzle(const Explained& explained) {
  SectionParts parts;
  for (const model::RowSwizzle& swizzle : swizzles_of(explained.row)) {
    const std::string rule =
        std::string("row r of ") + swizzle.tile + " at c ^ r % " + std::to_string(swizzle.keys);
    std::string text =
        heading("The swizzle: chunk c of 16 bytes lies in " + rule, explained.style) +
        map(swizzle) +
        fact("[in brackets]", std::string("what ") + swizzle.read_by + " reads at a time");
    if (!swizzle.walk.empty()) text += walk(swizzle);
    parts.push_back({text});
  }
  return parts;
}

SectionParts explain_tiles(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  SectionParts parts = explain_launch(explained);
  if (!row.stage || !row.variant) return parts;
  std::string& text = parts[0].text += "\n" + tile_picture(*row.variant, run.M, run.N);
  if (whole) {
    text += rules_of_swizzles(row);
  } else {
    for (SectionPart& part : explain_swizzle(explained)) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace report
