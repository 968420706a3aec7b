// What is wrong with a result, in one sentence.
#pragma once

#include <string>

#include "model/error.h"

namespace report {

// "NAME is wrong: row 3, column 5 is 1.5, but should be 2". `error` has a first wrong element.
std::string wrong_sentence(const std::string& name, const model::Error& error);

}  // namespace report
