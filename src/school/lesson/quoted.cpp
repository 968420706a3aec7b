#include "school/lesson/quoted.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/stage.h"
#include "text/numbers.h"

namespace lesson {

namespace {

constexpr std::size_t kNone = std::string::npos;

const std::string kNumber = R"(\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-?\d+)?)";  // "1,348", "53.5", "3e-4"

// Of a word or a number. Bytes of other characters than ASCII's are not.
bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
}

// The length of the number at this place, 0 if there is none.
std::size_t number_length(const std::string& text, std::size_t at) {
  static const std::regex number(kNumber);
  std::smatch found;
  const bool is_there = std::regex_search(
      text.begin() + static_cast<long>(at), text.end(), found, number,
      std::regex_constants::match_continuous);
  return is_there ? found.length() : 0;
}

double value_of(std::string number) {
  std::erase(number, ',');
  return std::stod(number);
}

// A part of a text.
struct Span {
  std::size_t at, length;
};

// The numbers of a text that do not begin within a word.
std::vector<Span> numbers_in(const std::string& text) {
  static const std::regex number("(?:^|[^\\w.])(" + kNumber + ")");
  std::vector<Span> all;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    all.push_back(
        {static_cast<std::size_t>(it->position(1)), static_cast<std::size_t>(it->length(1))});
  }
  return all;
}

Lines split(const std::string& text, const std::string& at) {
  Lines parts;
  for (std::size_t begin = 0; begin != kNone;) {
    const std::size_t end = text.find(at, begin);
    parts.push_back(squeezed(text.substr(begin, end == kNone ? end : end - begin)));
    begin = end == kNone ? end : end + at.size();
  }
  return parts;
}

std::string with_spaces(std::string lines) {
  std::replace(lines.begin(), lines.end(), '\n', ' ');
  return lines;
}

// Where the first such name after `from` ends, or kNone: a line's beginning, or with "..." words
// that may also lie on two lines. Each line has single spaces and an end.
std::size_t end_of_name(const std::string& lines, std::size_t from, const std::string& name) {
  if (name.starts_with("...")) {
    const std::size_t at = with_spaces(lines).find(name.substr(3), from);
    return at == kNone ? at : at + name.size() - 3;
  }
  for (std::size_t at = from; (at = lines.find(name, at)) != kNone; ++at) {
    const std::size_t end = at + name.size();
    if ((at == 0 || lines[at - 1] == '\n') && !is_of_word(lines[end])) return end;
  }
  return kNone;
}

// The number of the row that ends, or else begins, where the heading does in the nearest line above
// that has it there. The last such heading of a line counts. Empty if there is none.
std::string cell(const Lines& lines, std::size_t row, const std::string& heading) {
  const auto column = [](const std::string& line, std::size_t at) {
    return text::display_width(line.substr(0, at));
  };
  for (std::size_t above = row; above-- > 0;) {
    const std::string& line = lines[above];
    const std::size_t at = (" " + line + " ").rfind(" " + heading + " ");
    if (at == kNone) continue;
    const int begin = column(line, at), end = begin + text::display_width(heading);
    for (const bool by_end : {true, false}) {
      for (const auto& [from, length] : numbers_in(lines[row])) {
        if (by_end ? column(lines[row], from + length) == end : column(lines[row], from) == begin)
          return lines[row].substr(from, length);
      }
    }
  }
  return "";
}

// What the file has for a reference, without its brackets.
std::string recorded(const std::string& reference, const std::filesystem::path& results) {
  const auto missing = [&](const std::string& what) {
    return std::runtime_error("[" + reference + "]: " + what);
  };
  const Lines parts = split(reference, "|");
  if (parts.size() < 2 || parts.size() > 3) throw missing("write [FILE | ROW | COLUMN]");
  const bool is_short = parts[0].find('.') == kNone;
  const Lines lines = read_lines(results / (is_short ? "h200-" + parts[0] + ".txt" : parts[0]));
  std::string in;
  for (const std::string& line : lines) in += squeezed(line) + "\n";
  std::size_t at = 0;
  bool is_anywhere = false;
  for (const std::string& name : split(parts[1], " > ")) {
    is_anywhere = name.starts_with("...");
    at = end_of_name(in, at, name);
    if (at == kNone) throw missing("there is no row " + name);
  }
  const std::string column = parts.size() == 3 ? parts[2] : "TFLOP/s";
  std::string number;
  if (column.find_first_not_of("0123456789") == kNone) {
    const std::string rest =
        is_anywhere ? with_spaces(in.substr(at)) : in.substr(at, in.find('\n', at) - at);
    const auto numbers = numbers_in(rest);
    const std::size_t n = std::stoul(column) - 1;
    if (n < numbers.size()) number = rest.substr(numbers[n].at, numbers[n].length);
  } else {
    number = cell(lines, std::count(in.begin(), in.begin() + static_cast<long>(at), '\n'), column);
  }
  if (number.empty()) throw missing("there is no number " + column);
  return number;
}

