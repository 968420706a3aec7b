#include "show/report/words.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <string_view>

#include "lab/run.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

std::string tflops_words(double tflops) {
  if (tflops >= 0.001) return text::significant(tflops);
  return tflops < 0.0001 ? "<0.0001" : text::printed("%.5f", tflops);
}

std::string wrong_sentence(const std::string& name, const model::Error& error) {
  const model::Mismatch& first = error.first.value();
  const bool beyond = std::isfinite(first.expected) && std::abs(first.expected) > FLT_MAX;
  return name +
         text::printed(
             " is wrong: row %lld, column %lld is %.9g, but should be ",
             static_cast<long long>(first.row), static_cast<long long>(first.column), first.value) +
         (beyond ? text::printed(
                       "%sinf, because %.9g is beyond the range of fp32",
                       first.expected < 0 ? "-" : "", first.expected)
                 : text::printed("%.9g", first.expected));
}

namespace {

std::string whole(double value) {
  return text::printed("%.0f", value);
}

std::string clock(const model::DeviceState& state) {
  if (!state.median_mhz) return "SM clock not known";
  const std::string range =
      *state.min_mhz == *state.max_mhz
          ? " throughout"
          : " (" + whole(*state.min_mhz) + " to " + whole(*state.max_mhz) + ")";
  const std::string set = "SM " + whole(*state.median_mhz) + " MHz" + range;
  // Counting in short launches can be wrong by a percent.
  const bool lower = state.counted_mhz && *state.counted_mhz < 0.99 * *state.min_mhz;
  return set + (lower ? ", " + whole(*state.counted_mhz) + " counted in the launches" : "");
}

std::string power(const model::DeviceState& state) {
  if (!state.mean_watts) return "power not known";
  const std::string mean = whole(*state.mean_watts), most = whole(*state.max_watts);
  return mean + " W" + (most == mean ? "" : " (at most " + most + ")") +
         (state.limit_watts ? " of " + whole(*state.limit_watts) + " W" : "");
}

std::string throttling(const model::DeviceState& state) {
  if (!state.throttles) return "throttling not known";
  if (state.throttles->empty()) return "not throttled";
  const auto& most = std::ranges::max(*state.throttles, {}, &model::Throttle::readings);
  return "throttled by " + reasons_words(*state.throttles) +
         text::printed(" in %d of %d readings", most.readings, state.readings);
}

}  // namespace

std::string clocks_words(const model::DeviceState& state) {
  return clock(state) + ", " + power(state) + ", " + throttling(state);
}

std::string readings_words(const model::DeviceState& state) {
  const std::string count = state.readings == 1 ? "one reading, at the end of "
                                                : text::printed("%d readings in ", state.readings);
  const bool too_short =
      state.watts_are_averages && state.mean_watts && state.measured_ms < model::kPowerAverageMs;
  return count + text::significant(state.measured_ms) + " ms" +
         (too_short ? "; the power is an average over up to a second, and so includes what the GPU "
                      "did before"
                    : "");
}

std::string reasons_words(const std::vector<model::Throttle>& throttles) {
  std::string text;
  for (std::size_t i = 0; i < throttles.size(); ++i) {
    text += (i == 0                     ? ""
             : i + 1 < throttles.size() ? ", "
                                        : " and ") +
            std::string(throttles[i].reason);
  }
  return text;
}

namespace {

std::string kind_of(const model::Gpu& gpu) {
  const int cc = gpu.compute_capability;
  if (model::has_clock(gpu)) return text::printed("cc %d.%d", cc / 10, cc % 10);
  return text::printed(
      "%d lanes per warp, %d floats per sector, %d banks; it has no clock", gpu.warp.lanes,
      gpu.warp.sector_words(), gpu.warp.banks);
}

// "stage 5", "stages 5 and 7", "stages 5 to 7".
std::string listed(const std::vector<int>& numbers) {
  const std::string first = std::to_string(numbers.front());
  const std::string last = std::to_string(numbers.back());
  if (numbers.size() == 1) return "stage " + first;
  const auto count = static_cast<int>(numbers.size());
  if (count > 2 && numbers.back() - numbers.front() == count - 1) {
    return "stages " + first + " to " + last;
  }
  std::string text = "stages " + first;
  for (int i = 1; i < count - 1; ++i) text += ", " + std::to_string(numbers[i]);
  return text + " and " + last;
}

// The stages that run another variant than their first, so that readers do not compare unequal
// tiles by mistake. Empty if none does.
std::string tiles(const KnownRun& run, int width) {
  std::vector<std::pair<std::string, std::vector<int>>> chosen;  // variants with their stages
  for (const Known& known : run.rows) {
    if (!known.is_for_small) continue;
    const char* const variant = known.row.variant->name;
    if (chosen.empty() || chosen.back().first != variant) chosen.push_back({variant, {}});
    chosen.back().second.push_back(known.row.number);
  }
  if (chosen.empty()) return "";
  std::string text;
  for (const auto& [variant, stages] : chosen) {
    text += (text.empty() ? "" : ", ") + variant + " in " + listed(stages);
  }
  return text::labelled(
      "tiles", width, text + ", because C is small; --variant first keeps the large tiles");
}

}  // namespace

