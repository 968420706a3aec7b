// What the figures show, and whether their words can be read: no word is over another, over a line,
// or cut off.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster/report.h"
#include "lab/problem.h"
#include "model/ceiling.h"
#include "model/refusal.h"
#include "show/pictures/pictures.h"
#include "show/pictures/recorded_gpus.h"
#include "show/pictures/svg.h"
#include "testing/pattern.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace pictures {

namespace {

using testing::contents;

// The drawn figures, by name. The first test checks that this program draws the same.
std::map<std::string, std::string> figures() {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    all[entry.path().stem().string()] = contents(entry.path());
  }
  return all;
}

model::WarpAccess every(int bytes_apart, int bytes) {
  model::WarpAccess access{~0u, bytes, {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) access.address[lane] = lane * bytes_apart;
  return access;
}

// The elements that are open at the end of well-formed XML; -1 if it is not well-formed.
int open_elements(const std::string& xml) {
  int open = 0;
  for (std::size_t at = xml.find('<'); at != xml.npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == xml.npos || xml.find('<', at + 1) < end) return -1;
    if (xml[at + 1] == '/') {
      --open;
    } else if (xml[end - 1] != '/') {
      ++open;
    }
    if (open < 0) return -1;
  }
  return open;
}

}  // namespace

TEST_CASE("the figures in figures/ are what the program draws, byte for byte") {
  std::set<std::string> drawn;
  std::vector<Picture> all = draw_pictures(stage_table_traced);
  all.push_back(cluster::draw_ownership());
  for (const Picture& p : all) {
    CAPTURE(p.name);
    drawn.insert(p.name);
    const bool is_drawn = contents("figures/" + p.name + ".svg") == svg_file(p);
    CHECK_MESSAGE(is_drawn, "make figures draws them again");
  }
  for (const auto& [name, svg] : figures()) {
    CAPTURE(name);
    CHECK_MESSAGE(drawn.contains(name), "no picture has this name any more: remove the file");
  }
}

TEST_CASE("every figure is well-formed, 800 px wide, under 100 KB, and says what it shows") {
  std::set<std::string> drawings;
  for (const auto& [name, svg] : figures()) {
    CAPTURE(name);
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\""));
    CHECK(svg.size() < 100'000);
    CHECK(open_elements(svg) == 0);
    const std::size_t finding = svg.find("<desc>"), end = svg.find("</desc>");
    CHECK(end - finding > 40);
    CHECK(svg.find("nan") == svg.npos);
    CHECK(svg.find("inf") == svg.npos);
    for (std::size_t at = svg.find("font-size:"); at != svg.npos;
         at = svg.find("font-size:", at + 1)) {
      CHECK(std::atoi(svg.c_str() + at + 10) >= 12);
    }
    // No two differ only in their titles.
    CHECK(drawings.insert(svg.substr(svg.find("</text>"))).second);
  }
}

