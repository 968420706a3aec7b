// The page and the figures in a real browser: the page shows what --step prints, at every stage and
// for every key.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "show/page/page.h"
#include "show/pictures/recorded_gpus.h"
#include "show/pictures/svg.h"
#include "testing/browser.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/json.h"
#include "text/numbers.h"

namespace page {

namespace {

using testing::Browser;
using testing::Folder;
using testing::there_is_no_browser;

const std::string kSize = " --m 256 --n 256 --k 192 --variant first --gpu H200";

// The page of the whole ladder, written once for all tests of a process.
const std::string& ladder_page() {
  static const Folder folder;
  static const std::string path = [] {
    const std::string file = folder / "lesson.html";
    const testing::Output output = testing::gemm_steps("--gpu H200 --page '" + file + "'");
    REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    return file;
  }();
  return path;
}

// What the tests ask of a page, in fewer words; and a clock that they set, for one run of a script.
constexpr const char* kHelpers = R"(
window.one = (selector) => document.querySelector(selector);
window.all = (selector) => [...document.querySelectorAll(selector)];
window.texts = (selector) => all(selector).map(({textContent}) => textContent).join('|');
window.style = (selector, name) => getComputedStyle(one(selector))[name];
window.painted = () =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
window.isCut = ({scrollWidth, clientWidth, scrollHeight, clientHeight}) =>
  [scrollWidth > clientWidth + 1, scrollHeight > clientHeight + 1];
window.withClock = (run) => {
  const real = [requestAnimationFrame, performance.now], clock = {time: 0, frame: null};
  window.requestAnimationFrame = (tick) => { clock.frame = tick; return 1; };
  performance.now = () => clock.time;
  const result = run(clock);
  [window.requestAnimationFrame, performance.now] = real;
  return result;
};
// Which words of a picture leave it, lie over other words, or lie over a line but on no fill.
window.faultsOf = (picture) => {
  const of = (one, part = one.getBoundingClientRect()) => ({words: one.textContent, one,
    left: part.left, right: part.right,  // between the baseline and the top of capitals
    top: part.top + 0.18 * part.height, bottom: part.bottom - 0.2 * part.height});
  const labels = [...picture.querySelectorAll('text:not(:empty)')].map((one) => of(one));
  const whole = picture.getBoundingClientRect();
  const touch = (a, b) => a.left + 0.5 < b.right && b.left + 0.5 < a.right && a.top + 0.5 < b.bottom &&
    b.top + 0.5 < a.bottom;
  const strokes = [...picture.querySelectorAll('.thick, .dashed')].flatMap((line) =>
    Array.from({length: line.getTotalLength() / 2}, (_, i) =>
      line.getPointAtLength(2 * i).matrixTransform(line.getScreenCTM())));
  const isCrossed = (label) => strokes.some(({x, y}) =>
    label.left < x && x < label.right && label.top < y && y < label.bottom);
  return labels.flatMap((label, i) => [
    ...(label.left < whole.left + 4 || label.right > whole.right - 4 || label.top < whole.top + 4 ||
      label.bottom > whole.bottom - 4 ? [label.words + ' leaves'] : []),
    ...labels.slice(i + 1).filter((other) => touch(label, other)).map(({words}) =>
      label.words + ' on ' + words),
    ...(!label.one.matches('.on') && isCrossed(label) ? [label.words + ' is crossed'] : [])]).join();
};)";

// The browser, at that place of the ladder's page.
Browser& ladder_at(const std::string& place = "", int width = 1280, int height = 720) {
  Browser& browser = testing::shared_browser();
  browser.open(ladder_page() + place, width, height);
  browser.evaluate(kHelpers);
  return browser;
}

std::string words_of(Browser& browser, const std::string& selector) {
  return browser.text("one(`" + selector + "`).textContent");
}

std::vector<int> stages_with_kernels() {
  std::vector<int> numbers;
  for (const model::Stage& stage : stage_table_plain.stages) {
    if (!stage.variants.empty()) numbers.push_back(stage.number);
  }
  return numbers;
}

// The frames of --step where the script prints them.
std::vector<std::string> frames(int stage, const std::string& script) {
  const Folder folder;
  folder.write("keys", script);
  const testing::Output output = testing::gemm_steps(
      "--step" + kSize + " --stage " + std::to_string(stage) + " --script '" + (folder / "keys") +
      "'");
  REQUIRE_MESSAGE(output.exit_code == 0, output.err);
  std::vector<std::string> frames;
  constexpr std::string_view kHead = "\nstep ";
  for (std::size_t at = output.out.find(kHead); at != output.out.npos;) {
    const std::size_t next = output.out.find(kHead, at + 1);
    frames.push_back(output.out.substr(at + kHead.size(), next - at));
    at = next;
  }
  return frames;
}

// What the page counts, line by line as such a frame says it.
std::vector<std::string> counters_of_page(Browser& browser) {
  return testing::lines_of(browser.text(R"((() => {
    const rows = all('.counters tbody tr').map((row) =>
      [...row.querySelectorAll('td')].map(({textContent}) => textContent));
    const sum = ([requests, , each], unit) =>
      requests === '0' ? '0' : `${requests} req x ${each} ${unit}`;
    const line = (name, [loads, stores], unit) =>
      `${name} loads ${sum(loads, unit).padEnd(30)} stores ${sum(stores, unit)}`;
    return [line('GMEM', rows.slice(0, 2), 'sectors'), line('SMEM', rows.slice(2), 'wavefronts'),
      one('.counters').nextSibling.textContent].join('\n');
  })())"));
}

int number(Browser& browser, const std::string& js) {
  return std::atoi(browser.evaluate(js).c_str());
}

