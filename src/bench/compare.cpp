#include "bench/compare.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "text/numbers.h"

namespace bench {

namespace {

enum class Moved { not_known, not_at_all, faster, slower };

constexpr double kLeastChange = 0.01;

Moved moved(const lab::Timing& before, const lab::Timing& now) {
  if (before.repetitions < 2 || now.repetitions < 2) return Moved::not_known;
  const bool large = std::abs(now.median_ms / before.median_ms - 1) >= kLeastChange;
  if (large && now.quartile1_ms > before.quartile3_ms) return Moved::slower;
  if (large && now.quartile3_ms < before.quartile1_ms) return Moved::faster;
  return Moved::not_at_all;
}

const char* word_of(Moved moved) {
  switch (moved) {
    case Moved::not_known:
      return "one run: no spread";
    case Moved::not_at_all:
      return "";
    case Moved::faster:
      return "faster";
    case Moved::slower:
      return "SLOWER";
  }
  return "";
}

const Speed* find(const std::vector<Speed>& speeds, const Speed& wanted) {
  for (const Speed& speed : speeds) {
    if (speed.size == wanted.size && speed.name == wanted.name && speed.time) return &speed;
  }
  return nullptr;
}

std::string range(const lab::Timing& time) {
  return text::significant(time.median_ms) + " [" + text::significant(time.quartile1_ms) + ", " +
         text::significant(time.quartile3_ms) + "]";
}

std::string named(const Speed& speed) {
  const std::string stage = speed.stage ? text::printed("stage %d ", *speed.stage) : "";
  return stage + speed.name + text::printed(" at %d", speed.size);
}

// "Slower: a, b." or nothing.
std::string sentence(const char* what, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "" : text::labelled(what, 10, text);
}

std::vector<std::string> only_in(const std::vector<Speed>& some, const std::vector<Speed>& others) {
  std::vector<std::string> names;
  for (const Speed& speed : some) {
    if (speed.time && !find(others, speed)) names.push_back(named(speed));
  }
  return names;
}

}  // namespace

Comparison compare(const std::vector<Speed>& before, const std::vector<Speed>& now) {
  Comparison comparison{"", false};
  std::vector<std::string> slower, faster;
  std::set<std::string> elsewhere;
  std::string& text = comparison.text;
  int size = -1;
  for (const Speed& speed : now) {
    const Speed* const old = find(before, speed);
    if (!old || !speed.time) continue;
    if (speed.size != std::exchange(size, speed.size)) {
      text += (text.empty() ? "" : "\n") +
              text::pad_right(text::printed("M = N = K = %d", size), 27) +
              "     ms before [quartiles]        ms now [quartiles]  change\n";
    }
    const Moved verdict = moved(*old->time, *speed.time);
    const double change = 100 * (speed.time->median_ms / old->time->median_ms - 1);
    const std::string percent = text::printed("%+.1f %%", change);
    text += text::without_trailing_spaces(
                label_of(speed) + "  " + text::pad_left(range(*old->time), 24) + "  " +
                text::pad_left(range(*speed.time), 24) + text::pad_left(percent, 9) + "  " +
                word_of(verdict)) +
            "\n";
    if (verdict == Moved::slower) slower.push_back(named(speed) + " (" + percent + ")");
    if (verdict == Moved::faster) faster.push_back(named(speed) + " (" + percent + ")");
    if (old->device != speed.device) elsewhere.insert(old->device + " and " + speed.device);
  }
  if (text.empty()) {
    throw std::invalid_argument("have no kernel at the same size; give the same SIZES to both");
  }
  text += "\n" + sentence("slower", slower) + sentence("faster", faster);
  if (slower.empty() && faster.empty()) text += "Nothing moved by more than its spread.\n";
  text += sentence("only then", only_in(before, now)) + sentence("only now", only_in(now, before));
  for (const std::string& devices : elsewhere) {
    text += text::labelled("machines", 10, devices + ": a change may be theirs");
  }
  text += "Moved: the quartiles do not overlap, and the median changed by 1 % or more.\n";
  comparison.slower = !slower.empty();
  return comparison;
}

}  // namespace bench
