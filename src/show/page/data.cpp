#include "show/page/page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <type_traits>
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

// As JSON.
std::string array_of(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

using Numbers = std::vector<std::int64_t>;

template <class... Items>
Numbers numbers(Items... items) {
  return {static_cast<std::int64_t>(items)...};
}

// A JSON array of numbers, and of texts that are JSON already.
template <class... Items>
std::string list(const Items&... items) {
  const auto json = []<class Item>(const Item& item) -> std::string {
    if constexpr (std::is_same_v<Item, std::string>)
      return item;
    else if constexpr (std::is_same_v<Item, double>)
      return text::shortest(item);
    else
      return std::to_string(static_cast<std::int64_t>(item));
  };
  return array_of({json(items)...});
}

template <class Range, class JsonOf>
std::string list_of(const Range& range, JsonOf json_of) {
  std::vector<std::string> items;
  for (const auto& one : range) items.push_back(json_of(one));
  return array_of(items);
}

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

// The first block of a scene. What scenes have in common is a number in `texts`: sentences, lines
// of source, patterns, and columns of numbers.
class SceneData {
 public:
  SceneData(const ShownScene& shown, Dictionary& texts)
      : shown_(shown), texts_(texts), numbers_(recording_.arrays.size(), -1) {
    int next = 0;
    for (const int array : step::used_arrays(recording_)) {
      if (array >= 0) numbers_[array] = next++;
    }
  }
  std::string json();

 private:
  // The page's number of an array; those of other kernels in the program have none.
  int number_of(int array) const { return array < 0 ? array : numbers_[array]; }
  std::int64_t text_of(const std::string& text) {
    return texts_.number_of(text::json_string(text));
  }
  std::string by_columns(const std::vector<Numbers>& rows);
  std::string pattern_of(std::size_t at) const;
  std::string steps();
  std::string changes();
  std::string ring();
  std::string warps();
  std::string hazards() const;
  std::string fragments() const;

  const ShownScene& shown_;
  const step::StepScene& scene_ = shown_.scene;
  const model::Recording& recording_ = scene_.recording;
  const step::BlockSteps block_ = step::steps_of_block(recording_, 0);
  Dictionary& texts_;
  std::vector<int> numbers_;
};

// Rows of equally many numbers, column by column.
std::string SceneData::by_columns(const std::vector<Numbers>& rows) {
  Numbers columns;
  for (std::size_t i = 0; !rows.empty() && i < rows[0].size(); ++i) {
    Numbers column;
    for (const Numbers& row : rows) column.push_back(row[i]);
    columns.push_back(texts_.number_of(packed(column)));
  }
  return list_of(columns, [](std::int64_t column) { return std::to_string(column); });
}

// The offsets of the lanes' addresses, and the request's cost. Masks are as JavaScript's bit
// operations need them.
std::string SceneData::pattern_of(std::size_t at) const {
  const model::RecordedEvent& event = recording_.events[at];
  Numbers steps, wavefronts;
  auto before = static_cast<std::int64_t>(event.access.first());
  model::for_each_lane(event.access.active, [&](int lane) {
    const auto address = static_cast<std::int64_t>(event.access.address[lane]);
    steps.push_back(address - std::exchange(before, address));
  });
  std::uint32_t conflicts = 0;  // lanes
  const bool is_request = event.kind == model::RecordedEvent::Kind::request;
  if (is_request && recording_.array_of(event).shared) {
    const pictures::WarpRequest request = pictures::request_at(recording_, at);
    if (event.bank_conflicts > 0) conflicts = lanes_in_conflict(request);
    for (const model::Wavefront& one : wavefronts_of(request)) {
      wavefronts.push_back(static_cast<std::int32_t>(one.lanes));
      wavefronts.push_back(one.group);
    }
  }
  return list(
      event.access.bytes, static_cast<std::int32_t>(event.access.active), packed(steps),
      event.pieces, event.bank_conflicts, packed(wavefronts), event.access.matrices,
      static_cast<std::int32_t>(conflicts));
}

// The steps, and the different operations that they are: of texts, the difference from the
// operation before. The warp's number and the part of the ring are left to the page.
std::string SceneData::steps() {
  Dictionary patterns;
  std::map<Numbers, std::int64_t> known;
  std::vector<Numbers> operations, steps;
  Numbers last(6);
  std::map<std::pair<int, std::int64_t>, std::int64_t> latest;  // base, by warp and site
  for (std::size_t at = block_.begin; at < block_.end; ++at) {
    const model::RecordedEvent& event = recording_.events[at];
    std::string text = step::step_text(scene_, at, false);
    const std::string warp = text::printed("warp %d", event.warp);
    if (event.warp >= 0) text = "warp {warp}" + text.substr(warp.size());
    text[0] = static_cast<char>(std::toupper(text[0]));
    const bool acts = event.kind == model::RecordedEvent::Kind::action;
    const int action = acts ? static_cast<int>(recording_.actions_at(at).front().kind) : -1;
    const std::int64_t pattern = texts_.number_of(pattern_of(at));
    const std::int64_t why = text_of(step::sentence_at(scene_, at));
    const Numbers now = numbers(
        event.kind, event.site, patterns.number_of(std::to_string(pattern)), text_of(text), why,
        action);
    const auto [number, is_new] = known.try_emplace(now, known.size());
    if (is_new) {
      operations.push_back(now);
      operations.back()[3] -= last[3];
      operations.back()[4] -= last[4];
      last = now;
    }
    const auto base = static_cast<std::int64_t>(event.access.first());
    const std::int64_t before = std::exchange(latest[{event.warp, event.site}], base);
    steps.push_back(numbers(number->second, event.warp, base - before));
  }
  return "\"patterns\":" + patterns.json() + ",\"operations\":" + by_columns(operations) +
         ",\"steps\":" + by_columns(steps);
}

// The words that steps change: in which way, as patterns of runs, each given from the one before;
// and where. A step is given by how many come between it and the one before; a place is given from
// the one before of the same warp, array and matrix.
std::string SceneData::changes() {
  using Run = step::WordChange::Run;
  Dictionary patterns;
  std::vector<Numbers> rows;
  std::map<std::array<int, 3>, Run> latest;  // the first one
  std::size_t at = block_.begin;
  for (const step::WordChange& change : step::word_changes(scene_, block_)) {
    std::vector<Numbers> runs;
    Run before = change.runs[0];
    for (const Run& run : change.runs) {
      runs.push_back(
          numbers(run.first - before.first, run.words, run.held - before.held, run.apart));
      before = run;
    }
    const int array = number_of(change.array), matrix = number_of(change.matrix);
    const std::string pattern = list(array, change.state, matrix, by_columns(runs));
    const Run& now = change.runs[0];
    before = std::exchange(latest[{recording_.events[change.at].warp, array, matrix}], now);
    rows.push_back(numbers(
        change.at - std::exchange(at, change.at),
        patterns.number_of(std::to_string(texts_.number_of(pattern))), now.first - before.first,
        now.held - before.held));
  }
  return list(patterns.json(), by_columns(rows));
}

// The names of the places; what each of their changes leaves, in steps as above; and of each part
// its array, its words from first to end, and its name.
std::string SceneData::ring() {
  std::vector<Numbers> changes;
  std::size_t before = block_.begin;
  for (const step::Ring::Change& change : scene_.ring.changes) {
    if (change.at < block_.begin || change.at >= block_.end) continue;
    const bool is_empty = change.kind == step::Ring::Change::empty;
    changes.push_back(numbers(
        change.at - std::exchange(before, change.at), change.place,
        is_empty ? -1 : static_cast<std::int64_t>(change.number), change.is_here,
        text_of(text::ranges_of(change.waited))));
  }
  return list(
      list_of(scene_.ring.places, text::json_string), by_columns(changes),
      list_of(scene_.ring.parts, [&](const step::Ring::Part& part) {
        return list(
            number_of(part.array), part.begin / 4, part.end / 4,
            text::json_string(step::name_of(scene_, part.array, &part)));
      }));
}

// What warps do from a step on, in steps as above.
std::string SceneData::warps() {
  std::vector<Numbers> changes;
  std::size_t before = block_.begin;
  for (const auto& [at, warp, doing] : step::warp_changes(scene_, block_))
    changes.push_back(numbers(at - std::exchange(before, at), warp, text_of(doing)));
  return by_columns(changes);
}

// The sentence; its steps, or -1; and the word that it marks, from step to step.
std::string SceneData::hazards() const {
  const auto place = [&](std::size_t at) {
    const bool is_here = at >= block_.begin && at <= block_.end;
    return is_here ? static_cast<std::int64_t>(at - block_.begin) : -1;
  };
  auto sentence = scene_.sentences.begin();
  return list_of(recording_.hazards, [&](const model::RecordedHazard& hazard) {
    const auto [array, word, begin, end] = step::mark_of(recording_, hazard);
    return list(
        text::json_string(*sentence++), place(step::shown_at(hazard)), place(hazard.first),
        place(hazard.second), place(hazard.found_at), place(begin), place(end), number_of(array),
        word);
  });
}

// [name, rows, columns, the lane of each element row by row] of the tiles that a warp holds
// together when it first multiplies.
std::string SceneData::fragments() const {
  std::vector<step::Fragment> fragments;
  for (auto action = recording_.actions.begin();
       fragments.empty() && action != recording_.actions.end(); ++action) {
    fragments = step::fragments_of(*action);
  }
  return list_of(fragments, [](const step::Fragment& of) {
    const std::string lanes = packed(Numbers(of.lanes.begin(), of.lanes.end()));
    return list(text::json_string(of.name), of.rows, of.columns, lanes);
  });
}

std::string SceneData::json() {
  const auto& [bx, by, bz] = recording_.block;
  const auto& [gx, gy, gz] = recording_.grid;
  const model::WarpGeometry& warp = recording_.warp;
  const int first = std::max(scene_.source_first, 1);
  const int last = std::min(scene_.source_last, static_cast<int>(scene_.source.size()));
  const std::span<const std::string> source(scene_.source);
  std::vector<std::string> arrays;  // [name, bytes, whether it is shared, words of a row]
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const auto& [name, bytes, shared] = recording_.arrays[i];
    if (numbers_[i] >= 0)
      arrays.push_back(list(text::json_string(name), bytes, shared, scene_.row_words[i]));
  }
  const std::string lines = list_of(
      source.subspan(first - 1, std::max(last - first + 1, 0)),
      [&](const std::string& line) { return std::to_string(text_of(line)); });
  const std::string sites = list_of(recording_.sites, [&](const model::RecordedSite& site) {
    return list(number_of(site.array), site.direction, site.line);
  });
  return text::printed(
             "{\"stage\":%d,\"M\":%d,\"N\":%d,\"K\":%d,\"BM\":%d,\"BN\":%d,\"BK\":%d,"
             "\"number\":%lld,\"lanes\":%d,\"sector\":%d,\"line\":%d,\"banks\":%d,"
             "\"complete\":%s,\"first\":%d",
             shown_.stage, shown_.M, shown_.N, shown_.K, shown_.BM, shown_.BN, shown_.BK,
             static_cast<long long>(recording_.events[0].block), warp.lanes, warp.sector_bytes,
             warp.line_bytes, warp.banks, recording_.complete ? "true" : "false", first) +
         ",\"grid\":" + list(gx, gy, gz) + ",\"block\":" + list(bx, by, bz) +
         ",\"name\":" + text::json_string(shown_.name) +
         ",\"idea\":" + text::json_string(shown_.idea) +
         ",\"fault\":" + text::json_string(scene_.fault) + ",\"source\":" + lines +
         ",\"arrays\":" + array_of(arrays) + ",\"sites\":" + sites + "," + steps() +
         ",\"changes\":" + changes() + ",\"ring\":" + ring() + ",\"warps\":" + warps() +
         ",\"hazards\":" + hazards() + ",\"fragments\":" + fragments() + "}";
}

}  // namespace