TEST_CASE("figures say what the trace says: stage 1 is uncoalesced, 6 has conflicts, 7 has none") {
  const std::map<std::string, std::string> all = figures();
  const auto says = [&](const char* name, const std::string& words) {
    const std::string& svg = all.at(name);
    return svg.substr(0, svg.find("</desc>")).find(xml_escaped(words)) != svg.npos;
  };
  CHECK(says("stage1-coalescing", "A, load of 4 bytes per lane: 32 sectors, 4 would be enough"));
  CHECK(says("stage1-coalescing", "B, load of 4 bytes per lane: 1 sector, the fewest possible"));
  CHECK(says("stage2-coalescing", "B, load of 4 bytes per lane: 4 sectors, the fewest possible"));
  CHECK(says("stage6-banks", "B's tile, load of 16 bytes per lane: 8 wavefronts, 4 would be"));
  CHECK(!says("stage7-banks", "would be enough"));
  // A picture of requests shows a waste. Stage 3 explains banks; 2, 7 and 13 end a waste.
  const std::set<std::string> fine{
      "stage2-coalescing", "stage3-banks", "stage7-banks", "stage13-banks"};
  for (const auto& [name, svg] : all) {
    CAPTURE(name);
    const bool of_requests = name.ends_with("-coalescing") || name.ends_with("-banks");
    if (of_requests) CHECK(says(name.c_str(), "would be enough") == !fine.contains(name));
  }
  CHECK(says("stage5-6-tiles", "16 floats for 64 multiply-adds"));
  CHECK(says("stage8-tiles", "Its results are 8 pieces of 4 × 4."));
  CHECK(says("stage8-lanes", "16 lanes ask for the same float4 of A and 2 for the same one of B"));
  CHECK(says("stage9-pipeline", "A block of stage 9 copies up to 3 tiles ahead"));
  CHECK(says("stage9-10-11-banks", "1 would be enough: its lanes read the same banks of L1"));
  CHECK(says("stage10-steps", "stage 9 issues 6 loads from shared memory"));
  CHECK(says("stage10-steps", "In stage 10 it issues the loads 1 step of k earlier"));
  CHECK(says("stage11-wave", "in 5 rows and 32 columns of tiles"));
  CHECK(says("stage11-wave", "in 8 rows and 17 columns of tiles"));
  CHECK(says("stage11-wave", "5,376 different lines of 128 bytes instead of 8,832"));
  CHECK(says("stage11-sms", "run on 132 SMs in 4 waves, and in the last one 16 SMs are idle"));
  CHECK(says("stage11-sms", "1,995 K tiles instead of 2,048: 3.90 waves instead of 4"));
  CHECK(says("padding-and-swizzle", "as it is: a row in 1 wavefront, a column in 32 wavefronts"));
  // Two boxes of 256 x 32 and 32 x 128 for each 32 of K, and 2 floats of B for every 2 results.
  CHECK(
      says("stage15-boxes", "In B's box, what lanes 0–15 read in one wavefront lies in 32 banks"));
  CHECK(says("stage16-ring", "has 4 places, and each tile along K takes 784 cycles to copy"));
  CHECK(says("stage16-ring", "all waits for that tile name phase 1 instead of 0"));
  CHECK(says("stage17-ring", "Warps make the low parts of a tile of A in"));
  CHECK(says("loads", "loads 3.39 floats, in boxes and 0.39 loads, from global memory"));
  CHECK(says("loads", "and none from shared memory"));
}

TEST_CASE("every byte that no lane requests looks the same, even in a perfect request") {
  BlockRequests block{};
  model::WarpAccess one_word = every(0, 4);
  block.requests.push_back({0, 0, 0, "B", false, model::Direction::load, one_word, 1, 1});
  const std::string elements = draw_coalescing(block).elements;
  // One word of one sector is requested; the legend has a sample of its own.
  const auto count = [&](const char* what) {
    int n = 0;
    for (std::size_t at = elements.find(what); at != elements.npos;
         at = elements.find(what, at + 1))
      ++n;
    return n;
  };
  CHECK(count("area trouble") == 2);
  CHECK(count("area quiet") == 0);
}

TEST_CASE("a copy that reads many lines of L1 in the same banks is drawn line by line") {
  using model::Direction;
  BlockRequests block{};
  const auto drawn = [&](const model::WarpAccess& to, const model::WarpAccess& from) {
    block.requests = {
        {0, 0, 0, "As", true, Direction::copy, to, 0, 1},
        {0, 0, 0, "A", false, Direction::copy, from, 0, 4}};
    block.requests[0].pieces = static_cast<int>(wavefronts_of(block, 0).size());
    return draw_banks(block)->elements;
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != text.npos;
  };
  // Every lane reads bank 0, each of another line, and writes a bank of its own.
  const std::string strided = drawn(every(4, 4), every(128, 4));
  CHECK(has(strided, "its bank of L1 is busy"));
  CHECK(has(strided, "line 2"));
  CHECK(!has(strided, "area trouble"));
  // One line, but all lanes write to bank 0.
  const std::string conflicting = drawn(every(128, 4), every(4, 4));
  CHECK(!has(conflicting, "L1"));
  CHECK(has(conflicting, "area trouble"));
  const std::string plain = drawn(every(4, 4), every(4, 4));
  CHECK(!has(plain, "L1"));
  CHECK(!has(plain, "area waiting"));
}

