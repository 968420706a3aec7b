#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "experiments/experiment.h"
#include "lab/run.h"
#include "model/stage.h"
#include "text/numbers.h"

namespace experiments {

std::optional<double> figure(const Trial& trial, const std::string& name) {
  return report::number("figures." + name, report::Known(trial.run, trial.row));
}

std::optional<double> speed(const Trial& trial) {
  const auto measured = figure(trial, "measured_tflops");
  return measured ? measured : figure(trial, "ceiling_tflops");
}

bool is_timed(std::span<const Trial> trials) {
  return std::ranges::all_of(trials, [](const Trial& trial) { return trial.row.time.has_value(); });
}

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
  return figure(trial, "occupancy_percent").value_or(0);
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

namespace {

double figure_or_0(const Trial& trial, const char* name) {
  return figure(trial, name).value_or(0);
}

std::string tile(const Trial& trial) {
  const model::Variant& v = *trial.row.variant;
  return text::printed("%dx%dx%d with %dx%d per thread", v.BM, v.BN, v.BK, v.TM, v.TN);
}

}  // namespace

std::string coarsening_shows(Trials trials) {
  const Trial &first = trials.front(), &last = trials.back(), &best = fastest(trials);
  if (&best == &first || same(speed_of(best), speed_of(first))) {
    return "Coarsening does not pay here: stride " + first.setting + " has " + pace(first) +
           ", and no other stride is faster by more than " + text::printed("%.0f %%.", 100 * kSame);
  }
  std::string text = "Stride " + best.setting + " is best, " + pace(best) + ", " +
                     beside(best, first) + " stride " + first.setting + ": " +
                     course_of_occupancy(first, best);
  const std::string compiled = "smem_load_requests_compiled";
  const bool known = figure(first, compiled) && figure(best, compiled);
  const std::string loads = known ? compiled : "smem_load_requests_written";
  const double ratio = figure(first, loads).value_or(0) / figure(best, loads).value_or(1);
  if (!same(ratio, 1)) {
    text += text::printed(
        ", shared loads %s to 1/%s", ratio > 1 ? "fall" : "rise", text::significant(ratio).c_str());
  }
  if (&last != &best && !same(speed_of(last), speed_of(best))) {
    const int threads = last.row.variant->threads();
    text += "; stride " + last.setting + " is slower again, " + pace(last);
    if (threads < 32) text += text::printed(", with %d threads in a warp of 32", threads);
  }
  return text + ".";
}

std::string block_shape_shows(Trials trials) {
  std::vector<std::string> parts;
  for (const int number : {1, 2, 3}) {
    std::vector<Trial> here = of_stage(trials, number);
    // Stage 4's kernel replaces stage 3's for a tile that is not square.
    const std::vector<Trial> more = number == 3 ? of_stage(trials, 4) : std::vector<Trial>();
    here.insert(here.end(), more.begin(), more.end());
    if (here.size() < 2) continue;
    const std::string name = "stage " + std::to_string(number);
    const Trial &best = fastest(here), &worst = slowest(here);
    if (same(speed_of(best), speed_of(worst))) {
      parts.push_back(name + " does not depend on the shape");
      continue;
    }
    std::string part = name + " is best in " + best.setting + " (" + pace(best) + "), " +
                       beside(best, worst) + " " + worst.setting;
    const double lines = figure_or_0(worst, "lines_per_request"),
                 lines_of_best = figure_or_0(best, "lines_per_request"),
                 sectors = figure_or_0(worst, "sectors_per_request"),
                 sectors_of_best = figure_or_0(best, "sectors_per_request");
    if (lines > (1 + kSame) * lines_of_best) {
      part += text::printed(
          ", where a request touches %s lines instead of %s", text::brief(lines).c_str(),
          text::brief(lines_of_best).c_str());
    } else if (sectors > (1 + kSame) * sectors_of_best) {
      part += text::printed(
          ", where a request touches %s sectors instead of %s", text::brief(sectors).c_str(),
          text::brief(sectors_of_best).c_str());
    } else if (percent_of(worst) < percent_of(best)) {
      part += text::printed(
          ", with %.0f %% occupancy instead of %.0f %%", percent_of(worst), percent_of(best));
    }
    parts.push_back(part);
  }
  const std::vector<Trial> naive = of_stage(trials, 1), coalesced = of_stage(trials, 2);
  if (!naive.empty() && !coalesced.empty()) {
    const Trial &best_naive = fastest(naive), &worst_coalesced = slowest(coalesced);
    const bool slower = speed_of(worst_coalesced) < (1 - kSame) * speed_of(best_naive);
    parts.push_back(
        "stage 2 in " + worst_coalesced.setting + " is " +
        (slower ? "slower than" : "no slower than") + " stage 1 in " + best_naive.setting);
  }
  std::string text = joined(parts, "; ", "; ");
  if (text.empty()) return "There is one shape per stage, so there is nothing to compare.";
  text[0] = 'S';
  return text + ".";
}

std::string swapped_grid_shows(Trials trials) {
  std::vector<std::string> changed, unchanged;
  const bool timed = is_timed(trials);
  for (const int number : stage_numbers(trials)) {
    const std::vector<Trial> here = of_stage(trials, number);
    if (here.size() != 2) continue;
    const auto before = figure(here[0], "first_wave_bytes"),
               after = figure(here[1], "first_wave_bytes");
    if (!timed && (!before || !after)) continue;
    const double ratio = timed ? speed_of(here[1]) / speed_of(here[0]) : *after / *before;
    if (same(ratio, 1)) {
      unchanged.push_back(std::to_string(number));
    } else {
      changed.push_back(text::printed(
          "stage %d %s %s times", number, timed ? "runs" : "reads",
          text::significant(ratio).c_str()));
    }
  }
  const std::string than_before = timed ? " as fast as before" : " as much of A and B at once";
  std::string text = "With the grid swapped, ";
  if (!changed.empty()) text += listed(changed) + than_before;
  if (!unchanged.empty()) {
    text += (changed.empty() ? "" : ", and ") +
            (unchanged.size() > 1 ? "stages " + listed(unchanged) + (timed ? " run" : " read")
                                  : "stage " + unchanged[0] + (timed ? " runs" : " reads")) +
            than_before;
  }
  if (changed.empty() && unchanged.empty()) text += "nothing is known";
  return text + (timed ? "." : "; only a GPU can show the effect of the caches.");
}

std::string tile_sizes_shows(Trials trials) {
  const Trial &best = fastest(trials), &worst = slowest(trials);
  std::string text = "The best is " + stage_of(best) + "'s " + tile(best) + ", " + pace(best) +
                     ", " + beside(best, worst) + " the last";
  std::vector<std::string> not_default;
  const std::vector<int> numbers = stage_numbers(trials);
  for (const int number : numbers) {
    const std::vector<Trial> here = of_stage(trials, number);
    const Trial& winner = fastest(here);
    const auto is_default = [](const Trial& trial) {
      const lab::Run& run = trial.run;
      const model::Variant& chosen =
          model::suited_variant(*trial.row.stage, run.gpu, run.M, run.N, run.K);
      return std::string_view(trial.row.variant->name) == chosen.name;
    };
    const auto own = std::find_if(here.begin(), here.end(), is_default);
    if (own != here.end() && !same(speed_of(winner), speed_of(*own))) {
      not_default.push_back(std::to_string(number));
    }
  }
  if (not_default.empty()) return text + "; each stage's default tile is its best.";
  return text + "; stage " + listed(not_default) +
         " would be faster with another tile than the default.";
}

std::string padding_shows(Trials trials) {
  std::vector<std::string> clean;
  for (const Trial& trial : trials) {
    const bool any = figure_or_0(trial, "smem_load_conflicts_per_request") > 0 ||
                     figure_or_0(trial, "smem_store_conflicts_per_request") > 0;
    if (!any) clean.push_back(trial.setting);
  }
  const Trial &first = trials.front(), &best = fastest(trials), &worst = slowest(trials);
  std::string text = clean.empty()                   ? "No layout is free of conflicts"
                     : clean.size() == trials.size() ? "All layouts are free of conflicts"
                                                     : "Free of conflicts: " + listed(clean);
  text += text::printed(
      " (%s: %s per store); ", first.setting.c_str(),
      text::brief(figure_or_0(first, "smem_store_conflicts_per_request")).c_str());
  if (same(speed_of(best), speed_of(worst))) return text + "all are equally fast.";
  text += "best is " + best.setting + ", " + pace(best) + ", " + beside(best, worst) + " " +
          worst.setting;
  const bool says_all = &worst == &first || &best == &first;
  return text + (says_all ? "." : ", and " + beside(best, first) + " " + first.setting + ".");
}

std::string stages_shows(Trials trials) {
  const Trial &first = trials.front(), &last = trials.back(), &best = fastest(trials);
  // The smallest depth that is as fast as the best one.
  const Trial& enough = *std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) {
    return same(speed_of(trial), speed_of(best));
  });
  std::string text;
  if (!is_timed(trials)) {
    const auto range = [](double a, double b) {
      return text::significant(a) + (same(a, b) ? "" : " to " + text::significant(b)) + " TFLOP/s";
    };
    text = "The ceilings are " + range(speed_of(slowest(trials)), speed_of(best)) +
           ": they ignore waiting, which depth is meant to hide, so only a GPU can show it";
  } else if (&enough == &first) {
    text = "Depth " + first.setting + " is enough, " + pace(first) +
           ": no other is faster by more " + text::printed("than %.0f %%", 100 * kSame);
  } else {
    text = "Depth " + enough.setting + " is enough, " + pace(enough) + ", " +
           beside(enough, first) + " depth " + first.setting;
    if (&enough != &last) {
      text += same(speed_of(last), speed_of(enough))
                  ? "; depth " + last.setting + " gains nothing"
                  : "; depth " + last.setting + " is slower, " + pace(last);
    }
  }
  if (first.row.occupancy && last.row.occupancy) {
    text += text::printed(
        "; an SM holds %d blocks at depth %s and %d at depth %s",
        first.row.occupancy->blocks_per_sm, first.setting.c_str(),
        last.row.occupancy->blocks_per_sm, last.setting.c_str());
  }
  return text + ".";
}

