#include "show/pictures/recorded_gpus.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/json.h"
#include "text/numbers.h"

namespace pictures {

namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// "1,779" is 1779, "~491,253" is 491253, and "~491s", seconds among milliseconds, is 491000.
double number(std::string_view written) {
  std::string word(written);
  std::erase_if(word, [](char sign) { return sign == ',' || sign == '~'; });
  const bool in_seconds = word.ends_with('s');
  if (in_seconds) word.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw std::invalid_argument("not a number in a recorded table: " + word);
  }
  return in_seconds ? 1000 * value : value;
}

// The number of the row with that name; nothing if it is no yardstick.
std::optional<int> yardstick(std::string_view name) {
  if (name.starts_with("cuBLAS fp32")) return kCublasFp32;
  if (name.starts_with("cuBLAS tf32")) return kCublasTf32;
  return std::nullopt;
}

bool is_name(std::string_view word) {
  return std::isalpha(static_cast<unsigned char>(word.front())) != 0 || word == "+";
}

// A tiny number ("<.01"), or a missing one ("–").
double number_or_zero(std::string_view word) {
  return word.empty() || word.starts_with('<') || word == "–" ? 0 : number(word);
}

// The column of the speed: below the words "TFLOP/s", or in older tables below "Tera FLOP /s" in
// three lines. Older tables also have each stage's speed relative to the stage before.
struct Heading {
  int begin, end;  // columns
  bool has_times;
};

// "H200" in "GPU      H200, 132 SMs, cc 9.0"; empty if the head of the table does not have it.
std::string gpu_above(std::string_view table) {
  while (!table.empty()) {
    std::string_view line = next_line(table);
    if (line.empty()) break;
    if (next_word(line) != "GPU") continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return std::string(line.substr(0, line.find(',')));
  }
  return "";
}

int column(std::string_view line, std::size_t byte) {
  return text::display_width(line.substr(0, byte));
}

Heading heading_of(std::string_view& table) {
  std::string_view above;
  while (!table.empty()) {
    const std::string_view line = next_line(table);
    if (line.find("# stage") != line.npos) {
      const std::size_t old = line.find("/s"), now = above.find("TFLOP/s");
      if (old != line.npos) return {column(line, old), column(line, old) + 2, true};
      if (now != above.npos) return {column(above, now), column(above, now) + 7, false};
      break;
    }
    above = line;
  }
  throw std::invalid_argument("no table: no speeds");
}

struct Words {
  std::string_view time, speed;
};

// The number of `row` that stands, at least in part, below the heading, where a long name may end
// as well, and the word before it. `row` is left with what follows.
Words words_below(const Heading& heading, std::string_view& row) {
  const std::string_view all = row;
  std::string_view before;
  while (!row.empty()) {
    const std::string_view word = next_word(row);
    const int at = column(all, word.data() - all.data());
    if (!is_name(word) && at < heading.end && at + text::display_width(word) > heading.begin)
      return {before, word};
    before = word;
  }
  throw std::invalid_argument("no row: " + std::string(all));
}

}  // namespace

RecordedSpeed RecordedLadder::of(int number) const {
  for (const RecordedSpeed& speed : speeds) {
    if (speed.number == number) return speed;
  }
  return {number, 0, 0, 0};
}

