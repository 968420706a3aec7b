#include "pictures/pictures.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>

#include "lab/stage_tables.h"
#include "model/refusal.h"
#include "pictures/figures_command.h"
#include "pictures/svg.h"
#include "testing/folder.h"

namespace pictures {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<Picture>& pictures() {
  static const std::vector<Picture> all = draw_pictures(stage_table_traced);
  return all;
}

const Picture& picture(const std::string& name) {
  for (const Picture& candidate : pictures()) {
    if (candidate.name == name) return candidate;
  }
  throw std::logic_error("no picture " + name);
}

model::WarpAccess every(int bytes_apart, int bytes) {
  model::WarpAccess access{~0u, bytes, {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) access.address[lane] = lane * bytes_apart;
  return access;
}

// The elements that are open at the end of well-formed XML; -1 where it is not.
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
  for (const Picture& p : pictures()) {
    CAPTURE(p.name);
    drawn.insert(p.name + ".svg");
    CHECK_MESSAGE(text_of("figures/" + p.name + ".svg") == p.svg, "make figures draws them again");
  }
  for (const auto& entry : std::filesystem::directory_iterator("figures")) {
    CAPTURE(entry.path().string());
    CHECK(drawn.contains(entry.path().filename().string()));
  }
}

TEST_CASE("every figure is well-formed, 800 px wide, under 100 KB, and says what it shows") {
  for (const Picture& p : pictures()) {
    CAPTURE(p.name);
    CHECK(p.svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\""));
    CHECK(p.svg.size() < 100'000);
    CHECK(open_elements(p.svg) == 0);
    CHECK(p.finding.size() > 40);
    CHECK(p.svg.find("<desc>" + xml_escaped(p.finding) + "</desc>") != p.svg.npos);
    CHECK(p.svg.find("nan") == p.svg.npos);
    CHECK(p.svg.find("inf") == p.svg.npos);
    for (std::size_t at = p.svg.find("font-size:"); at != p.svg.npos;
         at = p.svg.find("font-size:", at + 1)) {
      CHECK(std::atoi(p.svg.c_str() + at + 10) >= 12);
    }
    // A line of 12 px that begins at the left edge: other fonts are wider than this machine's.
    static const std::regex faint("class=\"small faint\" x=\"24\"[^>]*>([^<]*)");
    for (std::sregex_iterator it(p.svg.begin(), p.svg.end(), faint), end; it != end; ++it) {
      CHECK((*it)[1].length() <= 115);
    }
  }
}

TEST_CASE("figures say what the trace says: stage 1 is uncoalesced, 6 has conflicts, 7 has none") {
  const auto says = [](const char* name, const char* words) {
    return picture(name).finding.find(words) != std::string::npos;
  };
  CHECK(says("stage1-coalescing", "A, load of 4 bytes a lane: 32 sectors, where 4 would do"));
  CHECK(says("stage2-coalescing", "B, load of 4 bytes a lane: 4 sectors, no fewer would do"));
  CHECK(says("stage6-banks", "B's tile, load of 16 bytes a lane: 8 wavefronts, where 4 would do"));
  CHECK(!says("stage7-banks", "would do"));
  CHECK(says("stage5-tiles", "16 floats for 64 multiplications"));
  CHECK(says("stage9-pipeline", "Stage 9 has room for 4 tiles"));
  CHECK(says("padding-and-swizzle", "as it is: a row in 1 wavefront, a column in 32 wavefronts"));
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

TEST_CASE("lanes are named in runs") {
  CHECK(lanes_text(0) == "");
  CHECK(lanes_text(1u << 5) == "5");
  CHECK(lanes_text(0x0000000fu) == "0–3");
  CHECK(lanes_text(0x80000003u) == "0, 1, 31");
  CHECK(lanes_text(~0u) == "0–31");
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
  Svg svg("a < b & \"c\"", "it's </desc><script>");
  svg.text(0, 0, "x<y\x01");
  const std::string file = svg.file(100);
  CHECK(open_elements(file) == 0);
  CHECK(file.find("<script>") == file.npos);
  CHECK(file.find("x&lt;y</text>") != file.npos);
}

TEST_CASE("recorded speeds are read from the tables that the program wrote") {
  const std::vector<RecordedLadder> runs = recorded_h200();
  REQUIRE(runs.size() == 3);
  for (const RecordedLadder& run : runs) {
    CAPTURE(run.size);
    REQUIRE(run.speeds.size() > 1);
    for (std::size_t i = 0; i + 1 < run.speeds.size(); ++i) {
      CHECK(model::find_stage(stage_table_traced.stages, run.speeds[i].number) != nullptr);
    }
    CHECK(run.speeds.front().number == 0);
    CHECK(run.speeds.back().number == -1);
    CHECK(run.speeds.back().cublas_percent == 100);
  }
  const RecordedLadder run = recorded_run(
      "problem  C (64 x 64) = 1\n\n"
      "           time TFLOP/s  % of\n"
      "# stage      ms        cuBLAS\n"
      "0 each ~491,000 0.00028 <0.01\n"
      "  OpenMP    1.0    1.84  3.58\n"
      "1 naive     276   0.499  0.97  8,192\n\n2 not a row");
  CHECK(run.size == 64);
  REQUIRE(run.speeds.size() == 2);
  CHECK(run.speeds[0].tflops == 0.00028);
  CHECK(run.speeds[1].tflops == 0.499);
  CHECK(run.speeds[1].cublas_percent == 0.97);
  CHECK(run.speeds[0].times_before == 0);
  CHECK(run.speeds[1].times_before == doctest::Approx(491000.0 / 276));
  const RecordedLadder wider = recorded_run(
      "problem  C (64 x 64) = 1\n\n"
      " # stage     ms      /s BLAS\n"
      " 9 pipeline 276   0.499 0.97 1779 99 L1\n"
      "10 tensor   276   0.599 0.97 1779 99 L1\n");
  REQUIRE(wider.speeds.size() == 2);
  CHECK(wider.speeds[0].number == 9);
  CHECK(wider.speeds[1].number == 10);
  for (const char* bad :
       {"", "problem  C (64 x 64) = 1\n", "problem  C (x",
        "problem  C (64 x\n# stage ms /s\n1 naive", "anything\n# stage /s\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(recorded_run(bad), std::invalid_argument);
  }
}

TEST_CASE("figures are written whole, into a directory that is made, or refused") {
  namespace fs = std::filesystem;
  const testing::Folder folder;
  const fs::path directory = folder.path() / "deep" / "er";
  write_pictures(directory.string(), {{"a", "finding", "<svg/>"}});
  CHECK(text_of(directory / "a.svg") == "<svg/>");
  CHECK(std::distance(fs::directory_iterator(directory), {}) == 1);
  const std::string not_a_directory = (directory / "a.svg").string();
  CHECK_THROWS_AS(write_pictures(not_a_directory, {{"a", "", ""}}), model::Refusal);
  CHECK_THROWS_AS(write_pictures("/proc/figures", {{"a", "", ""}}), model::Refusal);
  fs::create_directory(directory / "b.svg");
  CHECK_THROWS_AS(write_pictures(directory.string(), {{"b", "", ""}}), model::Refusal);
  CHECK(!fs::exists(directory / "b.svg.partial"));
}

}  // namespace pictures
