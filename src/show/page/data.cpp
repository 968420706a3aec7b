#include "show/page/page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/pictures/recorded_gpus.h"
#include "show/report/facts.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "show/step/scene.h"
#include "text/json.h"
#include "text/numbers.h"

namespace page {

std::string array_of(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

namespace {

constexpr std::size_t kShortest = 3;         // a shorter repetition is no shorter as text
constexpr std::size_t kMostCandidates = 16;  // of the latest places that begin alike

struct Repetition {
  std::size_t distance = 0, length = 0;
};

// The longest repetition of what was before `at`, among the latest places that begin alike.
Repetition longest(
    std::span<const std::int64_t> numbers, std::size_t at, const std::vector<std::size_t>& places) {
  Repetition best;
  const std::size_t first = places.size() - std::min(places.size(), kMostCandidates);
  for (std::size_t i = places.size(); i-- > first;) {
    std::size_t length = 0;
    while (at + length < numbers.size() && numbers[places[i] + length] == numbers[at + length]) {
      ++length;
    }
    if (length > best.length) best = {at - places[i], length};
  }
  return best;
}

}  // namespace

std::string packed(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  std::map<std::array<std::int64_t, kShortest>, std::vector<std::size_t>> places;
  const auto remember = [&](std::size_t at) {
    if (at + kShortest <= numbers.size()) {
      places[{numbers[at], numbers[at + 1], numbers[at + 2]}].push_back(at);
    }
  };
  for (std::size_t at = 0; at < numbers.size();) {
    Repetition found;
    if (at + kShortest <= numbers.size()) {
      const auto known = places.find({numbers[at], numbers[at + 1], numbers[at + 2]});
      if (known != places.end()) found = longest(numbers, at, known->second);
    }
    if (at > 0) text += ",";
    const std::size_t taken = std::max<std::size_t>(found.length, 1);
    text += found.length == 0
                ? std::to_string(numbers[at])
                : "[" + std::to_string(found.distance) + "," + std::to_string(found.length) + "]";
    for (std::size_t i = 0; i < taken; ++i) remember(at + i);
    at += taken;
  }
  return text + "]";
}

namespace {

using Numbers = std::vector<std::int64_t>;

// Equal values of JSON get one number, in the order in which they come.
class Dictionary {
 public:
  std::int64_t number_of(const std::string& json) {
    const auto [known, is_new] = numbers_.try_emplace(json, texts_.size());
    if (is_new) texts_.push_back(json);
    return static_cast<std::int64_t>(known->second);
  }
  std::string json() const { return array_of(texts_); }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

// Rows of equally many numbers, column by column; each column is a number in `texts`.
std::string by_columns(const std::vector<Numbers>& rows, Dictionary& texts) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; !rows.empty() && i < rows[0].size(); ++i) {
    Numbers column;
    for (const Numbers& row : rows) column.push_back(row[i]);
    columns.push_back(std::to_string(texts.number_of(packed(column))));
  }
  return array_of(columns);
}

// The first active lane's address, to which the others' are relative.
std::int64_t base_of(const model::WarpAccess& access) {
  return access.active == 0
             ? 0
             : static_cast<std::int64_t>(access.address[std::countr_zero(access.active)]);
}

// A lane mask as JavaScript's bit operations need it.
std::string mask(std::uint32_t lanes) {
  return std::to_string(static_cast<std::int32_t>(lanes));
}

// The offsets of the lanes' addresses, and the request's cost.
std::string pattern_of(const step::StepScene& scene, std::size_t at) {
  const model::RecordedEvent& event = scene.recording.events[at];
  Numbers steps;
  std::int64_t before = base_of(event.access);
  model::for_each_lane(event.access.active, [&](int lane) {
    const auto address = static_cast<std::int64_t>(event.access.address[lane]);
    steps.push_back(address - before);
    before = address;
  });
  std::vector<std::string> wavefronts;
  std::uint32_t conflicts = 0;  // lanes
  const bool is_request = event.kind == model::RecordedEvent::Kind::request;
  if (is_request && scene.recording.array_of(event).shared) {
    const pictures::WarpRequest request = pictures::request_at(scene.recording, at);
    if (event.bank_conflicts > 0) conflicts = lanes_in_conflict(request);
    for (const model::Wavefront& one : wavefronts_of(request)) {
      wavefronts.push_back(mask(one.lanes));
      wavefronts.push_back(std::to_string(one.group));
    }
  }
  return array_of(
      {std::to_string(event.access.bytes), mask(event.access.active), packed(steps),
       std::to_string(event.pieces), std::to_string(event.bank_conflicts), array_of(wavefronts),
       std::to_string(event.access.matrices), mask(conflicts)});
}

// What the step does, and its sentence, as numbers in `texts`. The warp's number and the part of
// the ring are left to the page.
std::array<std::int64_t, 2> texts_of(
    const step::StepScene& scene, std::size_t at, Dictionary& texts) {
  const model::RecordedEvent& event = scene.recording.events[at];
  std::string text = step::step_text(scene, at, false);
  const std::string warp = text::printed("warp %d", event.warp);
  if (event.warp >= 0) text = "warp {warp}" + text.substr(warp.size());
  text[0] = static_cast<char>(std::toupper(text[0]));
  const std::int64_t why = texts.number_of(text::json_string(step::sentence_at(scene, at)));
  const std::int64_t what = texts.number_of(text::json_string(text));
  return {what, why};
}

// The block's steps, and the different operations that they are. Of texts, the difference from the
// operation before is written.
std::string steps_data(const step::StepScene& scene, step::BlockSteps block, Dictionary& texts) {
  Dictionary patterns;
  using Operation = std::array<std::int64_t, 5>;  // kind, site, pattern, text, sentence
  std::map<Operation, std::int64_t> numbers;
  std::vector<Numbers> operations, steps;
  Operation last{};
  std::map<std::pair<int, std::int64_t>, std::int64_t> latest;  // base, by warp and operation
  for (std::size_t at = block.begin; at < block.end; ++at) {
    const model::RecordedEvent& event = scene.recording.events[at];
    const std::int64_t pattern =
        patterns.number_of(std::to_string(texts.number_of(pattern_of(scene, at))));
    const auto [text, sentence] = texts_of(scene, at, texts);
    const Operation now{static_cast<std::int64_t>(event.kind), event.site, pattern, text, sentence};
    const auto [number, is_new] = numbers.try_emplace(now, numbers.size());
    if (is_new) {
      operations.push_back({now[0], now[1], now[2], text - last[3], sentence - last[4]});
      last = now;
    }
    const std::int64_t base = base_of(event.access);
    const std::int64_t before = std::exchange(latest[{event.warp, event.site}], base);
    steps.push_back({number->second, event.warp, base - before});
  }
  return "\"patterns\":" + patterns.json() + ",\"operations\":" + by_columns(operations, texts) +
         ",\"steps\":" + by_columns(steps, texts);
}

// The page's number of each array: -1 for those of other kernels in the program.
std::vector<int> numbers_of_arrays(const model::Recording& recording) {
  std::vector<int> numbers(recording.arrays.size(), -1);
  int next = 0;
  for (const int array : step::used_arrays(recording)) {
    if (array >= 0) numbers[array] = next++;
  }
  return numbers;
}

// The threads' requests to mbarriers, the copy engine and the tensor cores. A step is given by how
// many come between it and that of the action before.
std::string actions_data(
    const step::StepScene& scene, step::BlockSteps block, const std::vector<int>& numbers,
    Dictionary& texts) {
  std::vector<Numbers> rows;
  const std::int64_t number = scene.recording.events[block.begin].block;
  const model::RecordedAction* before = nullptr;
  const auto step_of = [&](const model::RecordedAction* action) {
    return action == nullptr ? 0 : static_cast<std::int64_t>(action->events - block.begin);
  };
  for (const model::RecordedAction& action : scene.recording.actions) {
    if (action.block != number || action.kind == model::RecordedAction::Kind::init) continue;
    // Lanes that do the same in one step are one action of the page.
    const auto what = [](const model::RecordedAction& of) {
      return std::tie(of.events, of.kind, of.to, of.first);
    };
    if (before != nullptr && what(*before) == what(action)) continue;
    rows.push_back(
        {static_cast<std::int64_t>(action.kind), action.thread, step_of(&action) - step_of(before),
         action.array < 0 ? -1 : numbers[action.array], static_cast<std::int64_t>(action.to),
         static_cast<std::int64_t>(action.bytes)});
    before = &action;
  }
  return by_columns(rows, texts);
}

// Runs of words, each given from the one before.
std::string runs_data(const std::vector<step::WordChange::Run>& runs, Dictionary& texts) {
  std::vector<Numbers> rows;
  step::WordChange::Run before = runs[0];
  for (const step::WordChange::Run& run : runs) {
    rows.push_back(
        {static_cast<std::int64_t>(run.first - before.first), static_cast<std::int64_t>(run.words),
         run.held - before.held, run.apart});
    before = run;
  }
  return by_columns(rows, texts);
}

// The words that steps change: in which way, as patterns of runs; and where, in steps as above.
// A place is given from the one before of the same warp, array and matrix.
std::string changes_data(
    const step::StepScene& scene, step::BlockSteps block, const std::vector<int>& numbers,
    Dictionary& texts) {
  Dictionary patterns;
  std::vector<Numbers> rows;
  std::map<std::array<int, 3>, step::WordChange::Run> latest;  // the first one
  std::size_t at = block.begin;
  for (const step::WordChange& change : step::word_changes(scene, block)) {
    const int matrix = change.matrix < 0 ? change.matrix : numbers[change.matrix];
    const std::string pattern = array_of(
        {std::to_string(numbers[change.array]), std::to_string(change.state),
         std::to_string(matrix), runs_data(change.runs, texts)});
    const step::WordChange::Run& now = change.runs[0];
    step::WordChange::Run& before =
        latest[{scene.recording.events[change.at].warp, change.array, matrix}];
    rows.push_back(
        {static_cast<std::int64_t>(change.at - std::exchange(at, change.at)),
         patterns.number_of(std::to_string(texts.number_of(pattern))),
         static_cast<std::int64_t>(now.first - before.first), now.held - before.held});
    before = now;
  }
  return array_of({patterns.json(), by_columns(rows, texts)});
}

// The names of the places; what each of their changes leaves, in steps as above; and of each part
// its array, its words from first to end, and its name.
std::string ring_data(
    const step::StepScene& scene, step::BlockSteps block, const std::vector<int>& numbers,
    Dictionary& texts) {
  std::vector<std::string> places, parts;
  for (const std::string& place : scene.ring.places) places.push_back(text::json_string(place));
  std::vector<Numbers> changes;
  auto before = static_cast<std::int64_t>(block.begin);
  for (const step::Ring::Change& change : scene.ring.changes) {
    if (change.at < block.begin || change.at >= block.end) continue;
    const auto at = static_cast<std::int64_t>(change.at);
    const auto number = static_cast<std::int64_t>(change.number);
    changes.push_back(
        {at - std::exchange(before, at), change.place,
         change.kind == step::Ring::Change::empty ? -1 : number, change.is_here, change.waited});
  }
  for (const step::Ring::Part& part : scene.ring.parts) {
    parts.push_back(array_of(
        {std::to_string(numbers[part.array]), std::to_string(part.begin / 4),
         std::to_string(part.end / 4),
         text::json_string(step::name_of(scene, part.array, &part))}));
  }
  return array_of({array_of(places), by_columns(changes, texts), array_of(parts)});
}

// The sentence; its steps, or -1; and the word that it marks, from step to step.
std::string hazards_data(
    const step::StepScene& scene, step::BlockSteps block, const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < scene.recording.hazards.size(); ++i) {
    const model::RecordedHazard& hazard = scene.recording.hazards[i];
    const auto [array, word, begin, end] = step::mark_of(scene.recording, hazard);
    std::vector<std::string> items{text::json_string(scene.sentences[i])};
    for (const std::size_t at :
         {step::shown_at(hazard), hazard.first, hazard.second, hazard.found_at, begin, end}) {
      const bool is_here = at >= block.begin && at <= block.end;
      items.push_back(is_here ? std::to_string(at - block.begin) : "-1");
    }
    items.push_back(std::to_string(numbers[array]));
    items.push_back(std::to_string(word));
    texts.push_back(array_of(items));
  }
  return array_of(texts);
}

// The kernel's lines, as numbers in `texts`: neighbouring kernels have most of them in common.
std::string source_data(const step::StepScene& scene, Dictionary& texts) {
  std::vector<std::string> lines;
  const int last = std::min(scene.source_last, static_cast<int>(scene.source.size()));
  for (int line = std::max(scene.source_first, 1); line <= last; ++line) {
    lines.push_back(std::to_string(texts.number_of(text::json_string(scene.source[line - 1]))));
  }
  return array_of(lines);
}

// [name, bytes, whether it is shared, words of a row]
std::string arrays_data(const step::StepScene& scene, const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < scene.recording.arrays.size(); ++i) {
    if (numbers[i] < 0) continue;
    const model::RecordedArray& array = scene.recording.arrays[i];
    texts.push_back(array_of(
        {text::json_string(array.name), std::to_string(array.bytes), array.shared ? "1" : "0",
         std::to_string(scene.row_words[i])}));
  }
  return array_of(texts);
}

