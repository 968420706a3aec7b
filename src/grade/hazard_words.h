// Hazards as a student is told of them, before any line or thread is named.
#pragma once

#include <string>

#include "model/counts.h"

namespace grade {

const char* symptom_of(model::HazardKind kind);

std::string phase_of(const model::Hazard& hazard);

}  // namespace grade
