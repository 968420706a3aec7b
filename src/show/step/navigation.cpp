#include "show/step/scene.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <sstream>
#include <utility>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace step {

StepWindow window_of(const StepScene& scene, const StepState& state) {
  using Kind = model::RecordedEvent::Kind;
  const model::Recording& recording = scene.recording;
  // What a step accesses: an array, and the first byte of it; -1 if it accesses none.
  const auto accessed = [&](std::size_t at) -> std::pair<int, std::uint64_t> {
    const model::RecordedEvent& event = recording.events[at];
    if (event.kind == Kind::request) return {recording.site_of(event).array, event.access.first()};
    if (event.kind != Kind::action) return {-1, 0};
    const model::RecordedAction& action = recording.actions_at(at).front();
    return {action.kind == model::RecordedAction::Kind::init ? -1 : action.array, action.to};
  };
  const auto is_shared = [&](int array) { return array >= 0 && recording.arrays[array].shared; };
  // The array of the access if it is shared; else the previous shared one; else the first one.
  StepWindow window;
  if (state.array) {
    window.array = *state.array;
  } else {
    const auto show = [&](int array, const Ring::Part* part) {
      if (is_shared(window.array) || (window.array >= 0 && !is_shared(array))) return;
      window.array = array;
      window.part = part;
    };
    const BlockSteps block = steps_of_block(recording, state.at);
    for (std::size_t at = state.at + 1; at-- > block.begin && !is_shared(window.array);) {
      const auto [array, byte] = accessed(at);
      show(array, part_at(scene.ring, array, byte));
    }
    for (const model::RecordedSite& site : recording.sites) show(site.array, nullptr);
  }
  if (window.array < 0) return window;
  const std::uint64_t row_bytes = 4 * std::max(1, scene.row_words[window.array]);
  const std::uint64_t end =
      window.part != nullptr ? window.part->end : recording.arrays[window.array].bytes;
  window.columns = static_cast<int>(row_bytes / 4);
  window.first_row = window.part != nullptr ? static_cast<int>(window.part->begin / row_bytes) : 0;
  window.rows = static_cast<int>((end + row_bytes - 1) / row_bytes) - window.first_row;
  window.row = window.first_row;
  if (const auto [array, byte] = accessed(state.at); array == window.array) {
    window.row = static_cast<int>(byte / row_bytes);
    window.column = static_cast<int>(byte / 4 % window.columns);
  }
  window.row = state.row.value_or(window.row);
  window.column = state.column.value_or(window.column);
  return window;
}

