// --gpus: a product on several devices, with the times of one GPU and of cuBLASXt for comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/problem.h"
#include "model/error.h"
#include "model/stage.h"

namespace cluster {

// Whether these flags ask for it: with --gpus, under mpirun, or because A, B and C together do not
// fit into the GPU's memory, so that they have to pass through it.
bool is_wanted(const flags::Flags& flags);

// `ladder` comes before it, in this process, if it would not take many minutes. `own` is the table
// whose kernels run on the GPU, and `plain` the one for the CPU. Returns 1 if a result failed its
// check or a count is not the formula's, else 0, or what `ladder` returned. Throws a Refusal for a
// request that cannot be met, or if some process that mpirun started has other flags.
int run(
    const flags::Flags& flags, const model::StageTable& own, const model::StageTable& plain,
    const std::string& command, const std::function<int()>& ladder);

// Random rows of C, in order: all if their check takes at most a few seconds.
std::vector<int> rows_to_check(lab::ProblemSize size, std::uint64_t seed);
lab::Floats rows_of(const lab::Floats& matrix, const std::vector<int>& rows, std::int64_t columns);
// Compares these rows of the problem's C, which the product has changed, with fp64, as the ladder
// compares all. They were `before`, if beta is not 0.
model::Error check_rows(
    lab::Problem& problem, const std::vector<int>& rows, lab::Floats before,
    model::Precision precision);

// Ends the other processes that mpirun started, if there are any.
void end_others(int exit_code);

}  // namespace cluster
