#include "grade/complaint.h"

#include <algorithm>
#include <cmath>

#include "grade/case.h"
#include "grade/costly_line.h"
#include "grade/element.h"
#include "grade/hazard_words.h"
#include "grade/outside.h"
#include "grade/thread_name.h"
#include "report/hazard_sentence.h"
#include "report/source.h"
#include "text/numbers.h"
#include "trace/source_lines.h"

namespace grade {

namespace {

constexpr int kMostLocalBytes = 1020;  // 255 registers, all that a thread can have
// What functions keep on the stack beside variables, where nothing is optimized.
constexpr int kBesideVariables = 256;

bool may_spill(const Case& c) {
  return c.measures.at("local_bytes") > kMostLocalBytes + kBesideVariables;
}

std::string result_name() {
  return array_names(exercise.product)[2];
}

std::string wrong_pattern(const Case& c) {
  const bool sum = exercise.product.sum_of_vectors;
  if (c.never_written) {
    return "not every element of " + result_name() +
           " has a thread that stores it, or that thread leaves too early";
  }
  // Of this size is what a variable holds that was never set (NOT_ZERO in grade.mk).
  constexpr float kNeverSet = 1e37f;
  if (std::abs(c.first.value) > kNeverSet) {
    return "results are as large as no sum can be: a variable is used before it is set";
  }
  if (c.wrong == static_cast<std::int64_t>(c.measures.at("results"))) {
    if (std::isnan(c.first.value)) return "every result is NaN: something is used before it is set";
    return sum ? "every result is wrong: look at which elements of x and y are added"
               : "every result is wrong: look at which elements of A and B are multiplied, and "
                 "whether all K of them are";
  }
  if (sum) return "some results are wrong: look at which thread adds which elements";
  if (c.first.row == 0 && c.first.column == 0) {
    return "some results are wrong: look at the loop over K and what it adds up";
  }
  return "some results are right and others wrong: look at the edges, that is the last row, column "
         "and tile";
}

std::string store_lines(const Case& c) {
  std::string lines;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array != result_name() || line.direction != model::Direction::store ||
        line.line == 0) {
      continue;
    }
    lines += (lines.empty() ? "" : ", ") + std::to_string(line.line);
  }
  return lines.empty() ? "" : "; " + result_name() + " is stored on line " + lines;
}

// "; thread (3, 0) of block (1, 4) stores it": who did, where anybody did.
std::string stored_by(const Case& c) {
  if (c.wrong_at >= c.writers.size() || c.writers[c.wrong_at] == 0) return "";
  const std::uint64_t in_launch = c.writers[c.wrong_at] - 1, threads = c.launched.threads();
  return "; thread " + thread_name(c, static_cast<std::int64_t>(in_launch % threads)) +
         " of block " + block_name(c, static_cast<std::int64_t>(in_launch / threads)) +
         " stores it";
}

Complaint about_wrong_result(const Case& c) {
  const std::string element = element_text(c, 2, static_cast<std::int64_t>(c.wrong_at));
  if (c.wrong == 0) {
    return {
        "elements of " + result_name() + " are written that must keep their values",
        "at the store of " + result_name() + ": which elements does the page ask for?",
        "the first is " + element + stored_by(c) + store_lines(c), Gravity::wrong};
  }
  return {
      text::printed(
          "the result is wrong: %lld of %lld elements of ", static_cast<long long>(c.wrong),
          static_cast<long long>(c.measures.at("results"))) +
          result_name(),
      wrong_pattern(c),
      element + (c.never_written
                     ? " is never written" + store_lines(c)
                     : text::printed(
                           " is %.7g and should be %.7g", double(c.first.value), c.first.expected) +
                           stored_by(c)),
      Gravity::wrong};
}

// What the kernel does there is not counted, or counted although it is not done.
Complaint about_surprise(const Case& c) {
  model::Audit audit = c.audit;
  trace::resolve_lines(audit, trace::kernel_lines(c.kernel));
  const int line = audit.surprises.front().line;
  return {
      "the tracer cannot count what the kernel does to memory",
      "where memory is accessed in a way that CUDA C++ does not need",
      line > 0 ? text::printed("line %d", line) : "no line is known", Gravity::uncounted};
}

