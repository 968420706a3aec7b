#include "show/report/request_sentence.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "text/numbers.h"

namespace report {

namespace {

std::string counted(std::uint64_t count, const std::string& what) {
  return text::grouped(static_cast<long long>(count)) + " " + what + (count == 1 ? "" : "s");
}

std::string lanes_want(std::uint32_t lanes) {
  const int count = std::popcount(lanes);
  return counted(count, "lane") + (count == 1 ? " wants " : " want ");
}

// The distance from each number to the next; 0 if they differ.
std::uint64_t equal_distance(const std::vector<std::uint64_t>& ascending) {
  std::uint64_t distance = 0;
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    const std::uint64_t one = ascending[i] - ascending[i - 1];
    if (i > 1 && one != distance) return 0;
    distance = one;
  }
  return distance;
}

// "lane 5", "lanes 0 and 16", "lanes 0–15", "lanes 0, 2, ..., 30"; "several lanes" of a longer
// list.
std::string named_lanes(std::uint32_t lanes) {
  std::vector<std::uint64_t> all;
  model::for_each_lane(lanes, [&](int lane) { all.push_back(lane); });
  const std::uint64_t apart = equal_distance(all);
  if (all.size() == 1) return "lane " + text::numbers_of_bits(lanes);
  if (all.size() == 2) return text::printed("lanes %d and %d", int(all[0]), int(all[1]));
  if (all.size() > 4 && apart > 1) {
    return text::printed("lanes %d, %d, ..., %d", int(all[0]), int(all[1]), int(all.back()));
  }
  const std::string list = text::numbers_of_bits(lanes);
  return list.size() <= 24 ? "lanes " + list : "several lanes";
}

// Bytes that lie side by side.
struct WantedPiece {
  std::uint64_t begin, end;
  std::uint64_t bytes() const { return end - begin; }
};

std::vector<WantedPiece> pieces_of(const model::WarpAccess& access) {
  std::vector<std::uint64_t> begins;
  model::for_each_lane(access.active, [&](int lane) { begins.push_back(access.address[lane]); });
  std::sort(begins.begin(), begins.end());
  std::vector<WantedPiece> pieces;
  for (const std::uint64_t begin : begins) {
    const std::uint64_t end = begin + access.bytes;
    if (!pieces.empty() && begin <= pieces.back().end) {
      pieces.back().end = end;
    } else {
      pieces.push_back({begin, end});
    }
  }
  return pieces;
}

// "128 neighbouring bytes", "4 bytes in each of 32 rows"
std::string what_is_wanted(const WarpRequest& request, const std::vector<WantedPiece>& pieces) {
  const std::uint64_t first = pieces[0].bytes();
  if (pieces.size() == 1) {
    const bool is_shared_by_all = first == static_cast<std::uint64_t>(request.access.bytes);
    if (!is_shared_by_all) return counted(first, "neighbouring byte");
    const bool is_one_lane = std::has_single_bit(request.access.active);
    return (is_one_lane ? "" : "the same ") + counted(first, "byte");
  }
  std::uint64_t all = 0;
  bool are_alike = true;
  std::vector<std::uint64_t> begins;
  for (const WantedPiece& piece : pieces) {
    all += piece.bytes();
    are_alike = are_alike && piece.bytes() == first;
    begins.push_back(piece.begin);
  }
  const std::uint64_t apart = equal_distance(begins);
  const std::uint64_t row = std::uint64_t{4} * static_cast<unsigned>(request.row_words);
  if (are_alike && row > 0 && apart == row) {
    return counted(first, "byte") + " in each of " + counted(pieces.size(), "row");
  }
  if (are_alike && apart > 0) {
    return counted(pieces.size(), "piece") + " of " + counted(first, "byte") + ", " +
           counted(apart, "byte") + " apart";
  }
  return counted(all, "byte") + " in " + counted(pieces.size(), "piece");
}

// ", and 4 bytes of each are used"
std::string what_is_used(
    const std::vector<WantedPiece>& pieces, const model::Sectors& sectors, int sector_bytes) {
  std::map<std::uint64_t, std::uint64_t> used;  // bytes, by sector
  std::uint64_t all = 0;
  for (const WantedPiece& piece : pieces) {
    for (std::uint64_t at = piece.begin; at < piece.end;) {
      const std::uint64_t number = at / sector_bytes;
      const std::uint64_t end = std::min(piece.end, (number + 1) * sector_bytes);
      used[number] += end - at;
      all += end - at;
      at = end;
    }
  }
  const std::uint64_t each = used.begin()->second;
  const bool is_even =
      std::all_of(used.begin(), used.end(), [&](const auto& one) { return one.second == each; });
  std::string text = ", and ";
  if (all == used.size() * sector_bytes) {
    text += "all their bytes are used";
  } else if (is_even) {
    text += counted(each, "byte") + " of each " + (each == 1 ? "is" : "are") + " used";
  } else {
    text += text::grouped(static_cast<long long>(all)) + " of their " +
            counted(used.size() * sector_bytes, "byte") + " are used";
  }
  // A cp.async can fetch a sector several times.
  const std::uint64_t again = sectors.size() - used.size();
  if (again > 0) text += "; " + counted(again, "of them repeat");
  return text;
}

std::string sentence_of_sectors(const WarpRequest& request, const model::Sectors& sectors) {
  const model::WarpAccess& access = request.access;
  if (access.active == 0) return "No lane reads: 0 sectors.";
  const std::vector<WantedPiece> pieces = pieces_of(access);
  return lanes_want(access.active) + what_is_wanted(request, pieces) + ": " +
         counted(sectors.size(), "sector") +
         what_is_used(pieces, sectors, access.warp.sector_bytes) + ".";
}

// Lanes that are served together, and how many wavefronts they take.
struct LaneGroup {
  std::uint32_t lanes = 0;
  std::vector<std::uint32_t> turns;  // the lanes of each wavefront
};

std::vector<LaneGroup> groups_of(const model::Wavefronts& wavefronts) {
  std::vector<LaneGroup> groups(wavefronts.groups);
  for (const model::Wavefront& one : wavefronts) {
    groups[one.group].lanes |= one.lanes;
    groups[one.group].turns.push_back(one.lanes);
  }
  return groups;
}

using LanesOfWord = std::map<std::uint64_t, std::uint32_t>;

// The words that the lanes want from the bank that has the most of them.
LanesOfWord fullest_bank(const model::WarpAccess& access, std::uint32_t lanes) {
  std::map<std::uint64_t, LanesOfWord> banks;
  model::for_each_lane(lanes, [&](int lane) {
    model::for_each_word(access, lane, [&](std::uint64_t word) {
      banks[word % access.warp.banks][word] |= 1u << lane;
    });
  });
  LanesOfWord fullest;
  for (const auto& [bank, words] : banks) {
    if (words.size() > fullest.size()) fullest = words;
  }
  return fullest;
}

// All lanes are served together.
std::string sentence_of_group(const WarpRequest& request, const LaneGroup& group) {
  const model::WarpAccess& access = request.access;
  const std::string cost = ": " + counted(group.turns.size(), "wavefront");
  if (group.turns.size() == 1) {
    std::set<std::uint64_t> words;
    std::size_t wanted = 0;
    model::for_each_lane(group.lanes, [&](int lane) {
      model::for_each_word(access, lane, [&](std::uint64_t word) {
        words.insert(word);
        ++wanted;
      });
    });
    const std::string who = lanes_want(group.lanes);
    if (wanted == 1) return who + "1 word" + cost + ".";
    if (words.size() == 1) return who + "the same word, and its bank gives it to all" + cost + ".";
    return who + counted(words.size(), "different word") + ", no two of them in one bank" +
           (wanted > words.size() ? ", and share them" : "") + cost + ".";
  }
  std::uint32_t lanes = 0;  // the first lane of each word
  std::vector<std::uint64_t> words;
  for (const auto& [word, of_word] : fullest_bank(access, group.lanes)) {
    lanes |= of_word & ~(of_word - 1);
    words.push_back(word);
  }
  const std::uint64_t apart = equal_distance(words);
  const std::uint64_t row = std::max(request.row_words, 1);
  std::string text =
      named_lanes(lanes) + " want " + counted(words.size(), "different word") + " of the same bank";
  if (apart > 0) {
    text += ", " + counted(apart, "word") + " apart";
    if (row > 1 && apart % row == 0) text += " (" + counted(apart / row, "row") + ")";
  }
  text[0] = static_cast<char>(std::toupper(text[0]));
  if (group.turns.size() > 2) return text + cost + ".";
  return text + cost + ", one for " + named_lanes(group.turns[0]) + " and one for " +
         named_lanes(group.turns[1]) + ".";
}

// Groups of lanes that are served in turn. Of an ldmatrix each matrix is a group.
std::string sentence_of_groups(const WarpRequest& request, const std::vector<LaneGroup>& groups) {
  const bool is_ldmatrix = request.access.matrices > 0;
  std::size_t all = 0, lanes = 0, most = 0, fewest = ~std::size_t{0};
  std::string each;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t turns = groups[i].turns.size();
    all += turns;
    most = std::max(most, turns);
    fewest = std::min(fewest, turns);
    lanes = std::max<std::size_t>(lanes, std::popcount(groups[i].lanes));
    each += (i == 0 ? "" : i + 1 < groups.size() ? ", " : " and ") + std::to_string(turns);
  }
  const std::string group = is_ldmatrix ? "matrix" : "group";
  const std::string number = std::to_string(groups.size());
  std::string text =
      is_ldmatrix ? "A matrix has 8 rows of 16 bytes, and " + number +
                        (groups.size() == 1 ? " matrix is" : " matrices are") + " served in turn"
                  : text::printed("With %d bytes per lane, ", request.access.bytes) + number +
                        " groups of up to " + counted(lanes, "lane") + " are served in turn";
  const std::string cost = counted(all, "wavefront");
  if (most == 1) return text + ": " + cost + ", one for each " + group + ".";
  if (most == fewest) {
    return text + "; each " + group + " wants " + std::to_string(most) +
           " different words of one bank: " + number + " x " + std::to_string(most) + " = " + cost +
           ".";
  }
  return text + "; they want " + each + " different words of their fullest bank: " + cost + ".";
}