// [array, direction, line]
std::string sites_data(const step::StepScene& scene, const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const model::RecordedSite& site : scene.recording.sites) {
    texts.push_back(array_of(
        {std::to_string(site.array < 0 ? -1 : numbers[site.array]),
         std::to_string(static_cast<int>(site.direction)), std::to_string(site.line)}));
  }
  return array_of(texts);
}

// [name, rows, columns, the lane of each element row by row] of the tiles that a warp holds
// together when it first multiplies.
std::string fragments_data(const model::Recording& recording) {
  std::vector<std::string> tiles;
  for (const model::RecordedAction& action : recording.actions) {
    for (const auto& [name, rows, columns, lanes] : step::fragments_of(action)) {
      tiles.push_back(array_of(
          {text::json_string(name), std::to_string(rows), std::to_string(columns),
           packed(Numbers(lanes.begin(), lanes.end()))}));
    }
    if (!tiles.empty()) break;
  }
  return array_of(tiles);
}

std::string scene_data(const ShownScene& shown, Dictionary& texts) {
  const step::StepScene& scene = shown.scene;
  const model::Recording& recording = scene.recording;
  const step::BlockSteps block = step::steps_of_block(recording, 0);
  const std::vector<int> numbers = numbers_of_arrays(recording);
  const auto& [bx, by, bz] = recording.block;
  const auto& [gx, gy, gz] = recording.grid;
  return text::printed(
             "{\"stage\":%d,\"M\":%d,\"N\":%d,\"K\":%d,\"BM\":%d,\"BN\":%d,\"BK\":%d,"
             "\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"number\":%lld,"
             "\"lanes\":%d,\"sector\":%d,\"line\":%d,\"banks\":%d,\"complete\":%s,\"first\":%d",
             shown.stage, shown.M, shown.N, shown.K, shown.BM, shown.BN, shown.BK, gx, gy, gz, bx,
             by, bz, static_cast<long long>(recording.events[0].block), recording.warp.lanes,
             recording.warp.sector_bytes, recording.warp.line_bytes, recording.warp.banks,
             recording.complete ? "true" : "false", std::max(scene.source_first, 1)) +
         ",\"name\":" + text::json_string(shown.name) +
         ",\"idea\":" + text::json_string(shown.idea) +
         ",\"fault\":" + text::json_string(scene.fault) +
         ",\"source\":" + source_data(scene, texts) + ",\"arrays\":" + arrays_data(scene, numbers) +
         ",\"sites\":" + sites_data(scene, numbers) + "," + steps_data(scene, block, texts) +
         ",\"actions\":" + actions_data(scene, block, numbers, texts) +
         ",\"changes\":" + changes_data(scene, block, numbers, texts) +
         ",\"ring\":" + ring_data(scene, block, numbers, texts) +
         ",\"hazards\":" + hazards_data(scene, block, numbers) +
         ",\"fragments\":" + fragments_data(recording) + "}";
}

}  // namespace