TEST_CASE("stages with equal drawings share a picture that names all of them") {
  model::Stage first{}, second{}, third{};
  first.number = 3;
  first.name = "three";
  second.number = 4;
  second.name = "four";
  third.number = 12;
  const Drawing same{"finding", "<path/>", 10}, other{"finding", "<path d=\"\"/>", 10};
  const Subject banks{"banks", "the banks"}, tiles{"tiles", "the tiles"};
  const std::vector<Picture> all = pictures_of_stages(
      {{&first, banks, same},
       {&first, tiles, same},
       {&second, banks, other},
       {&third, banks, same},
       {&second, tiles, same},
       {&third, tiles, same}});
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "stage3-12-banks");
  CHECK(all[0].title == "Stages 3 and 12: the banks");
  CHECK(all[1].name == "stage3-4-12-tiles");
  CHECK(all[1].title == "Stages 3, 4 and 12: the tiles");
  CHECK(all[2].name == "stage4-banks");
  const std::vector<Picture> alone = pictures_of_stages({{&first, banks, same}});
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].name == "stage3-banks");
  CHECK(alone[0].title == "Stage 3, three: the banks");
}

TEST_CASE(
    "the pipeline's picture has the ceilings that were recorded beside the hardware's counts") {
  const std::string table = contents("results/h200-ceilings-4096.txt");
  const std::string svg = figures().at("stage9-pipeline");
  for (const std::string stage : {"8 +warp tiling", "9 +async pipeline"}) {
    CAPTURE(stage);
    const testing::Match row =
        testing::first_match(table, "\\n *" + stage + " +[\\d.]+ +([\\d.]+) ");
    REQUIRE(row);
    CHECK(svg.find(row[1]) < svg.find("</desc>"));
  }
}

TEST_CASE("a drawn request splits into as many wavefronts and sectors as are counted") {
  using model::Direction;
  BlockRequests block{};
  std::vector<model::SharedCost> costs;
  for (const int bytes : {4, 8, 16}) {
    for (const int apart : {0, 4, 8, 16, 20, 32, 128, 132}) {
      const model::WarpAccess access = every(apart / bytes * bytes, bytes);
      block.requests.push_back({0, 0, 0, "As", true, Direction::load, access, 0, 0});
      costs.push_back(model::shared_load(access));
      block.requests.push_back({0, 0, 0, "As", true, Direction::store, access, 0, 0});
      costs.push_back(model::shared_store(access));
    }
  }
  for (std::size_t r = 0; r < costs.size(); ++r) {
    CAPTURE(r);
    CHECK(static_cast<int>(wavefronts_of(block, r).size()) == costs[r].wavefronts);
  }
  for (const int bytes : {4, 8, 16}) {
    for (const int apart : {bytes, 3 * bytes, 128, 132 / bytes * bytes, 256, 1024}) {
      CAPTURE(bytes);
      CAPTURE(apart);
      const model::WarpAccess to = every(bytes, bytes), from = every(apart, bytes);
      const std::size_t r = block.requests.size();
      block.requests.push_back({0, 0, 0, "As", true, Direction::copy, to, 0, 0});
      block.requests.push_back({0, 0, 0, "A", false, Direction::copy, from, 0, 0});
      const model::AsyncCopyCost cost = model::async_copy(to, from);
      CHECK(static_cast<int>(wavefronts_of(block, r).size()) == cost.shared.wavefronts);
      CHECK(static_cast<int>(sectors_of(block, r + 1).size()) == cost.sectors);
    }
  }
}

