#include "experiments/print.h"

#include <algorithm>

#include "experiments/figures.h"
#include "lab/rates.h"
#include "report/facts.h"
#include "report/words.h"
#include "text/echoed.h"
#include "text/numbers.h"
#include "text/terminal.h"

namespace experiments {

namespace {

bool is_shown(const Column& column, std::span<const Trial> trials) {
  return !column.needs_gpu || is_timed(trials);
}

// The order for the table. A conclusion uses the order of the launches.
std::vector<const Trial*> in_order(const Experiment& experiment, std::span<const Trial> trials) {
  std::vector<const Trial*> sorted;
  for (const Trial& trial : trials) sorted.push_back(&trial);
  if (experiment.best_first) {
    std::stable_sort(sorted.begin(), sorted.end(), [](const Trial* a, const Trial* b) {
      return speed(*a).value_or(0) > speed(*b).value_or(0);
    });
  }
  return sorted;
}

bool all_of_one_problem(std::span<const Trial> trials) {
  return std::all_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    const lab::Run& a = trial.run;
    const lab::Run& b = trials.front().run;
    return a.M == b.M && a.N == b.N && a.K == b.K;
  });
}

std::string about(
    const Experiment& experiment, const lab::Run& run, std::span<const Trial> trials) {
  constexpr int kTerm = 11;
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  std::string text = text::labelled("experiment", kTerm, experiment.name) +
                     text::labelled("question", kTerm, experiment.question);
  if (!trials.empty() && all_of_one_problem(trials)) {
    text += text::labelled(
        "problem", kTerm,
        lab::product(trials.front().run) + text::printed(", fp32, seed %llu", run.seed));
  }
  text += text::labelled(
      "GPU", kTerm,
      gpu.name + text::printed(", %d SMs, cc %d.%d", gpu.sms, cc / 10, cc % 10) +
          (run.gpu_present ? ""
                           : ": not present, so some blocks are traced on the CPU and "
                             "nothing is timed"));
  if (run.gpu_present) {
    text += text::labelled("driver", kTerm, run.driver) +
            text::labelled(
                "run", kTerm, run.date + ", " + text::echoed(run.command, 2 * text::kReportWidth));
    std::vector<lab::Row> rows;
    for (const Trial& trial : trials) rows.push_back(trial.row);
    text += report::clocks_line(rows, kTerm);
  }
  return text;
}

using Cells = std::vector<std::string>;

// The setting, and the columns from `first` to before `last`.
std::string line(
    const Cells& cells, const std::vector<int>& widths, std::size_t first, std::size_t last) {
  std::string text = text::pad_right(cells[0], widths[0]);
  for (std::size_t i = first; i < last; ++i) text += " " + text::pad_left(cells[i], widths[i]);
  return text::without_trailing_spaces(text);
}

// As many columns from `first` on as fit beside the setting, one at least.
std::size_t last_that_fits(const std::vector<int>& widths, std::size_t first) {
  int width = widths[0];
  std::size_t last = first;
  while (last < widths.size() &&
         (last == first || width + 1 + widths[last] <= text::report_width())) {
    width += 1 + widths[last++];
  }
  return last;
}

std::string as_table(
    const Experiment& experiment, std::span<const Trial> trials, text::Style style) {
  std::vector<Cells> lines = {{""}, {experiment.setting}};
  std::vector<const Column*> columns;
  for (const Column* column : experiment.columns) {
    if (!is_shown(*column, trials)) continue;
    columns.push_back(column);
    for (int i : {0, 1}) lines[i].push_back(column->headings[i]);
  }
  for (const Trial* trial : in_order(experiment, trials)) {
    lines.push_back({trial->setting});
    for (const Column* column : columns) lines.back().push_back(column->text(*trial));
  }
  std::vector<int> widths(lines[0].size());
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], text::display_width(cells[i]));
    }
  }
  // Where the terminal is too narrow, the other columns stand below.
  std::string text;
  for (std::size_t first = 1, last; first < widths.size(); first = last) {
    last = last_that_fits(widths, first);
    if (first > 1) text += "\n";
    for (const Cells& cells : lines) {
      const bool heading = &cells - lines.data() < 2;
      const std::string written = line(cells, widths, first, last);
      text += (heading ? text::coloured(written, text::Colour::bold, style) : written) + "\n";
    }
  }
  return text;
}