RecordedLadder recorded_run(std::string_view table) {
  RecordedLadder run{};
  std::string_view first = next_line(table);
  if (!first.starts_with("problem  C (")) throw std::invalid_argument("no table: no problem");
  first.remove_prefix(12);
  run.size = static_cast<int>(number(next_word(first)));
  run.gpu = gpu_above(table);
  const Heading heading = heading_of(table);
  double time_before = 0;  // of the row before, in ms; 0: the table has no times
  std::optional<RecordedSpeed> before;
  while (!table.empty()) {
    const std::string_view line = next_line(table);
    if (line.empty()) break;
    std::string_view rest = line;
    const std::string_view word = next_word(rest);  // numbers stand to the right in their column
    const bool is_stage = word.find_first_not_of("0123456789") == word.npos;
    const std::optional<int> of =
        is_stage ? static_cast<int>(number(word)) : yardstick(line.substr(line.find(word)));
    if (!of) continue;
    rest = line;
    const auto [time, speed] = words_below(heading, rest);
    const double time_ms = time.empty() || is_name(time) ? 0 : number(time);
    const double tflops = number_or_zero(speed);
    if (tflops == 0) continue;  // a stage for which this GPU lacks the instructions
    RecordedSpeed recorded{*of, tflops, 0, 0};
    recorded.cublas_percent = number_or_zero(next_word(rest));
    if (heading.has_times) {
      recorded.times_before = number_or_zero(next_word(rest));
    } else if (is_stage && before) {
      // Narrow tables have no time, but its ratio is that of the speeds.
      recorded.times_before =
          time_ms > 0 && time_before > 0 ? time_before / time_ms : recorded.tflops / before->tflops;
    }
    time_before = time_ms;
    before = recorded;
    run.speeds.push_back(recorded);
  }
  if (run.speeds.empty()) throw std::invalid_argument("no table: no stages");
  return run;
}

const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs) {
  constexpr int kMainSize = 4096;
  const auto found = std::find_if(
      runs.begin(), runs.end(), [](const RecordedLadder& run) { return run.size == kMainSize; });
  return found == runs.end() ? runs.front() : *found;
}