TEST_CASE("pixels have at most one decimal, and halves go up on every machine") {
  CHECK(pixels(12) == "12");
  CHECK(pixels(12.34) == "12.3");
  CHECK(pixels(12.25) == "12.3");
  CHECK(pixels(12.25 - 1e-9) == "12.3");
  CHECK(pixels(-0.5) == "-0.5");
  CHECK(pixels(0.04) == "0");
  CHECK(pixels(1e6) == "1000000");
}

TEST_CASE("text in a figure cannot become markup") {
  Svg svg;
  svg.text(0, 0, "x<y\x01");
  const std::string file =
      svg_file({"", "a < b & \"c\"", {"it's </desc><script>", svg.elements(), 100}});
  CHECK(open_elements(file) == 0);
  CHECK(file.find("<script>") == file.npos);
  CHECK(file.find("x&lt;y</text>") != file.npos);
}

TEST_CASE("recorded speeds are those of stages, and of cuBLAS fp32 and tf32") {
  const std::vector<RecordedLadder> runs = recorded_h200();
  REQUIRE(runs.size() == 3);
  for (const RecordedLadder& run : runs) {
    CAPTURE(run.size);
    REQUIRE(run.speeds.size() > 1);
    for (const RecordedSpeed& speed : run.speeds) {
      const bool is_stage = speed.number >= 0;
      if (is_stage) CHECK(model::find_stage(stage_table_traced.stages, speed.number) != nullptr);
    }
    CHECK(run.speeds.front().number == 0);
    CHECK(run.of(kCublasFp32).cublas_percent == 100);
    CHECK(run.of(kCublasTf32).tflops > 2 * run.of(kCublasFp32).tflops);
  }
}

namespace {

// A ladder of two stages, the last of which multiplies with tensor cores or not.
struct TwoStages {
  std::vector<model::Stage> stages;
  RecordedLadder measured;
  lab::Run run;

  explicit TwoStages(model::Multiplier multiplier) : run{} {
    model::Variant tile{};
    tile.name = "128x128";
    tile.BM = tile.BN = 128;
    model::Stage first{};
    first.number = 1, first.name = "first", first.lesson.idea = "";
    first.variants = {tile};
    model::Stage last = first;
    last.number = 2, last.name = "last";
    last.variants[0].multiplier = multiplier;
    stages = {first, last};
    const double speed = multiplier == model::Multiplier::ffma ? 50 : 250;
    measured = {4096, {{-1, 50, 100, 0}, {1, 20, 40, 0}, {2, speed, 2 * speed, speed / 20}}};
    run.gpu = *model::find_gpu("H200");
    run.K = 4096;
    for (const model::Stage& stage : stages) {
      lab::Row row{};
      row.number = stage.number;
      row.stage = &stage;
      row.variant = &stage.variants[0];
      row.counts.emplace();
      row.counts->blocks_traced = 1;
      row.counts->gmem_loads.pieces = 4096 * 256 * 4 / 32;
      run.rows.push_back(row);
    }
  }
};

}  // namespace

TEST_CASE("the roofline has the roof of every instruction that a stage multiplies with") {
  const TwoStages fp32(model::Multiplier::ffma);
  const Picture without = draw_roofline(fp32.run, fp32.measured);
  CHECK(svg_file(without).find("tf32") == std::string::npos);
  CHECK(svg_file(without).find(">1–2: FMA<") != std::string::npos);
  CHECK(without.drawing.finding.find("75 % of the multipliers' peak") != std::string::npos);

  for (const auto& [multiplier, name] : std::vector<std::pair<model::Multiplier, std::string>>{
           {model::Multiplier::mma_tf32, "mma tf32"},
           {model::Multiplier::wgmma_tf32, "wgmma tf32"},
           {model::Multiplier::wgmma_3xtf32, "wgmma 3 x tf32"}}) {
    CAPTURE(name);
    const TwoStages tensor(multiplier);
    const double peak = model::peak_tflops(tensor.run.gpu, multiplier);
    const std::string ridge = text::significant(1e3 * peak / tensor.run.gpu.dram_gb_per_s);
    const Picture with = draw_roofline(tensor.run, tensor.measured);
    const std::string svg = svg_file(with);
    CHECK(open_elements(svg) == 0);
    for (const std::string& words : std::vector<std::string>{
             "1: FMA", "13.9", "66.9", "2: " + name, ridge, text::significant(peak), "2"}) {
      CAPTURE(words);
      CHECK(svg.find(">" + words + "<") != std::string::npos);
    }
    CHECK(svg.find(">1,000<") != std::string::npos);
    CHECK(
        with.drawing.finding.find(
            "From " + ridge +
            text::printed(
                " operations per byte on, DRAM is no longer the limit of stage 2, which reaches "
                "%.0f %% of the tensor cores' peak with its instruction.",
                100 * 250 / peak)) != std::string::npos);
  }
}