namespace {

// In these functions the state's count says how many times to move, and its message says why it
// could not move that far. `by` is 1 for forward, -1 for back.

using IsWanted = std::function<bool(const model::RecordedEvent& event)>;
using Kind = model::RecordedEvent::Kind;

// Selects the next array that some step accesses. After the last comes the choice to follow each
// access.
void choose_array(const StepScene& scene, StepState& state) {
  const model::Recording& recording = scene.recording;
  const std::set<int> used = used_arrays(recording);
  int array = state.array ? *state.array + 1 : 0;
  const int arrays = static_cast<int>(recording.arrays.size());
  while (array < arrays && !used.contains(array)) ++array;
  state.array.reset();
  if (array < arrays) state.array = array;
  state.row.reset();
  state.column.reset();
  state.message = array < arrays ? "the picture stays with " + recording.arrays[array].name
                                 : "the picture follows the accesses";
}

// Moves the visible part by these rows and columns, as many times as the state's count says.
void scroll(const StepScene& scene, StepState& state, int rows, int columns) {
  const StepWindow window = window_of(scene, state);
  if (window.array < 0) return;
  const auto moved = [&](int from, int by, int first, int of) -> int {
    return std::clamp<std::int64_t>(
        from + std::int64_t{by} * std::max(state.count, 1), first, first + of - 1);
  };
  state.row = moved(window.row, rows, window.first_row, window.rows);
  state.column = moved(window.column, columns, 0, window.columns);
}

// The nearest step of the block after the present one (or before it, with `by` -1) that
// `is_wanted`.
std::optional<std::size_t> find_step(
    const StepScene& scene, const StepState& state, int by, const IsWanted& is_wanted) {
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  for (std::size_t at = state.at + by; at >= block.begin && at < block.end; at += by) {
    if (is_wanted(scene.recording.events[at])) return at;
    if (at == 0) break;
  }
  return std::nullopt;
}

void go_to(const StepScene& scene, StepState& state, std::size_t at) {
  state.at = at;
  if (const int warp = scene.recording.events[at].warp; warp >= 0) state.warp = warp;
  state.row.reset();
  state.column.reset();
}

// Moves to the next such step of the block; sets the message to `none` if there is none.
void go_along(
    const StepScene& scene, StepState& state, int by, const IsWanted& is_wanted, const char* none) {
  for (int i = 0; i < std::max(state.count, 1); ++i) {
    const auto found = find_step(scene, state, by, is_wanted);
    if (!found) {
      state.message = none;
      return;
    }
    go_to(scene, state, *found);
  }
}

// Moves to the first step of the chosen warp between the two barriers around the present step, or
// near it.
void choose_warp(const StepScene& scene, StepState& state, int by) {
  const model::Recording& recording = scene.recording;
  const int warps = recording.warps();
  const int by_how_many = by * std::max(state.count, 1) % warps;
  const int warp = (state.warp + by_how_many + warps) % warps;
  const int epoch = recording.events[state.at].epoch;
  const BlockSteps block = steps_of_block(recording, state.at);
  std::optional<std::size_t> last;
  for (std::size_t at = block.begin; at < block.end; ++at) {
    if (recording.events[at].warp != warp) continue;
    last = at;
    if (recording.events[at].epoch >= epoch) break;
  }
  state.warp = warp;
  if (last) {
    go_to(scene, state, *last);
  } else {
    state.message = text::printed("warp %d has no recorded steps", warp);
  }
}

void choose_block(const StepScene& scene, StepState& state, int by) {
  const std::vector<model::RecordedEvent>& events = scene.recording.events;
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  const std::size_t from_begin = state.at - block.begin;
  if (by > 0 ? block.end == events.size() : block.begin == 0) {
    state.message = by > 0 ? "this is the last recorded block" : "this is the first recorded block";
    return;
  }
  const BlockSteps other = steps_of_block(scene.recording, by > 0 ? block.end : block.begin - 1);
  go_to(scene, state, std::min(other.begin + from_begin, other.end - 1));
}

void choose_scene(StepState& state, int by) {
  const int wanted = state.scene + by * std::max(state.count, 1);
  const int scene = std::clamp(wanted, 0, state.scenes - 1);
  if (scene == state.scene) {
    state.message =
        by > 0 ? "there is no stage after this one" : "there is no stage before this one";
  }
  state.scene = scene;
}

void choose_lane(const StepScene& scene, StepState& state, int by) {
  const int all = scene.recording.warp.lanes;
  const int lanes = by * std::max(state.count, 1) % all;
  state.lane = (state.lane + lanes + all) % all;
}

void go_to_hazard(const StepScene& scene, StepState& state, int by) {
  const std::vector<model::RecordedHazard>& hazards = scene.recording.hazards;
  std::optional<std::size_t> nearest;
  for (const model::RecordedHazard& hazard : hazards) {
    const std::size_t at = shown_at(hazard);
    const bool ahead = by > 0 ? at > state.at : at < state.at;
    if (ahead && (!nearest || (by > 0 ? at < *nearest : at > *nearest))) nearest = at;
  }
  if (nearest) return go_to(scene, state, *nearest);
  state.message = hazards.empty() ? "no hazard was found in these blocks"
                                  : "there is no further hazard in this direction";
}

}  // namespace

StepState first_state(const StepScene& scene, StepState state) {
  state.array.reset();
  go_to(scene, state, 0);
  state.warp = std::min(state.warp, scene.recording.warps() - 1);
  return state;
}

namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Goes to the next step on such a line. After the end of the block it continues at the start.
void search(const StepScene& scene, StepState& state) {
  if (state.search.empty()) {
    state.message = "nothing to search for: type / and part of a line, or its number";
    return;
  }
  const std::string wanted = lower(state.search);
  int number = 0;
  const char* end = wanted.data() + wanted.size();
  const auto parsed = std::from_chars(wanted.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  const auto is_it = [&](const model::RecordedEvent& event) {
    const int line = scene.recording.line_of(event);
    if (is_number) return line == number;
    return line > 0 && line <= static_cast<int>(scene.source.size()) &&
           lower(scene.source[line - 1]).find(wanted) != std::string::npos;
  };
  // Searches forward for another line (or this one again after others), and then from the start.
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  const std::vector<model::RecordedEvent>& events = scene.recording.events;
  const std::size_t steps = block.end - block.begin;
  for (std::size_t i = 1; i <= steps; ++i) {
    const std::size_t at = block.begin + (state.at - block.begin + i) % steps;
    if (!is_it(events[at])) continue;
    go_to(scene, state, at);
    if (i > block.end - 1 - block.begin) state.message = "there is no other such step";
    return;
  }
  state.message = "no step of this block is on a line with \"" + state.search + "\"";
}

// Handles a key while the search text is being typed.
void type(const StepScene& scene, StepState& state, Key key) {
  if (key == kEscapeKey) {
    state.typing = false;
    state.search.clear();
  } else if (key == kEnterKey || key == '\n') {
    state.typing = false;
    search(scene, state);
  } else if (key == kBackspaceKey || key == 127) {
    if (!state.search.empty()) state.search.pop_back();
  } else if (key >= ' ' && key < 127 && state.search.size() < 60) {
    state.search += static_cast<char>(key);
  }
}

constexpr int kMostCount = 1'000'000;

// Keys that do the same as others.
constexpr std::pair<Key, Key> kSame[] = {{' ', 'n'},      {kRightKey, 'n'}, {kLeftKey, 'p'},
                                         {kHomeKey, 'g'}, {kEndKey, 'G'},   {'h', '?'},
                                         {3, 'q'}};  // 3: Ctrl-C, if the terminal passes it on
constexpr std::string_view kWithCapitals = "bBsSoOwWlLgGxX";  // which go back

void obey(const StepScene& scene, StepState& state, Key key) {
  for (const auto& [other, same] : kSame) {
    if (key == other) key = same;
  }
  const bool is_letter =
      key < 128 && kWithCapitals.find(static_cast<char>(key)) != std::string::npos;
  const int by = is_letter && key < 'a' ? -1 : 1;
  if (by < 0) key += 'a' - 'A';
  const bool ahead = by > 0;
  const auto any_step = [&](const model::RecordedEvent& event) {
    return !state.one_warp || event.warp < 0 || event.warp == state.warp;
  };
  const auto barrier = [](const model::RecordedEvent& event) {
    return event.kind == Kind::barrier;
  };
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  constexpr int kPage = 8;
  if (key == 'n') {
    return go_along(
        scene, state, 1, any_step,
        "this is the end of the block: o goes to the next block, s to the next stage");
  }
  if (key == 'p') return go_along(scene, state, -1, any_step, "this is the start of the block");
  if (key == 'b') {
    return go_along(
        scene, state, by, barrier,
        ahead ? "no barrier follows; G goes to the end of the block"
              : "there is no barrier before this step");
  }
  if (key == 's') return choose_scene(state, by);
  if (key == 'o') return choose_block(scene, state, by);
  if (key == 'w') return choose_warp(scene, state, by);
  if (key == 'l') return choose_lane(scene, state, by);
  if (key == 'x') return go_to_hazard(scene, state, by);
  if (key == 'g') return go_to(scene, state, ahead ? block.begin : block.end - 1);
  if (key == 'a') return choose_array(scene, state);
  if (key == 'r') return search(scene, state);
  if (key == kUpKey) return scroll(scene, state, -1, 0);
  if (key == kDownKey) return scroll(scene, state, 1, 0);
  if (key == kPageUpKey) return scroll(scene, state, -kPage, 0);
  if (key == kPageDownKey) return scroll(scene, state, kPage, 0);
  if (key == '<') return scroll(scene, state, 0, -kPage);
  if (key == '>') return scroll(scene, state, 0, kPage);
  if (key == 'f') {
    state.one_warp = !state.one_warp;
    state.message = state.one_warp ? text::printed("n and p stay with warp %d", state.warp)
                                   : "n and p go through all warps";
  } else if (key == '/') {
    state.typing = true;
    state.search.clear();
  } else if (key == '?') {
    state.help = true;
  } else if (key == 'q') {
    state.quit = true;
  } else if (key != kEscapeKey) {
    state.message = "no such key; ? shows them all";
  }
}

}  // namespace