// Faster than opening the page there.
void go_to_stage(Browser& browser, int stage, const std::string& step = "0") {
  browser.evaluate(
      "history.replaceState(null, '', '#stage=" + std::to_string(stage) + "&step=" + step +
      "'), page.follow()");
}

// The places of the ring in that step: the phase or group, its state, and the warps.
std::string ring_of(Browser& browser, int stage, const std::string& step) {
  go_to_stage(browser, stage, step);
  return browser.text(
      "all('.ring tbody tr').map(({children}) => "
      "[...children].slice(1).map(({textContent}) => textContent).join(' ')).join()");
}

// The opening step shows the kernel's idea, and what the stage before has otherwise.
void check_opening(Browser& browser, int stage) {
  CHECK(number(browser, "all('.idea-picture svg .lane').length") >= 3);
  const std::string marked = browser.text("texts('.way .new')");
  if (stage == 1) CHECK(marked == "");
  if (stage == 5) CHECK(marked == "Registers: 64 sums per lane, 8 x 8");
  if (stage == 14) CHECK(marked == "the copy engine, box by box, for one thread");
  if (stage == 16) CHECK(marked == "Warp 0 copies; warps 4–11 multiply.");
  // Numbers per result can be compared in all stages, also of what a stage no longer does.
  const std::string rows = browser.text(
      "all('.opening tbody tr').map(({children}) => "
      "[...children].map(({textContent}) => textContent).join(' ')).join('|')");
  if (stage == 5) CHECK(testing::contains(rows, "|SMEM loads per result 216 48|"));
  if (stage == 5) CHECK(testing::contains(rows, "bytes loaded from GMEM per result 24 12|"));
  if (stage == 18) CHECK(testing::first_match(rows, "\\|SMEM loads per result [0-9.]+ 0\\|"));
}

// A row of shared memory is as wide as its banks, and each word says its place.
void check_rows(Browser& browser, int stage) {
  browser.evaluate("page.player.goTo(1)");
  CHECK(
      browser.evaluate(
          "page.player.block.views.filter(({array, columns, allRows}) => array.shared && "
          "(columns !== 32 || allRows * 32 < array.words)).length") == "0");
  if (stage != 7) return;
  CHECK(  // As has rows of 132 words
      browser.text("page.player.block.views.find(({array}) => array.name === 'As').at(132 + 5)") ==
      "As[1][5], word 137, bank 9");
  browser.evaluate("page.player.goTo(80)");
  CHECK(
      browser.text("page.player.block.views.find(({array}) => array.name === 'As').at(132 + 5)") ==
      "As[1][5], word 137, bank 9, holds A[5][1]");
}

// Play tells a block in a minute, and the sums of C end complete.
void check_play(Browser& browser) {
  CHECK(number(browser, "page.player.life.seconds") >= 10);
  CHECK(number(browser, "page.player.life.seconds") <= 61);
  CHECK(browser.evaluate("page.player.life.stepAt(61) === page.player.recording.last") == "true");
  CHECK(
      browser.evaluate(
          "page.player.life.ends.every((end, i, all) => i === 0 || end > all[i - 1])") == "true");
  CHECK(number(browser, "page.player.life.chapters.length") >= 2);
  // All K = 192 products of each element that the block stores, and none before it begins.
  CHECK(browser.text(R"((() => {
    const {life, recording: {last, scene: {BM, BN}}} = page.player;
    const stored = [...life.warpOf].filter((warp) => warp >= 0);
    const at = (step) => [...new Set(stored.map((warp) => life.productsOf(warp, step)))].join();
    return [at(0), at(last), stored.length === BM * BN].join(' ');
  })())") == "0 192 true");
}

// The elements that come to a warp's registers are those that its sums need, each once.
void check_registers(Browser& browser, int stage) {
  if (stage > 14) return;  // a wgmma reads shared memory
  CHECK(browser.text(R"((() => {
    const {life: {lines, registers}, recording: {last}} = page.player;
    let warps = 0;
    registers.brought.forEach((factors, warp) => {
      if (lines[warp][0].length === 0) return;
      ++warps;
      factors.forEach((of, i) => {
        const brought = [...of.keys()].sort((a, b) => a - b).join();
        if (brought !== lines[warp][i].join()) throw new Error('warp ' + warp);
        const isWhole = [...of.values()].every((steps) => countUpTo(steps, last) === 192);
        if (!isWhole) throw new Error('K of warp ' + warp);
      });
    });
    return warps > 0 ? 'all' : 'none';
  })())") == "all");
  // Without tensor cores each lane loads what its own sums need, A and B in the same order of k.
  if (stage > 10) return;
  CHECK(browser.text(R"((() => {
    const {registers} = page.player.life, lines = registers.linesOf(0, 9);
    const loaded = registers.loads[0].flatMap((load) => [...registers.elementsOf(load, 9)]);
    const [a, b] = [0, 1].map((isB) =>
      loaded.filter((one) => (one & 1) === isB).map((one) => registers.placeOf(one)));
    const linesOf = (of) => [...new Set(of.map(([line]) => line))].sort((a, b) => a - b).join();
    const order = (of) => [...new Set(of.map(([, k]) => k))].join();
    const areAll = linesOf(a) === lines[0].join() && linesOf(b) === lines[1].join();
    return [areAll, order(a) === order(b)].join();
  })())") == "true,true");
}

}  // namespace