std::string scenes_data(const std::vector<ShownScene>& scenes) {
  Dictionary texts;
  std::vector<std::string> shown;
  for (const ShownScene& scene : scenes) shown.push_back(scene_data(scene, texts));
  return "\"scenes\":" + array_of(shown) + ",\"texts\":" + texts.json();
}

namespace {

using Facts = std::vector<report::Fact>;

std::string object(const Facts& members) {
  return "{" + report::json_members(members) + "}";
}

std::string gpu_json(const model::Gpu& gpu) {
  return object(
      {{"name", gpu.name},
       {"computeCapability", gpu.compute_capability},
       {"smemBytesPerSm", gpu.smem_bytes_per_sm},
       {"smemBytesPerBlock", gpu.smem_bytes_per_block},
       {"smemReservedBytesPerBlock", gpu.smem_reserved_bytes_per_block},
       {"smemGranularityBytes", gpu.smem_granularity_bytes},
       {"threadsPerSm", gpu.threads_per_sm},
       {"blocksPerSm", gpu.blocks_per_sm},
       {"registersPerSm", gpu.registers_per_sm},
       {"registerGranularity", gpu.register_granularity},
       {"subPartitionsPerSm", gpu.sub_partitions_per_sm},
       {"lanes", gpu.warp.lanes}});
}

// "90": [registers, bytes of shared memory] on a GPU of that architecture, for every one of the
// table that the kernel was compiled for.
std::string resources_json(const model::Stage& stage, const model::Variant& variant) {
  Facts members;
  std::set<int> seen;
  for (const model::Gpu& gpu : model::known_gpus()) {
    const int cc = gpu.compute_capability;
    const auto [hardware, from, only_there] = stage.needs;
    const bool runs = cc >= from && (!only_there || cc == from);
    if (!runs || !seen.insert(cc).second) continue;
    const auto record = model::find_compiled_kernel(variant.kernel.name, cc);
    if (!record) continue;
    members.push_back(
        {std::to_string(cc),
         report::FactValue::json(text::printed(
             "[%d, %d]", record->registers, record->static_smem_bytes + variant.shared_bytes))});
  }
  return object(members);
}

std::string kernel_json(const model::Stage& stage, const model::Variant& variant) {
  return object(
      {{"stage", stage.number},
       {"name", variant.contrast != nullptr ? variant.contrast->name : stage.name},
       {"variant", variant.name},
       {"threads", variant.threads()},
       {"compiled", report::FactValue::json(resources_json(stage, variant))}});
}

}  // namespace

