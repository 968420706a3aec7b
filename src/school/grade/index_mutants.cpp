// index_mutants [SEED...]: runs mutants of a solution (src/school/grade/index_mutants.awk), or
// stages of the ladder in its place (src/school/grade/ladder.cpp), with all these seeds. Reads them
// from stdin, one per line, and prints those that pass with any seed; "none" is the solution, which
// must pass. Linked as a grader is, with this main in place of the grader's
// (src/school/grade/check.sh).
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "lab/device.h"
#include "school/grade/case.h"
#include "school/grade/complaint.h"
#include "school/grade/exercise.h"
#include "simulator/simulator.h"

void run(Shape shape, const float* A, const float* B, float* C);

namespace {

// Which uses of indices are wrong, and how.
struct Mutant {
  enum { none, drop, halve, exchange, wrap } kind = none;
  std::vector<char> wrong = std::vector<char>(1000);
};
Mutant mutant;

// "drop 3,5 row: As[row][k + row]", "stage 7" or "none"
Mutant mutant_of(const std::string& line) {
  std::istringstream text(line);
  std::string word;
  text >> word;
  Mutant m;
  if (word == "none") return m;
  if (word == "stage") {
    text >> word;
    setenv("LADDER_STAGE", word.c_str(), 1);
    return m;
  }
  m.kind = word == "drop"       ? Mutant::drop
           : word == "halve"    ? Mutant::halve
           : word == "exchange" ? Mutant::exchange
                                : Mutant::wrap;
  for (std::size_t number; text >> number; text.get()) {
    m.wrong.at(number) = 1;
    if (text.peek() != ',') break;
  }
  return m;
}

bool passes(std::uint64_t seed) {
  grade::Random random(seed);
  const std::vector<Shape> shapes = grade::exercise.shapes(random);
  std::vector<grade::Case> cases(shapes.size());
  std::vector<std::size_t> order(shapes.size());
  std::iota(order.begin(), order.end(), 0);
  // What has the shortest K takes the least time, and most mutants fail with it.
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return shapes[at].K; });
  for (const std::size_t at : order) {
    cases[at] = grade::drawn_case(shapes[at], seed + at);
    grade::run_watched(cases[at]);
    grade::measure(cases[at]);
    if (grade::fails(cases[at])) return false;
  }
  const grade::Submission submission{{}, cases, "", seed};
  return !grade::exercise.check || !grade::exercise.check(submission);
}

// In a child, because it may crash or never end.
bool passes_in_child(std::uint64_t seed) {
  const guard::Guard guard = grade::case_guard(5, "index_mutants", 1);
  const guard::Ended ended = guard::run_in_child(guard, [&](std::FILE*) {
    return guard::Outcome{passes(seed) ? 0 : 1, ""};
  });
  return ended.how == guard::Ended::done && ended.exit_code == 0;
}

}  // namespace

// The value that the traced kernel uses in place of an index. This code is not traced.
namespace simt {

int index_mutant(std::size_t number, int value, int other, int period) {
  if (!mutant.wrong[number]) return value;
  switch (mutant.kind) {
    case Mutant::drop:
      return 0;
    case Mutant::halve:
      return value / 2;
    case Mutant::exchange:
      return other;
    case Mutant::wrap:
      return value % period;
    default:
      return value;
  }
}

}  // namespace simt

int main(int argc, char** argv) {
  guard::main_begins();
  lab::prepare_threads();
  machine::function_name(reinterpret_cast<const void*>(&run));  // read once, and not in each child
  const std::vector<std::string> seeds(argv + 1, argv + argc);
  bool as_expected = true;
  for (std::string line; std::getline(std::cin, line);) {
    mutant = mutant_of(line);
    std::string others;
    for (const std::string& seed : seeds) {
      if (passes_in_child(std::stoull(seed)) != (line == "none")) others += " " + seed;
    }
    if (others.empty()) continue;
    std::cout << line << (line == "none" ? ": the solution fails" : "\n    passes") << " with seed"
              << others << "\n";
    as_expected = false;
  }
  return as_expected ? 0 : 1;
}