// "1,017.5" with one decimal. -2 rounds to hundreds, and e1 makes "4.9e-4".
std::string rounded(double value, const std::string& decimals) {
  if (decimals.starts_with("e")) {
    std::string digits = text::printed("%.*e", std::stoi(decimals.substr(1)), value);
    const std::size_t exponent = digits.find('e') + 1;
    return digits.substr(0, exponent) + std::to_string(std::stoi(digits.substr(exponent)));
  }
  const int count = std::stoi(decimals);
  const double scale = std::pow(10.0, count);
  const std::string digits =
      text::printed("%.*f", std::max(count, 0), std::round(value * scale) / scale);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  return text::grouped(std::stoll(digits.substr(0, point))) + digits.substr(point);
}

// The number that stands for {mark}.
std::string number_for(const std::string& mark, const std::filesystem::path& results) {
  static const std::regex reference(R"(\[([^\]]*)\])"), computed(R"((.*) : (e?-?\d+))");
  std::smatch found;
  if (std::regex_match(mark, found, reference)) return recorded(found[1], results);
  if (!std::regex_match(mark, found, computed))
    throw std::runtime_error("{" + mark + "}: how many decimals? Write { ... : 1}");
  std::string formula, rest = found[1];
  for (std::smatch at; std::regex_search(rest, at, reference); rest = at.suffix().str()) {
    std::string number = recorded(at[1], results);
    std::erase(number, ',');
    formula += at.prefix().str() + number;
  }
  return rounded(model::evaluate(formula + rest, {}), found[2]);
}

// A fragment where it stands in a text.
struct Quotation {
  Span span;
  std::vector<std::pair<Span, std::string>> numbers;  // with their marks
  bool is_from_elsewhere;                             // all of it
};

// The fragment at `begin`, if it stands there. A space of it stands for any blanks and ends of
// lines.
std::optional<Quotation> place_at(
    const std::string& text, std::size_t begin, const std::string& fragment) {
  Quotation place{{begin, 0}, {}, false};
  std::size_t at = begin;
  for (std::size_t i = 0; i < fragment.size(); ++i) {
    if (fragment[i] == '{') {
      const std::size_t close = fragment.find('}', i);
      if (close == kNone) throw std::runtime_error("a } is missing: " + fragment);
      const std::size_t length = number_length(text, at);
      if (length == 0 || (at > 0 && is_of_word(text[at - 1]))) return {};
      place.numbers.push_back({{at, length}, fragment.substr(i + 1, close - i - 1)});
      at += length;
      i = close;
    } else if (fragment[i] == ' ') {
      const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
      if (end == at) return {};
      at = end;
    } else if (at == text.size() || text[at++] != fragment[i]) {
      return {};
    }
  }
  place.span.length = at - begin;
  return place;
}

// The fragments of that text, one after the other.
std::vector<Quotation> places_of(
    const std::string& name, const std::string& text, const Lines& sources) {
  std::vector<Quotation> places;
  bool is_of_text = false;
  for (std::size_t i = 0, from = 0; i < sources.size(); ++i) {
    const std::string& source = sources[i];
    const bool is_name = source.starts_with("# ");
    if (is_name) is_of_text = source == "# " + name;
    if (is_name || !is_of_text || source.empty()) continue;
    const std::string fragment = source.substr(0, source.find(" <- "));
    std::optional<Quotation> place;
    while (!place && from < text.size()) place = place_at(text, from++, fragment);
    if (!place) {
      throw std::runtime_error(
          "quoted.txt:" + std::to_string(i + 1) + ": not in " + name +
          ", or not in this place: " + fragment);
    }
    place->is_from_elsewhere = fragment != source;
    places.push_back(*place);
    from = place->span.at + place->span.length;
  }
  return places;
}