std::string calculator_data(const model::StageTable& traced) {
  std::vector<std::string> gpus, kernels;
  for (const model::Gpu& gpu : model::known_gpus()) gpus.push_back(gpu_json(gpu));
  for (const model::Stage& stage : traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (variant.for_few_results) continue;  // they are no step of the lesson
      kernels.push_back(kernel_json(stage, variant));
    }
  }
  return "{\"gpus\": " + array_of(gpus) + ",\"kernels\": " + array_of(kernels) + "}";
}

namespace {

// The page shows three digits.
double rounded(double value) {
  return std::strtod(text::printed("%.5g", value).c_str(), nullptr);
}

}  // namespace

std::string race_data(
    const model::StageTable& traced, const lab::Run& run, lab::Row row, lab::LongProduct& large) {
  lab::Run of_race = run;
  of_race.M = of_race.N = of_race.K = kRaceSide;
  const machine::Machine machine{&of_race.gpu, machine::Blocks::kSample, /*hazards=*/false};
  row.counts = large.count(traced, *row.variant, machine);
  const lab::Ceilings ceilings = lab::ceilings(of_race, row);
  const std::optional<model::Waiting>& waiting = ceilings.waiting;
  if (!waiting) return "null";
  Facts busy, gigabytes;
  for (int unit = 0; unit < model::kUnits; ++unit) {
    const std::string name(model::kUnitNames[unit]);
    busy.push_back({name, rounded(100 * waiting->busy[unit])});
    gigabytes.push_back({name, rounded(1e-9 * ceilings.compiled->bytes[unit])});
  }
  const double operations = 2.0 * kRaceSide * kRaceSide * kRaceSide;
  return object(
      {{"side", kRaceSide},
       {"ms", rounded(operations * 1e-9 / waiting->tflops)},
       {"busy", report::FactValue::json(object(busy))},
       {"gigabytes", report::FactValue::json(object(gigabytes))}});
}

