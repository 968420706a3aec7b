// What an exercise is: exercises/NN-name/exercise.cpp defines the one called `exercise`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "lab/run.h"
#include "model/error.h"
#include "model/recording.h"
#include "model/stage.h"
#include "school/grade/shape.h"

namespace grade {

// Draws what a grading is about. The same seed gives the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // A whole number from `least` to `most`, both included.
  int between(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }

  // A shape of three rows and four columns of tiles, or of four and three, M and N different: the
  // shape in which no index of a block can be left out, halved, exchanged or taken modulo two.
  // Every exercise about tiles has one.
  Shape tiles(int BM, int BN, int K, int variant = 0) {
    const int more = between(0, 1);
    const Shape shape{(3 + more) * BM, (4 - more) * BN, K, variant};
    return shape.M == shape.N ? Shape{4 * BM, 4 * BN, K, variant} : shape;
  }
  // The same, but the last row and the last column of tiles are cut off.
  Shape cut_tiles(int BM, int BN, int K) {
    Shape cut = tiles(BM, BN, K);
    cut.M -= between(1, BM - 1);
    cut.N -= between(1, BN - 1);
    return cut;
  }
  // And one that is less than a tile.
  Shape part_of_tile(int BM, int BN, int K) { return {between(1, BM - 1), between(1, BN - 1), K}; }

 private:
  std::mt19937_64 engine_;
};

// How a matrix lies in memory: row by row, column by column, or as its transpose, row by row. The
// last two are the same memory, but the page gives a `transposed` matrix the transpose's rows.
enum class Order { rows, columns, transposed };

// What is computed: C = A * B, where A is M x K, B is K x N and C is M x N, each in its order.
struct Multiplication {
  Order A = Order::rows, B = Order::rows, C = Order::rows;
  // B is A's transpose, N is M, and only the elements of C on and below the diagonal are computed;
  // the others keep their values. The kernel is given A for B.
  bool lower_triangle_of_AAt = false;
  // z = x + y instead, of N elements each. x, y and z stand for A, B and C; M and K are 1.
  bool sum_of_vectors = false;
};

// Names and their values, for formulas (src/model/stage.h).
using Values = std::map<std::string, double>;

// A total over the whole launch and the most that it may be, as formulas in the measures of a case
// (see measures()), so that what the page says is what is computed. Never a mean or a ratio of two
// counts: idle threads or superfluous perfect loads would improve those.
struct Target {
  const char* name;        // "global sectors"
  const char* total;       // "gmem_load_sectors + gmem_store_sectors"
  const char* at_most;     // "2*M*N*K/8"
  bool per_result = true;  // printed divided by the number of results
  bool exactly = false;    // less than at_most is missed, too
  // Of a target in sectors or wavefronts: what a request may take where the target is kept. 0: as
  // many as it takes without bank conflicts and with neighbouring lanes side by side.
  int pieces_per_request = 0;
};

// What one run of the student's kernel came to.
struct Case {
  Shape shape{};
  Values measures{};
  lab::Floats A{}, B{}, C{};  // as they lie in memory
  std::string name{};         // of the kernel
  const void* kernel = nullptr;
  model::Variant launched{};  // the block that it was launched with, and no more
  lab::Row row{};             // its counts, with lines of the student's file after annotate()
  lab::Run run{};
  model::Audit audit{};          // of the first block, in the first case
  std::size_t hazards = 0;       // as they were found: some may be one when their lines are known
  std::int64_t wrong = 0;        // results that are
  model::Mismatch first{};       // of them, row by row
  bool never_written = false;    // that one still is what it was before
  std::string outside_access{};  // which thread first reached beside a matrix, and where
  // Of each element of C, as it lies in memory: the thread that stored it last, counted from 1
  // through all blocks of the launch; 0: none did. Empty where nothing was launched.
  std::vector<std::uint64_t> writers{};
  std::size_t wrong_at = 0;      // where `first` lies in memory; or else, that which was to be left
  bool outside_touched = false;  // an element of C was written that is not to be computed
  bool fence_touched = false;    // memory beside A, B or C was written
  std::vector<const Target*> missed{};
  bool right() const { return wrong == 0 && !outside_touched; }

  // Whether C is what this other product would be: one of B as it lies there, say.
  bool is(const Multiplication& other) const;
};

// The gravest first: of all shapes tried, the gravest complaint is told.
enum class Gravity { outside, hazard, wrong, uncounted, spills, count };

// Why an answer fails, in three steps: each `HINT` level says one more of them.
struct Complaint {
  std::string symptom;  // what is wrong
  std::string phase;    // where to look: which part of the kernel
  std::string place;    // which line and thread
  Gravity gravity = Gravity::wrong;
};

// A typical mistake, known by what the case that is told came to. The first that applies is told.
struct Hint {
  std::function<bool(const Case&)> applies;
  const char* text;         // the phase, in better words than the grader has by itself
  const char* remedy = "";  // what mends it: told after the place
  std::function<std::string(const Case&)> place = {};  // in place of the grader's own
};

// The student's `answer NAME: TEXT` lines.
using Answers = std::map<std::string, std::string>;

// A formula that is handed in, and the truth: one in the measures of a case. Both are evaluated in
// every case; the student's sees only M, N, K and the variant's sizes.
struct Question {
  const char* name;
  const char* asks;
  const char* truth;
  // What a typical wrong formula is equal to, and what to tell about it.
  struct Wrong {
    const char* formula;
    const char* hint;
  };
  std::vector<Wrong> typical = {};
};

// What a check of one's own has to go by.
struct Submission {
  const Answers& answers;
  std::span<const Case> cases;
  std::string student;
  std::uint64_t seed;
};

struct Exercise {
  const char* title;
  Multiplication product = {};
  model::Precision precision = model::kFp32;  // how far C may be from the exact product
  // The sizes that the kernel's variants stand for, by their names in formulas: {{"BM", 32}, ...}.
  // Shape::variant counts them.
  std::vector<Values> variants = {{}};
  // The easiest first: of complaints that are equally grave the first is told.
  std::function<std::vector<Shape>(Random&)> shapes = {};
  // Makes the elements of A and B from drawn ones, for this shape; none: takes them as they are.
  std::function<float(float, const Shape&)> element = {};
  std::vector<Target> targets = {};
  std::vector<Hint> hints = {};
  std::vector<Question> questions = {};
  // Asked first, before a word is said of what the kernel did; none: nothing to complain about.
  std::function<std::optional<Complaint>(const Submission&)> check_answers = {};
  // Asked last, of a kernel that is right and keeps its targets.
  std::function<std::optional<Complaint>(const Submission&)> check = {};
  // Said of a kernel that is right and keeps its targets, before `check`.
  std::function<std::string(const Submission&)> score = {};
  // Said to everyone, at the start: an instance drawn for this student.
  std::function<std::string(const Submission&)> instance = {};
};

extern const Exercise exercise;

}  // namespace grade
