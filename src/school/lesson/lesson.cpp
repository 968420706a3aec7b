#include "school/lesson/lesson.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "testing/program.h"

namespace lesson {

namespace {

bool is_ellipsis(const std::string& line) {
  return line.find_first_not_of(' ') != std::string::npos &&
         line.substr(line.find_first_not_of(' ')) == "...";
}

const std::regex& mark() {
  static const std::regex pattern("<[a-z]+>");
  return pattern;
}

// The quoted line as a pattern. A mark matches any word. Other words match exactly, or, with
// `any_numbers`, with other numbers.
std::regex pattern_of(const std::string& quoted, bool any_numbers) {
  std::string pattern;
  for (std::string word : testing::words_of(quoted)) {
    if (!pattern.empty()) pattern += ' ';
    std::smatch found;
    while (std::regex_search(word, found, mark())) {
      pattern += std::regex_replace(found.prefix().str(), std::regex(R"([^\w])"), "\\$&") + "\\S+";
      word = found.suffix();
    }
    std::string escaped;
    for (const char c : word) {
      if (std::string_view(R"(^$\.*+?()[]{}|/)").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
    if (any_numbers) {
      escaped = std::regex_replace(
          escaped, std::regex(R"([0-9](?:[0-9,]|\\\.)*(?:e-?[0-9]+)?)"), "[0-9.,e-]+");
    }
    pattern += escaped;
  }
  return std::regex(pattern);
}

bool says(const std::string& quoted, const std::string& real) {
  if (!std::regex_search(quoted, mark())) return quoted == real;
  return std::regex_match(squeezed(real), pattern_of(quoted, false));
}

// A run of quoted lines between two "...".
struct QuotedLines {
  std::size_t begin, end;  // in the quoted lines
};
std::vector<QuotedLines> parts_of(const Lines& quoted) {
  std::vector<QuotedLines> parts{{0, 0}};
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (is_ellipsis(quoted[i])) {
      parts.push_back({i + 1, i + 1});
    } else {
      parts.back().end = i + 1;
    }
  }
  return parts;
}

// The position of each part of `quoted` in `real`. If a part is not found, the list ends there.
template <class Same>
std::vector<std::size_t> places(const Lines& quoted, const Lines& real, Same same) {
  std::vector<std::size_t> found;
  const std::vector<QuotedLines> parts = parts_of(quoted);
  std::size_t from = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::size_t length = parts[p].end - parts[p].begin;
    const auto fits = [&](std::size_t at) {
      for (std::size_t i = 0; i < length; ++i) {
        if (!same(quoted[parts[p].begin + i], real[at + i])) return false;
      }
      return true;
    };
    if (from + length > real.size()) return found;
    // The output must begin with the first part.
    std::size_t last = p == 0 ? 0 : real.size() - length;
    if (p + 1 == parts.size()) {  // and end with the last one
      if (p == 0 && length != real.size()) return found;
      from = real.size() - length;
    }
    while (from <= last && !fits(from)) ++from;
    if (from > last) return found;
    found.push_back(from);
    from += length;
  }
  return found;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

bool is_make(const std::string& command) {
  return command == "make" || command.starts_with("make ");
}

// The real line, with the quoted line's marks in the places that they cover.
std::string with_marks(const std::string& quoted, const std::string& real) {
  std::istringstream marked(quoted);
  std::string line = real, word;
  std::size_t at = 0;
  while (marked >> word) {
    at = line.find_first_not_of(' ', at);
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (std::regex_search(word, mark())) {
      line.replace(at, end - at, word);
      at += word.size();
    } else {
      at = end;
    }
  }
  return line;
}

}  // namespace

Lines read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string squeezed(const std::string& text) {
  std::string all;
  for (const std::string& word : testing::words_of(text)) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

int Chapter::words() const {
  return static_cast<int>(testing::words_of(joined(prose)).size());
}

std::vector<Chapter> chapters(const Lines& markdown) {
  static const std::regex figure(R"(!\[(.*)\]\(([^)]*)\))");
  std::vector<Chapter> all{{"", 1, {}, {}, {}}};
  std::smatch shown;
  bool in_block = false, in_comment = false;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const std::string& line = markdown[i];
    const int number = static_cast<int>(i) + 1;
    if (line.starts_with("```")) {
      if (!in_block) all.back().blocks.push_back({number, line.substr(3), {}});
      in_block = !in_block;
    } else if (in_block) {
      all.back().blocks.back().lines.push_back(line);
    } else if (in_comment || line.starts_with("<!--")) {
      in_comment = line.find("-->") == std::string::npos;
    } else if (line.starts_with("## ")) {
      all.push_back({line.substr(3), number, {}, {}, {}});
    } else if (std::regex_match(line, shown, figure)) {
      all.back().figures.push_back({number, shown[1], shown[2]});
    } else {
      all.back().prose.push_back(line);
    }
  }
  return all;
}

std::vector<Command> commands(const FencedBlock& block) {
  std::vector<Command> all;
  bool goes_on = false;
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    if (goes_on) {
      all.back().text += "\n" + line;
    } else if (line.starts_with("$ ")) {
      all.push_back({block.line + 1 + static_cast<int>(i), line.substr(2), {}});
    } else {
      if (all.empty()) throw std::runtime_error("output without a command: " + line);
      all.back().quoted.push_back(line);
    }
    goes_on = (goes_on || line.starts_with("$ ")) && line.ends_with('\\');
  }
  return all;
}

std::vector<Command> inline_commands(const Chapter& chapter) {
  const std::string text = joined(chapter.prose);
  static const std::regex pattern("`((?:\\./gemm_steps|make|build/|examples/)[^`]* [^`]*)`");
  std::vector<Command> all;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    all.push_back({chapter.line, replaced((*it)[1], "\n", " "), {}});
  }
  return all;
}

