#include "school/grade/complaint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"
#include "model/recording.h"
#include "model/warp_access.h"
#include "school/grade/case.h"
#include "show/report/explain/explain.h"
#include "show/report/words.h"
#include "simulator/simulator.h"
#include "text/numbers.h"

namespace grade {

namespace {

// Threads and blocks by their coordinates, as CUDA code names them.
std::string pair_text(std::int64_t number, std::int64_t across) {
  return text::printed(
      "(%lld, %lld)", static_cast<long long>(number % across),
      static_cast<long long>(number / across));
}
// From a thread's number in its block, and a block's in the launch.
std::string thread_name(const Case& c, std::int64_t thread) {
  return pair_text(thread, c.row.launch->block.x);
}
std::string block_name(const Case& c, std::int64_t block) {
  return pair_text(block, c.row.launch->grid.x);
}

// A matrix as it is stored: this many contiguous lines.
struct Lines {
  std::int64_t count, length;
  bool are_columns;
};

Lines matrix_lines(const Case& c, int matrix) {
  const Multiplication& product = exercise.product;
  const std::int64_t rows[] = {c.shape.M, c.shape.K, c.shape.M};
  const std::int64_t columns[] = {c.shape.K, c.shape.N, c.shape.N};
  const Order orders[] = {product.A, product.B, product.C};
  const bool as_rows = orders[matrix] == Order::rows;
  return {
      as_rows ? rows[matrix] : columns[matrix], as_rows ? columns[matrix] : rows[matrix],
      orders[matrix] == Order::columns};
}

// The line in which an element lies; before the matrix it is negative.
std::int64_t line_at(const Lines& lines, std::int64_t at) {
  const std::int64_t length = std::max<std::int64_t>(lines.length, 1);
  return (at >= 0 ? at : at - length + 1) / length;
}

// "A(57, 0)", or "x[57]" of a vector: the element of the matrix, 0 for A to 2 for C, that is
// `at` floats after its start in memory.
std::string element_text(const Case& c, int matrix, std::int64_t at) {
  const char* name = array_names(exercise.product)[matrix];
  const auto number = static_cast<long long>(at);
  if (exercise.product.sum_of_vectors) return text::printed("%s[%lld]", name, number);
  const Lines lines = matrix_lines(c, matrix);
  const long long line = line_at(lines, at), place = at - line * lines.length;
  return lines.are_columns ? text::printed("%s(%lld, %lld)", name, place, line)
                           : text::printed("%s(%lld, %lld)", name, line, place);
}

// Why there is no such element, to follow its name: ", row 57; A has rows 0 to 56".
std::string bounds_text(const Case& c, int matrix, std::int64_t at) {
  const char* name = array_names(exercise.product)[matrix];
  if (exercise.product.sum_of_vectors) {
    return text::printed("; %s has elements 0 to %d", name, c.shape.N - 1);
  }
  const Lines lines = matrix_lines(c, matrix);
  const char* line = lines.are_columns ? "column" : "row";
  return text::printed(
      ", %s %lld; %s has %ss 0 to %lld", line, static_cast<long long>(line_at(lines, at)), name,
      line, static_cast<long long>(lines.count - 1));
}

constexpr std::size_t kMostEvents = 200'000;

bool is_outside(const model::LineCounts& line) {
  return line.array.starts_with(kOutside);
}

// The matrix next to which the memory named `array` is: 0 for A to 2 for C.
int matrix_beside(const std::string& array) {
  const auto names = array_names(exercise.product);
  for (int matrix = 0; matrix < 3; ++matrix) {
    if (array.ends_with(std::string(" ") + names[matrix])) return matrix;
  }
  return 0;
}

const lab::Floats& floats_of(const Case& c, int matrix) {
  return matrix == 0 ? c.A : matrix == 1 ? c.B : c.C;
}

// The position of a byte in that matrix, or in the memory around it, in floats from the matrix's
// start.
std::int64_t float_at(const Case& c, int matrix, const std::string& array, std::uint64_t byte) {
  const std::int64_t at = static_cast<std::int64_t>(byte) >> 2;
  if (array.starts_with(kBefore)) return at - static_cast<std::int64_t>(fence_floats(c.shape));
  if (array.starts_with(kOutside)) return at + std::ssize(floats_of(c, matrix));
  return at;
}

struct Reach {
  std::int64_t block, thread, at;  // `at`: in floats from the matrix's start
};

// The first thread of the recorded blocks that accesses memory outside of the matrix on that line.
// A warp's request to both belongs to the one that its first lane accesses.
std::optional<Reach> first_reach(
    const Case& c, const model::Recording& recording, const model::LineCounts& line) {
  const int matrix = matrix_beside(line.array);
  const std::string name = array_names(exercise.product)[matrix];
  for (const model::RecordedEvent& event : recording.events) {
    if (event.kind != model::RecordedEvent::Kind::request) continue;
    const model::RecordedSite& site = recording.sites[event.site];
    if (site.array < 0 || site.line != line.line || site.direction != line.direction) continue;
    const std::string& array = recording.arrays[site.array].name;
    if (array != name && !(array.starts_with(kOutside) && array.ends_with(" " + name))) continue;
    for (std::uint32_t lanes = event.access.active; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const std::int64_t at = float_at(c, matrix, array, event.access.address[lane]);
      if (at >= 0 && at < std::ssize(floats_of(c, matrix))) continue;
      return Reach{event.block, 32 * event.warp + lane, at};
    }
  }
  return std::nullopt;
}

// "line 11: thread (0, 1) of block (0, 7) loads A(57, 0), row 57; A has rows 0 to 56"
std::string who_reaches(const Case& c, const model::LineCounts& line) {
  const auto& grid = c.row.launch->grid;
  const std::int64_t across = grid.x, last = c.row.counts->blocks - 1;
  model::Recorder recorder{
      .blocks = {line.worst_block, 0, across - 1, last - across + 1, last},
      .most_events = kMostEvents};
  Case again = c;
  run_recorded(again, recorder);
  model::Recording& recording = recorder.launches.at(0);
  trace::resolve_lines(recording, trace::kernel_lines(c.row.launch->kernel));
  const std::string where = line.line > 0 ? text::printed("line %d: ", line.line) : "";
  const std::optional<Reach> reach = first_reach(c, recording, line);
  if (!reach) return where + "some thread of the launch does it";
  const int matrix = matrix_beside(line.array);
  return where + "thread " + thread_name(c, reach->thread) + " of block " +
         block_name(c, reach->block) + " " +
         (line.direction == model::Direction::copy
              ? "copies"
              : lab::name_of(line.direction) + std::string("s")) +
         " " + element_text(c, matrix, reach->at) + bounds_text(c, matrix, reach->at);
}

bool accesses_outside(const Case& c) {
  return std::ranges::any_of(c.row.counts->lines, is_outside);
}

Complaint about_outside(const Case& c) {
  const model::LineCounts& line = *std::ranges::find_if(c.row.counts->lines, is_outside);
  const std::string name = array_names(exercise.product)[matrix_beside(line.array)];
  const bool stores = line.direction == model::Direction::store;
  return {
      "memory outside of " + name + (stores ? " is written" : " is read"),
      std::string("at the ") + lab::name_of(line.direction) + " of " + name +
          ": which threads may do it?",
      who_reaches(c, line), Gravity::outside};
}

}  // namespace

bool reaches_outside(const Case& c) {
  return c.fence_touched || accesses_outside(c);
}

namespace {

bool mentions(const Target& target, std::string_view what) {
  return std::string_view(target.total).find(what) != std::string_view::npos;
}

// The lines whose accesses the target counts.
std::vector<const model::LineCounts*> lines_counted(const Case& c, const Target& target) {
  const bool global = mentions(target, "gmem");
  const bool shared = mentions(target, "smem_load") || mentions(target, "smem_store") ||
                      mentions(target, "conflicts");
  const bool loads = mentions(target, "load"), stores = mentions(target, "store");
  std::vector<const model::LineCounts*> lines;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.shared ? !shared : !global) continue;
    if (loads != stores && (line.direction == model::Direction::store) != stores) continue;
    lines.push_back(&line);
  }
  return lines;
}

