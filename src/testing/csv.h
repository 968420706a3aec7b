// Reads the CSV files of measured counts.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace testing {

// The lines of a CSV file after its header, split at commas, each with `columns` fields.
inline std::vector<std::vector<std::string>> read_csv(
    const std::string& path, std::size_t columns) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    REQUIRE(row.size() == columns);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace testing
