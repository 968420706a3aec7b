#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/gpus.h"
#include "model/refusal.h"
#include "show/pictures/block_requests.h"
#include "show/step/scene.h"
#include "testing/fuzz.h"
#include "testing/golden.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;

constexpr std::uint32_t kFull = 0xffffffffu;

model::RecordedEvent event(Kind kind, std::int64_t block, int warp, int epoch, int site = -1) {
  model::RecordedEvent of{kind, block, warp, epoch, site};
  of.access.active = warp >= 0 ? kFull : 0;
  of.access.bytes = 4;
  return of;
}

// Lanes at addresses `stride` floats apart from `first`; the cost is given, not computed.
model::RecordedEvent request(
    int warp, int epoch, int site, int first, int stride, int pieces, int ideal) {
  model::RecordedEvent of = event(Kind::request, 0, warp, epoch, site);
  for (int l = 0; l < model::kWarpSize; ++l) of.access.address[l] = 4 * (first + l * stride);
  of.pieces = pieces;
  of.ideal = ideal;
  of.bank_conflicts = pieces - ideal;
  return of;
}

// Two warps that each copy a row of A to As and, after a barrier, read a column of As; a second
// block that does nothing.
StepScene scene() {
  StepScene s;
  s.name = "stage 0, test";
  s.problem = "C (1 x 1), K = 1";
  s.is_product = true;
  s.source = {"__global__ void test() {",  "  load A;", "  As = A;",  "  __syncthreads();",
              "  C = As[threadIdx.x][0];", "}",         "// \xc3\xa9"};
  s.source_first = 1;
  s.source_last = 7;
  model::Recording& r = s.recording;
  r.grid = {2, 1, 1};
  r.block = {64, 1, 1};
  r.arrays = {{"A", 64 * 64 * 4, false}, {"As", 64 * 32 * 4, true}};
  s.row_words = {64, 32};
  r.sites = {
      {0, model::Direction::load, false, 2, {}},
      {1, model::Direction::store, false, 3, {}},
      {-1, model::Direction::load, false, 4, {}},
      {1, model::Direction::load, false, 5, {}}};
  r.events = {event(Kind::block_begin, 0, -1, 0), request(0, 0, 0, 0, 1, 4, 4),
              request(0, 0, 1, 0, 1, 1, 1),       request(1, 0, 0, 64, 1, 4, 4),
              request(1, 0, 1, 32, 1, 1, 1),      event(Kind::barrier, 0, -1, 0, 2),
              request(0, 1, 3, 0, 32, 32, 1),     request(1, 1, 3, 1024, 32, 32, 1),
              event(Kind::block_end, 0, -1, 1),   event(Kind::block_begin, 1, -1, 0),
              event(Kind::block_end, 1, -1, 0)};
  return s;
}

StepState begin(const StepScene& s) {
  return first_state(s, {});
}

StepState press(const StepScene& s, StepState state, const std::string& keys) {
  for (const std::optional<Key> key : parse_script(keys)) state = apply(s, state, key.value());
  return state;
}

std::string frame(
    const StepScene& s, const StepState& state, int rows = 24, int columns = 80,
    StepStyle style = {}) {
  std::string text;
  for (const std::string& line : render(s, state, rows, columns, style)) text += line + "\n";
  return text;
}

StepScene racy_scene() {
  StepScene s = scene();
  model::RecordedHazard hazard{{model::HazardKind::race, "As", 4 * 33, 0, {}, {}}, 6, 4, 6};
  s.recording.hazards = {hazard};
  s.sentences = {"test, block (0, 0): race on As"};
  return s;
}

