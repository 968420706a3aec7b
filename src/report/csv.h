// Facts as CSV (RFC 4180).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lab/run.h"
#include "report/facts.h"

namespace report {

// print_json's facts about each row, a line a row, after a line of names.
void print_csv(std::FILE* out, const lab::Run& run);

// A line with its CRLF: the paths, or the values.
std::string csv_names(const std::vector<Fact>& facts);
std::string csv_values(const std::vector<Fact>& facts);

}  // namespace report
