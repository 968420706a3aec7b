#include "grade/formulas.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "grade/case.h"
#include "grade/complaint.h"
#include "text/numbers.h"

namespace grade {

std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases) {
  for (const Question& question : questions) {
    const auto answer = answers.find(question.name);
    if (answer == answers.end()) {
      return Complaint{
          std::string("no answer yet to ") + question.name, question.asks,
          std::string("write: answer ") + question.name + ": your formula", Gravity::wrong};
    }
    for (const Case& c : cases) {
      Values given = {{"M", c.shape.M}, {"N", c.shape.N}, {"K", c.shape.K}};
      for (const auto& [name, value] : c.measures) {
        if (std::isupper(static_cast<unsigned char>(name[0]))) given[name] = value;
      }
      const auto same = [](double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
      };
      const double truth = value_of(question.truth, c.measures);
      double value = 0;
      try {
        value = value_of(answer->second, given);
      } catch (const std::invalid_argument& error) {
        std::string names;
        for (const auto& [name, unused] : given) names += " " + name;
        return Complaint{
            std::string(question.name) + " cannot be evaluated", error.what(),
            "it may use these names:" + names, Gravity::wrong};
      }
      if (same(value, truth)) continue;
      Complaint complaint{
          std::string(question.name) + " is not what the trace counts (" + shape_text(c.shape) +
              ")",
          question.asks, "", Gravity::wrong};
      for (const auto& [formula, hint] : question.typical) {
        if (same(value, value_of(formula, given))) complaint.phase = hint;
      }
      std::string sizes;
      for (const auto& [name, size] : given) {
        if (name.size() > 1) sizes += text::printed(", %s %g", name.c_str(), size);
      }
      complaint.place =
          "with " + shape_text(c.shape) + sizes +
          text::printed(", your formula gives %.10g, and the trace counts %.10g", value, truth);
      return complaint;
    }
  }
  return std::nullopt;
}

}  // namespace grade