std::string legend(const Experiment& experiment, std::span<const Trial> trials) {
  constexpr int kTerm = 9;
  std::string text;
  if (experiment.note) text += text::labelled(experiment.setting, kTerm, experiment.note);
  for (const Column* column : experiment.columns) {
    if (!column->legend || !is_shown(*column, trials)) continue;
    const std::string term = *column->headings[0] ? column->headings[0] : column->headings[1];
    text += text::labelled(text::shortened(term, kTerm - 1), kTerm, column->legend);
  }
  return text;
}

std::vector<report::Fact> facts_of(const Experiment& experiment, const Trial& trial) {
  std::vector<report::Fact> facts = {
      {"setting", trial.setting}, {"M", trial.run.M}, {"N", trial.run.N}, {"K", trial.run.K}};
  for (const Column* column : experiment.columns) {
    if (column->fact)
      facts.push_back({std::string("figures.") + column->fact, column->value(trial)});
  }
  for (report::Fact& fact : report::stage_facts(trial.run, trial.row))
    facts.push_back(std::move(fact));
  return facts;
}

}  // namespace

void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& run,
    std::span<const Trial> trials, report::Format format, text::Style style) {
  std::string text;
  if (format == report::Format::table) {
    text = about(experiment, run, trials) + "\n" + as_table(experiment, trials, style) + "\n" +
           legend(experiment, trials) + "\n";
    for (const std::string& words :
         text::wrapped(conclusion(experiment, trials), text::report_width())) {
      text += text::coloured(words, text::Colour::bold, style) + "\n";
    }
  } else {
    std::vector<std::vector<report::Fact>> all;
    for (const Trial* trial : in_order(experiment, trials)) {
      all.push_back(facts_of(experiment, *trial));
    }
    if (format == report::Format::json) {
      std::vector<report::Fact> facts = {
          {"experiment", experiment.name}, {"question", experiment.question}};
      for (report::Fact& fact : report::run_facts(run)) {
        if (!fact.path.starts_with("problem.")) facts.push_back(std::move(fact));
      }
      facts.push_back({"alpha", double{run.alpha}});
      facts.push_back({"beta", double{run.beta}});
      facts.push_back({"seed", std::uint64_t{run.seed}});
      text = "{\n  " + report::json_members(facts) + ",\n" + report::json_array("trials", all) +
             ",\n  " + report::json_members({{"conclusion", conclusion(experiment, trials)}}) +
             "\n}\n";
    } else {
      for (const std::vector<report::Fact>& facts : all) {
        if (&facts == all.data()) text += report::csv_names(facts);
        text += report::csv_values(facts);
      }
    }
  }
  std::fputs(text.c_str(), out);
}

void print_experiments(std::FILE* out, report::Format format) {
  constexpr int kTerm = 14;
  std::string text;
  std::vector<std::vector<report::Fact>> all;
  for (const Experiment& experiment : experiments()) {
    text += text::labelled(experiment.name, kTerm, experiment.question);
    all.push_back({{"experiment", experiment.name}, {"question", experiment.question}});
  }
  if (format == report::Format::json) {
    text = "{\n" + report::json_array("experiments", all) + "\n}\n";
  } else if (format == report::Format::csv) {
    text = report::csv_names(all.front());
    for (const std::vector<report::Fact>& facts : all) text += report::csv_values(facts);
  }
  std::fputs(text.c_str(), out);
}

}  // namespace experiments