// The measurements and results of arithmetic in the prose, each with the words around it: numbers
// with a decimal point, an exponent or a unit, and those that are alone in a cell, where the
// table's first line or their own names a unit.
Lines measurements(const std::string& text) {
  static const std::regex no_prose("`[^`]*`|\\]\\([^)]*\\)|uestion [0-9.]+");
  static const std::regex measured(
      R"((?:^|[^\w.])\d(?:[\d,]*\d)?(?:(?:\.\d+)?e-?\d+|\.\d+|)"
      R"((?=\**\s*(?:[TG]FLOP/s|[TG]B/s|ms\b|µs|W\b|[MG]Hz|%|times\b|of cuBLAS)))(?!\w|\.\d))");
  static const std::regex of_units(R"(\|.*(FLOP/s|\bms\b|%|\btimes\b|cuBLAS).*)");
  static const std::regex alone(R"(\| *\**\d[\d,]*\** *(?=\|))");
  Lines found;
  const auto add = [&](const std::string& words, const std::regex& what) {
    for (std::sregex_iterator it(words.begin(), words.end(), what), end; it != end; ++it) {
      const std::size_t begin = it->position() - std::min<long>(it->position(), 30);
      found.push_back(squeezed(words.substr(begin, it->position() + it->length() + 30 - begin)));
    }
  };
  for (Chapter& chapter : chapters(split(text, "\n"))) {
    for (const FencedBlock& block : chapter.blocks) {
      if (block.info == "text")
        chapter.prose.insert(chapter.prose.end(), block.lines.begin(), block.lines.end());
    }
    std::erase_if(chapter.prose, [](const std::string& line) { return line.starts_with("#"); });
    const std::string prose = std::regex_replace(joined(chapter.prose), no_prose, "");
    add(prose, measured);
    std::string first;  // line of the table
    for (const std::string& line : split(prose, "\n")) {
      if (!line.starts_with("|"))
        first.clear();
      else if (first.empty())
        first = line;
      if (std::regex_match(first, of_units) || std::regex_match(line, of_units)) add(line, alone);
    }
  }
  return found;
}

}  // namespace

