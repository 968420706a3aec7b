#include "show/report/explain/explain.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "lab/run.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

namespace {

using pictures::counted;

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
    const std::string what =
        who + counted(to.bytes, "byte") + (copying == 1 ? "" : " each") + and_zeros;
    if (wavefronts.size() == wavefronts.groups) return what + ": " + cost;
    return what + "; " + named_lanes(wavefronts[0].lanes) +
           " first, then those that share a bank with them, to read or to write: " + cost;
  }
  const auto lines = [&](const model::WarpAccess& access) {
    std::set<std::uint64_t> touched;
    model::for_each_lane(to.active & from.active, [&](int lane) {
      touched.insert(access.address[lane] / access.warp.row_bytes());
    });
    return counted(touched.size(), "line");
  };
  return who + "from " + lines(from) + " to " + lines(to) +
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

namespace {

const char* pieces_name(const model::LineCounts& line) {
  return line.shared ? "wavefronts" : "sectors";
}

const char* mark(const model::LineCounts& line) {
  if (lab::waste(line) <= lab::kWasteful) return "";
  return line.shared ? "<- conflicts" : "<- uncoalesced";
}

double per_request(std::int64_t count, const model::LineCounts& line) {
  return static_cast<double>(count) / static_cast<double>(line.requests);
}

// `where` is what stands left of it, in 6 columns.
std::string access_line(
    const std::string& where, const model::LineCounts& line, std::int64_t threads,
    text::Style style) {
  const double a_thread = static_cast<double>(line.executions) / static_cast<double>(threads);
  const std::string what = text::printed(
      "%s| %s %-5s %-7s %2d B, %5s per thread,", where.c_str(), line.shared ? "SMEM" : "GMEM",
      lab::name_of(line.direction), line.array.c_str(), line.bytes, text::brief(a_thread).c_str());
  const std::string cost =
      text::printed(" %5.2f %s/request,", per_request(line.pieces, line), pieces_name(line));
  const std::string ideal =
      text::printed(" ideal %.2f", per_request(line.ideal_pieces, line)) +
      (line.helper_line > 0 ? text::printed(", in line %d", line.helper_line) : "") +
      (line.helper_file.empty() ? "" : " of " + line.helper_file);
  const std::string signal = mark(line)[0] ? std::string(" ") + mark(line) : "";
  const std::string next = "\n      |  ";
  const int width = text::display_width(what + cost), room = text::report_width();
  const bool most = width <= room, all = width + text::display_width(ideal + signal) <= room;
  return what + (most ? "" : next) + cost + (all || !most ? "" : next) + ideal +
         text::coloured(signal, text::Colour::yellow, style);
}

int indentation(const std::string& line) {
  return static_cast<int>(std::min(line.find_first_not_of(' '), line.size()));
}

// The lines of the kernel, counted from 1, that access memory, wait or multiply, with the loops and
// conditions around them.
std::vector<bool> essential_lines(const lab::Row& row, const std::vector<std::string>& source) {
  std::vector<bool> shown(row.source_last + 1, false);
  const auto line = [&](int number) -> const std::string& { return source.at(number - 1); };
  const auto has = [&](int number, const char* words) {
    return line(number).find(words) != std::string::npos;
  };
  const auto tells = [&](int number) {
    return std::ranges::count(row.counts->lines, number, &model::LineCounts::line) > 0 ||
           has(number, "__syncthreads()") || has(number, "__pipeline_") ||
           has(number, "__shared__") || (has(number, " += ") && has(number, " * "));
  };
  for (int number = row.source_first; number <= row.source_last; ++number) {
    if (!tells(number)) continue;
    shown[number] = true;
    int depth = indentation(line(number));
    for (int above = number - 1; above > row.source_first && depth > 2; --above) {
      const bool opens = line(above).ends_with("{") && indentation(line(above)) < depth;
      if (!opens) continue;
      depth = indentation(line(above));
      shown[above] = true;
    }
  }
  return shown;
}

// `title` names the picture: "One warp's load".
std::string picture_of(
    const std::string& title, const model::LineCounts& line, const char* legend, int most_rows,
    text::Style style) {
  const std::string where = line.line > 0 ? text::printed("line %d", line.line) : "a line";
  const bool copies = line.direction == model::Direction::copy;
  const WarpRequest request{
      line.worst, line.shared, line.direction, 0, copies ? &line.worst_other : nullptr};
  const std::string what =
      text::printed("%s on %s, %s.%s", title.c_str(), where.c_str(), line.array.c_str(), legend);
  return text::coloured(text::labelled("", 2, what), text::Colour::bold, style) +
         text::labelled("", 2, request_sentence(request)) +
         pictures::picture_of(request, most_rows);
}

std::string cost(const model::LineCounts& line) {
  return text::printed(
      "%.2f %s per request (ideal %.2f)", per_request(line.pieces, line), pieces_name(line),
      per_request(line.ideal_pieces, line));
}

std::string remedy(
    const model::LineCounts& worst, const lab::Remedy& remedy, int most_rows, text::Style style) {
  const std::string what = std::string(lab::name_of(worst.direction)) + " of " + worst.array;
  if (remedy.stage < 0) {
    return "\n" +
           text::labelled(
               "", 2,
               "No later stage makes the " + what + " cheaper: it takes " + cost(worst) + ".");
  }
  const std::string stage = text::printed("Stage %d, ", remedy.stage) + remedy.name;
  const bool mended = lab::waste(remedy.line) <= lab::kWasteful;
  const std::string sentence = stage + (mended ? ", mends it: its " : ", makes it cheaper: its ") +
                               what + " takes " + cost(remedy.line) + "; here it takes " +
                               cost(worst) + ".";
  return "\n" + text::labelled("", 2, sentence) +
         picture_of(
             text::printed("The same in stage %d", remedy.stage), remedy.line, "", most_rows,
             style);
}

}  // namespace