Output run(const std::string& command, const Built& built) {
  std::string line = command;
  if (is_make(line)) {
    line = "make -n" + line.substr(4) + " >/dev/null";
  } else {
    line = replaced(
        replaced(line, "build/", built.folder.string() + "/"), "./gemm_steps", built.program);
  }
  // On a machine with a GPU the same commands would use it.
  const testing::Output ran = testing::run("export CUDA_VISIBLE_DEVICES=-1\n" + line);
  return {ran.exit_code, testing::lines_of(ran.out)};
}

std::string malformed(const std::string& command, const Built& built) {
  const std::string line = replaced(command, "\\\n", " ");
  if (is_make(line)) {
    return run(line, built).exit_code == 0 ? "" : "make has no rule for this";
  }
  static const std::regex file(R"([\w/.]+\.cu)");
  std::smatch found;
  if (line.starts_with("nvcc ")) {
    return std::regex_search(line, found, file) && std::filesystem::exists(found.str())
               ? ""
               : "there is no such file";
  }
  const std::size_t program = line.find("./gemm_steps");
  if (program == std::string::npos) return "it does not run ./gemm_steps";
  const std::string before = squeezed(line.substr(0, program));
  const bool is_known = before.empty() || before.starts_with("ncu ") ||
                        before.starts_with("mpirun ") || before.starts_with("compute-sanitizer");
  if (!is_known) {
    return "it begins with a program that the walkthrough does not mention";
  }
  const std::string small = std::regex_replace(
      replaced(line.substr(program), "--device gpu", "--device cpu"), std::regex("--size [0-9]+"),
      "--size 32");
  return run(small, built).exit_code == 0 ? "" : "the program does not accept these flags";
}

std::string difference(const Lines& quoted, const Lines& real) {
  const std::vector<std::size_t> found = places(quoted, real, says);
  const std::vector<QuotedLines> parts = parts_of(quoted);
  if (found.size() == parts.size()) return "";
  std::string what = "these lines are not in the output, or not in this place:\n";
  const QuotedLines& missing = parts[found.size()];
  for (std::size_t i = missing.begin; i < missing.end; ++i) what += quoted[i] + "\n";
  if (missing.begin == missing.end) what = "the quoted output is not whole: write ... for the rest";
  return what;
}

Lines mended(const Lines& quoted, const Lines& real) {
  if (difference(quoted, real).empty()) return quoted;
  const auto says_with_other_numbers = [](const std::string& line, const std::string& other) {
    return std::regex_match(squeezed(other), pattern_of(line, true));
  };
  const std::vector<std::size_t> found = places(quoted, real, says_with_other_numbers);
  const std::vector<QuotedLines> parts = parts_of(quoted);
  Lines result = quoted;
  for (std::size_t p = 0; p < found.size(); ++p) {
    for (std::size_t i = parts[p].begin; i < parts[p].end; ++i) {
      result[i] = with_marks(quoted[i], real[found[p] + i - parts[p].begin]);
    }
  }
  return result;
}

namespace {

std::string unescaped(std::string xml) {
  const std::pair<const char*, const char*> entities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : entities) xml = replaced(xml, entity, character);
  return xml;
}

}  // namespace

Findings findings_in(const std::filesystem::path& folder) {
  static const std::regex desc("<desc>([^<]*)</desc>");
  Findings findings;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".svg") continue;
    for (const std::string& line : read_lines(entry.path())) {
      std::smatch match;
      if (!std::regex_search(line, match, desc)) continue;
      findings[(folder / entry.path().filename()).string()] = unescaped(match[1]);
      break;
    }
  }
  return findings;
}

Lines renew_figure_lines(Lines& text, const Findings& findings) {
  Lines left;
  std::map<std::string, int> shown;  // the line that shows it
  for (const Chapter& chapter : chapters(text)) {
    for (const Figure& figure : chapter.figures) {
      const std::string at = "line " + std::to_string(figure.line) + ": " + figure.file;
      if (!findings.contains(figure.file)) {
        left.push_back(at + " no longer exists; show another figure, or remove the line");
        continue;
      }
      if (const auto [before, first] = shown.try_emplace(figure.file, figure.line); !first) {
        left.push_back(
            at + " is shown in line " + std::to_string(before->second) + "; remove this line");
        continue;
      }
      text[figure.line - 1] = "![" + findings.at(figure.file) + "](" + figure.file + ")";
    }
  }
  for (const auto& [file, finding] : findings) {
    if (!shown.contains(file)) {
      left.push_back("no line shows this figure: ![" + finding + "](" + file + ")");
    }
  }
  return left;
}

}  // namespace lesson