TEST_CASE("each request, copy, wait and product of a block is in one step, which is of its warp") {
  using ActionKind = model::RecordedAction::Kind;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty()) continue;
    CAPTURE(stage.number);
    const model::Variant& v = stage.variants[0];
    const lab::Problem p = lab::random_problem({v.BM, v.BN, 6 * std::max(v.BK, 8)}, 1, 0, 1);
    model::Recorder recorder{.blocks = {0}};
    const lab::Measurement traced = lab::traced(
        p, stage_table_traced, v,
        {.gpu = model::find_gpu("H200"),
         .blocks = machine::Blocks::kFirst,
         .hazards = false,
         .recorder = &recorder});
    std::int64_t boxes = 0, multiplied = 0, requests = 0;
    for (const model::Recording& recording : recorder.launches) {
      std::size_t in_steps = 0;
      for (std::size_t at = 0; at < recording.events.size(); ++at) {
        requests += recording.events[at].kind == Kind::request;
        if (recording.events[at].kind != Kind::action) continue;
        const std::span<const model::RecordedAction> actions = recording.actions_at(at);
        CHECK(!actions.empty());
        in_steps += actions.size();
        for (const model::RecordedAction& action : actions) {
          const bool is_of_warp =
              recording.warp.warp_of(action.thread) == recording.events[at].warp;
          if (!is_of_warp || action.kind != actions.front().kind) FAIL_CHECK("step ", at);
        }
        // The copy engine reads a box from global memory and writes it to shared memory.
        if (actions.front().kind == ActionKind::box) boxes += std::ssize(actions);
        const bool is_mma = actions.front().kind == ActionKind::mma;
        if (is_mma || actions.front().kind == ActionKind::multiply) {
          CHECK(actions.size() == 1);
          multiplied += is_mma ? static_cast<std::int64_t>(actions.front().value) : 1;
        }
      }
      CHECK(in_steps == recording.actions.size());
      // Each phase and group that comes to a place of the ring is waited for.
      std::map<std::pair<int, std::uint64_t>, bool> waited;
      StepScene s;
      s.contexts = contexts_of(s.recording = recording);
      for (const Ring::Change& change : ring_of(s).changes) {
        if (change.kind != Ring::Change::empty)
          waited[{change.place, change.number}] |= change.is_here;
      }
      for (const auto& [of, is_waited_for] : waited) CHECK(is_waited_for);
      // The warp of a step runs, and no other one; one that has ended has no step any more.
      std::map<int, std::string> doing;
      const std::vector<WarpChange> changes = warp_changes(s, steps_of_block(recording, 0));
      auto change = changes.begin();
      for (std::size_t at = 0; at < recording.events.size(); ++at) {
        const int warp = recording.events[at].warp;
        const bool has_ended = warp >= 0 && at > 0 && doing[warp] == "ended";
        for (; change != changes.end() && change->at == at; ++change)
          doing[change->warp] = change->doing;
        const auto runs = [](const auto& of) { return of.second == "running"; };
        const bool is_right = warp < 0 || doing[warp] == "running";
        if (!is_right || has_ended || std::ranges::count_if(doing, runs) != (warp >= 0))
          FAIL_CHECK("step ", at);
      }
    }
    const model::Counts& counts = *traced.counts;
    CHECK(multiplied == counts.mmas);
    CHECK(
        requests + 2 * boxes == counts.gmem_loads.requests + counts.gmem_stores.requests +
                                    counts.smem_loads.requests + counts.smem_stores.requests);
  }
}

// Two cp.async of a warp, each a group, and waits for the first and for both.
StepScene copying_scene() {
  StepScene s = scene();
  model::Recording& r = s.recording;
  r.sites = {{1, model::Direction::copy, false, 2, {}}, {-1, model::Direction::load, false, 3, {}}};
  const auto copy = [](int first) { return request(0, 0, 0, first, 1, 1, 1); };
  model::RecordedEvent commit = event(Kind::commit, 0, 0, 0, 1), all_but_one = commit, all = commit;
  all.kind = all_but_one.kind = Kind::wait;
  all_but_one.access.address.fill(1);
  r.events = {
      event(Kind::block_begin, 0, -1, 0), copy(0), commit, copy(32), commit, all_but_one, all};
  s.ring = ring_of(s);
  return s;
}

}  // namespace

