// The main program's parts besides the ladder.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "flags/flags.h"
#include "lab/run.h"
#include "model/stage.h"
#include "text/numbers.h"

namespace cli {

// The requests of flags besides the ladder: steps, pictures, the page, an experiment, or several
// GPUs, before which the ladder may run. Returns its exit code; nothing if the ladder alone is
// asked for. build/ladder, which `make run` builds first, has only_ladder.cpp in place of
// others.cpp.
std::optional<int> run_other(
    const flags::Flags& flags, const std::string& command, const model::StageTable& own,
    const std::function<int()>& ladder);
// The contents of ncu's CSV, if there is to be one. Throws a Refusal if it cannot be read.
std::string ncu_counts(const flags::Flags& flags);
// The run as what is not a table, or ncu's counts beside its own. Returns whether these agree.
bool print_other(
    const flags::Flags& flags, const lab::Run& run, text::Style style, const std::string& ncu_csv);
// Ends the other processes of a product that several share.
void end_others(int exit_code);

}  // namespace cli
