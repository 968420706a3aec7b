#include "page/predictions.h"

#include "report/predicted.h"
#include "text/json.h"
#include "text/numbers.h"

namespace page {

std::string prediction_data(const lab::Run& run, const lab::Row& row) {
  std::string names, asked;
  for (const model::Named& named : report::formula_names(run, row)) {
    names += (names.empty() ? "" : ",") + text::json_string(named.name) + ":" +
             text::shortest(named.value);
  }
  // [question, value, answer, reason]
  const auto ask = [&](const std::string& question, double value, const std::string& answer,
                       const std::string& reason) {
    asked += (asked.empty() ? "[" : ",[") + text::json_string(question) + "," +
             text::shortest(value) + "," + text::json_string(answer) + "," +
             text::json_string(reason) + "]";
  };
  for (const report::AskedCount& count : report::asked_counts(row)) {
    ask(count.what, count.value, text::exact(count.value), "");
  }
  for (const model::Question& question : report::questions_of(run, row)) {
    const std::optional<double> value = report::value_of(question, run, row);
    if (!value) continue;
    ask(question.text, *value, report::answer_of(question, run, row), question.because);
  }
  return "{\"gpu\":" + text::json_string(run.gpu.name) + ",\"names\":{" + names + "},\"asked\":[" +
         asked + "]}";
}

}  // namespace page