// The line with the greatest value of `of`; null if no value is above 0.
template <class Of>
const model::LineCounts* most(const std::vector<const model::LineCounts*>& lines, Of of) {
  const auto found =
      std::ranges::max_element(lines, {}, [&](const auto* line) { return of(*line); });
  return found != lines.end() && of(**found) > 0 ? *found : nullptr;
}

std::string action(const model::LineCounts& line) {
  return std::string("the ") + lab::name_of(line.direction) + " of " + line.array;
}

std::string where(const model::LineCounts& line) {
  return line.line > 0 ? text::printed("line %d: ", line.line) : "";
}

std::string each_takes(const model::LineCounts& line, std::int64_t pieces) {
  const double each = double(pieces) / double(line.requests);
  std::string name = line.shared ? "wavefronts" : "sectors";
  if (each == 1) name.pop_back();
  return text::printed("%.4g ", each) + name;
}

// How two lanes of the costliest request are related, which makes it so costly.
std::string lanes_apart(const model::LineCounts& line) {
  const model::WarpAccess& access = line.worst;
  for (int first = 0; first < 32; ++first) {
    for (int second = first + 1; second < 32; ++second) {
      if ((access.active >> first & access.active >> second & 1u) == 0) continue;
      const std::uint64_t a = access.address[first] / 4, b = access.address[second] / 4;
      if (!line.shared) {
        return text::printed(
            "; lanes %d and %d of a warp are %lld bytes apart", first, second,
            std::abs(static_cast<long long>(access.address[second] - access.address[first])));
      }
      if (a == b || a % 32 != b % 32) continue;
      return text::printed(
          "; lanes %d and %d want two words of bank %d", first, second, static_cast<int>(a % 32));
    }
  }
  return "";
}