std::string data_of(const LessonPage& lesson) {
  Dictionary texts;
  Numbers matrix_words;  // lane, word
  for (int i = 0; i < 4 * model::kWarpSize; ++i) {
    const auto [lane, word] = model::matrix_word(i / 4, i % 4);
    matrix_words.insert(matrix_words.end(), {lane, word});
  }
  const std::string scenes = list_of(
      lesson.scenes, [&](const ShownScene& scene) { return SceneData(scene, texts).json(); });
  return "{\"title\":" + text::json_string(lesson.title) +
         ",\"verdict\":" + text::json_string(lesson.verdict) +
         ",\"complaints\":" + list_of(lesson.complaints, text::json_string) +
         ",\"scenes\":" + scenes + ",\"texts\":" + texts.json() +
         ",\"matrixWords\":" + packed(matrix_words) +
         ",\"predictions\":" + array_of(lesson.predictions) +
         ",\"calculators\":" + (lesson.calculators.empty() ? "null" : lesson.calculators) + "}";
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
  std::vector<std::string> kernels;
  for (const model::Stage& stage : traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (variant.for_few_results) continue;  // they are no step of the lesson
      kernels.push_back(kernel_json(stage, variant));
    }
  }
  return "{\"gpus\": " + list_of(model::known_gpus(), gpu_json) +
         ",\"kernels\": " + array_of(kernels) + "}";
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
  std::vector<std::string> shown;
  for (const auto& [what, path] : kShown)
    shown.push_back(
        list(text::json_string(what), rounded(report::number(path, known).value_or(0))));
  const pictures::RecordedGpu& recorded = pictures::recorded_gpus().front();
  const pictures::RecordedLadder& largest = recorded.ladders.back();
  if (const double tflops = largest.of(row.number).tflops; tflops > 0) {
    const std::string what = text::printed(
        "TFLOP/s, recorded on the %s for M = N = K = %d", recorded.gpu.name.c_str(), largest.size);
    shown.push_back(list(text::json_string(what), rounded(tflops)));
  }
  Facts names;
  for (const model::Named& of : report::formula_names(run, row))
    names.push_back({std::string(of.name), of.value});
  const std::string asked = list_of(report::asked(known), [](const report::AskedQuestion& of) {
    return list(
        text::json_string(of.text), *of.value, text::json_string(of.worked_out),
        text::json_string(of.because));
  });
  using Json = report::FactValue;
  return object(
      {{"gpu", run.gpu.name},
       {"shown", Json::json(array_of(shown))},
       {"race", Json::json(race)},
       {"names", Json::json(object(names))},
       {"asked", Json::json(asked)}});
}

}  // namespace page
