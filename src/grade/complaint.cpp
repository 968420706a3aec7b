#include "grade/complaint.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "grade/case.h"
#include "lab/worst_line.h"
#include "report/annotated.h"
#include "report/hazard_sentence.h"
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

std::string shape_text(const Shape& shape) {
  return text::printed("M %d, N %d, K %d", shape.M, shape.N, shape.K);
}

const char* name_of(model::HazardKind kind) {
  switch (kind) {
    case model::HazardKind::race:
      return "a race in shared memory";
    case model::HazardKind::uninitialized:
      return "shared memory is read that nobody has written";
    case model::HazardKind::copy_not_waited_for:
      return "an asynchronous copy is read before it was waited for";
    case model::HazardKind::misaligned:
      return "a vector access that is not aligned";
    case model::HazardKind::race_on_result:
      return "two threads write the same element of C";
    case model::HazardKind::race_between_blocks:
      return "two blocks use the same element, one of them stores it, and nothing orders them";
    case model::HazardKind::read_only_is_stored:
      return "__ldg loads what the same launch stores";
    case model::HazardKind::copy_of_bad_size:
    case model::HazardKind::copy_of_bad_zeros:
    case model::HazardKind::copy_to_global:
    case model::HazardKind::copy_from_shared:
      return "an asynchronous copy that a GPU does not make";
    case model::HazardKind::nothing_shuffled:
    case model::HazardKind::bad_width:
      return "a shuffle whose value is undefined";
    case model::HazardKind::threads_left:
    case model::HazardKind::several_barriers:
      return "barriers that not every GPU takes so";  // notes: no complaint
    case model::HazardKind::out_of_bounds:
      return "memory is reached for where there is none";
    case model::HazardKind::foreign_local:
      return "a local variable is reached for that is not the thread's own";
    case model::HazardKind::index_out_of_range:
      return "an index that its array does not have";
    case model::HazardKind::barrier_divergence:
      return "not all threads of a block come to the same barrier";
    case model::HazardKind::never_written:
      return "elements of C that no thread writes";
  }
  return "";
}

std::string phase_of(const model::Hazard& hazard) {
  const std::string& array = hazard.array;
  if (hazard.kind == model::HazardKind::race) {
    return "around " + array + ": one thread " + (hazard.first.stores ? "stores" : "loads") +
           ", another one " + (hazard.second.stores ? "stores" : "loads") +
           ", and no barrier stands between them";
  }
  if (hazard.kind == model::HazardKind::race_on_result) return "in the part that stores C";
  if (hazard.kind == model::HazardKind::barrier_divergence) return "around the barriers";
  if (hazard.array.empty()) return "where a pointer is made";
  return "in the part that reads or writes " + array;
}

std::string deed(const model::LineCounts& line) {
  return std::string("the ") + lab::name_of(line.direction) + " of " + line.array;
}

std::string lanes_text(const model::LineCounts& line) {
  for (int lane = 0; lane < 32; ++lane) {
    if ((line.worst.active >> lane & 1u) != 0) {
      return text::printed(
          "block %lld, from lane %d of a warp on", static_cast<long long>(line.worst_block), lane);
    }
  }
  return "";
}

std::string place_of(const model::LineCounts& line) {
  std::string text = line.line > 0 ? text::printed("line %d: ", line.line) : "";
  text += deed(line) + text::printed(
                           " takes %.4g %s a request, %.4g at best; the worst takes %d (block %lld",
                           double(line.pieces) / double(line.requests),
                           line.shared ? "wavefronts" : "sectors",
                           double(line.ideal_pieces) / double(line.requests), line.worst_pieces,
                           static_cast<long long>(line.worst_block));
  int first = 0;
  while (first < 31 && (line.worst.active >> first & 1u) == 0) ++first;
  int second = first + 1;
  while (second < 32 && (line.worst.active >> second & 1u) == 0) ++second;
  if (second < 32) {
    text += text::printed(
        "; thread %d of its warp is at byte %llu, thread %d at byte %llu", first,
        static_cast<unsigned long long>(line.worst.address[first]), second,
        static_cast<unsigned long long>(line.worst.address[second]));
  }
  return text + ")";
}

bool is_outside(const model::LineCounts& line) {
  return line.array.starts_with(kOutside);
}

bool mentions(const char* formula, std::string_view what) {
  return std::string_view(formula).find(what) != std::string_view::npos;
}