// What the line's requests cost if they waste neither banks nor sectors.
std::int64_t needed(const model::LineCounts& line) {
  return line.pieces - line.bank_conflicts - line.uncoalesced;
}

// Wavefronts or sectors that full warps would not need.
std::int64_t for_idle_lanes(const model::LineCounts& line) {
  const std::int64_t piece_bytes = line.shared ? 128 : 32;
  return needed(line) - (line.executions * line.bytes + piece_bytes - 1) / piece_bytes;
}

std::string counted(std::int64_t number, std::string what) {
  if (number == 1) what.pop_back();
  return text::grouped(number) + " " + what;
}

std::string happens(const model::LineCounts& line) {
  return where(line) + action(line) + " happens " + counted(line.executions, "times") +
         ", by all threads together";
}

// "line 27", "lines 27, 31 and 34": the lines of the kernel with these words, outside of comments.
std::string lines_with(const Case& c, std::string_view words) {
  std::vector<int> numbers;
  int number = 1;
  for (std::size_t begin = 0; begin < c.row.source.size(); ++number) {
    const std::size_t end = std::min(c.row.source.find('\n', begin), c.row.source.size());
    std::string_view line(c.row.source.data() + begin, end - begin);
    line = line.substr(0, line.find("//"));
    const bool in_kernel = number >= c.row.source_first && number <= c.row.source_last;
    if (in_kernel && line.find(words) != line.npos) numbers.push_back(number);
    begin = end + 1;
  }
  if (numbers.empty()) return "";
  std::string text = numbers.size() == 1 ? "line " : "lines ";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return text;
}

// Where a load from shared memory waits for copies: the line with the fewest bytes in flight.
std::string least_in_flight(std::vector<const model::LineCounts*> lines) {
  const auto on_the_way = [](const model::LineCounts* line) {
    return double(line->in_flight_bytes) / double(line->requests);
  };
  std::erase_if(lines, [](const auto* line) { return line->direction != model::Direction::load; });
  const auto least = std::ranges::min_element(lines, {}, on_the_way);
  if (least == lines.end()) return "";
  return where(**least) + "at " + action(**least) +
         text::printed(
             ", a warp has %.4g bytes of cp.async in flight on average", on_the_way(*least));
}

std::string place_without_line(const Case& c, const Target& target) {
  if (mentions(target, "barriers")) {
    const std::string barriers = lines_with(c, "__syncthreads");
    if (!barriers.empty()) {
      return "__syncthreads() stands on " + barriers + "; the limit is " + target.at_most;
    }
  }
  return std::string("the limit is ") + target.at_most;
}

}  // namespace

std::string most_accesses(const Case& c, const std::string& array, model::Direction direction) {
  const model::LineCounts* found = nullptr;
  for (const model::LineCounts& line : c.row.counts->lines) {
    if (line.array != array || line.direction != direction) continue;
    if (found == nullptr || line.executions > found->executions) found = &line;
  }
  return found == nullptr ? "" : happens(*found);
}

