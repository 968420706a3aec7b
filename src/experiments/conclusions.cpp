#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <vector>

#include "experiments/experiment.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "text/numbers.h"

namespace experiments {

namespace {

using Trials = std::span<const Trial* const>;

// Timings repeat only within about a percent.
bool same(double a, double b) {
  return std::abs(a - b) <= Conclusion{}.nearly * std::max(std::abs(a), std::abs(b));
}

bool is_slower(const Trial* a, const Trial* b) {
  return speed(*a) < speed(*b);
}

// "stride 8", or the variant if other trials have the same setting.
std::string name_of(const Conclusion& shows, const Trial& trial, Trials all) {
  if (std::ranges::count(all, trial.setting, &Trial::setting) > 1) return trial.row.variant->name;
  return shows.before + trial.setting + shows.after;
}

// ", with 0 instead of 0.80 conflicts per store": the figures in which they differ.
std::string reasons_of(const Conclusion& shows, const Trial& one, const Trial& other) {
  const report::Known here(one.run, one.row), there(other.run, other.row);
  std::string text;
  for (const auto& [figure, words] : shows.reasons) {
    const report::Quantity& quantity = *report::quantities(figure).front();
    const std::string cell = cell_of(quantity, here), of_other = cell_of(quantity, there);
    if (cell == of_other) continue;
    text += (text.empty() ? ", with " : ", ") + cell + " instead of " + of_other + " " + words;
  }
  return text;
}

// One sentence about trials that are compared.
std::string compared(const Conclusion& shows, Trials trials) {
  const Trial& fastest = **std::ranges::max_element(trials, is_slower);
  const auto is_enough = [&](const Trial* trial) {
    return speed(*trial) >= (1 - shows.nearly) * speed(fastest);
  };
  const Trial& best = shows.least ? **std::find_if(trials.rbegin(), trials.rend(), is_enough)
                                  : **std::ranges::find_if(trials, is_enough);
  const Trial& other =
      shows.beside_slowest ? **std::ranges::min_element(trials, is_slower) : *trials.front();
  const std::string beside = name_of(shows, other, trials);
  if (same(speed(best), speed(other))) {
    const double percent = 100 * Conclusion{}.nearly;
    if (&fastest == &other) {
      return text::printed("none is more than %.0f %% faster than ", percent) + beside;
    }
    return name_of(shows, fastest, trials) + text::printed(" is within %.0f %% of ", percent) +
           beside + reasons_of(shows, fastest, other);
  }
  const bool timed = best.row.time && other.row.time;
  const std::string verdict =
      shows.enough
          ? text::printed(" is enough to come within %.0f %% of the best, ", 100 * shows.nearly)
          : " is best, ";
  return name_of(shows, best, trials) + verdict + (timed ? "" : "a ceiling of ") +
         text::significant(speed(best)) + " TFLOP/s, " +
         text::significant(speed(best) / speed(other)) +
         (timed ? " times as fast as " : " times that of ") + beside +
         reasons_of(shows, best, other);
}

// A row whose name begins with a digit is a separate change, of the stage in a row "as it is" above
// it; all others follow the row above.
std::string change_by_change(std::span<const Trial> trials) {
  std::string factors, alone;
  const Trial* whole = nullptr;
  for (const Trial& trial : trials) {
    const bool is_alone = std::isdigit(static_cast<unsigned char>(trial.setting[0]));
    if (trial.setting.ends_with("as it is")) whole = &trial;
    const Trial* const before = is_alone ? whole : &trial != trials.data() ? &trial - 1 : nullptr;
    if (before == nullptr || before == &trial) continue;
    std::string& text = is_alone ? alone : factors;
    text += (text.empty() ? "" : ", ") + trial.setting +
            text::printed(" %.2f", speed(trial) / speed(*before));
  }
  const std::string of = is_timed(trials) ? "Speed" : "The ceiling (which ignores waiting)";
  std::string text;
  if (!factors.empty())
    text = of + " relative to the row above, change by change: " + factors + ".";
  if (alone.empty()) return text;
  return text + (text.empty() ? "" : " ") + of + " relative to the stage as it is: " + alone + ".";
}

}  // namespace

double speed(const Trial& trial) {
  const report::Known known(trial.run, trial.row);
  const auto measured = report::number("figures.measured_tflops", known);
  return (measured ? measured : report::number("figures.ceiling_tflops", known)).value_or(0);
}

bool is_timed(std::span<const Trial> trials) {
  return std::ranges::all_of(trials, [](const Trial& trial) { return trial.row.time.has_value(); });
}

std::string conclusion(const Experiment& experiment, std::span<const Trial> trials) {
  if (trials.size() < 2) return "One row shows nothing: there is no other to compare it with.";
  if (std::ranges::any_of(trials, [](const Trial& trial) { return speed(trial) <= 0; })) {
    return "Nothing can be compared: not every row has a speed.";
  }
  const Conclusion::Of of = experiment.conclusion.of;
  if (of == Conclusion::Of::row_above) return change_by_change(trials);
  std::map<int, std::vector<const Trial*>> groups;  // key: the stage, if only it is compared
  for (const Trial& trial : trials) {
    groups[of == Conclusion::Of::stage ? trial.row.number : 0].push_back(&trial);
  }
  std::string text;
  for (const auto& [stage, group] : groups) {
    if (group.size() < 2) continue;
    if (!text.empty()) text += "; ";
    if (stage != 0) text += text::printed("stage %d: ", stage);
    text += compared(experiment.conclusion, group);
  }
  if (text.empty()) return "There is one row per stage, so there is nothing to compare.";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + (is_timed(trials)
                     ? "."
                     : ". A ceiling ignores waiting and caches: only a GPU can show what they do.");
}

}  // namespace experiments
