#include "grade/costly_line.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "grade/case.h"
#include "lab/run.h"
#include "model/warp_access.h"
#include "text/numbers.h"

namespace grade {

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

// The line of which `of` says most; null where it says of none more than 0.
template <class Of>
const model::LineCounts* most(const std::vector<const model::LineCounts*>& lines, Of of) {
  const auto found =
      std::ranges::max_element(lines, {}, [&](const auto* line) { return of(*line); });
  return found != lines.end() && of(**found) > 0 ? *found : nullptr;
}

std::string deed(const model::LineCounts& line) {
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

// What two lanes of the costliest request are to each other that makes it cost so much.
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

// What the line's requests take where neither banks nor sectors are wasted.
std::int64_t needed(const model::LineCounts& line) {
  return line.pieces - line.bank_conflicts - line.uncoalesced;
}

// Wavefronts or sectors that full warps would not take.
std::int64_t for_idle_lanes(const model::LineCounts& line) {
  const std::int64_t piece_bytes = line.shared ? 128 : 32;
  return needed(line) - (line.executions * line.bytes + piece_bytes - 1) / piece_bytes;
}

std::string counted(std::int64_t number, std::string what) {
  if (number == 1) what.pop_back();
  return text::grouped(number) + " " + what;
}

std::string happens(const model::LineCounts& line) {
  return where(line) + deed(line) + " happens " + counted(line.executions, "times") +
         ", by all threads together";
}

// "line 27", "lines 27, 31 and 34": where the kernel's text has these words, outside of comments.
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
  return where(**least) + "at " + deed(**least) +
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

Complaint complaint_about_cost(const Case& c, const Target& target) {
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
    complaint.phase = deed(*line) + " costs more than it should";
    complaint.place = where(*line) + deed(*line) + " takes " + each_takes(*line, line->pieces) +
                      " per request, where " + each_takes(*line, allowed(*line)) + " would do" +
                      lanes_apart(*line);
  } else if (const auto* idle = of_pieces ? most(lines, for_idle_lanes) : nullptr) {
    const int active = static_cast<int>(idle->executions / idle->requests);
    complaint.phase = text::printed(
        "%s uses %d of a warp's 32 lanes: give the work to whole warps", deed(*idle).c_str(),
        active);
    complaint.place = where(*idle) + counted(32 - active, "lanes") + " of 32 do nothing at " +
                      deed(*idle) + ", so it takes " + counted(idle->requests, "requests") +
                      "; full warps take " + counted((idle->executions + 31) / 32, "requests");
  } else if (const auto* busy = most(lines, [&](const auto& l) {
               return of_pieces ? l.pieces : l.executions;
             })) {
    complaint.phase = deed(*busy) + " happens most often of all that counts here";
    complaint.place = happens(*busy);
  } else {
    complaint.phase = std::string("the target is about ") + target.name;
    complaint.place = place_without_line(c, target);
  }
  return complaint;
}

}  // namespace grade
