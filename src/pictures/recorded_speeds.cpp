#include <charconv>
#include <stdexcept>
#include <string_view>

#include "pictures/pictures.h"

namespace pictures {

// The recorded tables travel in the program (Makefile: compiled again when one changes).
#define EMBED(name, file)                                                               \
  asm(".pushsection .rodata\n" #name ": .incbin \"" file "\"\n.byte 0\n.popsection\n"); \
  extern "C" const char name[] __attribute__((visibility("hidden")))
EMBED(recorded_h200_1024, "results/h200-1024.txt");
EMBED(recorded_h200_4096, "results/h200-4096.txt");
EMBED(recorded_h200_8192, "results/h200-8192.txt");
#undef EMBED

namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

std::string_view last_word(std::string_view& line) {
  line.remove_suffix(line.size() - (line.find_last_not_of(' ') + 1));
  const std::size_t begin = line.rfind(' ') + 1;
  const std::string_view word = line.substr(begin);
  line.remove_suffix(word.size());
  return word;
}

// "1,779" is 1779, "~491,253" is 491253, and "~491s", seconds among milliseconds, is 491000.
double number(std::string_view written) {
  std::string word(written);
  std::erase_if(word, [](char sign) { return sign == ',' || sign == '~'; });
  const bool in_seconds = word.ends_with('s');
  if (in_seconds) word.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw std::invalid_argument("not a number in a recorded table: " + word);
  }
  return in_seconds ? 1000 * value : value;
}

}  // namespace

RecordedLadder recorded_run(std::string_view table) {
  RecordedLadder run{};
  std::string_view first = next_line(table);
  if (!first.starts_with("problem  C (")) throw std::invalid_argument("no table: no problem");
  first.remove_prefix(12);
  run.size = static_cast<int>(number(next_word(first)));
  // Speeds end, in every row, where the "/s" of the heading does; times stand before them.
  std::string_view above, header;
  while (!table.empty() && header.find("# stage") == header.npos) {
    above = header;
    header = next_line(table);
  }
  const std::size_t end = std::min(above.find("/s"), header.find("/s")) + 2;
  if (end < 2) throw std::invalid_argument("no table: no speeds");
  double time_before = 0;  // in ms, of the stage before; 0 where there is none
  while (!table.empty()) {
    std::string_view line = next_line(table);
    if (line.empty()) break;
    if (line.size() < end) throw std::invalid_argument("no row: " + std::string(line));
    std::string_view rest = line;
    const std::string_view word = next_word(rest);  // numbers stand to the right in their column
    const bool is_stage = word.find_first_not_of("0123456789") == word.npos;
    if (!is_stage && !line.starts_with("  cuBLAS fp32")) continue;
    const int stage = is_stage ? static_cast<int>(number(word)) : -1;
    std::string_view left = line.substr(0, end);
    const std::string_view speed = last_word(left);
    const double time = number(last_word(left));
    line.remove_prefix(end);
    const std::string_view percent = next_word(line);  // "<0.01" where it is next to nothing
    run.speeds.push_back(
        {stage, number(speed), percent.starts_with('<') ? 0 : number(percent),
         is_stage && time > 0 ? time_before / time : 0});
    time_before = time;
  }
  if (run.speeds.empty()) throw std::invalid_argument("no table: no stages");
  return run;
}

std::vector<RecordedLadder> recorded_h200() {
  return {
      recorded_run(recorded_h200_1024), recorded_run(recorded_h200_4096),
      recorded_run(recorded_h200_8192)};
}

}  // namespace pictures