// The report's sentence, with an element of a matrix named by its row and column.
Complaint about_hazard(const Case& c, const model::Hazard& hazard) {
  std::string sentence = report::hazard_sentence(hazard, c.run, c.row);
  const auto names = array_names(exercise.product);
  for (int matrix = 0; matrix < 3; ++matrix) {
    const std::string by_byte =
        names[matrix] + text::printed(" (byte %llu)", static_cast<unsigned long long>(hazard.byte));
    const std::size_t at = sentence.find(by_byte);
    if (hazard.array != names[matrix] || at == sentence.npos) continue;
    sentence.replace(
        at, by_byte.size(), element_text(c, matrix, static_cast<std::int64_t>(hazard.byte / 4)));
  }
  return {symptom_of(hazard.kind), phase_of(hazard), sentence, Gravity::hazard};
}

Complaint about_target(const Case& c, const Target& target) {
  const double per = target.per_result ? c.measures.at("results") : 1;
  const double total = value_of(target.total, c.measures) / per;
  const double most = value_of(target.at_most, c.measures) / per;
  Complaint complaint = complaint_about_cost(c, target);
  complaint.symptom = std::string(total < most ? "too little: " : "too much: ") + target.name +
                      text::printed(
                          "%s: %.6g; %s %.6g", target.per_result ? " per result" : "", total,
                          target.exactly ? "it must be" : "the limit is", most);
  complaint.gravity = Gravity::count;
  return complaint;
}

// The gravest that there is to say of a case that fails.
Complaint gravest(const Case& c) {
  const model::Counts& counts = *c.row.counts;
  if (const auto outside = complaint_about_outside(c)) return *outside;
  if (model::has_hazard(counts)) return about_hazard(c, counts.hazards.front());  // notes come last
  if (c.fence_touched) {
    return {
        "memory outside of the matrices is written",
        "at the store of " + result_name() + ": which threads may do it?",
        "no access to it was seen" + store_lines(c), Gravity::outside};
  }
  if (!c.right()) return about_wrong_result(c);
  if (!c.audit.surprises.empty()) return about_surprise(c);
  if (may_spill(c)) {
    return {
        text::printed(
            "a thread has %.0f bytes on its stack: its local variables are more than the %d that "
            "fit into registers, so they would spill",
            c.measures.at("local_bytes"), kMostLocalBytes),
        "in the local arrays", "give a thread fewer results at a time", Gravity::spills};
  }
  return about_target(c, *c.missed.front());
}

}  // namespace

std::string shape_text(const Shape& shape) {
  if (exercise.product.sum_of_vectors) return text::printed("n %d", shape.N);
  return text::printed("M %d, N %d, K %d", shape.M, shape.N, shape.K);
}

bool fails(const Case& c) {
  const model::Counts& counts = *c.row.counts;
  return !c.right() || c.fence_touched || !c.missed.empty() || model::has_hazard(counts) ||
         may_spill(c) || !c.audit.surprises.empty() || reaches_outside(c);
}

std::optional<Complaint> complaint_about(Case& c) {
  if (!fails(c)) return std::nullopt;
  annotate(c);
  Complaint complaint = gravest(c);
  for (const Hint& hint : exercise.hints) {
    if (!hint.applies(c)) continue;
    complaint.phase = hint.text;
    if (hint.place) complaint.place = hint.place(c);
    break;
  }
  complaint.symptom += " (" + shape_text(c.shape) + ")";
  return complaint;
}

Complaint complaint_about(const Shape& shape, const guard::Ended& ended) {
  const char* symptom = ended.how == guard::Ended::timed_out   ? "the kernel does not end"
                        : ended.how == guard::Ended::exhausted ? "the kernel needs too much time"
                        : ended.how == guard::Ended::refused   ? "the GPU would refuse the launch"
                                                               : "the kernel breaks off";
  const char* or_else = ended.how == guard::Ended::timed_out || ended.how == guard::Ended::exhausted
                            ? "; or does each thread do the work of all threads?"
                            : "";
  return {
      std::string(symptom) + " (" + shape_text(shape) + ")", ended.sentence + or_else,
      ended.line.empty() ? "no line is known" : ended.line, Gravity::hazard};
}

}  // namespace grade
