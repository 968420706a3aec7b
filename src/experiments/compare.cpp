#include "experiments/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "experiments/figures.h"
#include "text/numbers.h"

namespace experiments {

double speed_of(const Trial& trial) {
  return speed(trial).value_or(0);
}

const Trial& fastest(Trials trials) {
  return *std::max_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return speed_of(a) < speed_of(b);
  });
}

const Trial& slowest(Trials trials) {
  return *std::min_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return speed_of(a) < speed_of(b);
  });
}

std::string pace(const Trial& trial) {
  return (trial.row.time ? "" : "a ceiling of ") + text::significant(speed_of(trial)) + " TFLOP/s";
}

bool same(double a, double b) {
  return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b));
}

std::string beside(const Trial& a, const Trial& b) {
  const double fast = speed_of(a), slow = speed_of(b);
  const bool timed = a.row.time && b.row.time;
  if (same(fast, slow)) return timed ? "as fast as" : "with the same ceiling as";
  return text::printed(
      "%s times %s", text::significant(fast / slow).c_str(),
      timed ? "as fast as" : "the ceiling of");
}

double percent_of(const Trial& trial) {
  return trial.row.occupancy ? trial.row.occupancy->percent : 0;
}

std::string course_of_occupancy(const Trial& from, const Trial& to) {
  const double a = percent_of(from), b = percent_of(to);
  if (!from.row.occupancy || !to.row.occupancy) return "occupancy is not known";
  if (std::abs(a - b) < 0.5) return text::printed("occupancy stays at %.0f %%", a);
  return text::printed("occupancy %s from %.0f to %.0f %%", b < a ? "falls" : "rises", a, b);
}

std::string stage_of(const Trial& trial) {
  return "stage " + std::to_string(trial.row.number);
}

std::vector<Trial> of_stage(Trials trials, int number) {
  std::vector<Trial> chosen;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(chosen), [&](const Trial& trial) {
    return trial.row.number == number;
  });
  return chosen;
}

std::vector<int> stage_numbers(Trials trials) {
  std::vector<int> numbers;
  for (const Trial& trial : trials) numbers.push_back(trial.row.number);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::string joined(const std::vector<std::string>& parts, const char* between, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < parts.size() ? between : last) + parts[i];
  }
  return text;
}

std::string listed(const std::vector<std::string>& parts) {
  return joined(parts, ", ", " and ");
}

}  // namespace experiments
