// --explain as a reader meets it: the program itself, run in a shell.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "pictures/tile_picture.h"
#include "report/kernel_diff.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace report {

namespace {

using testing::contains;
using testing::lines_of;
using testing::Output;

// Runs the program on the CPU, with `input` as what is typed.
Output explain_with(const std::string& flags, const std::string& input = "") {
  return testing::gemm_steps("--device cpu --explain " + flags, input);
}

}  // namespace

TEST_CASE("under the costliest request stands the same request of the stage that mends it") {
  struct Case {
    const char* flags;
    const char* here;
    const char* sentence;
    const char* there;
  };
  for (const Case& c :
       {Case{
            "--size 64 --stage 1", "32 lanes, 32 sectors.",
            "Stage 2, coalesced, mends it: its load of A takes 1.00 sectors",
            "The same in stage 2 on line"},
        {"--size 128 --stage 6", "32 lanes, 2 wavefronts.",
         "Stage 7, conflict-free, mends it: its store of As takes 1.00 wavefronts",
         "32 lanes, 1 wavefront."},
        {"--size 128 --stage 5 --variant first", "32 lanes, 32 sectors.",
         "Stage 7, conflict-free, mends it: its store of C takes 16.00 sectors", "[ 0 0 0 0 1 "}}) {
    CAPTURE(std::string(c.flags));
    const Output output = explain_with(c.flags);
    CHECK(output.exit_code == 0);
    const std::size_t here = output.out.find(c.here), sentence = output.out.find(c.sentence);
    REQUIRE(here != std::string::npos);
    REQUIRE(sentence != std::string::npos);
    CHECK(here < sentence);
    CHECK(output.out.find(c.there, sentence) != std::string::npos);
  }
}

TEST_CASE("what takes as many wavefronts as here is no remedy, however wide its loads are") {
  const Output output = explain_with("--size 128 --stage 4 --variant 16x16x16-tm2");
  CHECK(contains(output.out, "2 wavefronts."));
  CHECK(contains(output.out, "No later stage makes the load of As cheaper: it takes 2.00"));
  CHECK_FALSE(contains(output.out, "mends it"));
}

TEST_CASE("a costly request that no later stage mends is said to be one") {
  // Rows of 31 floats: no stage can load four at a time. Not every stage asks for much.
  for (auto stage = stage_table_plain.stages.rbegin();; ++stage) {
    REQUIRE(stage->number > 0);
    const Output output =
        explain_with("--m 64 --n 31 --k 32 --stage " + std::to_string(stage->number));
    CHECK(output.exit_code == 0);
    CHECK_FALSE(contains(output.out, "The same in stage"));
    if (contains(output.out, "No later stage makes the ")) return;
  }
}

TEST_CASE("every stage is explained in at most 160 lines of 100 columns, in one order") {
  for (const char* size : {"--size 128", "--m 65 --n 71 --k 9 --beta 1"}) {
    const Output output = explain_with(std::string("--hazards off ") + size);
    CHECK(output.exit_code == 0);
    int lines_of_stage = 0, stages = 0;
    for (const std::string& line : lines_of(output.out)) {
      CAPTURE(line);
      lines_of_stage = line.starts_with("Stage ") && contains(line, ": ") &&
                               !contains(line, "mends it") && !contains(line, "cheaper")
                           ? (++stages, 1)
                           : lines_of_stage + 1;
      CHECK(lines_of_stage <= 160);
      CHECK(text::display_width(line) <= 100);
    }
    CHECK(stages == static_cast<int>(stage_table_plain.stages.size()));
    const model::Stage &latest = stage_table_plain.stages.back(), &before = *(&latest - 1);
    const std::string last = output.out.substr(
        output.out.find(text::printed("Stage %d: %s", latest.number, latest.name)));
    const std::string changed =
        text::printed("What changed since stage %d, %s", before.number, before.name);
    // The occupancy of a stage that this GPU cannot run is left out.
    CHECK_FALSE(contains(last, "How many blocks an SM"));
    std::size_t at = 0;
    for (const char* heading :
         {changed.c_str(), "What each line asks of memory", "The launch", "What one thread does",
          "Why it is this fast", "Time and error", "\nQuestions"}) {
      CAPTURE(std::string(heading));
      const std::size_t found = last.find(heading, at);
      REQUIRE(found != std::string::npos);
      at = found;
    }
    CHECK_FALSE(contains(output.out, "their answers\n"));
  }
}

TEST_CASE("so is every variant, also where it is cut off and copies single floats") {
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      const std::string flags = std::to_string(stage.number) + " --variant " + variant.name;
      CAPTURE(flags);
      const Output output =
          explain_with("--gpu H200 --hazards off --m 65 --n 71 --k 9 --beta 1 --stage " + flags);
      CHECK(output.exit_code == 0);
      const std::size_t lines = lines_of(output.out).size();
      CHECK(lines > 90);
      CHECK(lines <= 160);
    }
  }
}

TEST_CASE("the diff of two neighbouring stages is the lines that carry the idea") {
  const Output output = explain_with("--size 32 --stage 2 --section diff");
  CHECK(contains(output.out, " -   const int row = blockIdx.y * BM + threadIdx.x;\n"));
  CHECK(contains(output.out, " +   const int row = blockIdx.y * BM + threadIdx.y;\n"));
  CHECK_FALSE(contains(output.out, "sum += "));
  CHECK_FALSE(contains(output.out, "naive("));
}

