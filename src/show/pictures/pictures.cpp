#include "show/pictures/pictures.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lab/measure.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/ceiling.h"
#include "model/recording.h"
#include "model/refusal.h"
#include "show/pictures/block_times.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace pictures {

RecordedRow recorded_row(
    const model::StageTable& table, const model::Stage& stage, const model::Variant& variant,
    const lab::Problem& p, const model::Gpu& gpu, machine::Blocks blocks, std::size_t most_events) {
  model::Recorder recorder{.blocks = {0}, .most_events = most_events};
  lab::Row row{lab::traced(
      p, table, variant, {.gpu = &gpu, .blocks = blocks, .hazards = false, .recorder = &recorder})};
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &variant;
  return {std::move(row), std::move(recorder.launches.at(0))};
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kGpu = "H200";  // the GPU of the recorded times in the ladder's pictures

}  // namespace

TracedStage traced_stage(
    const model::StageTable& table, const model::Stage& stage, const lab::ProblemSize& sides) {
  const lab::Problem p = lab::random_problem(sides, 1, 0, 1);
  // None of the lesson's shapes cuts a tile, so all blocks are alike.
  auto [row, recording] = recorded_row(
      table, stage, stage.variants[0], p, *model::find_gpu(kGpu), machine::Blocks::kFirst);
  return {std::move(row), requests_of_block(std::move(recording), 0, p.M, p.N, p.K)};
}

namespace {

// Titles of pictures of stages and of a user's kernel.
constexpr const char* kOnCoalescing = "what a warp asks of global memory";
constexpr const char* kOnBanks = "the banks of shared memory";
constexpr const char* kOnWriters = "Which thread of the first block writes which element of C";

constexpr int kSide = 256;   // M, N and K of what is traced: the walkthrough's
constexpr int kShort = 128;  // another K, for the rates at a larger one

// The stage at its pace in the product of the recorded times: its counts there follow from those of
// two short ones. Nothing if the compiled kernel is not recorded.
std::optional<PacedStage> paced(
    const model::StageTable& table, const TracedStage& traced, int size) {
  lab::Run run{};
  run.M = run.N = run.K = size;
  run.alpha = 1;
  run.gpu = *model::find_gpu(kGpu);
  lab::Row row = traced.row;
  const lab::Row near = traced_stage(table, *row.stage, {kSide, kSide, kShort}).row;
  row.occupancy = lab::occupancy_of({}, run, *row.variant, row.variant->kernel);
  row.counts = model::extrapolated(*near.counts, *row.counts, (size - kShort) / (kSide - kShort));
  const std::optional<Pace> pace = pace_of(run, row);
  return pace ? std::optional(PacedStage{row.number, plan_of(traced), *pace}) : std::nullopt;
}

// What a stage's picture depends on.

// The requests to shared or to global memory that take more pieces than their lanes need: bytes of
// a lane, and pieces.
std::set<std::pair<int, int>> wastes(const BlockRequests& block, bool shared) {
  std::set<std::pair<int, int>> found;
  for (const model::RecordedEvent& request : block.events) {
    const bool is_waste = request.pieces > request.ideal;
    if (block.array_of(request).shared != shared || !is_waste) continue;
    found.insert({request.access.bytes, request.pieces});
  }
  return found;
}

void make_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (fs::is_directory(directory, error)) return;
  throw model::Refusal(
      "--figures " + text::echoed(directory) +
      ": is no directory and cannot be made one; give a directory that you may write to");
}

void refuse_if(const std::string& directory, const std::string& what, const std::string& problem) {
  if (problem.empty()) return;
  throw model::Refusal("--figures " + text::echoed(directory) + ": " + what + " " + problem);
}

}  // namespace

