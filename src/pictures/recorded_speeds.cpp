#include "pictures/recorded_speeds.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

#include "text/numbers.h"

namespace pictures {

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

bool is_name(std::string_view word) {
  return std::isalpha(static_cast<unsigned char>(word.front())) != 0;
}

// What is next to nothing ("<.01"), or is not there ("–").
double number_or_zero(std::string_view word) {
  return word.empty() || word.starts_with('<') || word == "–" ? 0 : number(word);
}

// Where in a row the speed stands: below the words "TFLOP/s", or below "Tera FLOP /s" in three
// lines, as tables said before; those also said how many times as fast as the stage before it is.
struct Heading {
  int begin, end;  // columns
  bool has_times;
};

// "H200" in "GPU      H200, 132 SMs, cc 9.0"; empty if the head of the table does not tell.
std::string gpu_above(std::string_view table) {
  while (!table.empty()) {
    std::string_view line = next_line(table);
    if (line.empty()) break;
    if (next_word(line) != "GPU") continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return std::string(line.substr(0, line.find(',')));
  }
  return "";
}

int column(std::string_view line, std::size_t byte) {
  return text::display_width(line.substr(0, byte));
}

Heading heading_of(std::string_view& table) {
  std::string_view above;
  while (!table.empty()) {
    const std::string_view line = next_line(table);
    if (line.find("# stage") != line.npos) {
      const std::size_t old = line.find("/s"), now = above.find("TFLOP/s");
      if (old != line.npos) return {column(line, old), column(line, old) + 2, true};
      if (now != above.npos) return {column(above, now), column(above, now) + 7, false};
      break;
    }
    above = line;
  }
  throw std::invalid_argument("no table: no speeds");
}

struct Words {
  std::string_view time, speed;
};

// The number of `row` that stands, at least in part, below the heading, where a long name may end
// as well, and the word before it. `row` is left with what follows.
Words words_below(const Heading& heading, std::string_view& row) {
  const std::string_view all = row;
  std::string_view before;
  while (!row.empty()) {
    const std::string_view word = next_word(row);
    const int at = column(all, word.data() - all.data());
    if (!is_name(word) && at < heading.end && at + text::display_width(word) > heading.begin)
      return {before, word};
    before = word;
  }
  throw std::invalid_argument("no row: " + std::string(all));
}

}  // namespace

RecordedSpeed RecordedLadder::of(int number) const {
  for (const RecordedSpeed& speed : speeds) {
    if (speed.number == number) return speed;
  }
  return {number, 0, 0, 0};
}

RecordedLadder recorded_run(std::string_view table) {
  RecordedLadder run{};
  std::string_view first = next_line(table);
  if (!first.starts_with("problem  C (")) throw std::invalid_argument("no table: no problem");
  first.remove_prefix(12);
  run.size = static_cast<int>(number(next_word(first)));
  run.gpu = gpu_above(table);
  const Heading heading = heading_of(table);
  double time_before = 0;  // of the row before, in ms; 0: the table has no times
  std::optional<RecordedSpeed> before;
  while (!table.empty()) {
    const std::string_view line = next_line(table);
    if (line.empty()) break;
    std::string_view rest = line;
    const std::string_view word = next_word(rest);  // numbers stand to the right in their column
    const bool is_stage = word.find_first_not_of("0123456789") == word.npos;
    if (!is_stage && !line.substr(line.find(word)).starts_with("cuBLAS fp32")) continue;
    rest = line;
    const auto [time, speed] = words_below(heading, rest);
    const double time_ms = time.empty() || is_name(time) ? 0 : number(time);
    const double tflops = number_or_zero(speed);
    if (tflops == 0) continue;  // a stage that this GPU lacks the instructions for
    RecordedSpeed recorded{is_stage ? static_cast<int>(number(word)) : -1, tflops, 0, 0};
    recorded.cublas_percent = number_or_zero(next_word(rest));
    if (heading.has_times) {
      recorded.times_before = number_or_zero(next_word(rest));
    } else if (is_stage && before) {
      // Narrow tables have no time, but its ratio is that of the speeds.
      recorded.times_before =
          time_ms > 0 && time_before > 0 ? time_before / time_ms : recorded.tflops / before->tflops;
    }
    time_before = time_ms;
    before = recorded;
    run.speeds.push_back(recorded);
  }
  if (run.speeds.empty()) throw std::invalid_argument("no table: no stages");
  return run;
}

const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs) {
  constexpr int kMainSize = 4096;
  const auto found = std::find_if(
      runs.begin(), runs.end(), [](const RecordedLadder& run) { return run.size == kMainSize; });
  return found == runs.end() ? runs.front() : *found;
}

}  // namespace pictures