TEST_CASE("the page of the ladder is smaller than 400 KB, and that of a stage than 200 KB") {
  CHECK(std::filesystem::file_size(ladder_page()) < 400'000);
  const Folder folder;
  for (const int stage : {5, 21}) {  // the longest, and the latest
    CAPTURE(stage);
    const std::string file = folder / "stage.html";
    const testing::Output output =
        testing::gemm_steps("--page '" + file + "' --stage " + std::to_string(stage));
    CHECK(output.exit_code == 0);
    CHECK(std::filesystem::file_size(file) < 200'000);
  }
}

TEST_CASE("the page needs no other file and no network") {
  const std::string html = testing::contents(ladder_page());
  for (const std::string word :
       {"http:", "https:", " src=", "@import", "url(", "fetch(", "import("}) {
    CAPTURE(word);
    for (std::size_t at = html.find(word); at != html.npos; at = html.find(word, at + 1)) {
      // SVG's namespace is not an address to load from, and "#" leads to the page itself.
      const bool is_name = html.compare(at, 18, "http://www.w3.org/") == 0;
      CAPTURE(html.substr(at, 60));
      CHECK((is_name || html[at + word.size()] == '#'));
    }
  }
}

TEST_CASE("at chosen steps of every stage the page counts what --step counts") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at();
  for (const int stage : stages_with_kernels()) {
    CAPTURE(stage);
    go_to_stage(browser, stage);
    CHECK(browser.complaints() == std::vector<std::string>{});
    const int last = number(browser, "page.player.recording.last");
    CHECK(last > 100);
    const int steps[] = {last / 7, last / 2 + 1, last};
    std::string script;
    int before = 0;
    for (const int step : steps) {
      script += std::to_string(step - std::exchange(before, step)) + "n print ";
    }
    const std::vector<std::string> printed = frames(stage, script);
    for (std::size_t i = 0; i < std::size(steps); ++i) {
      CAPTURE(steps[i]);
      browser.evaluate("page.player.goTo(" + std::to_string(steps[i]) + ")");
      CHECK(std::atoi(printed.at(i).c_str()) == steps[i]);
      for (const std::string& line : counters_of_page(browser))
        CHECK(testing::contains(printed[i], line + "\n"));
    }
    // Every request has a reason, with the wavefronts or sectors that it costs.
    CHECK(
        browser.evaluate(
            "page.player.recording.steps.filter(({kind, reason, pattern}) => kind === Kind.request "
            "&& !new RegExp(`\\\\b${pattern.pieces} (wavefront|sector)`).test(reason)).length") ==
        "0");
    CHECK(browser.complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("keys lead to the steps that the same keys of --step lead to") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=5");
  const std::string keys = "nnbpbnBGpgb3n";
  std::string script;
  for (const char key : keys) script += key == '3' ? "3" : std::string(1, key) + " print ";
  const std::vector<std::string> printed = frames(5, script);
  std::size_t pressed = 0;
  for (const char key : keys) {
    browser.press(
        key == 'p' ? "ArrowLeft" : std::string(1, key));  // the page's p is for a projector
    if (key == '3') continue;
    CAPTURE(pressed);
    CHECK(number(browser, "page.player.now") == std::atoi(printed.at(pressed++).c_str()));
  }
  browser.press("t");
  const int tile = number(browser, "page.player.now");
  browser.press("t");
  browser.press("T");
  CHECK(number(browser, "page.player.now") == tile);
  CHECK(testing::contains(words_of(browser, ".sentence"), "from A"));
  browser.press("l");
  CHECK(testing::contains(browser.text("location.hash"), "lane=1"));
  browser.press("w");
  CHECK(testing::contains(browser.text("location.hash"), "warp=0"));
  for (const char* key : {"?", "h"}) {
    browser.press(key);
    CHECK(browser.evaluate("one('.keys').hidden") == (*key == '?' ? "false" : "true"));
  }
  browser.press(" ");
  CHECK(browser.evaluate("page.player.playing !== null") == "true");
  browser.press(" ");
  CHECK(browser.evaluate("page.player.playing") == "null");
  browser.press("s");
  CHECK(testing::contains(browser.text("location.hash"), "stage=6"));
}

TEST_CASE("an address leads to a stage, a step and a lane, and nonsense in it to the beginning") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=7&step=123&lane=5");
  CHECK(
      browser.evaluate("[page.player.recording.scene.stage, page.player.now, page.player.lane]") ==
      "[7,123,5]");
  for (const std::string nonsense :
       {"#stage=99&step=-1&lane=abc", "#step=999999999&lane=77", "#view=no", "#%%%",
        "#view=compare&left=99&share=5000"}) {
    CAPTURE(nonsense);
    ladder_at(nonsense);
    CHECK(browser.complaints() == std::vector<std::string>{});
    CHECK(number(browser, "all('.view:not([hidden]) canvas').length") > 2);
  }
}

TEST_CASE("two stages stand side by side at the same share of their steps") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#view=compare&left=2&right=6&share=1000");
  CHECK(browser.complaints() == std::vector<std::string>{});
  // At the end, each has loaded what the formulas say: 2 * K floats per result in stage 2, and
  // K * (1 / BM + 1 / BN) in stage 6.
  CHECK(
      words_of(browser, "#view-compare .sentence") ==
      "Floats loaded from global memory per result: 384.00 and 3.00.");
  browser.press("ArrowLeft");
  CHECK(browser.text("location.hash") == "#view=compare&left=2&right=6&share=999");
  // A request with eight wavefronts is seen whole.
  CHECK(browser.evaluate(R"((() => {
    const [, {block}] = page.compare.sides, rows = block.requestView.rows;
    block.goTo(block.recording.steps.findIndex(
      ({pattern, site}) => site?.array?.shared && pattern.wavefronts.length === 8), 0);
    return rows.children.length === 9 && rows.scrollHeight <= rows.clientHeight;
  })())") == "true");
}