std::vector<Picture> draw_pictures(const model::StageTable& table) {
  const RecordedLadder& main = main_run(recorded_gpus().front().ladders);
  std::vector<Picture> pictures{draw_gpu()};
  std::optional<TracedStage> before;
  std::set<std::pair<int, int>> wasted;  // sectors, by the stages so far
  bool coalesced = false;                // there was a stage that ends a waste of sectors
  bool free_banks = false;               // and one that ends bank conflicts
  for (const model::Stage& stage : table.stages) {
    if (stage.variants.empty()) continue;
    TracedStage latest = traced_stage(table, stage, {kSide, kSide, kSide});
    const auto is_first = [&](const char* name) {
      return std::ranges::none_of(
          pictures, [&](const Picture& other) { return other.name.ends_with(name); });
    };
    const auto add = [&](const char* name, const char* title, Drawing drawing) {
      // Where a stage draws the same as one before, that stage's picture is enough.
      if (std::ranges::count(pictures, drawing, &Picture::drawing) > 0) return;
      pictures.push_back(
          {text::printed("stage%d%s", stage.number, name),
           text::printed("Stage %d, %s: %s", stage.number, stage.name, title), std::move(drawing)});
    };
    const model::Multiplier multiplier = latest.row.variant->multiplier;
    const BlockRequests& block = latest.block;
    if (multiplier == model::Multiplier::ffma) {
      if (auto tiles = draw_tiles(latest)) add("-tiles", "who computes what", std::move(*tiles));
    }
    if (!is_specialized(stage)) {
      const auto ended = [&](bool shared) {
        return before && !wastes(before->block, shared).empty() && wastes(block, shared).empty();
      };
      const std::size_t known = wasted.size();
      wasted.merge(wastes(block, false));
      if (wasted.size() > known || (ended(false) && !std::exchange(coalesced, true))) {
        add("-coalescing", kOnCoalescing, draw_coalescing(block));
      }
      if (!wastes(block, true).empty() || (ended(true) && !std::exchange(free_banks, true))) {
        add("-banks", kOnBanks, draw_banks(block).value());
      }
    }
    if (multiplier == model::Multiplier::mma_tf32 && is_first("-fragments")) {
      add("-fragments", "which lane holds which element of an mma", draw_fragments());
    }
    const bool by_all = latest.row.variant->sharing != model::Sharing::persistent;
    const char* const name = by_all ? "-boxes" : "-ring";
    if (has_ring(latest) && is_first(name)) {
      const auto ring = paced(table, latest, main.size);
      if (ring) add(name, "copying while multiplying", draw_ring(*ring));
    }
    if (latest.row.variant->WM > 0 && is_first("-lanes")) {
      add("-lanes", "a warp's lanes on its tile", draw_lanes(latest));
    }
    if (latest.row.variant->pipeline > 1 && before && is_first("-pipeline")) {
      const auto old = paced(table, *before, main.size), now = paced(table, latest, main.size);
      if (old && now) {
        add("-pipeline", "copying while multiplying", draw_pipeline(*old, *now, main));
      }
    }
    before = std::move(latest);
  }
  pictures.push_back(draw_layouts());
  std::ranges::copy(draw_charts(table).front().pictures, std::back_inserter(pictures));
  return pictures;
}

std::vector<Charts> draw_charts(const model::StageTable& table) {
  // Alike on GPUs with the same instructions.
  std::map<std::pair<const model::Variant*, int>, model::Counts> counts;
  std::vector<Charts> charts;
  for (const RecordedGpu& recorded : recorded_gpus()) {
    const RecordedLadder& main = main_run(recorded.ladders);
    lab::Run run{};
    run.K = kSide;
    run.gpu = recorded.gpu;
    for (const model::Stage& stage : table.stages) {
      if (stage.variants.empty() || main.of(stage.number).tflops == 0) continue;
      const model::Variant& variant =
          model::suited_variant(stage, run.gpu, main.size, main.size, main.size);
      const std::pair key(&variant, run.gpu.compute_capability);
      auto known = counts.find(key);
      if (known == counts.end()) {
        const lab::Problem p = lab::random_problem({variant.BM, variant.BN, kSide}, 1, 0, 1);
        const machine::Machine machine{&run.gpu, machine::Blocks::kSample, /*hazards=*/false};
        known = counts.emplace(key, *lab::traced(p, table, variant, machine).counts).first;
      }
      lab::Row& row = run.rows.emplace_back();
      row.number = stage.number;
      row.stage = &stage;
      row.variant = &variant;
      row.counts = known->second;
    }
    if (run.rows.empty()) continue;
    charts.push_back(
        {run.gpu.name, {draw_staircase(table.stages, recorded), draw_roofline(run, main)}});
  }
  return charts;
}