TEST_CASE("--section prints what it names and no more, and refuses what is none") {
  const Output two = explain_with("--size 32 --stage 3 --section occupancy,idea");
  CHECK(two.exit_code == 0);
  CHECK(two.out.find("The threads of a block fetch") < two.out.find("How many blocks an SM"));
  for (const char* other : {"The launch", "What one thread does", "Time", "Questions"}) {
    CHECK_FALSE(contains(two.out, std::string("\n") + other));
  }
  const Output whole = explain_with("--size 32 --stage 3 --section kernel");
  CHECK(contains(whole.out, "const int row = threadIdx.y"));
  for (const char* wrong : {"figures", "idea,", "IDEA"}) {
    const Output refused = explain_with(std::string("--section ") + wrong);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out == "");
    CHECK(contains(refused.err, "they are idea, diff, kernel, tiles, counts, occupancy, ceiling"));
    CHECK(lines_of(refused.err).size() == 1);
  }
}

TEST_CASE("answers are worked out from the run's own numbers") {
  const Output output = explain_with("--size 64 --stage 1- --section answers");
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "Answer: M*N*2*K*4 = 64*64*2*64*4 = 2,097,152 bytes."));
  CHECK(contains(output.out, "Answer: (TM + TN)/(TM*TN) = (8 + 1)/(8*1) = 1.125 loads."));
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = output.out.find("Answer: ", at)) != output.out.npos; ++at) {
    ++answers;
  }
  std::size_t questions = 0;
  for (const model::Stage& stage : stage_table_plain.stages) questions += stage.questions.size();
  CHECK(answers == questions);
  CHECK(questions >= 18);
}

TEST_CASE("--ask shows no count before the reader's prediction, and says how far off it is") {
  const std::string flags = "--size 64 --stage 1 --ask ";
  const Output ended = explain_with(flags);
  CHECK(ended.exit_code == 0);
  CHECK(contains(ended.out, "A thread for every element of C."));
  CHECK(contains(ended.out, "GMEM loads per thread? "));
  CHECK(contains(ended.out, "Without your predictions no counts are shown"));
  CHECK_FALSE(contains(ended.out, "traced max"));
  CHECK_FALSE(contains(ended.out, " per thread, "));

  const Output played = explain_with(flags, "2*K\n2\nnonsense\n1/0\n33\n\n");
  CHECK(played.exit_code == 0);
  CHECK(contains(played.out, "? Right: it is 128.") == false);
  CHECK(contains(played.out, "Right: it is 128.\n"));
  CHECK(contains(played.out, "You said 2, it is 1: 1 too many, or a factor of 2.\n"));
  CHECK(contains(played.out, "unknown name nonsense"));
  CHECK(contains(played.out, "division by zero"));
  CHECK(contains(played.out, "You said 33, it is 16.5: 16.5 too many"));
  CHECK(contains(played.out, "    It is 1.\n"));
  CHECK(contains(played.out, "traced max"));

  CHECK(explain_with("--ask --format json").exit_code == 2);
}

TEST_CASE("--format markdown is a handout of headings, fences that close, and a table") {
  const Output output = explain_with("--size 64 --stage 5 --variant first --format markdown");
  CHECK(output.exit_code == 0);
  const std::vector<std::string> lines = lines_of(output.out);
  REQUIRE(!lines.empty());
  CHECK(lines[0] == "# Stage 5: 2D thread tiling (128x128x8)");
  bool in_fence = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("```")) in_fence = !in_fence;
    if (in_fence || !lines[i].starts_with("#") || i == 0) continue;
    CHECK(lines[i - 1] == "");
    CHECK(lines[i + 1] == "");
  }
  CHECK_FALSE(in_fence);
  CHECK(contains(output.out, "\n```diff\n"));
  CHECK(contains(output.out, "\n+  2"));
  CHECK(contains(output.out, "\n| GMEM loads | accesses | `ceil(K/BK)*BK*(BM + BN)/threads"));
  CHECK_FALSE(contains(output.out, "\033["));
}

TEST_CASE("a diff is the shortest way, and a shortened one keeps what changed") {
  const std::vector<DiffLine> diff = line_diff({"a", "b", "c", "d"}, {"a", "x", "c", "  d", "}"});
  std::string text;
  for (const DiffLine& line : diff) {
    text += (line.before == 0 ? "+" : line.after == 0 ? "-" : " ") + line.text + "\n";
  }
  CHECK(text == " a\n-b\n+x\n c\n   d\n+}\n");
  const std::vector<DiffLine> shortened = shortened_diff(diff, 0);
  REQUIRE(shortened.size() == 2);
  CHECK(shortened[0].before == 2);
  CHECK(shortened[1].after == 2);
  CHECK(shortened_diff(diff, 1).size() == 4);
  CHECK(line_diff({}, {}).empty());
  CHECK(line_diff({}, {"a"}).size() == 1);
}

TEST_CASE("a picture of the tiles shows how often each is cut, at most 100 columns wide") {
  const model::Variant warps{
      .name = "",
      .BM = 128,
      .BN = 128,
      .BK = 8,
      .WM = 32,
      .WN = 128,
      .TM = 16,
      .TN = 8,
      .pipeline = 0,
      .block_x = 128,
      .block_y = 1,
      .shared_bytes = 0,
      .kernel = {},
      .kernel_any = {}};
  for (const int size : {1, 256, 2000000000}) {
    const std::vector<std::string> picture = pictures::tile_picture(warps, size, size);
    CHECK(picture.size() <= 9);
    for (const std::string& line : picture) CHECK(text::display_width(line) <= 100);
    std::string text;
    for (const std::string& line : picture) text += line + "\n";
    CHECK(contains(text, "4 x 1 warps"));
    CHECK(contains(text, "2 x 16 lanes"));
    CHECK(contains(text, "16 x 8 results"));
  }
}

}  // namespace report
