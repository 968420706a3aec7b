#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/refusal.h"
#include "show/pictures/block_requests.h"
#include "show/step/frame.h"
#include "show/step/navigation.h"
#include "testing/fuzz.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace step {

namespace {

using Kind = model::RecordedEvent::Kind;
using testing::contains;

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
  s.source = {"__global__ void test() {",  "  load A;", "  As = A;",           "  __syncthreads();",
              "\tC = As[threadIdx.x][0];", "}",         "// \033[31m \xc3\xa9"};
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
  for (const ScriptStep& step : parse_script(keys)) state = apply(s, state, step.key.value());
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

}  // namespace

TEST_CASE("next and back go through a block's steps and stop at its ends") {
  const StepScene s = scene();
  CHECK(press(s, begin(s), "n").at == 1);
  CHECK(press(s, begin(s), "space right n p left").at == 1);
  CHECK(press(s, begin(s), "5n").at == 5);
  const StepState end = press(s, begin(s), "100n");
  CHECK(end.at == 8);
  CHECK(contains(end.message, "the end of the block"));
  CHECK(press(s, end, "n").at == 8);
  const StepState before = press(s, begin(s), "p");
  CHECK(before.at == 0);
  CHECK(contains(before.message, "the start of the block"));
  CHECK(press(s, begin(s), "G").at == 8);
  CHECK(press(s, begin(s), "end home").at == 0);
}

TEST_CASE("keys move to a barrier, a warp, a lane, a block and a stage") {
  const StepScene s = scene();
  CHECK(press(s, begin(s), "b").at == 5);
  CHECK(contains(press(s, begin(s), "bb").message, "no barrier follows"));
  CHECK(press(s, begin(s), "G B").at == 5);
  CHECK(press(s, begin(s), "w").at == 3);     // of warp 1, before the barrier
  CHECK(press(s, begin(s), "6n w").at == 7);  // and after it
  CHECK(press(s, begin(s), "W W").warp == 0);
  CHECK(press(s, begin(s), "3l").lane == 3);
  CHECK(press(s, begin(s), "L").lane == 31);
  CHECK(press(s, begin(s), "o").at == 9);
  CHECK(press(s, begin(s), "o O").at == 0);
  CHECK(contains(press(s, begin(s), "oo").message, "last recorded block"));
  StepState of_three = begin(s);
  of_three.scenes = 3;
  CHECK(press(s, of_three, "s").scene == 1);
  CHECK(press(s, of_three, "9s").scene == 2);
  CHECK(contains(press(s, of_three, "S").message, "no stage before"));
  CHECK(press(s, begin(s), "q").quit);
}

TEST_CASE("while one warp is followed, next skips the steps of others but not barriers") {
  const StepScene s = scene();
  CHECK(press(s, begin(s), "f 3n").at == 5);
  CHECK(press(s, begin(s), "f 4n").at == 6);
  CHECK(press(s, begin(s), "w f p").at == 0);
  CHECK(press(s, begin(s), "f f 3n").at == 3);
}