StepState apply(const StepScene& scene, StepState state, Key key) {
  state.message.clear();
  if (state.typing) {
    type(scene, state, key);
    return state;
  }
  if (state.help) {
    state.help = false;
    return state;
  }
  if (key >= '0' && key <= '9' && (key != '0' || state.count > 0)) {
    state.count = std::min(state.count * 10 + (key - '0'), kMostCount);
    return state;
  }
  obey(scene, state, key);
  state.count = 0;
  return state;
}

StepState move_to(
    const StepScene& scene, StepState state, const std::string& text,
    const std::string& requested) {
  const auto refuse = [&](const std::string& why) { throw model::Refusal(requested + ": " + why); };
  const BlockSteps block = steps_of_block(scene.recording, state.at);
  if (text == "end") {
    go_to(scene, state, block.end - 1);
    return state;
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string what = text.substr(0, colon);
  const std::string digits = colon < text.size() ? text.substr(colon + 1) : "1";
  std::size_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    refuse("there is no whole number after the colon; write for example barrier:2");
  }
  const auto of = [](const char* name, std::size_t count) {
    return (count == 1 ? "there is " : "there are ") + pictures::counted(count, name) +
           " in this block";
  };
  if (what == "step") {
    const std::size_t steps = block.end - block.begin;
    if (number >= steps) refuse("the last step of this block is " + std::to_string(steps - 1));
    go_to(scene, state, block.begin + number);
    return state;
  }
  if (what == "hazard") {
    if (number < 1 || number > scene.recording.hazards.size()) {
      refuse(of("hazard", scene.recording.hazards.size()));
    }
    go_to(scene, state, shown_at(scene.recording.hazards[number - 1]));
    return state;
  }
  if (what != "barrier" && what != "line") {
    refuse("not a place; write barrier:2, line:171, step:40, hazard:1 or end");
  }
  std::size_t barriers = 0;
  for (std::size_t at = block.begin; at < block.end; ++at) {
    const model::RecordedEvent& event = scene.recording.events[at];
    barriers += event.kind == Kind::barrier;
    const bool there = what == "barrier" ? event.kind == Kind::barrier && barriers == number
                                         : event.site >= 0 && scene.recording.line_of(event) ==
                                                                  static_cast<int>(number);
    if (!there) continue;
    go_to(scene, state, at);
    return state;
  }
  refuse(
      what == "barrier"
          ? of("barrier", barriers)
          : "no step is on that line; the kernel is on lines " +
                std::to_string(scene.source_first) + " to " + std::to_string(scene.source_last));
  return state;
}

std::vector<std::optional<Key>> parse_script(std::string_view text) {
  constexpr std::pair<std::string_view, Key> kNames[] = {
      {"right", kRightKey},   {"left", kLeftKey},         {"up", kUpKey},     {"down", kDownKey},
      {"pageup", kPageUpKey}, {"pagedown", kPageDownKey}, {"home", kHomeKey}, {"end", kEndKey},
      {"enter", kEnterKey},   {"escape", kEscapeKey},     {"space", Key{' '}}};
  constexpr std::string_view kKeys = "0123456789npbBsSoOwWlLfgGxXa<>r?hq";
  std::vector<std::optional<Key>> steps;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto* named =
          std::ranges::find(kNames, word, [](const auto& name) { return name.first; });
      const std::size_t wrong = word.find_first_not_of(kKeys);
      if (word[0] == '#') break;
      if (word[0] == '/') {
        std::string rest;
        std::getline(words, rest);
        word += rest;
        word.erase(word.find_last_not_of(" \r") + 1);
        for (const char typed : word) steps.push_back(typed);
        steps.push_back(kEnterKey);
      } else if (word == "print") {
        steps.push_back(std::nullopt);
      } else if (named != std::end(kNames)) {
        steps.push_back(named->second);
      } else if (wrong == word.npos) {
        for (const char key : word) steps.push_back(key);
      } else {
        const std::string rest = word.substr(wrong);
        const std::size_t length = std::max<std::size_t>(1, text::utf8_length(rest));
        throw model::Refusal(
            text::printed("--script, line %d: ", number) + text::echoed(word) + ": \"" +
            text::echoed(rest.substr(0, length)) +
            "\" is not a key; write keys like 3n or b, right, print or /text");
      }
    }
  }
  return steps;
}

}  // namespace step
