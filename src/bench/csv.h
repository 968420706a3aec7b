// Reads CSV (RFC 4180).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// A line after the first, whose words are the names.
using CsvRow = std::map<std::string, std::string, std::less<>>;

// Throws std::invalid_argument, with a sentence, if a line has more or fewer fields than the first.
std::vector<CsvRow> read_csv(std::string_view text);

}  // namespace bench