TEST_CASE("two stages race as the model predicts, and C fills up") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#view=compare&left=5&right=16");
  // As --explain says of the same product.
  const std::string tflops = browser.text(
      "page.compare.race.runs.map(({race}) => significant(2e-9 * 4096 ** 3 / race.ms)).join()");
  std::string explained;
  for (const std::string stage : {"5", "16"}) {
    const std::string out =
        testing::gemm_steps("--gpu H200 --size 4096 --section ceiling --stage " + stage).out;
    const testing::Match found =
        testing::first_match(out, "with waiting +([0-9.]+) TFLOP/s predicted");
    REQUIRE(found);
    explained += (explained.empty() ? "" : ",") + found[1];
  }
  CHECK(tflops == explained);
  // A, B and C once; and of 1,024 blocks each 128 rows of A and columns of B, and its part of C.
  CHECK(
      browser.text("[...page.compare.race.busy.querySelectorAll('tr')].slice(1, 3).map((row) => "
                   "row.children[1].textContent.split(', ')[1]).join()") == "0.201 GB,4.36 GB");
  // By a clock of our own: at half of the slower one's time, the faster one is in a later round.
  const std::string raced = browser.text(R"(withClock((clock) => {
    const {race} = page.compare, [left, right] = race.runs.map(({race}) => race.ms);
    race.button.click();
    clock.frame(4000);
    const half = race.lanes[0].done.getAttribute('d'), sentence = race.lanes[1].told.textContent;
    race.button.click();
    const laps = Math.floor(left / 2 / right);
    return [half, sentence.endsWith(`done ${laps} times`), race.frame].join();
  }))");
  CHECK(raced == "M0 0H128V64H0V68H0Z,true,");
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("the page asks for a number before it shows it, and keeps what was typed") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#view=predict&stage=2");
  CHECK(words_of(browser, ".asked li .verdict").empty());
  browser.evaluate("one('.asked li input').focus()");
  for (const char key : std::string("2*K")) browser.press(std::string(1, key));
  browser.press("Enter");
  CHECK(words_of(browser, ".asked li .verdict") == "Right: it is 384.");
  CHECK(browser.text("location.hash") == "#view=predict&stage=2");  // the keys were no commands
  ladder_at("#view=predict&stage=2");
  CHECK(browser.text("one('.asked li input').value") == "2*K");
  browser.evaluate("one('.asked ~ button').click()");
  CHECK(browser.text("one('.asked li input').value").empty());
}

TEST_CASE("a user's text cannot become markup of the page") {
  const std::string evil =
      "</script><script>document.title='owned'</script><img src=x "
      "onerror=\"document.title='owned'\">{{script}}";
  LessonPage lesson;
  lesson.title = evil;
  lesson.complaints = {evil};
  ShownScene scene;
  scene.name = scene.idea = evil;
  model::Recording& recording = scene.scene.recording;
  recording.block = recording.grid = {1, 1, 1};
  recording.arrays = {{evil, 128, false}};
  recording.sites = {{0, model::Direction::load, false, 1, {}}};
  recording.events = {
      {.kind = model::RecordedEvent::Kind::block_begin, .block = 0},
      {.kind = model::RecordedEvent::Kind::request,
       .block = 0,
       .warp = 0,
       .site = 0,
       .access = {1, 4, {}}},
      {.kind = model::RecordedEvent::Kind::block_end, .block = 0}};
  recording.hazards = {{{}, 1, 1, 1}};
  scene.scene.sentences = {evil};
  scene.scene.fault = evil;
  scene.scene.row_words = {32};
  scene.scene.source = {evil};
  scene.scene.source_first = scene.scene.source_last = 1;
  lesson.scenes = {scene};
  const std::string html = lesson_html(lesson);
  CHECK(html.find("<img") == html.npos);
  if (there_is_no_browser()) return;
  const Folder folder;
  folder.write("evil.html", html);
  Browser& browser = testing::shared_browser();
  browser.open(folder / "evil.html#step=1");
  CHECK(browser.complaints() == std::vector<std::string>{});
  CHECK(browser.text("document.title") == evil);
  CHECK(
      browser.text("document.querySelector('.source').textContent").find(evil) !=
      std::string::npos);
}

TEST_CASE("while all stages are stepped through, the heap stays below 200 MB") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=16&step=0");
  CHECK(number(browser, "page.player.recording.threads") == 384);
  const std::string median = browser.evaluate(
      "(() => { const times = []; for (let i = 0; i < 100; ++i) { const begin = performance.now(); "
      "page.player.press('n'); times.push(performance.now() - begin); } "
      "return times.sort((a, b) => a - b)[50]; })()");
  MESSAGE("a step takes " << median << " ms");
  for (const int stage : stages_with_kernels()) {
    browser.evaluate("location.hash = '#stage=" + std::to_string(stage) + "&step=100'");
  }
  MESSAGE("the heap has " << browser.heap_mb() << " MB");
  CHECK(browser.heap_mb() < 200);
}

