#include "pictures/show.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

#include "lab/run.h"
#include "pictures/lane_signs.h"
#include "pictures/pictures.h"
#include "text/numbers.h"

namespace pictures {

namespace {

constexpr std::size_t kMostLines = 12;  // of one request
constexpr int kMostRows = 32;           // of C
constexpr int kWidth = 80;              // of the pictures, in columns

// One character a number: 0 to 9, a to z, then all over again.
char sign(int number) {
  return "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
}

// "0 1 . *"
std::string signs(std::span<const std::uint32_t> lanes) {
  std::string text;
  for (const std::uint32_t mask : lanes) {
    text += (text.empty() ? "" : " ") + std::string(1, sign_of(mask));
  }
  return text;
}

std::string sectors_picture(const model::WarpAccess& access, const model::Sectors& sectors) {
  std::string text;
  std::size_t at = 0;
  for (const model::Sector& sector : sectors) {
    if (at == 4 * kMostLines) {
      return text + text::printed("\n      and %zu more sectors\n", sectors.size() - at);
    }
    text += at % 4 == 0 ? (at > 0 ? "\n     " : "     ") : "";
    text += " [" + signs(model::lanes_at_words(access, sector)) + "]";
    ++at;
  }
  return text + "\n";
}

std::string banks_picture(const model::WarpAccess& access, const model::Wavefronts& turns) {
  std::string text = "      bank ";
  for (int bank = 0; bank < access.warp.banks; ++bank) text += text::printed("%2d", bank % 10);
  text += "\n";
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (t == kMostLines) {
      return text + text::printed("      and %zu more wavefronts\n", turns.size() - t);
    }
    text += text::printed("      %3zu   ", t + 1) +
            signs(model::lanes_at_banks(access, turns[t].lanes)) + "\n";
  }
  return text;
}

// Of each kind of request the costliest, the first of them.
std::vector<std::size_t> costliest(const BlockRequests& block) {
  std::vector<std::size_t> chosen;
  const auto waste = [&](std::size_t r) {
    const Request& request = block.requests[r];
    return static_cast<double>(request.pieces) / std::max(request.pieces - request.excess, 1);
  };
  for (std::size_t r = 0; r < block.requests.size(); ++r) {
    const Request& request = block.requests[r];
    const auto known = std::find_if(chosen.begin(), chosen.end(), [&](std::size_t other) {
      const Request& o = block.requests[other];
      return o.array == request.array && o.direction == request.direction &&
             o.access.bytes == request.access.bytes && o.line == request.line;
    });
    if (known == chosen.end()) {
      chosen.push_back(r);
    } else if (waste(r) > waste(*known)) {
      *known = r;
    }
  }
  return chosen;
}

std::string requests_text(const BlockRequests& block, text::Style style) {
  std::string text;
  for (const std::size_t r : costliest(block)) {
    const Request& request = block.requests[r];
    const std::string line = request.line > 0 ? text::printed(", line %d", request.line) : "";
    const bool one = request.pieces == 1;
    const char* pieces =
        request.shared ? (one ? "wavefront" : "wavefronts") : (one ? "sector" : "sectors");
    text += "  " + text::coloured(
                       text::printed(
                           "%s %s of %s%s", request.shared ? "SMEM" : "GMEM",
                           lab::name_of(request.direction), request.array.c_str(), line.c_str()),
                       text::Colour::bold, style);
    text += text::printed(
        ": %d lanes of %d bytes, %d %s, ideal %d%s\n", std::popcount(request.access.active),
        request.access.bytes, request.pieces, pieces, request.ideal,
        request.excess > 0 ? (request.shared ? " <- conflicts" : " <- uncoalesced") : "");
    text += request.shared ? banks_picture(request.access, wavefronts_of(block, r))
                           : sectors_picture(request.access, sectors_of(block, r));
  }
  return text;
}

std::string writers_text(const BlockRequests& block) {
  const Written written = written_by(block);
  if (written.rows == 0) return "  The first block stores nothing to C.\n";
  constexpr int kNumbered = 16, kMostCols = 64;  // columns
  int most = 0;
  for (const std::vector<int>& row : written.thread) {
    for (const int thread : row) most = std::max(most, thread);
  }
  const int digits = text::display_width(text::printed("%d", most));
  const bool numbers = written.cols <= kNumbered && written.cols * (digits + 1) <= kWidth - 2;
  std::string text =
      text::printed(
          "  Rows %d to %d, columns %d to %d of C; ", written.row, written.row + written.rows - 1,
          written.col, written.col + written.cols - 1) +
      (numbers ? "numbers are threads" : "a sign is a warp: 0-9, then a-z") +
      ";\n  '.' is no thread, '!' several.\n";
  for (int row = 0; row < std::min(written.rows, kMostRows); ++row) {
    text += "  ";
    for (int col = 0; col < std::min(written.cols, kMostCols); ++col) {
      const int thread = written.thread[row][col];
      const std::string one = thread == Written::kNobody    ? "."
                              : thread == Written::kSeveral ? "!"
                              : numbers                     ? text::printed("%d", thread)
                                        : std::string(1, sign(block.warp.warp_of(thread)));
      text += numbers ? text::pad_left(one, digits + 1) : one;
    }
    text += "\n";
  }
  if (written.rows > kMostRows || written.cols > kMostCols) {
    text += text::printed(
        "  Only the first of %d x %d elements are shown.\n", written.rows, written.cols);
  }
  return text;
}

// Whether what the block stores is no C: z, say, where vectors are added.
bool has_another_result(const BlockRequests& block) {
  return std::ranges::any_of(block.requests, [](const Request& request) {
    return !request.shared && request.direction == model::Direction::store &&
           !request.array.ends_with('C');
  });
}

// The annotated source as HTML, the lines that complaints are about marked.
std::string source_html(const std::string& source, const std::set<int>& lines) {
  std::string html = "<pre class=\"source\">";
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = std::string_view(source).substr(begin, end - begin);
    int number = 0;
    const std::size_t digits = std::min(line.find_first_not_of(' '), line.size());
    std::from_chars(line.data() + digits, line.data() + line.size(), number);
    const bool is_note = line.find("      |") == 0;
    const char* mark = !is_note && lines.contains(number)                ? "bad"
                       : is_note && line.find("<-") != std::string::npos ? "slow"
                       : is_note                                         ? "note"
                                                                         : nullptr;
    if (mark) html += std::string("<span class=\"") + mark + "\">";
    html += xml_escaped(line);
    if (mark) html += "</span>";
    html += "\n";
    begin = end + 1;
  }
  return html + "</pre>\n";
}

}  // namespace

