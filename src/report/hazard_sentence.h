// Hazards in words.
#pragma once

#include <string>

#include "report/report.h"

// One sentence: what, where (lines, block, threads, byte), and what usually mends it.
std::string hazard_sentence(const Hazard& hazard, const Run& run, const Row& row);
