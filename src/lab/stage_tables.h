// The copies of gemm_steps.cu for the CPU: one with the tracer's hooks and one without (Makefile).
#pragma once

#include "model/stage.h"

extern const model::StageTable stage_table_traced;
extern const model::StageTable stage_table_plain;