std::string annotated_source(const lab::Row& row, text::Style style, bool folded) {
  if (!row.counts || row.source_first == 0) return "";
  const std::vector<std::string> source = text::shown_lines(row.source);
  const std::vector<bool> shown = folded ? essential_lines(row, source) : std::vector<bool>();
  std::string text;
  std::string accesses_before;
  bool likewise = false;  // the lines just passed did what the one shown before them did
  for (int number = row.source_first; number <= row.source_last; ++number) {
    if (folded && !shown[number]) continue;
    std::string accesses;
    for (const model::LineCounts& line : row.counts->lines) {
      if (line.line != number || line.requests == 0) continue;
      accesses += access_line("      ", line, row.counts->threads_traced, style) + "\n";
    }
    if (folded && !accesses.empty() && accesses == accesses_before) {
      if (!likewise) text += "      | the same on the next lines\n";
      likewise = true;
      continue;
    }
    likewise = false;
    accesses_before = accesses;
    text += text::shortened(
                text::printed("%5d ", number) + source.at(number - 1), text::report_width()) +
            "\n" + accesses;
  }
  return text;
}

std::string accesses_by_line(const lab::Row& row, text::Style style) {
  std::vector<model::LineCounts> lines = row.counts->lines;
  std::erase_if(lines, [](const model::LineCounts& line) { return line.requests == 0; });
  std::ranges::stable_sort(lines, {}, &model::LineCounts::line);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto access = [&](const std::string& where, std::size_t of) {
      return access_line(where, lines[of], row.counts->threads_traced, style);
    };
    const int line = lines[i].line;
    text += access(line > 0 ? text::printed("%5d ", line) : "    ? ", i) + "\n";
    const std::size_t first = i;
    while (line > 0 && i + 1 < lines.size() && lines[i + 1].line > lines[i].line &&
           access("", i + 1) == access("", first)) {
      ++i;
    }
    if (i > first) text += text::printed("      | the same until line %d\n", lines[i].line);
  }
  return text;
}

std::string worst_request(const lab::Row& row, text::Style style, int most_rows) {
  const model::LineCounts* worst = lab::worst_line(row);
  if (worst == nullptr) return "";
  const std::string picture = picture_of(
      "One warp's " + std::string(lab::name_of(worst->direction)), *worst,
      " A lane is 0-9 or a-v; * is several lanes.", most_rows, style);
  return row.remedy ? picture + remedy(*worst, *row.remedy, most_rows, style) : picture;
}

namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return "";
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

bool carries_nothing(const DiffLine& line) {
  return trimmed(line.text).find_first_not_of("{}") == std::string_view::npos;
}

bool changed(const DiffLine& line) {
  return (line.before == 0 || line.after == 0) && !carries_nothing(line);
}

}  // namespace

std::vector<DiffLine> line_diff(
    const std::vector<std::string>& before, const std::vector<std::string>& after) {
  const std::size_t rows = before.size(), columns = after.size();
  const auto same = [&](std::size_t i, std::size_t j) {
    return trimmed(before[i]) == trimmed(after[j]);
  };
  // common[i][j]: the most lines that before[i...] and after[j...] have in common.
  std::vector<std::vector<int>> common(rows + 1, std::vector<int>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] =
          same(i, j) ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<DiffLine> diff;
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && same(i, j)) {
      diff.push_back({static_cast<int>(i + 1), static_cast<int>(j + 1), after[j]});
      ++i, ++j;
    } else if (i < rows && (j == columns || common[i + 1][j] >= common[i][j + 1])) {
      diff.push_back({static_cast<int>(i + 1), 0, before[i]});
      ++i;
    } else {
      diff.push_back({0, static_cast<int>(j + 1), after[j]});
      ++j;
    }
  }
  return diff;
}

std::vector<DiffLine> shortened_diff(const std::vector<DiffLine>& diff, int context) {
  const int lines = static_cast<int>(diff.size());
  std::vector<bool> kept(diff.size(), false);
  for (int at = 0; at < lines; ++at) {
    if (!changed(diff[at])) continue;
    for (int near = std::max(0, at - context); near <= std::min(lines - 1, at + context); ++near) {
      const bool both = diff[near].before != 0 && diff[near].after != 0;
      if (near == at || (both && !carries_nothing(diff[near]))) kept[near] = true;
    }
  }
  std::vector<DiffLine> shortened;
  for (int at = 0; at < lines; ++at) {
    if (!kept[at]) continue;
    if (!shortened.empty() && !kept[at - 1]) shortened.push_back({0, 0, ""});
    shortened.push_back(diff[at]);
  }
  return shortened;
}

}  // namespace report