TEST_CASE("what is unknown of a GPU is not drawn as 0") {
  const std::string svg = svg_file(draw_gpu());
  CHECK(svg.find(">0 ") == std::string::npos);
  CHECK(svg.find(">16.7 TB/s<") != std::string::npos);  // from L2, as in the roofline
}

TEST_CASE("stages that follow one another are named by the first and the last") {
  CHECK(in_words({7}) == "7");
  CHECK(in_words({1, 2, 3, 5, 8, 9}) == "1–3, 5, 8–9");
}

TEST_CASE("the staircase compares each stage with cuBLAS at its own precision, on its own scale") {
  TwoStages fp32(model::Multiplier::ffma), tensor(model::Multiplier::mma_tf32);
  const auto has = [](const TwoStages& of, const std::string& words) {
    const std::string svg = svg_file(draw_staircase(of.stages, {of.measured}));
    CHECK(open_elements(svg) == 0);
    return svg.find(">" + words + "</text>") != svg.npos;
  };
  CHECK(!has(fp32, "roof of the tensor cores"));
  CHECK(!has(fp32, "fp32, tensor cores"));
  CHECK(has(tensor, "roof of the tensor cores"));
  CHECK(has(tensor, "fp32, tensor cores"));
  CHECK(has(tensor, "500"));  // % of cuBLAS fp32
  CHECK(has(tensor, "300"));  // TFLOP/s, below the bars: the roof is at 357
  CHECK(!has(fp32, "300"));

  tensor.stages[1].precision = model::kTf32;
  CHECK(has(tensor, "tf32, tensor cores"));
  CHECK(!has(tensor, "500"));  // cuBLAS tf32 was not recorded
  tensor.measured.speeds.push_back({kCublasTf32, 400, 800, 0});
  CHECK(has(tensor, "cuBLAS tf32 400"));
  CHECK(has(tensor, "62.5"));
}

TEST_CASE("figures are written whole, into a directory that is made, or refused") {
  namespace fs = std::filesystem;
  const testing::Folder folder;
  const fs::path directory = folder.path() / "deep" / "er";
  const Picture a{"a", "title", {"finding", "<path/>", 10}};
  write_pictures(directory.string(), {a});
  CHECK(contents(directory / "a.svg") == svg_file(a));
  CHECK(std::distance(fs::directory_iterator(directory), {}) == 1);
  const std::string not_a_directory = (directory / "a.svg").string();
  CHECK_THROWS_AS(write_pictures(not_a_directory, {a}), model::Refusal);
  CHECK_THROWS_AS(write_pictures("/proc/figures", {a}), model::Refusal);
  fs::create_directory(directory / "b.svg");
  CHECK_THROWS_AS(write_pictures(directory.string(), {{"b", "", {}}}), model::Refusal);
  CHECK(!fs::exists(directory / "b.svg.partial"));
}

namespace {

struct Box {
  std::string words;
  double left, top, right, bottom;
  bool on_fill;
};

struct Stroke {
  double x1, y1, x2, y2;
};

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> all[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : all) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at) {
      text.replace(at, std::string_view(entity).size(), character);
    }
  }
  return text;
}