// recorded_files.sh writes the list.
asm(".pushsection .rodata\n"
    "recorded_files:\n"
#include "recorded_files.inc"
    "recorded_files_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char recorded_files[] __attribute__((visibility("hidden")));
extern "C" const char recorded_files_end[] __attribute__((visibility("hidden")));

namespace {

constexpr const char* kMain = "H200";  // the lesson's GPU

using text::JsonValues;

std::string text_at(const JsonValues& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "" : found->second;
}

// 0 if there is none.
double number_at(const JsonValues& values, const std::string& path) {
  const std::string written = text_at(values, path);
  double value = 0;
  std::from_chars(written.data(), written.data() + written.size(), value);
  return value;
}

int whole_at(const JsonValues& values, const std::string& path) {
  return static_cast<int>(std::clamp(number_at(values, path), 0.0, 1e9));
}

RecordedLadder ladder_of(const JsonValues& run) {
  if (text_at(run, "program") != "gemm_steps") {
    throw std::invalid_argument("is not a run that --json wrote");
  }
  RecordedLadder ladder{};
  const int M = whole_at(run, "problem.M");
  ladder.size = M == whole_at(run, "problem.N") && M == whole_at(run, "problem.K") ? M : 0;
  ladder.gpu = text_at(run, "gpu.name");
  const auto add = [&](int number, const std::string& row) {
    const double tflops = number_at(run, row + "tflops");
    if (tflops == 0) return;
    ladder.speeds.push_back(
        {number, tflops, 100 * number_at(run, row + "cublas_ratio"),
         number_at(run, row + "times_the_stage_before")});
  };
  for (int i = 0; !text_at(run, text::printed("stages.%d.name", i)).empty(); ++i) {
    const std::string row = text::printed("stages.%d.", i);
    add(whole_at(run, row + "number"), row);
  }
  for (int i = 0; !text_at(run, text::printed("yardsticks.%d.name", i)).empty(); ++i) {
    const std::string row = text::printed("yardsticks.%d.", i);
    if (const auto number = yardstick(text_at(run, row + "name"))) add(*number, row);
  }
  return ladder;
}

// The GPU of a run. If the table of GPUs lacks it, its unknown properties are those of the table's
// first GPU with its compute capability.
std::optional<model::Gpu> gpu_of(const JsonValues& run) {
  const std::string name = text_at(run, "gpu.name");
  if (const model::Gpu* known = model::find_gpu(name)) return *known;
  const double cc = 10 * number_at(run, "gpu.compute_capability");
  for (const model::Gpu& similar : model::known_gpus()) {
    if (!model::has_clock(similar) || std::abs(similar.compute_capability - cc) > 0.5) continue;
    model::Gpu gpu = similar;
    gpu.name = name;
    gpu.sms = whole_at(run, "gpu.sms");
    gpu.boost_ghz = number_at(run, "gpu.boost_ghz");
    gpu.dram_gb_per_s = number_at(run, "gpu.dram_gb_per_s");
    gpu.l2_bytes_per_clock = number_at(run, "gpu.l2_bytes_per_clock");
    if (!name.empty() && gpu.sms > 0 && model::has_clock(gpu) && gpu.dram_gb_per_s > 0) return gpu;
  }
  return std::nullopt;
}

// Leaves out runs of only a stage or two beside cuBLAS, and products of other shapes.
bool is_ladder(const RecordedLadder& run) {
  return run.size > 0 && run.of(1).tflops > 0 && run.of(kCublasFp32).tflops > 0;
}

struct Recording {
  std::optional<model::Gpu> gpu;
  RecordedLadder ladder;
};

Recording recording_in(std::string_view file, std::string_view contents) {
  if (file.ends_with(".json")) {
    const JsonValues run = text::json_values(contents);
    return {gpu_of(run), ladder_of(run)};
  }
  Recording recording{std::nullopt, recorded_run(contents)};
  if (const model::Gpu* known = model::find_gpu(recording.ladder.gpu)) recording.gpu = *known;
  return recording;
}

void add(std::vector<RecordedGpu>& gpus, const Recording& recording) {
  auto of = std::find_if(gpus.begin(), gpus.end(), [&](const RecordedGpu& other) {
    return other.gpu.name == recording.gpu->name;
  });
  if (of == gpus.end()) of = gpus.insert(gpus.end(), {*recording.gpu, {}});
  of->ladders.push_back(recording.ladder);
}

std::string_view next_text(std::string_view& files) {
  const std::size_t end = std::min(files.find('\0'), files.size());
  const std::string_view text = files.substr(0, end);
  files.remove_prefix(std::min(end + 1, files.size()));
  return text;
}

}  // namespace

std::vector<RecordedGpu> recorded_gpus(std::string_view files) {
  std::vector<RecordedGpu> gpus;
  while (!files.empty()) {
    const std::string_view file = next_text(files), contents = next_text(files);
    try {
      const Recording recording = recording_in(file, contents);
      if (!is_ladder(recording.ladder)) continue;
      if (!recording.gpu) {
        throw model::Refusal(
            text::echoed(file) +
            ": its GPU is not in src/model/gpus.cpp; add the run's JSON, which describes the GPU");
      }
      add(gpus, recording);
    } catch (const std::invalid_argument& problem) {
      throw model::Refusal(
          text::echoed(file) + ": " + problem.what() +
          "; record it again, or remove it from results/ and run make");
    }
  }
  std::sort(gpus.begin(), gpus.end(), [](const RecordedGpu& a, const RecordedGpu& b) {
    const bool a_is_main = a.gpu.name == kMain, b_is_main = b.gpu.name == kMain;
    return a_is_main != b_is_main ? a_is_main : a.gpu.name < b.gpu.name;
  });
  for (RecordedGpu& of : gpus) {
    std::sort(of.ladders.begin(), of.ladders.end(), [](const auto& a, const auto& b) {
      return a.size < b.size;
    });
  }
  return gpus;
}

const std::vector<RecordedGpu>& recorded_gpus() {
  static const std::vector<RecordedGpu> gpus =
      recorded_gpus(std::string_view(recorded_files, recorded_files_end));
  return gpus;
}

std::vector<RecordedLadder> recorded_h200() {
  std::vector<RecordedLadder> shown;
  for (const RecordedGpu& of : recorded_gpus()) {
    if (of.gpu.name != kMain) continue;
    for (const RecordedLadder& ladder : of.ladders) {
      const bool is_shown = ladder.size == 1024 || ladder.size == 4096 || ladder.size == 8192;
      if (is_shown) shown.push_back(ladder);
    }
  }
  return shown;
}

}  // namespace pictures