std::string checked_words(const lab::Run& run) {
  const lab::ProblemSize& sides = *run.checked;
  return text::printed(
      "results are computed and checked for %d x %d x %d; the counts are of the product above",
      sides.M, sides.N, sides.K);
}

std::string about(const KnownRun& known) {
  const lab::Run& run = known.run;
  const model::Gpu& gpu = run.gpu;
  constexpr int kTerm = 9;
  const bool is_program = !run.program.empty();
  const std::string what = gpu.name + text::printed(", %d SMs, ", gpu.sms) + kind_of(gpu);
  const std::string problem =
      is_program
          ? text::labelled(
                "program", kTerm,
                text::echoed(run.program, text::kReportWidth) +
                    (run.unended   ? ": it has not ended; these kernels were traced until then"
                     : run.stopped ? ": stopped at a kernel's error"
                                   : text::printed(": its main has ended with %d", run.exit_code)))
          : text::labelled(
                "problem", kTerm,
                lab::product(run) + ", " + run.types + text::printed(", seed %llu", run.seed) +
                    (run.data == lab::Data::uniform
                         ? ""
                         : std::string(", data ") + lab::name_of(run.data))) +
                (run.checked ? text::labelled("checked", kTerm, checked_words(run)) : "") +
                tiles(known, kTerm);
  if (!run.gpu_present) {
    return problem +
           text::labelled(
               "GPU", kTerm,
               what + (model::has_clock(gpu) ? ": not here, so kernels are traced on the CPU and "
                                               "not timed"
                                             : ", so kernels are traced and not timed"));
  }
  // The facts that a recorded table needs. Without a GPU the same command prints the same table.
  const std::string command = text::echoed(run.command, text::kReportWidth);
  const int room = text::report_width() - kTerm;
  return problem + text::labelled("GPU", kTerm, what) +
         text::labelled("driver", kTerm, text::shortened(run.driver, room)) +
         text::labelled("run", kTerm, text::shortened(run.date + ", " + command, room)) +
         (known.device ? text::labelled("clocks", kTerm, clocks_words(*known.device)) : "");
}

std::string place_in(std::int64_t number, std::array<unsigned, 3> of) {
  if (number < 0) return "";  // there is none
  const std::int64_t x = std::max(1u, of[0]), y = of[2] > 1 ? of[1] : number / x + 1;
  return "(" + std::to_string(number % x) + ", " + std::to_string(number / x % y) +
         (of[2] > 1 ? ", " + std::to_string(number / (x * y)) : "") + ")";
}