// The shared side of a cp.async.
std::string sentence_of_copy(
    const model::WarpAccess& to, const model::WarpAccess& from,
    const model::Wavefronts& wavefronts) {
  const std::string cost = counted(wavefronts.size(), "wavefront") + ".";
  const int copying = std::popcount(to.active & from.active);
  const int filling = std::popcount(to.active) - copying;
  const std::string zeros =
      counted(filling, "lane") + (filling == 1 ? " fills " : " fill ") + "with zeros";
  if (copying == 0) return zeros + ": " + cost;
  const std::string who = counted(copying, "lane") + (copying == 1 ? " copies " : " copy ");
  const std::string and_zeros = filling > 0 ? ", and " + zeros : "";
  if (to.bytes < 16) {
    return who + counted(to.bytes, "byte") + (copying == 1 ? "" : " each") + and_zeros +
           "; lanes that read from the same bank, or write to the same, wait for each other: " +
           cost;
  }
  std::set<std::uint64_t> read, written;
  const auto lines = [&](const model::WarpAccess& access, std::set<std::uint64_t>& into) {
    model::for_each_lane(access.active, [&](int lane) {
      into.insert(access.address[lane] / access.warp.row_bytes());
    });
  };
  lines(from, read);
  model::WarpAccess copied = to;
  copied.active &= from.active;
  lines(copied, written);
  return who + "from " + counted(read.size(), "line") + " to " + counted(written.size(), "line") +
         " of shared memory, and a wavefront moves sectors from one line to one line" +
         (filling > 0 ? "; " + zeros : "") + ": " + cost;
}

}  // namespace

std::string request_sentence(const WarpRequest& request) {
  if (!request.shared) return sentence_of_sectors(request, sectors_of(request));
  const model::WarpAccess& access = request.access;
  const model::Wavefronts wavefronts = wavefronts_of(request);
  if (request.other) return sentence_of_copy(access, *request.other, wavefronts);
  const std::vector<LaneGroup> groups = groups_of(wavefronts);
  if (groups.empty()) return "No lane takes part: 0 wavefronts.";
  return groups.size() == 1 && access.matrices == 0 ? sentence_of_group(request, groups[0])
                                                    : sentence_of_groups(request, groups);
}

}  // namespace report