TEST_CASE("all views fit a projector and a phone, in large type and on dark paper") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  const std::string paper = "style('body', 'backgroundColor')";
  for (const auto& [width, height] : {std::pair(1280, 720), {390, 844}, {1920, 1080}}) {
    for (const std::string place :
         {"#stage=5&step=700", "#view=predict", "#view=compare", "#view=calculators",
          "#view=charts"}) {
      CAPTURE(width);
      CAPTURE(place);
      ladder_at(place, width, height);
      const std::string light = browser.text(paper);
      for (const char* keys : {"", "d", "pd"}) {
        for (const char* key = keys; *key != '\0'; ++key) browser.press({*key});
        CHECK((browser.text(paper) == light) == (*keys != 'd'));
        CHECK(number(browser, "document.documentElement.scrollWidth") <= width);
        // No picture is left empty, even after the page's size changed.
        CHECK(number(browser, R"(painted().then(() => all('#view-player canvas').filter((canvas) =>
          canvas.getContext('2d').getImageData(4, 4, 1, 1).data[3] !== 255).length))") == 0);
      }
      const bool is_large = width > 1000;
      CHECK(number(browser, "parseFloat(style('main', 'fontSize'))") == (is_large ? 22 : 16));
      if (!is_large || !place.starts_with("#stage")) continue;
      // The banks and the actions are larger, too, the counts are there, and lines are indented.
      for (const char* what : {".request-rows", ".actions"}) {
        CHECK(number(browser, text::printed("parseFloat(style('%s', 'fontSize'))", what)) >= 16);
      }
      CHECK(browser.evaluate("one('.counters').checkVisibility()") == "true");
      const std::string indents =
          "new Set(all('.source .line').map((line) => getComputedStyle(line).paddingLeft)).size";
      CHECK(number(browser, indents) >= 5);
    }
    CHECK(browser.complaints() == std::vector<std::string>{});
  }
  browser.media(true, true, false);
  ladder_at();
  CHECK(browser.text(paper) == "rgb(13, 17, 23)");  // as the system is
  browser.media(false, false, false);
}

TEST_CASE("the player fills the window, and no text is cut") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  // The names of those that are wider, or higher, than their boxes.
  const auto cut = [&](const std::string& selectors, const char* is_cut) {
    return browser.text(
        "all('" + selectors + "').filter((one) => { const [wide, high] = isCut(one);" +
        " return one.offsetParent && (" + is_cut + "); }).map((one) => one.className).join()");
  };
  const auto size_of_source = [&] {
    return number(browser, "parseFloat(getComputedStyle(page.player.source.element).fontSize)");
  };
  for (const auto& [width, height] : {std::pair(1280, 720), {1920, 1080}, {390, 844}}) {
    CAPTURE(width);
    ladder_at("", width, height);
    // The smallest window for large type has all stages; the others have one of each layout.
    const std::vector<int> stages =
        width == 1280 ? stages_with_kernels() : std::vector{1, 3, 9, 12, 14, 18};
    for (const int stage : stages) {
      CAPTURE(stage);
      go_to_stage(browser, stage);
      for (const std::string place : {"0", "1", "page.player.recording.last >> 1"}) {
        CAPTURE(place);
        browser.evaluate("page.player.goTo(" + place + "), painted()");
        CHECK(number(browser, "document.documentElement.scrollWidth") <= width);
        if (width > 1000) {
          CHECK(number(browser, "document.documentElement.scrollHeight") <= height);
          CHECK(cut(".opening, .acting", "high") == "");
        }
        CHECK(
            cut("#view-player :is(.source .line, .counters, .telling, .telling p, .about, "
                ".opening)",
                "wide") == "");
      }
      for (const std::string side : {"1", "2"}) {
        if (width < 1000) break;
        browser.evaluate("page.player.block.turnTo(" + side + "), painted()");
        CHECK(cut(".registers-box, .fragments-box", "wide || high") == "");
      }
      CHECK(size_of_source() >= 16);
    }
    if (width < 1000) continue;
    browser.press("p");
    CHECK(size_of_source() >= 20);
    CHECK(number(browser, "document.documentElement.scrollWidth") <= width);
    for (const int stage : stages) {
      CAPTURE(stage);
      browser.evaluate("page.player.load(" + std::to_string(stage - 1) + ", 9999, 0, -1)");
      for (const std::string side : {"0", "1", "2"}) {
        browser.evaluate(
            "page.player.goTo(page.player.recording.last >> 1), page.player.block.turnTo(" + side +
            "), new Promise((done) => setTimeout(() => painted().then(done), 30))");
        CHECK(
            cut("#view-player :is(.registers-box, .fragments-box, .counters, .arrays, .acting, "
                "pre.source)",
                "wide || one.tagName !== 'PRE' && high") == "");
      }
    }
    browser.press("p");
  }
}

TEST_CASE("every stage has an opening, rows as wide as the banks, a minute of play and registers") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at();
  for (const int stage : stages_with_kernels()) {
    CAPTURE(stage);
    go_to_stage(browser, stage);
    check_opening(browser, stage);
    check_rows(browser, stage);
    check_play(browser);
    check_registers(browser, stage);
  }
}

TEST_CASE("play goes on by the clock, follows the reader and ends at the end") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=3");
  // Frames of a sixtieth of a second by a clock of our own; at half time the reader goes back.
  const std::string played = browser.text(R"(withClock((clock) => {
    const {player} = page;
    let frames = 0, back = 0;
    player.speed = 3;
    player.press(' ');
    while (player.playing !== null && frames < 2000) {
      const isHalf = ++frames === 240, before = player.now;
      if (isHalf) player.press('g');
      clock.frame(clock.time += 1000 / 60);
      if (isHalf) back = before - player.now;
    }
    return [frames, back > 100, player.now === player.recording.last].join();
  }))");
  // A minute in 8 times the speed is 450 frames, and the first 239 are played twice.
  CHECK(std::abs(std::atoi(played.c_str()) - 689) <= 10);
  CHECK(played.ends_with(",true,true"));
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("the ring shows what is in each place, which warps have waited for it, and who copies") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at();
  // All places are there from the start, and empty again at the end.
  const std::string empty = "– empty –,– empty –,– empty –,– empty –";
  for (const int stage : {14, 15, 16, 17, 18, 19, 20, 21}) {
    CHECK(ring_of(browser, stage, "0") == empty);
    // Nobody needs the place of stage 15's last tile.
    CHECK(
        ring_of(browser, stage, "9999") ==
        (stage == 15 ? "– empty –,1 full 0–7,– empty –,– empty –" : empty));
  }
  // The fifth tile comes to the place that the first has left.
  CHECK(ring_of(browser, 16, "150") == "0 full 4–11,0 full 4,0 coming –,0 coming –");
  CHECK(ring_of(browser, 16, "320") == "– empty –,0 full 4–11,0 full 4–8,0 coming –");
  CHECK(ring_of(browser, 16, "400") == "1 coming –,0 full 4–11,0 full 4–11,0 full 4, 5");
  CHECK(browser.text("page.player.life.roles") == "Warp 0 copies; warps 4–11 multiply.");
  // Six of eight warps have begun the fourth group; the others follow before the next barrier.
  CHECK(ring_of(browser, 10, "700") == "0 full 0–7,1 full 0–7,2 full 0–7,3 coming –");
  CHECK(ring_of(browser, 10, "99999") == "20 full 0–7,21 full 0–7,22 full 0–7,23 full 0–7");
  CHECK(ring_of(browser, 5, "700") == "");
}

