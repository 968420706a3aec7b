#include "school/grade/verdict.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "school/grade/case.h"
#include "school/grade/complaint.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace grade {

namespace {

constexpr int kWidth = 80;  // columns of a terminal

// A row of the table: its name, and a cell for every case.
struct VerdictRow {
  std::string name;
  std::vector<std::string> cells;
};

std::vector<VerdictRow> rows_of(std::span<const Case> cases) {
  std::vector<VerdictRow> rows;
  const auto row = [&](const std::string& name, const auto& cell) {
    rows.push_back({name, {}});
    for (const Case& c : cases) rows.back().cells.push_back(cell(c));
  };
  const bool sum = exercise.product.sum_of_vectors;
  row(sum ? "n" : "M x N x K", [&](const Case& c) {
    return sum ? std::to_string(c.shape.N)
               : text::printed("%d x %d x %d", c.shape.M, c.shape.N, c.shape.K);
  });
  if (exercise.targets.empty())
    return rows;  // the answer is formulas: the kernel is not the student's
  row("result", [](const Case& c) { return std::string(c.right() ? "right" : "wrong"); });
  row("hazards", [](const Case& c) {
    if (reaches_outside(c)) return std::string("outside");
    return c.hazards == 0 ? std::string("none") : std::to_string(c.hazards);
  });
  for (const Target& target : exercise.targets) {
    row(std::string(target.name) + (target.per_result ? " per result" : ""), [&](const Case& c) {
      if (!c.counted()) return std::string("-");
      const double per = target.per_result ? c.measures.at("results") : 1;
      const double total = value_of(target.total, c.measures) / per;
      const double most = value_of(target.at_most, c.measures) / per;
      const bool missed = std::ranges::find(c.missed, &target) != c.missed.end();
      const char* compared = !missed ? target.exactly ? "=" : "<=" : total < most ? "<" : ">";
      return target.per_result ? text::printed("%.4g %s %.4g", total, compared, most)
                               : text::printed("%.6g %s %.6g", total, compared, most);
    });
  }
  return rows;
}

// A column for every case: several tables, one below the other, if not all columns fit beside each
// other.
std::string table_of(std::span<const Case> cases) {
  if (cases.empty()) return "";
  const std::vector<VerdictRow> rows = rows_of(cases);
  std::size_t name = 0, cell = 0;
  for (const VerdictRow& row : rows) {
    name = std::max(name, row.name.size());
    for (const std::string& text : row.cells) cell = std::max(cell, text.size());
  }
  const std::size_t fit = std::max<std::size_t>(1, (kWidth - name) / (cell + 2));
  const std::size_t tables = (cases.size() + fit - 1) / fit;
  const std::size_t across = (cases.size() + tables - 1) / tables;
  std::string table;
  for (std::size_t first = 0; first < cases.size(); first += across) {
    table += "\n";
    for (const VerdictRow& row : rows) {
      table += text::pad_right(row.name, static_cast<int>(name));
      for (std::size_t i = first; i < std::min(first + across, cases.size()); ++i) {
        table += text::pad_left(row.cells[i], static_cast<int>(cell + 2));
      }
      table += "\n";
    }
  }
  return table;
}

std::string facts_of(std::span<const Case> finished, std::size_t all, bool passed) {
  if (all == 0) return std::string("\n\n") + (passed ? "yes" : "no") + "\n";
  const bool complete = finished.size() == all;
  bool right = complete, hazardous = false, missed = false;
  for (const Case& c : finished) {
    right = right && c.right() && !c.fence_touched;
    hazardous = hazardous || c.hazards > 0 || reaches_outside(c);
    missed = missed || !c.missed.empty();
  }
  // A kernel that does nothing has no hazard, and is below every target.
  const char* harmless = !right ? "" : hazardous ? "no" : "yes";
  const char* on_target = !right ? "" : passed || (hazardous && !missed) ? "yes" : "no";
  return std::string(right ? "yes" : "no") + "\n" + harmless + "\n" + on_target + "\n";
}

// Three lines, each "yes", "no" or nothing.
bool are_facts(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const std::string_view word = text.substr(0, text.find('\n'));
    if (word.size() == text.size() || (word != "yes" && word != "no" && word != "")) return false;
    text.remove_prefix(word.size() + 1);
  }
  return text.empty();
}

}  // namespace

void keep_gravest(std::optional<Complaint>& kept, const std::optional<Complaint>& more) {
  if (more && (!kept || more->gravity < kept->gravity)) kept = more;
}

Verdict verdict_on(
    const Submission& submission, std::size_t all, const std::optional<Complaint>& of_kernel) {
  Verdict verdict;
  verdict.finished = submission.cases.size();
  // Before any report about the kernel.
  if (exercise.check_answers) verdict.complaint = exercise.check_answers(submission);
  if (verdict.complaint) {
    verdict.complaint->gravity = Gravity::outside;  // nothing about the kernel is more serious
  } else {
    verdict.table = table_of(submission.cases);
    verdict.complaint = of_kernel;
    if (!verdict.complaint && verdict.finished == all) {
      verdict.complaint =
          complaint_about(exercise.questions, submission.answers, submission.cases, "the trace");
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
       verdict.complaint ? std::to_string(static_cast<int>(complaint.gravity)) : "",
       complaint.symptom, complaint.phase, complaint.place});
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
  constexpr std::size_t kMostBytes = 1 << 18;  // nobody would read more
  if (texts.size() != 8 || text.size() > kMostBytes || !finished || !are_facts(texts[3])) {
    return std::nullopt;
  }
  Verdict verdict{
      *finished, text::printable(texts[1], true), text::printable(texts[2], true), {}, texts[3]};
  if (!texts[4].empty()) {
    const std::optional<std::size_t> gravity = number_in(texts, 4);
    if (!gravity || *gravity > static_cast<std::size_t>(Gravity::count)) return std::nullopt;
    verdict.complaint = Complaint{
        text::printable(texts[5]), text::printable(texts[6], true), text::printable(texts[7], true),
        static_cast<Gravity>(*gravity)};
  }
  return verdict;
}

}  // namespace grade
