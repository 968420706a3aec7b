// An exercise as data: exercises/NN-name/exercise.cpp defines the one called `exercise`.
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

// Draws the random numbers of a grading. The same seed gives the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // A whole number from `least` to `most`, both included.
  int between(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }

  // A shape of three rows and four columns of tiles, or of four and three, with M and N different.
  // In this shape a kernel fails if an index of a block is left out, halved, exchanged or taken
  // modulo two. Every exercise about tiles has one.
  Shape tiles(int BM, int BN, int K, int variant = 0) {
    const int more = between(0, 1);
    const Shape shape{(3 + more) * BM, (4 - more) * BN, K, variant};
    return shape.M == shape.N ? Shape{4 * BM, 4 * BN, K, variant} : shape;
  }
  // The same, but the edges of C cut through the last row and the last column of tiles.
  Shape cut_tiles(int BM, int BN, int K) {
    Shape cut = tiles(BM, BN, K);
    cut.M -= between(1, BM - 1);
    cut.N -= between(1, BN - 1);
    return cut;
  }
  // Three large shapes behind the others: one with more than 256 tiles along M, one along N, and
  // one with a K that no constant in an answer, and no array of a thread, should bound.
  std::vector<Shape> and_large(std::vector<Shape> shapes, int BM, int BN, int BK) {
    shapes.push_back({BM * many_tiles(), BN, BK, 0, true});
    shapes.push_back({BM, BN * many_tiles(), BK, 0, true});
    shapes.push_back({BM, BN, long_K(BK), 0, true});
    return shapes;
  }
  int many_tiles() { return between(257, 300); }
  int long_K(int BK) { return BK * between(320 / BK + 1, 400 / BK); }
  // A shape smaller than a tile.
  Shape part_of_tile(int BM, int BN, int K) { return {between(1, BM - 1), between(1, BN - 1), K}; }

 private:
  std::mt19937_64 engine_;
};

// How a matrix lies in memory: row by row, column by column, or as its transpose, row by row. The
// last two are the same in memory, but for a `transposed` matrix the page names the rows of the
// transpose.
enum class Order { rows, columns, transposed };

// The product: C = A * B, where A is M x K, B is K x N and C is M x N, each in its order.
struct Multiplication {
  Order A = Order::rows, B = Order::rows, C = Order::rows;
  // B is A's transpose, N is M, and only the elements of C on and below the diagonal are computed;
  // the others keep their values. The kernel receives A in place of B.
  bool lower_triangle_of_AAt = false;
  // z = x + y instead, with N elements each. x, y and z take the places of A, B and C; M and K are
  // 1.
  bool sum_of_vectors = false;
};

// Names and their values, for formulas (src/model/stage.h).
using Values = std::map<std::string, double>;

// A total over the whole launch and its limit, as formulas in the measures of a case (see
// measures()), so that the page and the computation agree. Never a mean or a ratio of two counts,
// because idle threads or needless perfect loads would improve it.
struct Target {
  const char* name;        // "global sectors"
  const char* total;       // "gmem_load_sectors + gmem_store_sectors"
  const char* at_most;     // "2*M*N*K/8"
  bool per_result = true;  // printed divided by the number of results
  bool exactly = false;    // less than at_most also misses the target
  // For a target in sectors or wavefronts: how many a request may take if the target is met. 0: as
  // many as without bank conflicts and with the lanes' elements side by side.
  int pieces_per_request = 0;
};