Lines quoting_texts() {
  Lines all{"README.md", "walkthrough.md", "results/README.md", "examples/README.md"};
  for (const auto& file : std::filesystem::recursive_directory_iterator("exercises")) {
    if (file.path().extension() == ".md") all.push_back(file.path().string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

Quoted quoted(
    const std::string& name, const std::string& text, const Lines& sources,
    const std::filesystem::path& results) {
  Quoted result{text, {}, {}, {}};
  std::string without_known = text;
  const auto know = [&](Span span) {
    without_known.replace(span.at, span.length, span.length, ' ');
  };
  std::size_t shift = 0;  // of what follows the corrections so far
  for (const Quotation& place : places_of(name, text, sources)) {
    if (place.is_from_elsewhere) know(place.span);
    const std::string words = squeezed(text.substr(place.span.at, place.span.length));
    for (const auto& [span, mark] : place.numbers) {
      know(span);
      const std::string was = text.substr(span.at, span.length), is = number_for(mark, results);
      if (was == is) continue;
      result.text.replace(span.at + shift, span.length, is);
      shift += is.size() - was.size();
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<long>(span.at), '\n') + 1;
      result.outdated.push_back(std::to_string(line) + ": " + was + " is " + is + ": " + words);
      if (std::abs(value_of(is) - value_of(was)) > 0.03 * value_of(was))
        result.moved.push_back(result.outdated.back());
    }
  }
  result.unsourced = measurements(without_known);
  return result;
}

namespace {

// The part of a table that does not depend on the machine: without the CPU's own times, and without
// the column widths, which depend on them.
Lines comparable(Lines table) {
  std::erase_if(table, [](const std::string& line) {
    return std::regex_search(line, std::regex("^ *(0 serial|OpenMP CPU)"));
  });
  for (std::string& line : table) line = std::regex_replace(line, std::regex("( |─)+"), " ");
  return table;
}

// Replaces the table in a block of the file's text, unless only what is of the machine differs.
void renew_table(const std::string& file, Lines& text, const Lines& now, bool is_of_this_machine) {
  const auto begin = std::find_if(text.begin(), text.end(), [](const std::string& line) {
    return line.starts_with("problem  C (4096 x 4096)");
  });
  const auto end = std::find(begin, text.end(), "```");
  if (end == text.end()) throw std::runtime_error(file + " has no table");
  if (is_of_this_machine && comparable({begin, end}) == comparable(now)) return;
  text.insert(text.erase(begin, end), now.begin(), now.end());
}

// The recorded table, without its legend.
Lines recorded_table() {
  const Lines all = read_lines("results/h200-4096.txt");
  return {all.begin(), std::find(std::find(all.begin(), all.end(), "") + 1, all.end(), "")};
}

// A quote with the lines in this order, and anything between them or only around them.
Lines within_others(const Lines& lines, bool scattered) {
  Lines parts{"..."};
  for (const std::string& line : lines) {
    parts.push_back(line);
    if (scattered) parts.push_back("...");
  }
  if (!scattered) parts.push_back("...");
  return parts;
}

// Kept, because several texts have the same commands.
const Output& output_of(const std::string& command, const Built& built) {
  static std::map<std::string, Output> outputs;
  const auto [known, is_new] = outputs.try_emplace(command);
  if (is_new) known->second = run(command, built);
  return known->second;
}

// Why a command of a text, which printed this, does not do what the text says; or empty.
std::string fault_of(const Command& command, const Output& output) {
  // These two kernels are wrong, and the exit code says so.
  const bool is_wrong = command.text.starts_with("build/try/race") ||
                        command.text.starts_with("build/try/wrong_at_the_edge");
  if (output.exit_code != is_wrong) return "exit code " + std::to_string(output.exit_code);
  return command.quoted.empty() ? "" : difference(command.quoted, output.lines);
}

// Runs all commands of the text, updates what it quotes of their output, and compares diffs and
// code with the source. Returns what is left to the author.
Lines renew_blocks(Lines& text, const Built& built) {
  Lines left;
  const auto leave = [&](int line, const std::string& what, const std::string& why) {
    if (!why.empty()) left.push_back(std::to_string(line) + ": " + what + "\n" + why);
  };
  for (const Chapter& chapter : chapters(text)) {
    for (const Command& command : inline_commands(chapter)) {
      const bool is_long = command.text == "./gemm_steps --experiment one-change";
      const Output output = output_of(command.text + (is_long ? " --size 8" : ""), built);
      leave(chapter.line, command.text, fault_of(command, output));
    }
    for (const FencedBlock& block : chapter.blocks) {
      if (block.info == "diff") {
        const std::string of =
            block.lines.at(0).substr(4) + " " + block.lines.at(1).substr(4);  // behind --- and +++
        const Output diff = output_of("src/school/lesson/diff.sh " + of, built);
        leave(block.line, of, difference(within_others(block.lines, true), diff.lines));
      }
      if (block.info.starts_with("c++ ")) {
        const Lines file = read_lines(block.info.substr(4));
        leave(block.line, block.info, difference(within_others(block.lines, false), file));
      }
      if (!block.info.starts_with("console")) continue;
      for (Command& command : commands(block)) {
        if (block.info == "console gpu") {
          leave(command.line, command.text, malformed(command.text, built));
          continue;
        }
        const Output& output = output_of(command.text, built);
        command.quoted = mended(command.quoted, output.lines);
        const auto lines_of_command =
            std::count(command.text.begin(), command.text.end(), '\n') + 1;
        std::copy(
            command.quoted.begin(), command.quoted.end(),
            text.begin() + command.line - 1 + lines_of_command);
        leave(command.line, command.text, fault_of(command, output));
      }
    }
  }
  return left;
}

}  // namespace

Renewed renewed(const std::string& file, const Built& built) {
  Renewed result;
  Lines text = read_lines(file);
  const bool is_walkthrough = file == "walkthrough.md";
  if (file == "README.md") renew_table(file, text, run("./gemm_steps", built).lines, true);
  if (file == "results/README.md") renew_table(file, text, recorded_table(), false);
  if (is_walkthrough || file == "exercises/TEACHING.md") result.left = renew_blocks(text, built);
  if (is_walkthrough) {
    for (const std::string& figure : renew_figure_lines(text, findings_in("figures")))
      result.left.push_back(" " + figure);
  }
  Quoted numbers = quoted(file, joined(text), read_lines(kSources), "results");
  for (const std::string& words : numbers.unsourced)
    result.left.push_back(" " + std::string(kSources) + " has no number for: " + words);
  result.text = std::move(numbers.text);
  result.moved = std::move(numbers.moved);
  return result;
}

}  // namespace lesson