TEST_CASE("keys and places lead to the steps of their golden file") {
  const StepScene s = racy_scene();
  std::string text;
  const auto add = [&](const std::string& keys, const StepState& to) {
    text += text::printed(
        "%s: step %zu, warp %d, lane %d, scene %zu%s  %s\n", keys.c_str(), std::size_t(to.at),
        to.warp, to.lane, std::size_t(to.scene), to.quit ? ", quit" : "", to.message.c_str());
  };
  // One line each. ~ is Return, ` Backspace, and ^ Escape.
  const char* const typed =
      "n\nspace right n p left\n5n\n100n\n100n n\np\nG\nend home\nb\nbb\nG B\nw\n6n w\nW W\n"
      "3l\nL\no\no O\noo\nS\nq\nf 3n\nf 4n\nw f p\nf f 3n\n/threadidx\n/threadIdx~r\n"
      "/threadIdx~r r\n/4\nn /nowhere\n/4x`~\n/4^n\nx\nG X";
  for (const std::string& line : testing::lines_of(typed)) {
    std::string keys = line;
    for (const auto& [sign, key] : {std::pair('~', '\n'), {'`', '\b'}, {'^', '\033'}}) {
      std::ranges::replace(keys, sign, key);
    }
    add(line, press(s, begin(s), keys));
  }
  StepState of_three = begin(s);
  of_three.scenes = 3;
  for (const char* keys : {"s", "9s", "S"}) add(keys, press(s, of_three, keys));
  add("x without a hazard", press(scene(), begin(scene()), "x"));
  for (const std::string place :
       {"barrier:1", "line:5", "step:7", "hazard:1", "hazard", "end", "barrier:2", "step:9",
        "line:1", "", ":", "barrier:", "barrier:x", "hazard:0", "hazard:2", "4", "line:-1",
        "step:99999999999999999999"}) {
    try {
      add(place, move_to(s, begin(s), place, "--until " + place));
    } catch (const model::Refusal& refusal) {
      text += refusal.what() + std::string("\n");
    }
  }
  for (const char* script :
       {"12n b\t# a comment\nprint q", "/As[row] = \nn", "", "pagedown", "n\nnz"}) {
    try {
      for (const std::optional<Key> key : parse_script(script)) {
        text += key ? text::printed("%d ", *key) : "print ";
      }
      text += "\n";
    } catch (const model::Refusal& refusal) {
      text += refusal.what() + std::string("\n");
    }
  }
  testing::compare_with_golden("steps", {{"keys, places and scripts", text}});
}

TEST_CASE("any script is a sequence of keys, or refused in one sentence") {
  testing::Fuzz fuzz(
      {"3n b /As[row]\nprint", "right left up down\npageup # a comment\n12n\nenter escape space q"},
      {"print", "right", "/", "#", "\n", "\t", "é", "\x1b[2J", "999999999999n", "pageup"});
  testing::fuzz<model::Refusal>([&] { return fuzz.next(); }, parse_script);
}

TEST_CASE("any sequence of keys leaves a state that can be drawn at any size") {
  const StepScene scenes[] = {scene(), racy_scene()};
  for (const StepScene& s : scenes) {
    StepState state = begin(s);
    std::uint32_t random = 1;
    for (int i = 0; i < 3000; ++i) {
      random = random * 1664525u + 1013904223u;
      const Key key = random >> 28 == 0 ? kUpKey + static_cast<Key>((random >> 16) % 8)
                                        : static_cast<Key>((random >> 16) % 128);
      state = apply(s, state, key);
      state.scene = 0;
      REQUIRE(state.at < s.recording.events.size());
      const int rows = 1 + static_cast<int>((random >> 8) % 50);
      const int columns = 1 + static_cast<int>((random >> 4) % 120);
      const std::vector<std::string> lines = render(s, state, rows, columns, {});
      REQUIRE(static_cast<int>(lines.size()) == rows);
      for (const std::string& line : lines) REQUIRE(text::display_width(line) <= columns);
    }
  }
}

