#include "bench/csv.h"

#include <stdexcept>

#include "text/numbers.h"

namespace bench {

namespace {

// The fields of the next line, which is taken away. A quoted field may have line breaks.
std::vector<std::string> next_fields(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char sign = text[at];
    const bool twice = quoted && sign == '"' && text.substr(at + 1).starts_with('"');
    if (twice) {
      fields.back() += text[++at];
    } else if (sign == '"') {
      quoted = !quoted;
    } else if (sign == ',' && !quoted) {
      fields.emplace_back();
    } else if (sign == '\n' && !quoted) {
      break;
    } else if (sign != '\r' || quoted) {
      fields.back() += sign;
    }
  }
  text.remove_prefix(at == text.size() ? at : at + 1);
  return fields;
}

}  // namespace

std::vector<CsvRow> read_csv(std::string_view text) {
  const std::vector<std::string> names = next_fields(text);
  std::vector<CsvRow> rows;
  for (int line = 2; !text.empty(); ++line) {
    std::vector<std::string> fields = next_fields(text);
    if (fields.size() != names.size()) {
      throw std::invalid_argument(text::printed(
          "line %d has %zu fields, and the first line %zu; give a file that make bench "
          "FORMAT=csv wrote",
          line, fields.size(), names.size()));
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = std::move(fields[i]);
  }
  return rows;
}

}  // namespace bench
