// Facts as JSON.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lab/run.h"
#include "report/facts.h"

namespace report {

// One object: problem, gpu, stages[], yardsticks[]. What is not known is null, never left out.
void print_json(std::FILE* out, const lab::Run& run);
std::string json_text(const lab::Run& run);

// The members of the outermost object, without its braces.
std::string json_members(const std::vector<Fact>& facts);

// "name": [ {...}, ... ], indented as a member of the outermost object.
std::string json_array(const std::string& name, const std::vector<std::vector<Fact>>& objects);

}  // namespace report