std::string one_change_shows(Trials trials) {
  // A row whose name begins with a digit is a separate change, of the stage in a row "as it is"
  // above it; all others follow the row above.
  std::vector<std::string> factors, alone;
  const Trial* whole = nullptr;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    const bool is_alone = trial.setting.find_first_of("0123456789") == 0;
    if (trial.setting.ends_with("as it is")) whole = &trial;
    const Trial* const before = is_alone ? whole : i > 0 ? &trials[i - 1] : nullptr;
    if (before == nullptr || before == &trial || speed_of(*before) == 0) continue;
    const double factor = speed_of(trial) / speed_of(*before);
    (is_alone ? alone : factors).push_back(trial.setting + text::printed(" %.2f", factor));
  }
  const std::string of = is_timed(trials) ? "Speed" : "The ceiling (which ignores waiting)";
  std::string text;
  for (const auto& [to, these] :
       {std::pair(" relative to the row above, change by change: ", &factors),
        {" relative to the stage as it is: ", &alone}}) {
    if (these->empty()) continue;
    text += (text.empty() ? "" : " ") + of + to + joined(*these, ", ", ", ") + ".";
  }
  return text;
}

std::string shapes_shows(Trials all) {
  // Rows with one tile show what the shape does, and rows of one product what another tile does.
  const auto kernel = [](const Trial& trial) {
    return stage_of(trial) + "'s " + trial.row.variant->name;
  };
  const std::string with = kernel(all.front());
  std::vector<Trial> trials, others;
  for (const Trial& trial : all) (kernel(trial) == with ? trials : others).push_back(trial);
  const Trial &best = fastest(trials), &worst = slowest(trials);
  std::string text;
  if (same(speed_of(best), speed_of(worst))) {
    text = "All shapes fit " + with + " equally well, " + pace(best);
  } else {
    text = "With " + with + ", \"" + best.setting + "\" fits best, " + pace(best) + "; \"" +
           worst.setting + "\" reaches " +
           text::printed("%.1f %% of it", 100 * speed_of(worst) / speed_of(best));
    const report::Quantization q = *report::Known(worst.run, worst.row).quantization;
    constexpr double kMuch = 0.1;
    std::vector<std::string> reasons;
    if (q.wasted >= kMuch) {
      reasons.push_back(text::printed("%.0f %% of its tiles is outside C", 100 * q.wasted));
    }
    if (q.idle >= kMuch) {
      reasons.push_back(
          text::printed("the SMs have no block for %.0f %% of the time", 100 * q.idle));
    }
    text += reasons.empty() ? ", although its tiles and blocks fit evenly"
                            : ": " + joined(reasons, ", ", ", and ");
  }
  for (const Trial& other : others) {
    for (const Trial& trial : trials) {
      if (lab::product(trial.run) != lab::product(other.run)) continue;
      text += ". \"" + other.setting + "\" is the product \"" + trial.setting + "\" with " +
              kernel(other) + ", " + beside(other, trial) + " that one";
      break;
    }
  }
  return text + ".";
}

