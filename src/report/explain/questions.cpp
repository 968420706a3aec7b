#include "report/explain/sections.h"

#include "report/explain/words.h"
#include "report/questions.h"
#include "text/numbers.h"

namespace report {

namespace {

std::vector<Part> questions_with(const Explained& explained, bool answered) {
  const auto& [run, row, style, whole, format] = explained;
  const std::vector<model::Question> asked = questions_of(run, row);
  if (asked.empty()) return {};
  std::string text = heading(
      answered ? "Questions and their answers"
               : "Questions (--section answers works them out with your numbers)",
      style);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    text += text::labelled(text::printed("  %zu", i + 1), 2 * kIndent, asked[i].text);
    if (!answered) continue;
    const std::string answer = answer_of(asked[i], run, row);
    if (!answer.empty()) text += verdict("Answer: " + answer + ".");
    text += verdict(asked[i].because);
  }
  return {{text}};
}

}  // namespace

std::vector<Part> explain_questions(const Explained& explained) {
  return questions_with(explained, false);
}

std::vector<Part> explain_answers(const Explained& explained) {
  return questions_with(explained, true);
}

}  // namespace report