// The line that has most to do with a missed target: the one with the most to save, or else with
// the most traffic; null where the target is not about memory.
const model::LineCounts* culprit(const Case& c, const Target& target) {
  const bool global = mentions(target.total, "gmem"),
             shared = mentions(target.total, "smem") || mentions(target.total, "conflicts");
  const bool loads = mentions(target.total, "load"), stores = mentions(target.total, "store");
  const model::LineCounts* found = nullptr;
  const auto weight = [](const model::LineCounts& line) {
    return std::pair(line.pieces - line.ideal_pieces, line.pieces);
  };
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.shared ? !shared : !global) continue;
    if (loads != stores && (line.direction == model::Direction::store) != stores) continue;
    if (found == nullptr || weight(line) > weight(*found)) found = &line;
  }
  return found;
}

std::string wrong_pattern(const Case& c) {
  const double results = c.measures.at("results");
  if (c.never_written) {
    return "not every element of C has a thread that stores it (or the one that has leaves early)";
  }
  if (c.wrong == static_cast<std::int64_t>(results)) {
    return std::isnan(c.first.value)
               ? "every result is NaN: something is used that was never set"
               : "every result is wrong: look at which elements of A and B are multiplied";
  }
  if (c.first.row == 0 && c.first.column == 0) {
    return "some results are wrong: look at the loop over K and what it adds up";
  }
  return "some results are wrong and others right: look at the edges, the last row, column and "
         "tile";
}

std::string store_lines(const Case& c) {
  std::string lines;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array != "C" || line.direction != model::Direction::store || line.line == 0) continue;
    lines += (lines.empty() ? "" : ", ") + std::to_string(line.line);
  }
  return lines.empty() ? "" : " on line " + lines;
}

// " by thread (3, 0) of block (1, 4)": who stored the element that is wrong.
std::string stored_by(const Case& c) {
  if (c.wrong_at >= c.writers.size() || c.writers[c.wrong_at] == 0) return "";
  const lab::LaunchShape& launch = *c.row.launch;
  const std::uint64_t in_launch = c.writers[c.wrong_at] - 1, threads = c.launched.threads();
  const std::uint64_t thread = in_launch % threads, block = in_launch / threads;
  const auto pair = [](std::uint64_t number, unsigned across) {
    return text::printed(
        "(%u, %u)", static_cast<unsigned>(number % across), static_cast<unsigned>(number / across));
  };
  return " by thread " + pair(thread, launch.block.x) + " of block " + pair(block, launch.grid.x);
}

Complaint about_wrong_result(const Case& c) {
  if (c.wrong == 0) {
    return {
        "elements of C are written that are not to be computed",
        "in the part that stores C: which elements does the page ask for?",
        text::printed("the first lies %zu floats behind C's begin, and is stored", c.wrong_at) +
            stored_by(c) + store_lines(c)};
  }
  return {
      text::printed(
          "the result is wrong: %lld of %lld elements of C", static_cast<long long>(c.wrong),
          static_cast<long long>(c.measures.at("results"))),
      wrong_pattern(c),
      text::printed(
          "C at row %lld, column %lld ", static_cast<long long>(c.first.row),
          static_cast<long long>(c.first.column)) +
          (c.never_written
               ? std::string("is never written; others are stored")
               : text::printed(
                     "is %.7g, but should be %.7g; stored", c.first.value, c.first.expected) +
                     stored_by(c)) +
          store_lines(c)};
}

// What the kernel does there is not counted, or counted although it is not done.
Complaint about_surprise(const Case& c) {
  model::Audit audit = c.audit;
  trace::resolve_lines(audit, trace::kernel_lines(c.kernel));
  const int line = audit.surprises.front().line;
  return {
      "the tracer cannot count what the kernel does to memory",
      "where memory is accessed in a way that CUDA C++ has no need of",
      line > 0 ? text::printed("line %d", line) : "no line is known"};
}

Complaint about_target(const Case& c, const Target& target) {
  const double per = target.per_result ? c.measures.at("results") : 1;
  Complaint complaint;
  const double total = value_of(target.total, c.measures) / per;
  const double most = value_of(target.at_most, c.measures) / per;
  complaint.symptom = std::string(total < most ? "too little: " : "too much: ") + target.name +
                      text::printed(
                          " %.4g%s, %s %.4g", total, target.per_result ? " a result" : "",
                          target.exactly ? "and not" : "at most", most);
  if (const model::LineCounts* line = culprit(c, target)) {
    complaint.phase = "most is to be saved at " + deed(*line);
    complaint.place = place_of(*line);
  } else {
    complaint.phase = std::string("what counts is ") + target.total;
  }
  return complaint;
}

}  // namespace

