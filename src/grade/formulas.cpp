#include "grade/formulas.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "grade/case.h"
#include "grade/complaint.h"
#include "text/numbers.h"

namespace grade {

namespace {

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// What a student's formula sees of a case.
Values given_in(const Case& c) {
  Values given = {{"M", c.shape.M}, {"N", c.shape.N}, {"K", c.shape.K}};
  for (const auto& [name, value] : c.measures) {
    if (std::isupper(static_cast<unsigned char>(name[0]))) given[name] = value;
  }
  return given;
}

// In one case alone, two formulas may be equal by chance.
bool same_in_all(const std::string& one, const std::string& other, std::span<const Case> cases) {
  try {
    return std::ranges::all_of(cases, [&](const Case& c) {
      const Values given = given_in(c);
      return same(value_of(one, given), value_of(other, given));
    });
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases,
    const std::string& counter) {
  for (const Question& question : questions) {
    const auto answer = answers.find(question.name);
    if (answer == answers.end()) {
      return Complaint{
          std::string("no answer yet to ") + question.name, question.asks,
          std::string("write: answer ") + question.name + ": your formula", Gravity::wrong};
    }
    for (const Case& c : cases) {
      const Values given = given_in(c);
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
          std::string(question.name) + " is not what " + counter + " counts (" +
              shape_text(c.shape) + ")",
          question.asks, "", Gravity::wrong};
      for (const auto& [formula, hint] : question.typical) {
        if (same_in_all(answer->second, formula, cases)) complaint.phase = hint;
      }
      std::string sizes;
      for (const auto& [name, size] : given) {
        if (name != "M" && name != "N" && name != "K")
          sizes += text::printed(", %s %g", name.c_str(), size);
      }
      complaint.place =
          "with " + shape_text(c.shape) + sizes +
          text::printed(
              ", your formula gives %.10g, and %s counts %.10g", value, counter.c_str(), truth);
      return complaint;
    }
  }
  return std::nullopt;
}

}  // namespace grade