TEST_CASE(
    "the registers of a lane say what it loaded last, and each sum how many products it has") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  // In stage 5 lane 5 of warp 4 is thread (5, 8): rows 64 to 71 and columns 40 to 47. It has B's
  // elements of k = 3 up to column 42.
  ladder_at("#stage=5&step=700&lane=5");
  CHECK(browser.evaluate("page.player.block.registers.hidden") == "true");
  browser.press("r");
  const auto words = [&](const std::string& selector) {
    return browser.text("texts('.registers " + selector + "')");
  };
  CHECK(words("h3") == "Registers of lane 5 of warp 4");
  CHECK(words("p:not(.about)") == "Last from A: A[64–71][3]|Last from B: B[3][40–42] B[2][43–47]");
  CHECK(words(".now") == "Last from B: B[3][40–42] B[2][43–47]");
  CHECK(words("thead th") == "40–47");
  CHECK(words("tbody tr:last-child td") == "4|4|4|3|3|3|3|3");
  CHECK(
      browser.text("page.player.life.sumsText(4, 700)") ==
      "The elements of C of warp 4 have the factors of 3 of their 192 products.");
  browser.press("r");
  CHECK(browser.evaluate("page.player.block.registers.hidden") == "true");
  // An ldmatrix gives lane 9 the second word of row 2 of each matrix.
  ladder_at("#stage=13&step=652&lane=9");
  browser.press("r");
  CHECK(words(".now") == "Last from A: A[2, 10][17, 21] A[18, 26, 34, 42, 50, 58][9, 13]");
  // The many rows of a wgmma have equally many products.
  ladder_at("#stage=15&step=224");
  browser.press("r");
  CHECK(words("tbody tr") == "64 rows, 0 to 2493232");
}

TEST_CASE("the marked line can be read, on light and on dark paper") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=9&step=1");
  // The lowest contrast of a colour of the source with the marked line's paper (WCAG 2.2).
  const std::string lowest = R"((() => {
    const canvas = document.createElement('canvas').getContext('2d');
    const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) =>
      0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const painted = (...colours) => {
      for (const colour of colours) {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
      }
      return light(canvas.getImageData(0, 0, 1, 1).data);
    };
    const paper = painted(...['.source', '.source .now'].map((of) => style(of, 'backgroundColor')));
    const inks = ['.source .now', '.source .number', '.code-comment', '.code-keyword', '.code-cuda',
      '.code-number'].map((ink) => painted(style(ink, 'color')));
    const contrast = (ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    return Math.min(...inks.map(contrast));
  })())";
  CHECK(std::stod(browser.evaluate(lowest)) >= 4.5);
  browser.press("d");
  CHECK(std::stod(browser.evaluate(lowest)) >= 4.5);
}