void write_pictures(const std::string& directory, const std::vector<Picture>& pictures) {
  make_directory(directory);
  for (const Picture& picture : pictures) {
    const std::string name = picture.name + ".svg";
    refuse_if(directory, name, text::write_file(fs::path(directory) / name, {svg_file(picture)}));
  }
}

void draw_figures(
    const std::string& directory, const model::StageTable& table,
    const std::vector<Picture>& others) {
  // Checked before the work, not after it.
  make_directory(directory);
  refuse_if(directory, "a picture", text::problem_of_writing(fs::path(directory) / "tiles.svg"));
  std::vector<Picture> pictures = draw_pictures(table);
  pictures.insert(pictures.end(), others.begin(), others.end());
  write_pictures(directory, pictures);
  for (const Picture& picture : pictures) {
    std::printf("%s.svg: %s\n", picture.name.c_str(), picture.drawing.finding.c_str());
  }
}

namespace {

constexpr std::size_t kMostLines = 12;  // of one request
constexpr int kMostRows = 32;           // of C
constexpr int kWidth = 80;              // of the pictures, in columns

// One character per number: 0 to 9, a to z, then from the start again.
char sign(int number) {
  return "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
}

std::string requests_text(const BlockRequests& block, text::Style style) {
  const auto kind_of = [&](std::size_t r) {
    const model::RecordedEvent& request = block.events[r];
    const model::RecordedSite& site = block.site_of(request);
    return std::optional(
        std::tuple(block.array_of(request).name, site.direction, request.access.bytes, site.line));
  };
  const auto waste_of = [&](std::size_t r) {
    const model::RecordedEvent& request = block.events[r];
    const int least = request.pieces - request.bank_conflicts - request.uncoalesced;
    return static_cast<double>(request.pieces) / std::max(least, 1);
  };
  std::string text;
  for (const std::size_t r : costliest(block, kind_of, waste_of)) {
    const int line = block.site_of(block.events[r]).line;
    const std::string where = line > 0 ? text::printed("line %d", line) : "a line";
    text += "  " + text::coloured(where, text::Colour::bold, style) + ": " +
            request_text(block, r, block.array_of(block.events[r]).name) + "\n" +
            picture_of(request_at(block, r), kMostLines);
  }
  return text;
}

std::string writers_text(const BlockRequests& block) {
  const Written written = written_by(block);
  if (written.rows == 0) return "  The first block stores nothing to C.\n";
  constexpr int kNumbered = 16, kMostCols = 64;  // columns
  int most = 0;
  for (const std::vector<int>& row : written.thread) {
    for (const int thread : row) most = std::max(most, thread);
  }
  const int digits = text::display_width(text::printed("%d", most));
  const bool numbers = written.cols <= kNumbered && written.cols * (digits + 1) <= kWidth - 2;
  std::string text =
      text::printed(
          "  Rows %d to %d, columns %d to %d of C; ", written.row, written.row + written.rows - 1,
          written.col, written.col + written.cols - 1) +
      (numbers ? "numbers are threads" : "a sign is a warp: 0-9, then a-z") +
      ";\n  '.' is no thread, '!' several.\n";
  for (int row = 0; row < std::min(written.rows, kMostRows); ++row) {
    text += "  ";
    for (int col = 0; col < std::min(written.cols, kMostCols); ++col) {
      const int thread = written.thread[row][col];
      const std::string one = thread == Written::kNobody    ? "."
                              : thread == Written::kSeveral ? "!"
                              : numbers                     ? text::printed("%d", thread)
                                        : std::string(1, sign(block.warp.warp_of(thread)));
      text += numbers ? text::pad_left(one, digits + 1) : one;
    }
    text += "\n";
  }
  if (written.rows > kMostRows || written.cols > kMostCols) {
    text += text::printed(
        "  Only the first of %d x %d elements are shown.\n", written.rows, written.cols);
  }
  return text;
}

// Whether the block stores something other than C, for example the sum of two vectors.
bool has_another_result(const BlockRequests& block) {
  return std::ranges::any_of(block.events, [&](const model::RecordedEvent& request) {
    const model::RecordedArray& array = block.array_of(request);
    return !array.shared && block.site_of(request).direction == model::Direction::store &&
           !array.name.ends_with('C');
  });
}

// The annotated source as HTML. The lines with complaints are marked.
std::string source_html(const std::string& source, const std::set<int>& lines) {
  std::string html = "<pre class=\"source\">";
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = std::string_view(source).substr(begin, end - begin);
    int number = 0;
    const std::size_t digits = std::min(line.find_first_not_of(' '), line.size());
    std::from_chars(line.data() + digits, line.data() + line.size(), number);
    const bool is_note = line.find("      |") == 0;
    const char* mark = !is_note && lines.contains(number)                ? "bad"
                       : is_note && line.find("<-") != std::string::npos ? "slow"
                       : is_note                                         ? "note"
                                                                         : nullptr;
    if (mark) html += std::string("<span class=\"") + mark + "\">";
    html += xml_escaped(line);
    if (mark) html += "</span>";
    html += "\n";
    begin = end + 1;
  }
  return html + "</pre>\n";
}

}  // namespace