// The result of one run of the student's kernel.
struct Case {
  Shape shape{};
  Values measures{};
  lab::Floats A{}, B{}, C{};  // as they lie in memory
  model::Variant launched{};  // the block that it was launched with
  lab::Row row{};             // its counts, with lines of the student's file after annotate()
  lab::Run run{};
  model::Audit audit{};        // of the first block, in the first case
  std::size_t hazards = 0;     // as found: several may become one when their lines are known
  std::int64_t wrong = 0;      // results that are
  model::Mismatch first{};     // of them, row by row
  bool never_written = false;  // that element still has its old value
  // For each element of C, in memory order: the thread that stored it last, counted from 1 through
  // all blocks of the launch; 0: none did. Empty if nothing was launched.
  std::vector<std::uint64_t> writers{};
  std::size_t wrong_at = 0;  // position of `first` in memory; else, of the element that should stay
  bool outside_touched = false;  // an element of C was written that should not be
  bool fence_touched = false;    // memory around A, B or C was written
  std::vector<const Target*> missed{};
  bool right() const { return wrong == 0 && !outside_touched; }
  // Whether all its blocks ran, so that its totals are the launch's.
  bool counted() const { return !shape.large || row.launch->grid.x * row.launch->grid.y == 1; }
  // Whether a block that ran has this element of C to compute: all do, except in a large shape.
  bool runs(int row, int column) const;

  // Whether C equals this other product, for example with B read in the wrong order.
  bool is(const Multiplication& other) const;
};

// The most serious first: of all shapes, the most serious complaint is reported.
enum class Gravity { outside, hazard, wrong, uncounted, spills, count };

// Why an answer fails, in three steps: each `HINT` level adds one.
struct Complaint {
  std::string symptom;  // what is wrong
  std::string phase;    // where to look: which part of the kernel
  std::string place;    // which line and thread
  Gravity gravity = Gravity::wrong;
};

// A typical mistake, recognized by the result of the reported case. The first that applies is
// reported.
struct Hint {
  std::function<bool(const Case&)> applies;
  const char* text;         // the phase, in more precise words than the grader's own
  const char* remedy = "";  // what mends it; follows the place
  std::function<std::string(const Case&)> place = {};  // in place of the grader's own
};

// A typical mistake that stops the kernel before its end, such as a wait that lasts forever. It is
// recognized by the shape and by the sentence that says what happened. The first that applies is
// reported; the sentence then follows at HINT=2.
struct Stop {
  std::function<bool(const Shape&, const std::string& sentence)> applies;
  const char* text;
};

// The student's `answer NAME: TEXT` lines.
using Answers = std::map<std::string, std::string>;

// A formula that is handed in, and the true one, in the measures of a case. Both are evaluated in
// every case; the student's may use only M, N, K and the variant's sizes.
struct Question {
  const char* name;
  const char* asks;
  const char* truth;
  // What a typical wrong formula equals, and the message about it.
  struct Wrong {
    const char* formula;
    const char* hint;
  };
  std::vector<Wrong> typical = {};
  // The true formula in the sizes alone. It is compared for other tiles than the kernel's, too.
  const char* formula = nullptr;
};

// The data for an exercise's own check.
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
  // The sizes of the kernel's variants, by their names in formulas: {{"BM", 32}, ...}.
  // Shape::variant counts them.
  std::vector<Values> variants = {{}};
  // The easiest first: of equally serious complaints, the first is reported.
  std::function<std::vector<Shape>(Random&)> shapes = {};
  // Computes element `at` of A, or of B, in memory from a drawn one; none: it is used as drawn.
  std::function<float(float, const Shape&, bool of_B, std::size_t at)> element = {};
  std::vector<Target> targets = {};
  std::vector<Hint> hints = {};
  std::vector<Stop> stops = {};
  std::vector<Question> questions = {};
  // Called first, before any report of what the kernel did; none: nothing to complain about.
  std::function<std::optional<Complaint>(const Submission&)> check_answers = {};
  // Called last, for a kernel that is right and meets its targets.
  std::function<std::optional<Complaint>(const Submission&)> check = {};
  // Printed for a kernel that is right and meets its targets, before `check`.
  std::function<std::string(const Submission&)> score = {};
  // Always printed, at the start: an instance drawn for this student.
  std::function<std::string(const Submission&)> instance = {};
};

extern const Exercise exercise;

}  // namespace grade