TEST_CASE("the calculator answers while one types, and refuses nonsense in a sentence") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#view=calculators");
  const auto type = [&](int field, const std::string& keys) {
    browser.evaluate(
        text::printed("window.field = all('.calculator [type=number]')[%d], ", field) +
        "field.focus(), field.select()");
    for (const char key : keys) browser.press(std::string(1, key));
    return words_of(browser, ".calculator .finding");
  };
  type(0, "512");
  type(1, "64");
  CHECK(
      type(2, "60000") ==
      "An SM of the H200 holds 2 blocks of 512 threads, which is 50 % of its warps. The limit is "
      "the registers.");
  CHECK(browser.evaluate("all('.calculator svg .plot-curve').length") == "3");
  CHECK(type(0, "1025") == "Threads per block: give a whole number from 1 to 1,024.");
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("what a request costs is shown after a guess") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=6&step=60");
  const auto text = [&](const std::string& selector) {
    return words_of(browser, "#view-player " + selector);
  };
  const std::string are_shown = "one('.request-rows').checkVisibility()";
  CHECK(browser.evaluate(are_shown) == "true");
  browser.press("v");
  CHECK(browser.evaluate(are_shown) == "false");
  CHECK(text(".sentence") == "Warp 0, 32 lanes load 16 B from Bs");
  CHECK(text(".reason") == "");
  browser.evaluate("one('.request form input').focus()");
  for (const char* key : {"4", "Enter"}) browser.press(key);
  CHECK(browser.evaluate(are_shown) == "true");
  CHECK(text(".request .verdict") == "You said 4, it is 8: 4 too few, or a factor of 2.");
  CHECK(testing::contains(text(".sentence"), "8 wavefronts"));
  browser.evaluate("document.activeElement.blur()");
  browser.press("n");
  CHECK(browser.evaluate(are_shown) == "false");
  browser.press("v");
  CHECK(browser.evaluate(are_shown) == "true");
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("rows of shared memory can be changed, and the banks follow by the rule of the model") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at();
  // Unchanged rows have the wavefronts that the program recorded.
  const std::string requests = R"((() => {
    const {block, recording} = page.player, view = block.requestView;
    let found = 0;
    for (const step of new Map(recording.steps.map((step) => [step.operation, step])).values()) {
      const {kind, site, pattern} = step;
      if (kind !== Kind.request || !site.array.shared) continue;
      if (site.direction === Direction.copy || pattern.matrices > 0) continue;
      view.stride.value = site.array.columns;
      const moved = view.moved(step).pattern.wavefronts;
      ++found;
      if (JSON.stringify(moved) !== JSON.stringify(pattern.wavefronts)) throw step.text;
    }
    return found;
  })())";
  int checked = 0;
  for (const int stage : stages_with_kernels()) {
    CAPTURE(stage);
    go_to_stage(browser, stage);
    checked += number(browser, requests);
  }
  CHECK(checked > 50);
  // Rows 0 and 4 of As begin in the same bank, unless they are padded as in stage 7.
  ladder_at("#stage=6&step=2");
  browser.press("c");
  const auto changed = [&](const std::string& words, bool swizzles) {
    return browser.text(
        "(() => { const view = page.player.block.requestView; view.stride.value = " + words +
        "; view.swizzle.checked = " + (swizzles ? "true" : "false") +
        "; view.stride.dispatchEvent(new Event('input')); return view.changed.textContent + ' ' + "
        "all('.request-rows .wavefront').length; })()");
  };
  CHECK(changed("128", false) == "2 wavefronts, as recorded 2. 3");
  CHECK(changed("132", false) == "1 wavefront, as recorded 2. 2");
  CHECK(changed("128", true) == "2 wavefronts, as recorded 2. 3");
  // A column of a tile of 32 x 32, or of float4.
  const auto column = [&](int bytes, int stride, bool swizzles) {
    return number(
        browser,
        text::printed(
            "(() => { const view = page.player.block.requestView; view.stride.value = %d; "
            "view.swizzle.checked = %s; return view.moved({kind: Kind.request, base: 0, site: "
            "{array: {columns: 32}, direction: Direction.load}, pattern: {bytes: %d, active: -1, "
            "offset: Array.from({length: 32}, (_, lane) => 128 * lane)}})"
            ".pattern.wavefronts.length; })()",
            stride, swizzles ? "true" : "false", bytes));
  };
  CHECK(column(4, 32, false) == 32);
  CHECK(column(4, 33, false) == 1);
  CHECK(column(4, 32, true) == 1);
  CHECK(column(16, 32, false) == 32);
  CHECK(column(16, 33, false) == 4);  // 36, since a float4 begins at a multiple of 16 bytes
  CHECK(column(16, 32, true) == 4);
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("a step says what is in dynamic shared memory, and which lanes share a word") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=9&step=1");
  CHECK(words_of(browser, ".sentence")
            .starts_with("Warp 0, 32 lanes copy 4 B to A, place 0: 4 wavefronts"));
  CHECK(testing::contains(words_of(browser, ".reason"), "lanes 0–7 first"));
  ladder_at("#stage=5&step=700");
  CHECK(words_of(browser, ".wavefront u") == "0");
  CHECK(browser.text("one('.wavefront mark').title") == "lanes 0, 16");
  CHECK_FALSE(testing::contains(words_of(browser, ".request-rows"), "*"));
}

TEST_CASE("on a projector no text is smaller than 11 pixels") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  const std::string small = R"(all('body *').filter((one) => one.checkVisibility() &&
      [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) &&
      parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1) < 11)
    .map((one) => one.tagName + '.' + one.className + ' ' + one.textContent).join('|'))";
  for (const char* place :
       {"#stage=5", "#stage=9&step=700", "#stage=13&step=560", "#stage=16&step=100",
        "#view=compare&left=5&right=13", "#view=predict", "#view=calculators", "#view=charts"}) {
    CAPTURE(place);
    ladder_at(place);
    for (const char* key : {"r", "r"}) {
      CHECK(browser.text(small) == "");
      browser.press(key);
    }
  }
}

TEST_CASE("the charts are the figures of each recorded GPU, and tell their numbers") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  for (const int width : {390, 1280}) {
    ladder_at("#view=charts", width, 720);
    const auto& gpus = pictures::recorded_gpus();
    REQUIRE(number(browser, "all('#view-charts details').length") == gpus.size());
    browser.evaluate("for (const one of all('#view-charts details')) one.open = true");
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const pictures::RecordedLadder& run = pictures::main_run(gpus[i].ladders);
      const std::string marks = browser.text(
          text::printed("texts('#view-charts details:nth-of-type(%zu) .told title')", i + 1));
      const std::string of_2 = text::significant(run.of(2).tflops) + " TFLOP/s";
      CHECK(marks.find("Stage 2, coalesced: " + of_2 + "; at ") != marks.npos);
      CHECK(marks.find("Stage 2, coalesced, tiles 32x32: " + of_2 + " at ") != marks.npos);
    }
    CHECK(browser.text("all('#view-charts svg').map(faultsOf).join('')") == "");
    // Their style is theirs alone, and follows the page's switch.
    const std::string ink = "style('#view-charts svg text', 'fill')";
    const std::string light = browser.text(ink);
    browser.press("d");
    CHECK(browser.text(ink) != light);
    browser.press("d");
    browser.evaluate("page.show('calculators')");
    CHECK(browser.text("style('.plot text', 'fontSize')") == "12px");
    CHECK(browser.complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("a figure is XML, and its words do not overlap others or a line, and are inside of it") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  const auto faults = [&](const std::filesystem::path& file) {
    browser.open(file);
    browser.evaluate(kHelpers);
    // A wide font, which many readers have.
    browser.evaluate("for (const one of all('text')) one.style.fontFamily = 'DejaVu Sans'");
    CHECK(number(browser, "all('text').length") > 5);
    return browser.text("faultsOf(one('svg'))");
  };
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    CAPTURE(entry.path().string());
    CHECK(faults(std::filesystem::absolute(entry.path())) == "");
  }
  pictures::Svg svg;
  svg.text(24, 60, "DRAM"), svg.text(50, 60, "L2"), svg.text(24, 80, "a & b");
  svg.text(24, 96, "c < d\x01"), svg.text(24, 112, "crossed"), svg.text(770, 60, "too far");
  svg.text(100, 112, "filled", {.on_fill = true}), svg.text(24, 260, "below");
  for (const double x : {40, 110}) svg.line(x, 98, x + 10, 128, "thick");
  const Folder folder;
  const std::string evil = "it's </desc><script> & \"c\"";
  folder.write("bad.svg", pictures::svg_file({"", evil, {evil, svg.elements(), 250}}));
  CHECK(
      faults(folder.path() / "bad.svg") ==
      "DRAM on L2,crossed is crossed,too far leaves,below leaves");
  CHECK(browser.text("texts('title, desc')") == evil + "|" + evil);
  CHECK(browser.text("all('text')[4].textContent") == "c < d");
}

