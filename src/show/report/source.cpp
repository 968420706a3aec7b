#include "show/report/source.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include "lab/run.h"
#include "model/warp_access.h"
#include "show/pictures/block_requests.h"
#include "show/report/request_sentence.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

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
    for (const model::LineCounts& counts : row.counts->lines) {
      if (counts.line == number) return true;
    }
    return has(number, "__syncthreads()") || has(number, "__pipeline_") ||
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

std::string signs(std::span<const std::uint32_t> lanes) {
  std::string text;
  for (const std::uint32_t mask : lanes) text += std::string(" ") + pictures::sign_of(mask);
  return text;
}

std::string picture_of_sectors(const model::WarpAccess& access, int most_rows) {
  const model::Sectors sectors = model::sectors(access);
  std::string text;
  int row = 0;
  for (const model::Sector& sector : sectors) {
    if (++row > most_rows) {
      text.back() = ' ';
      return text + text::printed(" ... and %zu more sectors\n", sectors.size() - most_rows);
    }
    text += text::printed(
                "  byte %10llu  [",
                static_cast<unsigned long long>(sector.number * access.warp.sector_bytes)) +
            signs(model::lanes_at_words(access, sector)) + " ]\n";
  }
  return text;
}

// A line for each wavefront, 32 banks across. Of a cp.async this is the side that is written.
std::string picture_of_banks(const WarpRequest& request, int most_rows) {
  const model::WarpAccess& access = request.access;
  const model::Wavefronts wavefronts = wavefronts_of(request);
  std::string text = "  bank        ";
  for (int bank = 0; bank < access.warp.banks; ++bank) text += text::printed("%2d", bank % 10);
  text += "\n";
  int row = 0;
  for (const model::Wavefront& wavefront : wavefronts) {
    if (++row > most_rows) {
      text.replace(text.size() - 1, 1, text::report_width() < text::kReportWidth ? "\n " : " ");
      return text + text::printed(" ... and %zu more\n", wavefronts.size() - most_rows);
    }
    text += text::printed("  wavefront %d ", row) +
            signs(model::lanes_at_banks(access, wavefront.lanes)) + "\n";
  }
  return text;
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
         (line.shared ? picture_of_banks(request, most_rows)
                      : picture_of_sectors(line.worst, most_rows));
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
  bool gap = false;
  for (int at = 0; at < lines; ++at) {
    if (!kept[at]) {
      gap = true;
      continue;
    }
    if (gap && !shortened.empty()) shortened.push_back({0, 0, ""});
    gap = false;
    shortened.push_back(diff[at]);
  }
  return shortened;
}

}  // namespace report
