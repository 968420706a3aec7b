// What the page asks its readers to predict of a traced stage, as JSON.
#pragma once

#include <string>

#include "lab/run.h"

namespace page {

// The counts and the questions of the row's stage with their values, and the names that a formula
// may use. The members are read by src/page/predict.js.
std::string prediction_data(const lab::Run& run, const lab::Row& row);

}  // namespace page