// The places of a picture's words, in the widest font.
std::vector<Box> boxes_of(const std::string& svg) {
  std::vector<Box> boxes;
  for (const testing::Match& element : testing::all_matches(
           svg, "<text(?: class=\"([^\"]*)\")? x=\"([^\"]*)\" y=\"([^\"]*)\">([^<]*)</text>")) {
    const std::string classes = element[1], words = unescaped(element[4]);
    const auto is = [&](const char* name) { return classes.find(name) != classes.npos; };
    const double x = std::stod(element[2]), y = std::stod(element[3]);
    double size = is("small") ? 12 : 14;
    double width = text_width(words, {.bold = is("bold") || is("title"), .small = is("small")});
    if (is("title")) {
      width *= 18 / size;
      size = 18;
    }
    const double left = is("middle") ? x - width / 2 : is("end") ? x - width : x;
    // Digits and small letters are 0.75 high; descenders are left out.
    boxes.push_back({words, left, y - 0.72 * size, left + width, y, is("on")});
  }
  return boxes;
}

std::vector<Stroke> strokes_of(const std::string& svg) {
  std::vector<Stroke> strokes;
  for (const testing::Match& line : testing::all_matches(
           svg,
           "<path class=\"(?:thick|dashed)\" d=\"M([\\d.-]+) ([\\d.-]+)L([\\d.-]+) ([\\d.-]+)\"")) {
    strokes.push_back(
        {std::stod(line[1]), std::stod(line[2]), std::stod(line[3]), std::stod(line[4])});
  }
  return strokes;
}

bool overlap(const Box& a, const Box& b) {
  constexpr double kTouch = 0.5;
  return std::min(a.right, b.right) - std::max(a.left, b.left) > kTouch &&
         std::min(a.bottom, b.bottom) - std::max(a.top, b.top) > kTouch;
}

bool crosses(const Stroke& s, const Box& box) {
  constexpr int kSteps = 2000;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = s.x1 + (s.x2 - s.x1) * i / kSteps, y = s.y1 + (s.y2 - s.y1) * i / kSteps;
    if (box.left < x && x < box.right && box.top < y && y < box.bottom) return true;
  }
  return false;
}

// One sentence for each fault.
std::vector<std::string> faults_of(const std::string& svg, double height) {
  const std::vector<Box> boxes = boxes_of(svg);
  const std::vector<Stroke> strokes = strokes_of(svg);
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    if (box.left < 8 || box.right > kPictureWidth - 8 || box.top < 4 || box.bottom > height - 4) {
      faults.push_back("\"" + box.words + "\" leaves the picture");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(box, boxes[j])) {
        faults.push_back("\"" + box.words + "\" lies over \"" + boxes[j].words + "\"");
      }
    }
    const bool is_crossed = std::any_of(
        strokes.begin(), strokes.end(), [&](const Stroke& s) { return crosses(s, box); });
    if (is_crossed && !box.on_fill) faults.push_back("\"" + box.words + "\" lies over a line");
  }
  return faults;
}

double height_of(const std::string& svg) {
  const testing::Match match = testing::first_match(svg, "height=\"([\\d.]+)\"");
  REQUIRE(match);
  return std::stod(match[1]);
}

}  // namespace

TEST_CASE("the words of a figure do not overlap others or a line, and are inside of it") {
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path());
    const std::string svg{std::istreambuf_iterator<char>(file), {}};
    CHECK(boxes_of(svg).size() > 5);
    for (const std::string& fault : faults_of(svg, height_of(svg))) FAIL_CHECK(fault);
  }
}