bool fails(const Case& c) {
  const model::Counts& counts = *c.row.counts;
  return !c.right() || c.fence_touched || !c.missed.empty() || model::has_hazard(counts) ||
         may_spill(c) || !c.audit.surprises.empty() ||
         std::any_of(counts.lines.begin(), counts.lines.end(), is_outside);
}

std::optional<Complaint> complaint_about(Case& c) {
  if (!fails(c)) return std::nullopt;
  annotate(c);
  const model::Counts& counts = *c.row.counts;
  Complaint complaint;
  if (const auto line = std::find_if(counts.lines.begin(), counts.lines.end(), is_outside);
      line != counts.lines.end()) {
    complaint.symptom = std::string("memory ") + line->array + " is " +
                        (line->direction == model::Direction::store ? "written" : "read");
    complaint.phase = "at " + deed(*line) + ": which threads may do it?";
    complaint.place =
        (line->line > 0 ? text::printed("line %d, ", line->line) : "") + lanes_text(*line);
  } else if (model::has_hazard(counts)) {
    const model::Hazard& hazard = counts.hazards.front();  // notes come last
    complaint = {
        name_of(hazard.kind), phase_of(hazard), report::hazard_sentence(hazard, c.run, c.row)};
  } else if (c.fence_touched) {
    complaint = {
        "memory outside of the matrices is written",
        "in the part that stores C: which threads may do it?", "C is stored" + store_lines(c)};
  } else if (!c.right()) {
    complaint = about_wrong_result(c);
  } else if (!c.audit.surprises.empty()) {
    complaint = about_surprise(c);
  } else if (may_spill(c)) {
    complaint = {
        text::printed(
            "a thread has %.0f bytes on its stack: its local variables are more than the %d that "
            "fit into registers, so they would spill",
            c.measures.at("local_bytes"), kMostLocalBytes),
        "in the local arrays", "give a thread fewer results at a time"};
  } else {
    complaint = about_target(c, *c.missed.front());
  }
  for (const Hint& hint : exercise.hints) {
    if (!hint.applies(c)) continue;
    complaint.phase = hint.text;
    break;
  }
  complaint.symptom += " (" + shape_text(c.shape) + ")";
  return complaint;
}

Complaint complaint_about(const Shape& shape, const guard::Ended& ended) {
  Complaint complaint;
  const char* symptom = ended.how == guard::Ended::timed_out ? "the kernel does not come to an end"
                        : ended.how == guard::Ended::exhausted ? "the kernel needs too much time"
                        : ended.how == guard::Ended::refused   ? "the GPU would refuse the launch"
                                                               : "the kernel breaks off";
  complaint.symptom = std::string(symptom) + " (" + shape_text(shape) + ")";
  complaint.phase = ended.sentence;
  complaint.place = ended.line.empty() ? "no line is known" : ended.line;
  return complaint;
}

std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases) {
  for (const Question& question : questions) {
    const auto answer = answers.find(question.name);
    if (answer == answers.end()) {
      return Complaint{
          std::string("no answer yet to ") + question.name, question.asks,
          std::string("write: answer ") + question.name + ": your formula"};
    }
    for (const Case& c : cases) {
      Values given = {{"M", c.shape.M}, {"N", c.shape.N}, {"K", c.shape.K}};
      for (const auto& [name, value] : c.measures) {
        if (std::isupper(static_cast<unsigned char>(name[0]))) given[name] = value;
      }
      const auto same = [](double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
      };
      const double truth = value_of(question.truth, c.measures);
      double value = 0;
      try {
        value = value_of(answer->second, given);
      } catch (const std::invalid_argument& error) {
        std::string names;
        for (const auto& [name, unused] : given) names += " " + name;
        return Complaint{
            std::string(question.name) + " cannot be worked out", error.what(),
            "the names that it may use:" + names};
      }
      if (same(value, truth)) continue;
      Complaint complaint{
          std::string(question.name) + " is not what the trace counts (" + shape_text(c.shape) +
              ")",
          question.asks, ""};
      for (const auto& [formula, hint] : question.typical) {
        if (same(value, value_of(formula, given))) complaint.phase = hint;
      }
      complaint.place =
          text::printed("there your formula gives %.10g and the trace %.10g", value, truth);
      for (const auto& [name, size] : given) {
        if (name.size() > 1) complaint.place += text::printed(", %s %g", name.c_str(), size);
      }
      return complaint;
    }
  }
  return std::nullopt;
}

}  // namespace grade