void print_show(std::FILE* out, const Show& show, text::Style style) {
  const auto heading = [&](const std::string& text) {
    return "\n" + text::coloured(text, text::Colour::bold, style) + "\n";
  };
  std::string text = text::coloured(show.title, text::Colour::bold, style) + "\n";
  for (const std::string& complaint : show.complaints) text += text::labelled("  !", 4, complaint);
  for (const ShownKernel& kernel : show.kernels) {
    text += heading(kernel.name + ": " + kernel.launch);
    text += kernel.source;
    text += heading("What a warp of the first block asks of memory: the costliest requests");
    text += text::printed(
        "  [ ] is a sector of %d floats, a numbered row a wavefront. A sign is a lane:\n"
        "  0-9, then a-v; * is several lanes, . none.\n",
        kernel.block.warp.sector_words());
    text += requests_text(kernel.block, style);
    if (has_another_result(kernel.block)) continue;
    text += heading("Which thread of the first block writes which element of C");
    text += writers_text(kernel.block);
  }
  std::fputs(text.c_str(), out);
}

std::string show_html(const Show& show) {
  std::string html;
  for (const ShownKernel& kernel : show.kernels) {
    html +=
        "<h2>" + xml_escaped(kernel.name) + "</h2>\n<p>" + xml_escaped(kernel.launch) + "</p>\n";
    if (!kernel.source.empty()) html += source_html(kernel.source, show.lines);
    if (kernel.block.requests.empty()) continue;
    const auto add = [&](const Subject& subject, const Drawing& drawing) {
      html += svg_file({"", kernel.name + ": " + subject.words, drawing});
    };
    add(kAboutCoalescing, draw_coalescing(kernel.block));
    if (const auto banks = draw_banks(kernel.block)) add(kAboutBanks, *banks);
    if (!has_another_result(kernel.block)) add(kAboutWriters, draw_writers(kernel.block));
  }
  return html;
}

}  // namespace pictures
