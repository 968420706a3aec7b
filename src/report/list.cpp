#include "report/list.h"

#include <algorithm>
#include <array>

#include "model/gpus.h"
#include "report/csv.h"
#include "report/facts.h"
#include "report/json.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr const char* kSerial = "serial";  // stage 0 is no kernel, and in no stage table

std::vector<Fact> facts_of(const model::Stage& stage, const model::Variant& v) {
  return {
      {"number", stage.number},
      {"name", stage.name},
      {"variant", v.name},
      {"default", &v == stage.variants.data()},
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
      {"kernel", v.kernel.name},
      {"kernel_any", v.kernel_any.name},
      {"needs_compute_capability", stage.needs}};
}

std::vector<std::vector<Fact>> all_facts(std::span<const model::Stage> stages) {
  std::vector<std::vector<Fact>> all;
  for (const model::Stage& stage : stages) {
    for (const model::Variant& variant : stage.variants) all.push_back(facts_of(stage, variant));
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

std::string line(const Cells& cells) {
  constexpr std::array<int, 11> kWidths = {2, 22, 18, 8, 3, 6, 5, 5, 7, 7, 5};
  constexpr int kNumber = 0, kName = 1, kVariant = 2;
  std::string text = text::pad_left(cells[kNumber], kWidths[kNumber]) + " ";
  for (int column : {kName, kVariant}) {
    text += ' ';
    text += text::pad_right(text::shortened(cells[column], kWidths[column]), kWidths[column]);
  }
  for (std::size_t column = kVariant + 1; column < cells.size(); ++column) {
    text += ' ';
    text += text::pad_left(cells[column], kWidths[column]);
  }
  return text + "\n";
}

std::string gpu_names() {
  std::string names;
  for (const model::Gpu& gpu : model::known_gpus()) names += (names.empty() ? "" : ", ") + gpu.name;
  return names;
}

std::string as_table(std::span<const model::Stage> stages) {
  const std::string none = "–";
  std::string text =
      line({"", "", "", "block", "", "warp", "thrd", "", "threads", "dynamic", "needs"}) +
      line(
          {"#", "stage", "variant", "BMxBN", "BK", "WMxWN", "TMxTN", "tiles", "a block", "SMEM B",
           "sm_"}) +
      line({"0", kSerial, "", none, none, none, none, none, none, none, none});
  for (const model::Stage& stage : stages) {
    for (const model::Variant& v : stage.variants) {
      const bool first = &v == stage.variants.data();
      const char* mark = first && stage.variants.size() > 1 ? " *" : "";
      text += line(
          {first ? std::to_string(stage.number) : "", first ? stage.name : "",
           std::string(v.name) + mark, tile(v.BM, v.BN), count(v.BK), tile(v.WM, v.WN),
           tile(v.TM, v.TN), count(v.pipeline), std::to_string(v.threads()), count(v.shared_bytes),
           stage.needs > 0 ? std::to_string(stage.needs) : "any"});
    }
  }
  return text +
         "\n*      runs unless --variant NAME names another\n"
         "tiles  in flight at once\n"
         "SMEM   shared memory asked for at launch; what a kernel declares comes on top\n" +
         text::labelled("GPUs", 7, "for --gpu: " + gpu_names());
}

}  // namespace

void print_list(std::FILE* out, std::span<const model::Stage> stages, Format format) {
  std::string text;
  if (format == Format::table) {
    text = as_table(stages);
  } else if (format == Format::json) {
    text = "{\n" + json_array("variants", all_facts(stages)) + "\n}\n";
  } else {
    text = csv_names(facts_of(model::Stage{}, model::Variant{}));
    for (const std::vector<Fact>& facts : all_facts(stages)) text += csv_values(facts);
  }
  std::fputs(text.c_str(), out);
}

}  // namespace report