namespace {

using Words = std::map<std::string_view, std::string>;

// "1, 2 or 4".
std::string powers_of_two(std::int64_t last) {
  std::string text = "1";
  for (std::int64_t power = 2; power <= last; power *= 2) {
    text += (power == last ? " or " : ", ") + std::to_string(power);
  }
  return text;
}

#define REMEDY(name, text) text,
const char* const kRemedies[] = {
#include "model/hazards.inc"
};

// " on line 12", or " on line 3 of tools.cuh (called on line 12)": in a function that the kernel
// calls.
std::string on_line(const model::Hazard::Actor& actor) {
  const auto line = [](int number, const std::string& file) {
    return number == 0 ? ""
                       : text::printed("on line %d", number) + (file.empty() ? "" : " of " + file);
  };
  const std::string call = line(actor.line, actor.file);
  const std::string own = line(actor.helper_line, actor.helper_file);
  if (own.empty() || call.empty()) return own.empty() && call.empty() ? "" : " " + own + call;
  return " " + own + " (called " + call + ")";
}

// The words of model/hazards.inc.
Words words_for(const model::Hazard& hazard, const lab::Run& run) {
  // "thread (3, 0)", and "thread (3, 0) stores on line 254"
  const auto thread = [&](const model::Hazard::Actor& actor) {
    return "thread " + place_in(actor.thread, hazard.block_size);
  };
  const auto accesses = [](const model::Hazard::Actor& actor) {
    return actor.stores ? "stores" : "loads";
  };
  const auto action = [&](const model::Hazard::Actor& actor) {
    return thread(actor) + " " + accesses(actor) + on_line(actor);
  };
  const auto byte = static_cast<unsigned long long>(hazard.byte);
  const auto number = static_cast<std::int64_t>(hazard.byte / 4),
             N = std::int64_t{std::max(1, run.N)};
  const bool has_second = hazard.second.thread >= 0;
  return {
      {"block", "block " + place_in(hazard.block, hazard.grid)},
      {"other block",
       hazard.other_block < 0 ? "" : "block " + place_in(hazard.other_block, hazard.grid)},
      {"thread", thread(hazard.first)},
      {"other", thread(hazard.second)},
      {"other thread", has_second ? thread(hazard.second) : ""},
      {"first", action(hazard.first)},
      {"second", has_second ? action(hazard.second) : ""},
      {"accesses", accesses(hazard.first)},
      {"other accesses", accesses(hazard.second)},
      {"stores", hazard.first.stores ? "yes" : ""},
      {"other stores", hazard.second.stores ? "yes" : ""},
      {"on line", on_line(hazard.first)},
      {"on other line", on_line(hazard.second)},
      {"array", hazard.array},
      {"memory", hazard.array == "dynamic" ? "dynamic shared memory" : hazard.array},
      {"is shared", hazard.shared ? "yes" : ""},
      {"where", hazard.array + text::printed(" (byte %llu)", byte)},
      {"address", text::printed("0x%llx", byte)},
      {"row", std::to_string(number / N)},
      {"column", std::to_string(number % N)},
      {"others", hazard.extent > 1 ? text::grouped(hazard.extent - 1) : ""},
      {"index", std::to_string(hazard.index)},
      {"last index", std::to_string(hazard.extent - 1)},
      {"number", text::grouped(hazard.index)},
      {"extent", text::grouped(hazard.extent)},
      {"part", hazard.extent < 0 ? "yes" : ""},
      {"mask", text::printed("0x%08llx", static_cast<long long>(hazard.extent))},
      {"powers of two", powers_of_two(hazard.extent)},
      {"remedy", kRemedies[static_cast<int>(hazard.remedy)]},
      {"special remedy", hazard.remedy != model::Remedy::block_barrier ? "yes" : ""}};
}

// The text with its words, up to the end of the choice that it belongs to; `text` is what follows.
std::string filled(std::string_view& text, const Words& words) {
  const auto up_to = [&](char end) {
    const std::string_view found = text.substr(0, text.find(end));
    text.remove_prefix(found.size() + 1);
    return found;
  };
  std::string written;
  while (!text.empty() && text[0] != '|' && text[0] != ']') {
    const char first = text[0];
    text.remove_prefix(1);
    if (first == '{') {
      written += words.at(up_to('}'));
    } else if (first == '[') {
      const bool chosen = !words.at(up_to('?')).empty();
      const std::string yes = filled(text, words);
      const bool has_other = text.at(0) == '|';
      text.remove_prefix(1);
      const std::string no = has_other ? filled(text, words) : "";
      if (has_other) text.remove_prefix(1);
      written += chosen ? yes : no;
    } else {
      written += first;
    }
  }
  return written;
}

}  // namespace

std::string hazard_sentence(
    const model::Hazard& hazard, const lab::Run& run, const lab::Row& row,
    const std::optional<std::string>& remedy) {
  std::string_view words = model::entry_of(hazard.kind).sentence;
  const std::string kernel = lab::kernel_name(row);
  std::string sentence =
      (kernel.empty() ? "" : kernel + ", ") + filled(words, words_for(hazard, run));
  if (hazard.more > 0) {
    const std::string more = " (and " + text::grouped(hazard.more) + " more such pair";
    const std::size_t end = std::min(sentence.find("; "), sentence.size());
    sentence.insert(end, more + (hazard.more == 1 ? ")" : "s)"));
  }
  if (!remedy) return sentence;
  return sentence.substr(0, sentence.find("; ")) + (remedy->empty() ? "" : "; " + *remedy);
}

std::string hazard_place(const model::Hazard& hazard, const lab::Run& run) {
  std::string_view place = model::entry_of(hazard.kind).place;
  if (place.empty()) {
    place = "[array?in the part that reads or writes {array}|where a pointer is computed]";
  }
  return filled(place, words_for(hazard, run));
}

bool report_hazards(const char* program, const lab::Run& run, std::FILE* out) {
  bool any = false;
  for (const lab::Row& row : run.rows) {
    if (!row.counts) continue;
    for (const model::Hazard& hazard : row.counts->hazards) {
      const bool is_note = model::is_note(hazard.kind);
      std::fprintf(
          out, "%s: %s%s\n", program, is_note ? "note: " : "",
          hazard_sentence(hazard, run, row).c_str());
      any |= !is_note;
    }
  }
  return any;
}

}  // namespace report
