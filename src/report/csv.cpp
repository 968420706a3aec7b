#include "report/csv.h"

namespace report {

namespace {

// RFC 4180: a field with a comma, a quote or a line break stands in quotes, and its quotes twice.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped = "\"";
  for (char c : text) {
    if (c == '"') escaped += '"';
    escaped += c;
  }
  return escaped + '"';
}

template <class TextOf>
std::string line(const std::vector<Fact>& facts, TextOf text_of) {
  std::string text;
  for (const Fact& fact : facts) {
    if (&fact != facts.data()) text += ',';
    text += text_of(fact);
  }
  return text + "\r\n";
}

}  // namespace

std::string csv_names(const std::vector<Fact>& facts) {
  return line(facts, [](const Fact& fact) { return field(fact.path); });
}

std::string csv_values(const std::vector<Fact>& facts) {
  return line(facts, [](const Fact& fact) { return field(fact.value.written); });
}

void print_csv(std::FILE* out, const lab::Run& run) {
  const std::vector<Fact> about_run = run_facts(run);
  const auto facts_of = [&](const lab::Row& row) {
    std::vector<Fact> facts = stage_facts(run, row);
    facts.insert(facts.end(), about_run.begin(), about_run.end());
    return facts;
  };
  std::string text = csv_names(facts_of(lab::Row{}));
  for (const lab::Row& row : run.rows) text += csv_values(facts_of(row));
  std::fputs(text.c_str(), out);
}

}  // namespace report