namespace {

// The phase and the place of a complaint about a target: the line that exceeds the target's limit
// most; if none does, the one whose warps have idle lanes; else the one with the most accesses.
Complaint about_cost(const Case& c, const Target& target) {
  const std::vector<const model::LineCounts*> lines = lines_counted(c, target);
  const bool of_pieces =
      mentions(target, "sectors") || mentions(target, "wavefronts") || mentions(target, "conflict");
  const auto allowed = [&](const model::LineCounts& line) {
    return target.pieces_per_request > 0 ? target.pieces_per_request * line.requests : needed(line);
  };
  Complaint complaint;
  if (mentions(target, "in_flight")) {
    complaint.phase = "where loads from shared memory have no copy in flight";
    complaint.place = least_in_flight(lines);
  } else if (
      const auto* line =
          of_pieces ? most(lines, [&](const auto& l) { return l.pieces - allowed(l); }) : nullptr) {
    complaint.phase = action(*line) + " costs more than it should";
    complaint.place = where(*line) + action(*line) + " takes " + each_takes(*line, line->pieces) +
                      " per request, where " + each_takes(*line, allowed(*line)) + " would do" +
                      lanes_apart(*line);
  } else if (const auto* idle = of_pieces ? most(lines, for_idle_lanes) : nullptr) {
    const int active = static_cast<int>(idle->executions / idle->requests);
    complaint.phase = text::printed(
        "%s uses %d of a warp's 32 lanes: give the work to whole warps", action(*idle).c_str(),
        active);
    complaint.place = where(*idle) + counted(32 - active, "lanes") + " of 32 do nothing at " +
                      action(*idle) + ", so it takes " + counted(idle->requests, "requests") +
                      "; full warps take " + counted((idle->executions + 31) / 32, "requests");
  } else if (const auto* busy = most(lines, [&](const auto& l) {
               return of_pieces ? l.pieces : l.executions;
             })) {
    complaint.phase = action(*busy) + " happens most often of all that counts here";
    complaint.place = happens(*busy);
  } else {
    complaint.phase = std::string("the target is about ") + target.name;
    complaint.place = place_without_line(c, target);
  }
  return complaint;
}

constexpr int kMostLocalBytes = 1020;  // 255 registers, all that a thread can have
// What functions keep on the stack besides variables, in unoptimized code.
constexpr int kBesideVariables = 256;

bool may_spill(const Case& c) {
  return c.measures.at("local_bytes") > kMostLocalBytes + kBesideVariables;
}

std::string result_name() {
  return array_names(exercise.product)[2];
}

std::string wrong_pattern(const Case& c) {
  if (c.shape.large) {
    return "smaller shapes are right, and this one is not: an index, a loop's bound or an array is "
           "too small for it";
  }
  const bool sum = exercise.product.sum_of_vectors;
  if (c.never_written) {
    return "not every element of " + result_name() +
           " has a thread that stores it, or that thread leaves too early";
  }
  // An uninitialized variable has a value of this magnitude (NOT_ZERO in grade.mk).
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
  const auto BM = c.measures.find("BM"), BN = c.measures.find("BN");
  const bool tiled = BM != c.measures.end() && BN != c.measures.end();
  if (tiled && c.shape.M % int(BM->second) == 0 && c.shape.N % int(BN->second) == 0) {
    return c.first.row >= BM->second || c.first.column >= BN->second
               ? "the first tile of C is right, and another one is wrong: which indices must "
                 "contain "
                 "the place of the block's tile, block_row or block_col?"
               : "in the first tile of C some results are right and others wrong: which elements "
                 "of "
                 "the tiles does each thread copy, and which does it multiply?";
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

// "; thread (3, 0) of block (1, 4) stores it": the thread that did, if one did.
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

// An access of the kernel there is not counted, or an access is counted that it does not make.
Complaint about_surprise(const Case& c) {
  model::Audit audit = c.audit;
  trace::resolve_lines(audit, trace::kernel_lines(c.row.launch->kernel));
  const int line = audit.surprises.front().line;
  return {
      "the tracer cannot count what the kernel does to memory",
      "where memory is accessed in a way that CUDA C++ does not need",
      line > 0 ? text::printed("line %d", line) : "no line is known", Gravity::uncounted};
}

// The report's sentence, with an element of a matrix named by its row and column. The remedy is the
// exercise's hint.
Complaint about_hazard(const Case& c, const model::Hazard& hazard) {
  std::string sentence = report::hazard_sentence(hazard, c.run, c.row, "");
  const auto names = array_names(exercise.product);
  for (int matrix = 0; matrix < 3; ++matrix) {
    const std::string by_byte =
        names[matrix] + text::printed(" (byte %llu)", static_cast<unsigned long long>(hazard.byte));
    const std::size_t at = sentence.find(by_byte);
    if (hazard.array != names[matrix] || at == sentence.npos) continue;
    sentence.replace(
        at, by_byte.size(), element_text(c, matrix, static_cast<std::int64_t>(hazard.byte / 4)));
  }
  return {
      model::entry_of(hazard.kind).symptom, report::hazard_place(hazard, c.run), sentence,
      Gravity::hazard};
}

Complaint about_target(const Case& c, const Target& target) {
  const double per = target.per_result ? c.measures.at("results") : 1;
  const double total = value_of(target.total, c.measures) / per;
  const double most = value_of(target.at_most, c.measures) / per;
  Complaint complaint = about_cost(c, target);
  complaint.symptom = std::string(total < most ? "too little: " : "too much: ") + target.name +
                      text::printed(
                          "%s: %.6g; %s %.6g", target.per_result ? " per result" : "", total,
                          target.exactly ? "it must be" : "the limit is", most);
  complaint.gravity = Gravity::count;
  return complaint;
}

Complaint about_fence(const Case& c) {
  return {
      "memory outside of the matrices is written",
      "at the store of " + result_name() + ": which threads may do it?",
      "no access to it was seen" + store_lines(c), Gravity::outside};
}

Complaint about_spills(const Case& c) {
  return {
      text::printed(
          "a thread has %.0f bytes on its stack: its local variables are more than the %d that "
          "fit into registers, so they would spill",
          c.measures.at("local_bytes"), kMostLocalBytes),
      "in the local arrays", "give a thread fewer results at a time", Gravity::spills};
}

// Why a case may fail, the most serious first.
struct Fault {
  bool (*is_in)(const Case&);
  Complaint (*about)(const Case&);
  Gravity gravity;
};
const Fault kFaults[] = {
    {accesses_outside, about_outside, Gravity::outside},
    {[](const Case& c) { return model::has_hazard(*c.row.counts); },
     [](const Case& c) {
       return about_hazard(c, c.row.counts->hazards.front());
     },  // notes are last
     Gravity::hazard},
    {[](const Case& c) { return c.fence_touched; }, about_fence, Gravity::outside},
    {[](const Case& c) { return !c.right(); }, about_wrong_result, Gravity::wrong},
    {[](const Case& c) { return !c.audit.surprises.empty(); }, about_surprise, Gravity::uncounted},
    {may_spill, about_spills, Gravity::spills},
    {[](const Case& c) { return !c.missed.empty(); },
     [](const Case& c) { return about_target(c, *c.missed.front()); }, Gravity::count}};

const Fault* fault_of(const Case& c) {
  const auto found = std::ranges::find_if(kFaults, [&](const Fault& f) { return f.is_in(c); });
  return found == std::end(kFaults) ? nullptr : found;
}

}  // namespace

std::string shape_text(const Shape& shape) {
  if (exercise.product.sum_of_vectors) return text::printed("n %d", shape.N);
  return text::printed("M %d, N %d, K %d", shape.M, shape.N, shape.K);
}

bool fails(const Case& c) {
  return fault_of(c) != nullptr;
}

std::optional<Complaint> complaint_about(Case& c, const std::optional<Complaint>& before) {
  const Fault* const fault = fault_of(c);
  if (fault == nullptr || (before && fault->gravity >= before->gravity)) return std::nullopt;
  annotate(c);
  Complaint complaint = fault->about(c);
  const bool too_large = c.shape.large && complaint.gravity == Gravity::wrong;
  for (const Hint& hint : exercise.hints) {
    if (too_large || !hint.applies(c)) continue;
    complaint.phase = hint.text;
    if (hint.place) complaint.place = hint.place(c);
    if (*hint.remedy) complaint.place += std::string("; ") + hint.remedy;
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
  // "thread (64, 0, 0) waits for empty (byte 0) forever", with the barrier's place in its array.
  const std::string& text = ended.sentence;
  const std::size_t waits = text.find(": it waits at ");
  const std::size_t byte = text.rfind(" (byte ", text.find(") forever"));
  const std::size_t thread = text.rfind("thread ", waits), name = text.rfind(" for ", byte);
  std::string who;
  if (thread < waits && waits < name && name < byte && text.find(") forever") != text.npos) {
    const int at = std::atoi(text.c_str() + byte + 7) / 8;
    who = ": " + text.substr(thread, waits - thread) + " waits forever at " +
          text.substr(name + 5, byte - name - 5) + "[" + std::to_string(at) + "]";
  }
  Complaint complaint{
      symptom + who + " (" + shape_text(shape) + ")", ended.sentence + or_else,
      ended.line.empty() ? "no line is known" : ended.line, Gravity::hazard};
  for (const Stop& stop : exercise.stops) {
    if (!stop.applies(shape, ended.sentence)) continue;
    complaint.phase = stop.text;
    complaint.place += ": " + ended.sentence;
    break;
  }
  return complaint;
}

}  // namespace grade
