#include "grade/verdict.h"

#include <algorithm>
#include <charconv>
#include <regex>

#include "grade/case.h"
#include "grade/complaint.h"
#include "text/numbers.h"
#include "text/printable.h"

namespace grade {

namespace {

// A column for every shape, so that any number of targets fits.
std::string table_of(std::span<const Case> cases) {
  constexpr std::size_t kColumns = 4;
  if (cases.empty()) return "";
  if (cases.size() > kColumns) {
    return table_of(cases.first(kColumns)) + table_of(cases.subspan(kColumns));
  }
  std::string table = "\n";
  const auto line = [&](const std::string& name, const auto& text_of_case) {
    table += text::printed("%-27s", name.c_str());
    for (const Case& c : cases) table += text::printed(" %17s", text_of_case(c).c_str());
    table += "\n";
  };
  line("M x N x K", [](const Case& c) {
    return text::printed("%d x %d x %d", c.shape.M, c.shape.N, c.shape.K);
  });
  line("result", [](const Case& c) { return std::string(c.right() ? "right" : "wrong"); });
  line("hazards", [](const Case& c) {
    return c.hazards == 0 ? "none" : text::printed("%zu", c.hazards);
  });
  for (const Target& target : exercise.targets) {
    line(std::string(target.name) + (target.per_result ? "/result" : ""), [&](const Case& c) {
      const double per = target.per_result ? c.measures.at("results") : 1;
      const double total = value_of(target.total, c.measures) / per;
      const double most = value_of(target.at_most, c.measures) / per;
      const bool missed = std::find(c.missed.begin(), c.missed.end(), &target) != c.missed.end();
      const char* compared = !missed ? target.exactly ? "=" : "<=" : total < most ? "<" : ">";
      return target.per_result ? text::printed("%.4g %s %.4g", total, compared, most)
                               : text::printed("%.6g %s %.6g", total, compared, most);
    });
  }
  return table;
}

std::string facts_of(std::span<const Case> finished, std::size_t all, bool passed) {
  if (all == 0) return std::string("\n\n") + (passed ? "yes" : "no") + "\n";
  const bool complete = finished.size() == all;
  bool right = complete, hazardous = false, missed = false;
  for (const Case& c : finished) {
    right = right && c.right() && !c.fence_touched;
    hazardous = hazardous || c.hazards > 0;
    for (const model::LineCounts& line : c.row.counts->lines) {
      hazardous = hazardous || line.array.starts_with(kOutside);
    }
    missed = missed || !c.missed.empty();
  }
  // A kernel that does nothing has no hazard, and is below every target.
  const char* harmless = !right ? "" : hazardous ? "no" : "yes";
  const char* on_target = !right ? "" : passed || (hazardous && !missed) ? "yes" : "no";
  return std::string(right ? "yes" : "no") + "\n" + harmless + "\n" + on_target + "\n";
}

bool are_facts(const std::string& text) {
  static const std::regex facts("((yes|no|)\n){3}");
  return std::regex_match(text, facts);
}

}  // namespace

Verdict verdict_on(
    const Submission& submission, std::size_t all, const std::optional<Complaint>& of_kernel) {
  Verdict verdict;
  verdict.finished = submission.cases.size();
  // Before a word is said of the kernel.
  if (exercise.check_answers) verdict.complaint = exercise.check_answers(submission);
  if (!verdict.complaint) {
    verdict.table = table_of(submission.cases);
    verdict.complaint = of_kernel;
    if (!verdict.complaint && verdict.finished == all) {
      verdict.complaint = complaint_about(exercise.questions, submission.answers, submission.cases);
      if (!verdict.complaint && exercise.score) verdict.score = "\n" + exercise.score(submission);
      if (!verdict.complaint && exercise.check) verdict.complaint = exercise.check(submission);
    }
  }
  verdict.facts = facts_of(submission.cases, all, !verdict.complaint);
  return verdict;
}

std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + '\0';
  return all;
}

std::vector<std::string> unpacked(const std::string& text) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0, end; (end = text.find('\0', begin)) != text.npos; begin = end + 1) {
    texts.push_back(text.substr(begin, end - begin));
  }
  return texts;
}

std::string packed(const Verdict& verdict) {
  const Complaint none, &complaint = verdict.complaint ? *verdict.complaint : none;
  return packed(
      {std::to_string(verdict.finished), verdict.table, verdict.score, verdict.facts,
       verdict.complaint ? "fails" : "", complaint.symptom, complaint.phase, complaint.place});
}

std::optional<std::size_t> number_in(const std::vector<std::string>& texts, std::size_t at) {
  if (at >= texts.size()) return std::nullopt;
  const std::string& text = texts[at];
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Verdict> unpacked_verdict(const std::string& text) {
  const std::vector<std::string> texts = unpacked(text);
  const std::optional<std::size_t> finished = number_in(texts, 0);
  constexpr std::size_t kMostBytes = 1 << 18;  // more is nothing to be read by anybody
  if (texts.size() != 8 || text.size() > kMostBytes || !finished || !are_facts(texts[3])) {
    return std::nullopt;
  }
  Verdict verdict{
      *finished, text::printable(texts[1], true), text::printable(texts[2], true), {}, texts[3]};
  if (!texts[4].empty()) {
    verdict.complaint =
        Complaint{text::printable(texts[5]), text::printable(texts[6]), text::printable(texts[7])};
  }
  return verdict;
}

}  // namespace grade