void print_show(std::FILE* out, const Show& show, text::Style style) {
  const auto heading = [&](const std::string& text) {
    return "\n" + text::coloured(text, text::Colour::bold, style) + "\n";
  };
  std::string text = text::coloured(show.title, text::Colour::bold, style) + "\n";
  for (const std::string& complaint : show.complaints) text += text::labelled("  !", 4, complaint);
  for (const ShownKernel& kernel : show.kernels) {
    text += heading(kernel.name + ": " + kernel.launch);
    text += kernel.source;
    text += heading("What a warp of the first block asks of memory: the costliest requests");
    text += text::printed(
        "  A row is a line of %d bytes with its sectors in [ ], or a wavefront with its banks.\n"
        "  A sign is a lane: 0-9, then a-v; * is several lanes, . none.\n",
        kernel.block.warp.line_bytes);
    text += requests_text(kernel.block, style);
    if (has_another_result(kernel.block)) continue;
    text += heading(kOnWriters);
    text += writers_text(kernel.block);
  }
  std::fputs(text.c_str(), out);
}

std::string show_html(const Show& show) {
  std::string html;
  for (const ShownKernel& kernel : show.kernels) {
    html +=
        "<h2>" + xml_escaped(kernel.name) + "</h2>\n<p>" + xml_escaped(kernel.launch) + "</p>\n";
    if (!kernel.source.empty()) html += source_html(kernel.source, show.lines);
    if (kernel.block.events.empty()) continue;
    std::vector<Picture> drawn;
    const auto add = [&](const char* title, const Drawing& drawing) {
      drawn.push_back({"", kernel.name + ": " + title, drawing});
    };
    add(kOnCoalescing, draw_coalescing(kernel.block));
    if (const auto banks = draw_banks(kernel.block)) add(kOnBanks, *banks);
    html += svg_on_page(drawn);
    if (has_another_result(kernel.block)) continue;
    html += std::string("<h3>") + kOnWriters + "</h3>\n<pre>" +
            xml_escaped(writers_text(kernel.block)) + "</pre>\n";
  }
  return html;
}

}  // namespace pictures
