#include "report/list.h"

#include <algorithm>
#include <array>
#include <vector>

#include "model/stage.h"
#include "report/csv.h"
#include "report/facts.h"
#include "report/json.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr const char* kSerial = "serial";  // stage 0 is no kernel, and in no stage table

bool is_chosen(const model::Stage& stage, const model::Variant& v, const ChoiceFor& choice) {
  return &v == &model::suited_variant(stage, choice.gpu, choice.M, choice.N);
}

// "default" is the stage's first variant, for large products, and "chosen" the one that runs.
std::vector<Fact> facts_of(const model::Stage& stage, const model::Variant& v, bool chosen) {
  return {
      {"number", stage.number},
      {"name", stage.name},
      {"variant", v.name},
      {"default", &v == stage.variants.data()},
      {"for_small", v.for_small},
      {"chosen", chosen},
      {"BM", v.BM},
      {"BN", v.BN},
      {"BK", v.BK},
      {"WM", v.WM},
      {"WN", v.WN},
      {"TM", v.TM},
      {"TN", v.TN},
      {"pipeline", v.pipeline},
      {"threads_per_block", v.threads()},
      {"smem_bytes_dynamic", v.shared_bytes},
      {"cuts_tiles", v.sharing == model::Sharing::cut},
      {"kernel", v.kernel.name},
      {"kernel_any", v.kernel_any.name},
      {"needs_compute_capability", stage.needs}};
}

std::vector<std::vector<Fact>> all_facts(
    std::span<const model::Stage> stages, const ChoiceFor& choice) {
  std::vector<std::vector<Fact>> all;
  for (const model::Stage& stage : stages) {
    for (const model::Variant& variant : stage.variants) {
      all.push_back(facts_of(stage, variant, is_chosen(stage, variant, choice)));
    }
  }
  return all;
}

// "8x8", or nothing where a stage has no such tile.
std::string tile(int rows, int columns) {
  if (rows < 1 && columns < 1) return "–";
  return text::printed("%dx%d", std::max(rows, 1), std::max(columns, 1));
}

std::string count(int value) {
  return value > 0 ? std::to_string(value) : "–";
}

using Cells = std::array<std::string, 11>;
constexpr std::size_t kName = 1, kVariant = 2;

std::array<int, 11> widths_of(const std::vector<Cells>& lines) {
  std::array<int, 11> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      widths[column] = std::max(widths[column], text::display_width(cells[column]));
    }
  }
  return widths;
}

// Where the terminal is too narrow, a stage's name has a line of its own, above its variants.
std::string laid_out(const std::vector<Cells>& lines) {
  const std::array<int, 11> widths = widths_of(lines);
  int all = static_cast<int>(widths.size()) - 1;
  for (const int width : widths) all += width;
  const bool narrow = all > text::report_width();
  std::string text;
  for (const Cells& cells : lines) {
    std::string line = text::pad_left(cells[0], widths[0]);
    if (narrow && !cells[kName].empty()) {
      text += line + " " + cells[kName] + "\n";
      if (cells[kName] == kSerial) continue;  // it has no variants
      line = text::repeated(" ", widths[0]);
    } else if (!narrow) {
      line += " " + text::pad_right(cells[kName], widths[kName]);
    }
    line += " " + text::pad_right(cells[kVariant], widths[kVariant]);
    for (std::size_t column = kVariant + 1; column < cells.size(); ++column) {
      line += " " + text::pad_left(cells[column], widths[column]);
    }
    text += text::without_trailing_spaces(line) + "\n";
  }
  return text;
}

std::string gpu_names() {
  std::string names;
  for (const model::Gpu& gpu : model::known_gpus()) names += (names.empty() ? "" : ", ") + gpu.name;
  return names;
}

// How the variants of a stage with several are marked.
std::string mark(const model::Stage& stage, const model::Variant& v, const ChoiceFor& choice) {
  if (stage.variants.size() == 1) return "";
  if (is_chosen(stage, v, choice)) return " *";
  return v.for_small || &v == stage.variants.data() ? " +" : "";
}

// The stages that need memory besides A, B and C.
std::string memory_for_sums(
    std::span<const model::Stage> stages, const ChoiceFor& choice, int term) {
  std::string text;
  for (const model::Stage& stage : stages) {
    std::int64_t most = 0;  // floats
    for (const model::Variant& v : stage.variants) {
      const std::int64_t of_two_tiles = std::int64_t{2} * v.BM * v.BN * choice.gpu.sms;
      if (v.sharing == model::Sharing::cut) most = std::max(most, of_two_tiles);
    }
    if (most == 0) continue;
    text += text::labelled(
        "memory", term,
        "stage " + std::to_string(stage.number) +
            " keeps sums of parts of tiles in GPU memory, at most two tiles per SM: " +
            text::significant(4e-6 * static_cast<double>(most)) + " MB on the " + choice.gpu.name +
            ", allocated once");
  }
  return text;
}

std::string as_table(std::span<const model::Stage> stages, const ChoiceFor& choice) {
  const std::string none = "–";
  std::vector<Cells> lines = {
      {"", "", "", "block", "", "warp", "thread", "", "threads", "dynamic", "needs"},
      {"#", "stage", "variant", "BMxBN", "BK", "WMxWN", "TMxTN", "tiles", "per block", "SMEM B",
       "sm_"},
      {"0", kSerial, "", none, none, none, none, none, none, none, none}};
  for (const model::Stage& stage : stages) {
    for (const model::Variant& v : stage.variants) {
      const bool first = &v == stage.variants.data();
      lines.push_back(
          {first ? std::to_string(stage.number) : "", first ? stage.name : "",
           std::string(v.name) + mark(stage, v, choice), tile(v.BM, v.BN), count(v.BK),
           tile(v.WM, v.WN), tile(v.TM, v.TN), count(v.pipeline), text::grouped(v.threads()),
           v.shared_bytes > 0 ? text::grouped(v.shared_bytes) : none,
           stage.needs > 0 ? std::to_string(stage.needs) + (stage.only_there ? "a" : "") : "any"});
    }
  }
  constexpr int kTerm = 7;
  return laid_out(lines) + "\n" +
         text::labelled(
             "*", kTerm,
             "runs unless --variant NAME names another: it suits C (" + std::to_string(choice.M) +
                 " x " + std::to_string(choice.N) + ") on the " + choice.gpu.name) +
         text::labelled(
             "+", kTerm,
             "runs for other sizes or GPUs (--size, --gpu). A stage's first variant is for large "
             "products. One below it runs if the SM with the most tiles then computes at most 3/4 "
             "of the results, or no more of them with more warps where it has fewer than 12 and "
             "the stage keeps no tiles in flight. With tensor cores, it runs if that SM's products "
             "and loads then take at most 7/10 of the time") +
         text::labelled("tiles", kTerm, "in flight at once") +
         text::labelled(
             "SMEM", kTerm,
             "shared memory requested at launch; what a kernel declares is added to it") +
         memory_for_sums(stages, choice, kTerm) +
         text::labelled("GPUs", kTerm, "for --gpu: " + gpu_names());
}

}  // namespace

void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice, Format format) {
  std::string text;
  if (format == Format::table) {
    text = as_table(stages, choice);
  } else if (format == Format::json) {
    text = "{\n" + json_array("variants", all_facts(stages, choice)) + "\n}\n";
  } else {
    text = csv_names(facts_of(model::Stage{}, model::Variant{}, false));
    for (const std::vector<Fact>& facts : all_facts(stages, choice)) text += csv_values(facts);
  }
  std::fputs(text.c_str(), out);
}

}  // namespace report
