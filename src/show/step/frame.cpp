#include "show/step/scene.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/recording.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace step {

namespace {

// A part of a line, in one colour.
struct ColouredText {
  std::string text;
  std::optional<text::Colour> colour{};
};

using Line = std::vector<ColouredText>;

// The rest of a character that begins before.
bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// At most `columns` columns.
std::string shown(const Line& line, int columns, StepStyle style) {
  std::string text;
  int left = columns;
  for (const ColouredText& span : line) {
    std::string part;
    for (const char c : span.text) {
      if (!continues(c) && left-- <= 0) break;
      const bool is_plain = static_cast<unsigned char>(c) < 0x80;
      if (is_plain || !style.ascii) {
        part += c;
      } else if (!continues(c)) {
        part += '?';
      }
    }
    text += span.colour ? text::coloured(part, *span.colour, {style.colour}) : part;
  }
  // A colour sequence ends with a letter, so only plain blanks are removed.
  return text::without_trailing_spaces(text);
}

ColouredText bold(const std::string& text) {
  return {text, text::Colour::bold};
}

void append(std::vector<Line>& to, const std::vector<Line>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The lines of the kernel around the `current` one; 0 if there is none.
std::vector<Line> source_around(const StepScene& scene, int current, int rows) {
  std::vector<Line> lines;
  const int last = static_cast<int>(scene.source.size());
  if (scene.source_first <= 0 || last == 0) {
    if (rows > 0) lines.push_back({{"  the kernel's source is not available"}});
    return lines;
  }
  const int centre = current > 0 ? current : scene.source_first + rows / 2;
  const int end = std::min(std::max(scene.source_last, centre), last);
  const int begin = std::min(scene.source_first, centre);
  const int first = std::clamp(centre - rows / 2, begin, std::max(begin, end - rows + 1));
  for (int number = first; number < first + rows && number <= end; ++number) {
    const bool is_current = number == current;
    const std::string text = text::printed("%s%4d  ", is_current ? ">" : " ", number);
    lines.push_back({{text + scene.source[number - 1]}});
    if (is_current) lines.back().back().colour = text::Colour::bold;
  }
  return lines;
}

std::vector<Line> header(const StepScene& scene, const StepState& state, StepStyle style) {
  const model::Recording& recording = scene.recording;
  const model::RecordedEvent& event = recording.events[state.at];
  const BlockSteps block = steps_of_block(recording, state.at);
  const std::string bar = style.ascii ? " | " : " │ ";
  const model::RecordedExtent grid = recording.grid;
  const std::string where = "block " + report::place_in(event.block, {grid.x, grid.y, grid.z}) +
                            bar + text::printed("warp %d of %d", state.warp, recording.warps()) +
                            bar + text::printed("lane %d", state.lane);
  return {
      {bold(scene.name), {bar + where}},
      {{text::printed("step %zu of %zu", state.at - block.begin, block.end - 1 - block.begin) +
        bar + text::printed("%d barrier%s passed", event.epoch, event.epoch == 1 ? "" : "s") + bar +
        scene.problem + (state.one_warp ? bar + "one warp only" : "")}}};
}

Line footer(const StepState& state) {
  if (state.typing) return {{"/" + state.search + "_"}};
  if (state.count > 0) return {{text::printed("%d", state.count)}};
  if (!state.message.empty()) return {bold(state.message)};
  return {{"n next p back b barrier w warp l lane o block s stage / search ? help q quit"}};
}

using Kind = model::RecordedEvent::Kind;

Line action(const StepScene& scene, std::size_t at) {
  const std::string text = step_text(scene, at);
  const std::size_t waste = text.find(" <- ");
  if (waste == text.npos) return {{text}};
  return {{text.substr(0, waste)}, {text.substr(waste), text::Colour::yellow}};
}

std::vector<Line> wrapped(
    const std::string& sentence, int columns, std::optional<text::Colour> colour) {
  std::vector<Line> lines;
  for (const std::string& line : text::wrapped(sentence, std::max(columns, 20)))
    lines.push_back({{line, colour}});
  return lines;
}

// The step's sentence, on at most `most` lines; empty if it needs more.
std::vector<Line> reason(const StepScene& scene, std::size_t at, int columns, int most) {
  const std::string sentence = sentence_at(scene, at);
  if (sentence.empty()) return {};
  const std::vector<Line> lines = wrapped(sentence, columns, {});
  return static_cast<int>(lines.size()) <= most ? lines : std::vector<Line>{};
}

// "A[3][17]", which a word of shared memory holds after the step `at`; empty if it is not known.
std::string element_in(const StepScene& scene, std::size_t at, int array, std::uint64_t word) {
  pictures::Contents contents(scene.recording);
  for (std::size_t i = steps_of_block(scene.recording, at).begin; i <= at; ++i) contents.follow(i);
  const auto [matrix, held] = contents.at(array, word);
  if (matrix < 0) return "";
  const int columns = std::max(1, scene.row_words[matrix]);
  return scene.recording.arrays[matrix].name +
         text::printed(
             "[%d][%d]", static_cast<int>(held / columns), static_cast<int>(held % columns));
}

// The chosen lane's part in the step.
std::string chosen_lane(const StepScene& scene, const StepState& state) {
  const model::RecordedEvent& event = scene.recording.events[state.at];
  const int warp = event.warp >= 0 ? event.warp : state.warp;
  const int thread = scene.recording.warp.thread_of(warp, state.lane);
  std::string text = text::printed("lane %d", state.lane);
  if (thread >= scene.recording.threads()) return text + ": the block has no such thread";
  const model::RecordedExtent block = scene.recording.block;
  if (state.lane >= 10) text += text::printed(" (%c)", pictures::lane_sign(state.lane));
  text += " is thread " + report::place_in(thread, {block.x, block.y, block.z});
  if (event.kind != Kind::request) return text;
  if (!(event.access.active >> state.lane & 1u)) return text + " and does not take part";
  const std::uint64_t byte = event.access.address[state.lane];
  const int columns = std::max(1, scene.row_words[scene.recording.site_of(event).array]);
  const auto word = byte / model::kWordBytes;
  text += text::printed(
      ": byte %llu, row %llu, column %llu", static_cast<unsigned long long>(byte),
      static_cast<unsigned long long>(word / columns),
      static_cast<unsigned long long>(word % columns));
  if (scene.recording.array_of(event).shared) {
    text += text::printed(", bank %d", static_cast<int>(word % scene.recording.warp.banks));
    const int array = scene.recording.site_of(event).array, matrices = event.access.matrices;
    const auto holds = [&](std::uint64_t of, const char* before) {
      const std::string element = scene.is_product ? element_in(scene, state.at, array, of) : "";
      text += element.empty() ? "" : before + element;
    };
    if (matrices == 0) holds(word, ": ");
    for (int matrix = 0; matrix < matrices; ++matrix) {
      const auto [row, of_row] = model::matrix_word(state.lane, matrix);
      holds(event.access.address[row] / model::kWordBytes + of_row, matrix == 0 ? "; gets " : " ");
    }
  }
  return text;
}

std::vector<Line> hazards_now(const StepScene& scene, const StepState& state, int columns) {
  const std::vector<model::RecordedHazard>& hazards = scene.recording.hazards;
  std::vector<Line> lines;
  const auto say = [&](const std::string& sentence) {
    append(lines, wrapped(sentence, columns, text::Colour::red));
  };
  std::size_t so_far = 0;
  for (std::size_t i = 0; i < hazards.size(); ++i) {
    const model::RecordedHazard& hazard = hazards[i];
    so_far += hazard.found_at <= state.at;
    if (state.at == hazard.first || state.at == hazard.second || state.at == hazard.found_at) {
      say("! " + scene.sentences[i]);
      break;
    }
  }
  const bool is_last = state.at + 1 == scene.recording.events.size();
  if (is_last && !scene.fault.empty()) say("! " + scene.fault);
  if (is_last && !scene.recording.complete) {
    say("! The recording is full and ends here; a smaller --m, --n or --k shows the end.");
  }
  if (lines.empty() && !hazards.empty()) {
    lines.push_back(
        {{text::printed(
              "! %zu hazard%s found up to here, %zu in all: x goes to the next", so_far,
              so_far == 1 ? "" : "s", hazards.size()),
          text::Colour::red}});
  }
  return lines;
}

std::vector<Line> counts_so_far(const StepScene& scene, std::size_t at) {
  struct Sum {
    std::int64_t requests = 0, pieces = 0;
    std::string text(const char* unit) const {
      if (requests == 0) return "0";
      return text::grouped(requests) + " req x " +
             text::printed("%.2f ", static_cast<double>(pieces) / static_cast<double>(requests)) +
             unit;
    }
  } sums[2][2];
  std::int64_t conflicts = 0, barriers = 0;
  for (std::size_t i = steps_of_block(scene.recording, at).begin; i <= at; ++i) {
    const model::RecordedEvent& event = scene.recording.events[i];
    barriers += event.kind == Kind::barrier;
    if (event.kind != Kind::request) continue;
    const bool shared = scene.recording.array_of(event).shared;
    const model::Direction direction = scene.recording.site_of(event).direction;
    const bool stores =
        direction == model::Direction::copy ? shared : direction == model::Direction::store;
    Sum& sum = sums[shared][stores];
    sum.requests += 1;
    sum.pieces += event.pieces;
    conflicts += event.bank_conflicts;
  }
  return {
      {{"GMEM loads " + text::pad_right(sums[0][0].text("sectors"), 30) + " stores " +
        sums[0][1].text("sectors")}},
      {{"SMEM loads " + text::pad_right(sums[1][0].text("wavefronts"), 30) + " stores " +
        sums[1][1].text("wavefronts")}},
      {{"bank conflicts " + text::grouped(conflicts) + ", barriers " + text::grouped(barriers)}}};
}

// What the warps of the block do after the step, if there are several.
std::vector<Line> warps_now(const StepScene& scene, std::size_t at, int columns) {
  if (scene.recording.warps() < 2) return {};
  std::map<int, std::string> doing;
  for (const auto& [when, warp, what] : warp_changes(scene, steps_of_block(scene.recording, at))) {
    if (when <= at) doing[warp] = what;
  }
  std::map<std::string, std::set<int>> warps;
  for (const auto& [warp, what] : doing) warps[what].insert(warp);
  std::string text;
  for (const auto& [what, of] : warps)
    text += (text.empty() ? "warps " : "; ") + what + ": " + text::ranges_of(of);
  return wrapped(text, columns, {});
}

// A sign for each word of the array: . empty, ~ an async copy is in flight, o filled, # accessed in
// this step, ! in a bank conflict or a race in this step.
std::string signs_of_words(const StepScene& scene, std::size_t at, int array) {
  const model::Recording& recording = scene.recording;
  std::string signs((recording.arrays[array].bytes + 3) / model::kWordBytes, '.');
  const auto mark = [&](std::uint64_t word, char sign) {
    if (word < signs.size()) signs[word] = sign;
  };
  const BlockSteps so_far{steps_of_block(recording, at).begin, at + 1};
  for (const WordChange& change : word_changes(scene, so_far)) {
    if (change.array != array) continue;
    for (const auto& [first, words, held, apart] : change.runs)
      signs.replace(first, words, words, ".~o"[change.state]);
  }
  const model::RecordedEvent& now = recording.events[at];
  if (now.kind == Kind::request && recording.site_of(now).array == array) {
    const std::uint32_t conflicts =
        now.bank_conflicts == 0 ? 0 : lanes_in_conflict(pictures::request_at(recording, at));
    model::for_each_lane(now.access.active, [&](int lane) {
      const char sign = conflicts >> lane & 1u ? '!' : '#';
      model::for_each_word(now.access, lane, [&](std::uint64_t word) { mark(word, sign); });
    });
  }
  for (const model::RecordedHazard& hazard : recording.hazards) {
    const auto [of, word, begin, end] = mark_of(recording, hazard);
    const bool is_now = at == hazard.first || at == hazard.second || at == hazard.found_at;
    if (of == array && (is_now || (at >= begin && at < end))) mark(word, '!');
  }
  return signs;
}

// What has come to each place of the ring after the step `at`.
std::vector<Line> picture_of_ring(const StepScene& scene, std::size_t at) {
  const Ring& ring = scene.ring;
  std::map<int, const Ring::Change*> latest;  // by place
  for (const Ring::Change& change : ring.changes) {
    if (change.at >= steps_of_block(scene.recording, at).begin && change.at <= at)
      latest[change.place] = &change;
  }
  std::vector<Line> lines;
  for (int place = 0; place < std::ssize(ring.places); ++place) {
    const Ring::Change* const last = latest[place];
    std::string text = last == nullptr ? "empty" : "empty again";
    if (last != nullptr && last->kind != Ring::Change::empty) {
      text = (place < ring.boxes ? "phase " : "group ") + std::to_string(last->number) + ": " +
             text::grouped(static_cast<std::int64_t>(last->bytes)) + " B are " +
             (last->is_here ? "here" : "coming");
      const bool is_one = last->waited.size() == 1;
      if (!last->waited.empty())
        text += (is_one ? "; warp " : "; warps ") + text::ranges_of(last->waited) +
                (is_one ? " has" : " have") + " waited for them";
    }
    lines.push_back({{"  " + text::pad_right(ring.places[place], 10) + text}});
  }
  return lines;
}

// The elements that the chosen lane holds of the tiles that its warp multiplies.
std::vector<Line> picture_of_fragments(const StepScene& scene, const StepState& state) {
  if (scene.recording.events[state.at].kind != Kind::action) return {};
  std::vector<Line> lines;
  for (const Fragment& of : fragments_of(scene.recording.actions_at(state.at).front())) {
    std::string text =
        text::printed("  %-4s %2d x %-2d  lane %d holds", of.name, of.rows, of.columns, state.lane);
    for (int i = 0; i < std::ssize(of.lanes); ++i) {
      if (of.lanes[i] == state.lane)
        text += text::printed(" [%d][%d]", i / of.columns, i % of.columns);
    }
    lines.push_back({{text}});
  }
  return lines;
}

// Which lane accesses which word; in a step without a request: fragments and the ring.
std::vector<Line> picture_of_access(const StepScene& scene, const StepState& state) {
  if (scene.recording.events[state.at].kind != Kind::request) {
    std::vector<Line> lines = picture_of_fragments(scene, state);
    append(lines, picture_of_ring(scene, state.at));
    return lines;
  }
  const char chosen = pictures::lane_sign(state.lane);
  std::vector<Line> picture;
  for (const auto& [label, signs] :
       pictures::rows_of(pictures::request_at(scene.recording, state.at))) {
    Line& line = picture.emplace_back(Line{{label}});
    for (const char sign : signs) {
      line.push_back({std::string(1, sign)});
      if (sign == chosen) line.back().colour = text::Colour::bold;
    }
  }
  return picture;
}

std::string legend(const StepScene& scene) {
  return std::string("  . empty") + (scene.ring.changes.empty() ? "" : " ~ coming") +
         " o filled # now ! conflict" + (scene.recording.hazards.empty() ? "" : ", race");
}

// The title and up to `rows` rows of the visible part of an array, with a sign for each word.
std::vector<Line> picture_of_array(
    const StepScene& scene, const StepState& state, int rows, int columns) {
  const StepWindow window = window_of(scene, state);
  if (window.array < 0 || rows < 2) return {};
  constexpr int kLabel = 8;
  const int height = std::min(rows - 1, window.rows);
  const int width = std::clamp(columns - kLabel, 1, window.columns);
  // The row that the user scrolled to comes first; an access has a row above it if there is room.
  const int above = state.row || height < 3 ? 0 : 1;
  const int last_row = window.first_row + window.rows;
  const int first_row = std::clamp(window.row - above, window.first_row, last_row - height);
  const int first_column = std::clamp(
      state.column ? window.column : window.column / 8 * 8 - 8, 0, window.columns - width);
  std::string size = text::printed("%d x %d", window.rows, window.columns);
  if (first_column > 0 || width < window.columns) {
    size += text::printed(" from column %d", first_column);
  }
  std::vector<Line> lines{
      {bold(name_of(scene, window.array, window.part)), {" " + size}, {legend(scene)}}};
  const std::string signs = signs_of_words(scene, state.at, window.array);
  for (int row = first_row; row < first_row + height; ++row) {
    Line line{{text::printed("%6d  ", row)}};
    for (int column = first_column; column < first_column + width; ++column) {
      const std::size_t word = static_cast<std::size_t>(row) * window.columns + column;
      if (word >= signs.size()) break;
      const char sign = signs[word];
      std::optional<text::Colour> colour;
      if (sign == '#') colour = text::Colour::bold;
      if (sign == '!') colour = text::Colour::red;
      if (sign == 'o') colour = text::Colour::green;
      if (sign == '~') colour = text::Colour::yellow;
      if (line.size() > 1 && line.back().colour == colour) {
        line.back().text += sign;
      } else {
        line.push_back({std::string(1, sign), colour});
      }
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<Line> help_lines() {
  const char* const kHelp[][2] = {
      {"n, space, right", "next step: a request of a warp, a barrier, a box, a wgmma"},
      {"p, left", "back"},
      {"b  B", "next barrier, previous barrier"},
      {"w  W", "next warp, previous warp; f: n and p stay with it"},
      {"l  L", "next lane, previous lane"},
      {"o  O", "next recorded block, previous one"},
      {"s  S", "next stage (or launch), previous one"},
      {"g  G", "start of the block, its end"},
      {"x  X", "next hazard, previous hazard"},
      {"/text  r", "search for a line by text or number; repeat"},
      {"a", "next array's picture; after the last, follow the steps"},
      {"up down < >", "move the picture; pageup, pagedown by eight rows"},
      {"12n", "a number before a key repeats it"},
      {"q", "quit"},
  };
  std::vector<Line> lines{{bold("Keys")}};
  for (const auto& [keys, what] : kHelp) {
    lines.push_back({{"  "}, bold(text::pad_right(keys, 17)), {what}});
  }
  for (const char* text :
       {"", "Between two barriers a GPU runs warps in any order; here one after the other.",
        "A lane is 0 to 9, then a to v; * is more than one. Global memory is fetched in",
        "sectors of 32 B (paper GPU: 16); in one wavefront each of the 32 banks (8) of",
        "shared memory gives one word.", "", "Any key goes back."}) {
    lines.push_back({{text}});
  }
  return lines;
}

}  // namespace

std::vector<std::string> render(
    const StepScene& scene, const StepState& state, int rows, int columns, StepStyle style) {
  rows = std::max(rows, 1);
  columns = std::max(columns, 1);
  std::vector<Line> lines;
  if (state.help) {
    lines = help_lines();
  } else {
    const int line = scene.recording.line_of(scene.recording.events[state.at]);
    std::vector<Line> counts = warps_now(scene, state.at, columns);
    append(counts, counts_so_far(scene, state.at));
    const std::vector<Line> lane = wrapped(chosen_lane(scene, state), columns, {});
    std::vector<Line> hazards = hazards_now(scene, state, columns);
    std::vector<Line> access = picture_of_access(scene, state);
    const StepWindow window = window_of(scene, state);

    // Header, action, lane, warps and counts, footer, and the lines for the reason and for hazards;
    // the pictures share the rest.
    const int taken = 2 + 1 + static_cast<int>(lane.size() + counts.size()) + 1;
    hazards.resize(std::min<std::size_t>(hazards.size(), std::max(0, (rows - taken) / 3)));
    const std::vector<Line> because = reason(scene, state.at, columns, (rows - taken) / 5);
    const int left = std::max(0, rows - taken - static_cast<int>(hazards.size() + because.size()));
    const bool is_request = scene.recording.events[state.at].kind == Kind::request;
    const int for_access =
        std::min(static_cast<int>(access.size()), std::max(left / (is_request ? 3 : 2), 2));
    int for_source = std::min(std::max(5, left / 4), left / 3);
    const int for_array = std::clamp(left - for_access - for_source, 0, window.rows + 1);
    const int spare = std::max(0, left - for_access - for_source - for_array);
    for_source += spare;

    lines = header(scene, state, style);
    append(lines, source_around(scene, line, for_source));
    append(lines, {action(scene, state.at)});
    append(lines, because);
    append(lines, lane);
    if (static_cast<int>(access.size()) > for_access && for_access > 0) {
      const std::size_t more = access.size() - (for_access - 1);
      access.resize(for_access - 1);
      access.push_back({{text::printed("  ... and %zu more rows", more)}});
    }
    if (for_access > 0) append(lines, access);
    append(lines, picture_of_array(scene, state, for_array, columns));
    append(lines, hazards);
    append(lines, counts);
  }
  lines.resize(rows - 1);  // padded, or truncated if the window is very small
  lines.push_back(state.help ? Line{} : footer(state));

  std::vector<std::string> frame;
  for (const Line& line : lines) frame.push_back(shown(line, columns, style));
  return frame;
}

}  // namespace step