TEST_CASE("a search finds a line by its text or number, repeats, and says if there is none") {
  const StepScene s = scene();
  CHECK(press(s, begin(s), "/threadidx").at == 6);  // case does not matter
  CHECK(press(s, begin(s), "/threadIdx\nr").at == 7);
  CHECK(press(s, begin(s), "/threadIdx\nr r").at == 6);  // wraps around
  CHECK(press(s, begin(s), "/4").at == 5);
  const StepState missing = press(s, begin(s), "n /nowhere");
  CHECK(missing.at == 1);
  CHECK(contains(missing.message, "\"nowhere\""));
  StepState typing = apply(s, begin(s), '/');
  for (const Key key : {Key{'a'}, Key{'n'}, Key{kBackspaceKey}}) typing = apply(s, typing, key);
  CHECK(typing.search == "a");
  CHECK(contains(frame(s, typing), "/a_"));
  CHECK(!apply(s, typing, kEscapeKey).typing);
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

TEST_CASE("what a box of the copy engine fills is not drawn as empty") {
  const auto frame_at = [](const std::string& place) {
    return testing::gemm_steps("--device cpu --stage 14 --step --print --ascii " + place).out;
  };
  const std::string copied = frame_at("--frame 40");
  CHECK(contains(copied, ". empty ~ coming o filled"));
  CHECK(contains(copied, "  " + std::string(32, 'o')));
  CHECK_FALSE(contains(copied, "  " + std::string(32, '.')));
}

TEST_CASE("a frame shows the line, the lanes, the tile being filled and the counts so far") {
  const StepScene s = scene();
  const std::string empty = frame(s, begin(s));
  CHECK(contains(empty, "As 64 x 32  . empty o filled # this access ! conflict, race"));
  CHECK(contains(empty, "     0  " + std::string(32, '.')));
  CHECK(contains(empty, "GMEM loads 0"));

  const std::string store = frame(s, press(s, begin(s), "4n 3l"));
  CHECK(contains(store, ">   3    As = A;"));
  CHECK(contains(store, "warp 1, 32 lanes store 4 B to As: 1 wavefront, ideal 1"));
  CHECK(contains(store, "lane 3 is thread (35, 0): byte 140, row 1, column 3, bank 3, drawn as 3"));
  CHECK(contains(store, "wavefront   1  0123456789abcdefghijklmnopqrstuv"));
  CHECK(contains(store, "     0  " + std::string(32, 'o')));
  CHECK(contains(store, "     1  " + std::string(32, '#')));
  CHECK(contains(store, "     2  " + std::string(32, '.')));
  CHECK(contains(store, "GMEM loads 2 req x 4.00 sectors"));
  CHECK(contains(store, "stores 2 req x 1.00 wavefronts"));

  const std::string sectors = frame(s, press(s, begin(s), "n"));
  CHECK(contains(sectors, "[01234567][89abcdef][ghijklmn][opqrstuv]"));

  const std::string column = frame(s, press(s, begin(s), "6n"));
  CHECK(contains(column, "32 wavefronts, ideal 1 <- bank conflict"));
  CHECK(contains(column, "Lanes 0–31 want 32 different words of the same bank, 32 words apart"));
  CHECK(contains(column, "     0  !ooooooo"));
  CHECK(contains(column, "     2  !......."));
  CHECK(contains(column, "bank conflicts 31, barriers 1"));
  CHECK(contains(column, "1 barrier passed"));
}

TEST_CASE("a hazard has a mark and a sentence where it happens") {
  const StepScene s = racy_scene();
  CHECK(contains(frame(s, begin(s)), "! 0 hazards found up to here, 1 in all: x goes to the next"));
  for (const char* keys : {"x", "4n"}) {  // its second access, and its first
    const std::string text = frame(s, press(s, begin(s), keys));
    CHECK(contains(text, "! test, block (0, 0): race on As"));
    CHECK(contains(text, keys[0] == 'x' ? "     1  !!oooooo" : "     1  #!######"));
  }
  CHECK(press(s, begin(s), "x").at == 6);
  CHECK(press(s, begin(s), "G X").at == 6);
  CHECK(contains(press(scene(), begin(scene()), "x").message, "no hazard was found"));
}

TEST_CASE("an async copy is in flight until its thread waits for its group") {
  StepScene s = scene();
  model::Recording& r = s.recording;
  r.sites = {{1, model::Direction::copy, false, 2, {}}, {-1, model::Direction::load, false, 3, {}}};
  model::RecordedEvent all_but_one = event(Kind::wait, 0, 0, 0, 1), all = all_but_one;
  all_but_one.access.address.fill(1);
  r.events = {
      event(Kind::block_begin, 0, -1, 0),
      request(0, 0, 0, 0, 1, 1, 1),
      event(Kind::commit, 0, 0, 0, 1),
      request(0, 0, 0, 32, 1, 1, 1),
      event(Kind::commit, 0, 0, 0, 1),
      all_but_one,
      all};
  const std::string first = "     0  ", second = "     1  ";
  const std::string copying = frame(s, press(s, begin(s), "4n"));
  CHECK(contains(copying, "~ coming"));
  CHECK(contains(copying, first + std::string(32, '~')));
  const std::string one_left = frame(s, press(s, begin(s), "5n"));
  CHECK(contains(one_left, first + std::string(32, 'o')));
  CHECK(contains(one_left, second + std::string(32, '~')));
  CHECK(contains(frame(s, press(s, begin(s), "6n")), second + std::string(32, 'o')));
}

TEST_CASE("a frame is plain ASCII on request, and source text cannot control the terminal") {
  const StepScene s = scene();
  const StepState state = press(s, begin(s), "7n");
  for (const bool ascii : {false, true}) {
    const std::string text = frame(s, state, 40, 80, {false, ascii});
    CHECK(!contains(text, "\033"));
    CHECK(contains(text, "// ?[31m"));
    CHECK(contains(text, ascii ? "[31m ?" : "[31m \xc3\xa9"));
    const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
    CHECK(is_ascii == ascii);
  }
  CHECK(contains(frame(s, state, 24, 80, {true, false}), "\033[1m"));
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

TEST_CASE("a place is a barrier, a line, a step, a hazard or the end; anything else is refused") {
  const StepScene s = racy_scene();
  const auto at = [&](const std::string& place) {
    return move_to(s, begin(s), place, "--until " + place).at;
  };
  CHECK(at("barrier:1") == 5);
  CHECK(at("line:5") == 6);
  CHECK(at("step:7") == 7);
  CHECK(at("hazard:1") == 6);
  CHECK(at("hazard") == 6);
  CHECK(at("end") == 8);
  CHECK_THROWS_WITH_AS(
      at("barrier:2"), "--until barrier:2: there is 1 barrier in this block", model::Refusal);
  CHECK_THROWS_WITH_AS(
      at("step:9"), "--until step:9: the last step of this block is 8", model::Refusal);
  CHECK_THROWS_WITH_AS(
      at("line:1"), "--until line:1: no step is on that line; the kernel is on lines 1 to 7",
      model::Refusal);
  for (const char* place :
       {"", ":", "barrier:", "barrier:x", "hazard:0", "hazard:2", "4", "line:-1",
        "step:99999999999999999999"}) {
    CHECK_THROWS_AS(at(place), model::Refusal);
  }
}

TEST_CASE("a script has keys as they are typed; other words are refused with their line") {
  const auto keys = [](const std::string& text) {
    std::string typed;
    for (const ScriptStep& step : parse_script(text)) {
      typed += step.key ? static_cast<char>(*step.key) : '@';
    }
    return typed;
  };
  CHECK(keys("12n b\t# a comment\nprint q") == "12nb@q");
  CHECK(keys("/As[row] = \nn") == "/As[row] =\rn");
  CHECK(keys("").empty());
  CHECK(parse_script("pagedown")[0].key == Key{kPageDownKey});
  CHECK_THROWS_WITH_AS(
      parse_script("n\nnz"),
      "--script, line 2: nz: \"z\" is not a key; write keys like 3n or b, right, "
      "print or /text",
      model::Refusal);
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