std::string occupancy_shows(Trials trials) {
  const Trial &first = trials.front(), &last = trials.back();
  const std::string walked =
      text::printed("from %.1f to %.1f %%", percent_of(first), percent_of(last));
  if (!is_timed(trials)) {
    const bool stays = same(speed_of(first), speed_of(last));
    return "Occupancy goes " + walked + " while the ceiling " +
           (stays ? "stays at " : "goes from " + text::significant(speed_of(first)) + " to ") +
           text::significant(speed_of(last)) +
           " TFLOP/s: it ignores waiting, so only a GPU can show what warps hide.";
  }
  constexpr double kNearly = 0.05;
  const double best = speed_of(fastest(trials));
  const Trial* least = nullptr;
  for (const Trial& trial : trials) {
    if (speed_of(trial) < (1 - kNearly) * best) continue;
    if (least == nullptr || percent_of(trial) < percent_of(*least)) least = &trial;
  }
  std::string text = text::printed(
      "%s needs %.1f %% occupancy: with that it is within %.0f %% of its best",
      stage_of(first).c_str(), percent_of(*least), 100 * kNearly);
  text[0] = 'S';
  if (least == &last) return text + "; less was not tried.";
  return text + ", and with " + text::printed("%.1f %% it is ", percent_of(last)) +
         beside(last, first) + text::printed(" with %.1f %%.", percent_of(first));
}

std::string conclusion(const Experiment& experiment, std::span<const Trial> trials) {
  const bool known = std::all_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return speed(trial).value_or(0) > 0;
  });
  if (trials.size() < 2) return "One row shows nothing: there is no other to compare it with.";
  if (!known) return "Nothing can be compared: not every row has a speed.";
  return experiment.conclusion(trials);
}

}  // namespace experiments