TEST_CASE("words that cannot be read are found") {
  const auto faults = [](auto draw) {
    Svg svg;
    draw(svg);
    return faults_of(svg.elements(), 100);
  };
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "DRAM"), svg.text(70, 40, "L2"); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "DRAM"), svg.text(50, 40, "L2"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "a & b"), svg.text(24, 56, "c < d"); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 40, "a & b"), svg.text(24, 46, "c < d"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(770, 40, "too far"); }).size() == 1);
  CHECK(faults([](Svg& svg) { svg.text(790, 40, "end", {.anchor = Anchor::end}); }).empty());
  CHECK(faults([](Svg& svg) { svg.text(24, 120, "below"); }).size() == 1);
  const auto crossed = [&](TextStyle style) {
    return faults([&](Svg& svg) {
      svg.text(24, 40, "crossed", style);
      svg.line(40, 20, 50, 60, "thick");
    });
  };
  CHECK(crossed({}).size() == 1);
  CHECK(crossed({.on_fill = true}).empty());
}

TEST_CASE("words are broken into lines by their width") {
  Svg svg;
  const double y = svg.paragraph(24, 20, "iiii iiii WWWW WWWW WWWW", 60);
  const std::vector<Box> lines = boxes_of(svg.elements());
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].words == "iiii iiii");
  CHECK(lines[3].words == "WWWW");
  CHECK(y == 20 + 4 * 19);
  Svg empty;
  CHECK(empty.paragraph(24, 20, "", 60) == 20);
  CHECK(empty.elements().empty());
}

namespace {

std::string shown(const BlockRequests& block) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Show show{"title", {}, {}, {{"kernel", "grid 1", block, ""}}};
  print_show(out, show, {});
  std::fclose(out);
  const std::string result(text, size);
  std::free(text);
  return result;
}

int widest_line(const std::string& text) {
  int widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, text::display_width(line));
  }
  return widest;
}

// The lanes' words are this many bytes apart.
Request request(const char* array, bool shared, model::Direction direction, int apart, int warp) {
  Request request{warp, 0, 0, array, shared, direction, {~0u, 4, {}}, 0, 1};
  for (int lane = 0; lane < model::kWarpSize; ++lane) request.access.address[lane] = lane * apart;
  request.pieces = shared ? model::shared_load(request.access).wavefronts
                          : model::global_sectors(request.access);
  return request;
}

}  // namespace

TEST_CASE("what a block did is drawn in 80 columns, with one and with many pieces") {
  using model::Direction;
  BlockRequests block{};
  block.M = block.N = block.K = 64;
  block.requests = {
      request("A", false, Direction::load, 4096, 0), request("B", false, Direction::load, 0, 0),
      request("As", true, Direction::load, 128, 0), request("Bs", true, Direction::load, 0, 0)};
  for (int warp = 0; warp < 32; ++warp) {
    block.requests.push_back(request("C", false, Direction::store, 4, warp));
    for (auto& address : block.requests.back().access.address) address += warp * 256;
  }
  const std::string text = shown(block);
  CAPTURE(text);
  CHECK(widest_line(text) <= 80);
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  CHECK(says("32 sectors, ideal 1"));
  CHECK(says(", 1 sector, "));
  CHECK(says("[0 . . . . . . .] [1 . . . . . . .]"));
  CHECK(says("[* . . . . . . .]"));
  CHECK(says(", 32 wavefronts, "));
  CHECK(says("      and 20 more wavefronts\n"));
  CHECK(says(", 1 wavefront, "));
  CHECK(says("a sign is a warp: 0-9, then a-z"));
}

TEST_CASE("the threads of a small tile are numbered, and banks stand below their numbers") {
  BlockRequests block{};
  block.M = block.N = block.K = 64;
  block.requests = {
      request("As", true, model::Direction::load, 4, 0),
      request("C", false, model::Direction::store, 256, 0)};
  const std::string text = shown(block);
  CHECK(text.find("numbers are threads") != text.npos);
  CHECK(text.find("\n   0\n   1\n") == text.npos);
  CHECK(text.find("\n    0\n    1\n") != text.npos);
  const std::size_t banks = text.find("bank "), row = text.find("\n        1 ", banks);
  REQUIRE(row != text.npos);
  const std::size_t line = text.rfind('\n', banks);
  CHECK(text.find(" 0 1 2", line) - line == text.find(" 0 1 2", row) - row);
}

}  // namespace pictures