std::string prediction_data(const lab::Run& run, const lab::Row& row, const std::string& race) {
  // What the stage's opening shows beside the stage before: numbers that tiles of any size share.
  constexpr std::pair<const char*, const char*> kShown[] = {
      {"bytes loaded from GMEM per result", "gmem_bytes_per_result"},
      {"GMEM loads per result", "gmem_loads_per_result"},
      {"SMEM loads per result", "smem_loads_per_result"},
      {"sectors per GMEM load request of a warp, on average", "sectors_per_request"},
      {"wavefronts per SMEM load request of a warp, on average", "wavefronts_per_request"},
      {"blocks per SM", "occupancy.blocks_per_sm"}};
  const report::Known known{run, row};
  std::string names, asked, shown;
  for (const auto& [what, path] : kShown) {
    shown += (shown.empty() ? "[" : ",[") + text::json_string(what) + "," +
             text::shortest(rounded(report::number(path, known).value_or(0))) + "]";
  }
  const pictures::RecordedGpu& recorded = pictures::recorded_gpus().front();
  const pictures::RecordedLadder& largest = recorded.ladders.back();
  if (const double tflops = largest.of(row.number).tflops; tflops > 0) {
    shown += text::printed(
        ",[\"TFLOP/s, recorded on the %s for M = N = K = %d\",%s]", recorded.gpu.name.c_str(),
        largest.size, text::shortest(rounded(tflops)).c_str());
  }
  for (const model::Named& named : report::formula_names(run, row)) {
    names += (names.empty() ? "" : ",") + text::json_string(named.name) + ":" +
             text::shortest(named.value);
  }
  for (const report::AskedQuestion& question : report::asked(known)) {
    asked += (asked.empty() ? "[" : ",[") + text::json_string(question.text) + "," +
             text::shortest(*question.value) + "," + text::json_string(question.worked_out) + "," +
             text::json_string(question.because) + "]";
  }
  return "{\"gpu\":" + text::json_string(run.gpu.name) + ",\"shown\":[" + shown +
         "],\"race\":" + race + ",\"names\":{" + names + "},\"asked\":[" + asked + "]}";
}

}  // namespace page