TEST_CASE("stage 21's arrays have the names and the rows that the kernel knows") {
  if (there_is_no_browser()) return;
  Browser& browser = ladder_at("#stage=21&step=60");
  CHECK(
      browser.text("page.player.recording.usedArrays.map(({name, columns}) => name + ' ' + "
                   "columns).join()") ==
      "C 256,doubts 3,lines 192,units_A 256,units_B 256,dynamic 32");
  const std::string step = browser.evaluate(
      "page.player.recording.steps.findIndex(({site}) => site?.array?.name === 'units_A')");
  CHECK(
      testing::gemm_steps("--step --print" + kSize + " --stage 21 --until step:" + step)
          .out.find("load 4 B from units_A: 1 sector") != std::string::npos);
}

TEST_CASE("pages of kernels that fail or were stopped say where") {
  if (there_is_no_browser()) return;
  Browser& browser = testing::shared_browser();
  const Folder folder;
  const std::string page = folder / "page.html";
  const auto open = [&](const std::string& name) {
    CAPTURE(name);
    const testing::Output output = testing::run(
        "'" + (testing::built() / "try" / name).string() + "' --size 64 --limit 1 --show '" + page +
        "'");
    CHECK(output.exit_code == 1);
    browser.open(page);
    CHECK(browser.complaints() == std::vector<std::string>{});
    return browser.text("document.querySelector('.complaint').textContent");
  };
  const std::string alarm = "document.querySelector('main .complaint').textContent";
  const std::string line = "document.querySelector('.source .now').textContent";
  CHECK(testing::contains(open("race"), "race on "));
  browser.press("x");
  browser.press("X");
  CHECK(browser.text(alarm).find("race on ") != std::string::npos);
  CHECK(browser.text(line).find("s[") != std::string::npos);  // As or Bs
  CHECK(testing::contains(open("crash"), " on line 7, where there is no matrix"));
  browser.press("G");
  CHECK(browser.text(alarm).size() > 10);
  CHECK(testing::contains(open("endless"), "still running after 1 s"));
  CHECK(
      browser.text("document.querySelector('.bad').textContent").find("k < K") !=
      std::string::npos);
}

TEST_CASE("solutions have a page without a complaint") {
  if (there_is_no_browser()) return;
  // Other tests grade all solutions. These have what a page shows: tiles, cp.async, ldmatrix, mma,
  // mbarriers.
  const std::string shown[] = {"04", "14", "16", "17", "19"};
  Browser& browser = testing::shared_browser();
  const Folder folder;
  for (const auto& solution : std::filesystem::directory_iterator("exercises/solutions")) {
    if (solution.path().extension() != ".cu") continue;
    const std::string name = solution.path().stem().string();
    const bool is_shown = std::ranges::count(shown, name.substr(0, 2)) > 0;
    if (!is_shown && !testing::tests_all()) continue;
    CAPTURE(name);
    const std::string page = folder / (name + ".html");
    const testing::Output output = testing::run(
        "export BUILD='" + testing::built().string() + "' INSPECT=show LIMIT=5 RECORD='" +
        (folder / "grades.csv") + "' PAGE='" + page + "'; src/school/grade/grade.sh " +
        std::to_string(std::atoi(name.c_str())) + " '" + solution.path().string() + "'");
    CAPTURE(output.err);
    CHECK(output.exit_code == 0);
    browser.open(page);
    CHECK(browser.complaints() == std::vector<std::string>{});
    CHECK(number(browser, "page.player.recording.last") > 2);
    browser.press("G");
    CHECK(browser.complaints() == std::vector<std::string>{});
  }
}

}  // namespace page

TEST_CASE("numbers that repeat are written once, and read back unchanged") {
  const std::vector<std::int64_t> equal(1000, 4), rhythm{1, 2, 3, 1, 2, 3, 1, 2, 3, -9};
  CHECK(page::packed({}) == "[]");
  CHECK(page::packed(equal) == "[4,[1,999]]");
  CHECK(page::packed(rhythm) == "[1,2,3,[3,6],-9]");
  if (testing::there_is_no_browser()) return;
  testing::Browser& browser = page::ladder_at();
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> numbers(random() % 300);
    const int different = 1 + static_cast<int>(random() % 4);
    std::string written;
    for (std::int64_t& number : numbers) {
      number = static_cast<int>(random() % different) - 1;
      written += (written.empty() ? "" : ",") + std::to_string(number);
    }
    const std::string packed = page::packed(numbers);
    CAPTURE(packed);
    CHECK(browser.text("unpack(" + packed + ").join()") == written);
  }
}