TEST_CASE("frames of a made-up block are those of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const StepScene& s, const std::string& keys) {
    outputs.emplace_back(keys, frame(s, press(s, begin(s), keys)));
  };
  for (const char* keys : {"", "n", "4n 3l", "6n", "n /nowhere", "100n", "?"}) add(scene(), keys);
  for (const char* keys : {"", "x", "4n"}) add(racy_scene(), keys);
  for (const char* keys : {"4n", "5n", "6n"}) add(copying_scene(), keys);
  const StepScene s = scene();
  outputs.emplace_back("/a, not yet ended", frame(s, apply(s, apply(s, begin(s), '/'), 'a'), 6));
  for (const StepStyle style : {StepStyle{}, {.ascii = true}, {.colour = true}}) {
    outputs.emplace_back("7n, in 40 rows", frame(s, press(s, begin(s), "7n"), 40, 80, style));
  }
  testing::compare_with_golden("frames", outputs);
}

TEST_CASE("a word's element is named in products alone") {
  StepScene s = scene();
  CHECK(testing::contains(frame(s, press(s, begin(s), "4n")), "bank 0: A[1][0]"));
  s.is_product = false;
  CHECK(testing::contains(frame(s, press(s, begin(s), "4n")), "bank 0\n"));
}

TEST_CASE("any number of warps may wait for a place of the ring") {
  StepScene s = copying_scene();
  for (model::RecordedEvent& event : s.recording.events) event.warp = 63;
  CHECK(ring_of(s).changes.back().waited == std::set{63});
}

TEST_CASE("a warp has not ended where the recording ends before its block") {
  StepScene s = scene();
  CHECK(testing::contains(frame(s, press(s, begin(s), "7n")), "warps ended: 0; running: 1\n"));
  s.recording.events.resize(8);
  CHECK(testing::contains(frame(s, press(s, begin(s), "7n")), "warps not seen again: 0; running"));
}

TEST_CASE("colour only repeats what signs show") {
  const StepScene s = racy_scene();
  for (const char* keys : {"n", "4n", "6n", "?"}) {
    std::string coloured = frame(s, press(s, begin(s), keys), 24, 80, {true, false});
    for (std::size_t at; (at = coloured.find('\033')) != coloured.npos;) {
      coloured.erase(at, coloured.find('m', at) + 1 - at);
    }
    CHECK(coloured == frame(s, press(s, begin(s), keys)));
  }
}

TEST_CASE("the rows of a shared array are as wide as it is declared") {
  const std::vector<std::string> source = {
      "#define TILE 16 // a tile",
      "constexpr int kPad = 1;",
      "template <int BM, const uint BK = 4>",
      "__global__ void tiled(float* C) {",
      "  __shared__ float As[BM][BK + kPad], Bs[TILE][TILE];",
      "  __shared__ float4 Cs[4][ BK ];",
      "  __shared__ float flat[BM * BK], odd[2][f(3)];",
      "}"};
  const auto words = [&](const char* name, std::size_t bytes) {
    return pictures::declared_row_words(source, 3, 8, "tiled<8, 4u>", name, bytes);
  };
  CHECK(words("As", 8 * 5 * 4) == 5);
  CHECK(words("Bs", 16 * 16 * 4) == 16);
  CHECK(words("Cs", 4 * 4 * 16) == 16);
  CHECK(words("flat", 128) == 32);
  CHECK(words("odd", 128) == 32);
  CHECK(words("dynamic", 128) == 32);
  CHECK(words("As", 12) == 32);  // which differs from the declaration
  CHECK(pictures::declared_row_words(source, 0, 0, "tiled<8, 4u>", "As", 160) == 32);
}

}  // namespace step
