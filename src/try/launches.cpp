#include "try/launches.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cuda/headers/driver_types.h"
#include "host/kernels.h"
#include "host/order.h"
#include "machine/fault.h"
#include "machine/launch_limits.h"
#include "machine/symbols.h"
#include "model/refusal.h"
#include "trace/source_lines.h"
#include "trace/trace.h"
#include "try/main_call.h"

namespace attempt {
namespace {

// A GPU refuses more dynamic shared memory than a program has asked for.
void require_opt_in(const machine::ProgramLaunch& launch) {
  const std::size_t most = host::most_dynamic_shared_bytes(launch.kernel);
  if (launch.shared_bytes <= most) return;
  const std::string name = machine::function_name(launch.kernel);
  throw machine::LaunchRefusal(
      name + ": " + std::to_string(launch.shared_bytes) +
          " bytes of dynamic shared memory are more than " + std::to_string(most) +
          "; ask for them first: cudaFuncSetAttribute(" + name +
          ", cudaFuncAttributeMaxDynamicSharedMemorySize, " + std::to_string(launch.shared_bytes) +
          ")",
      cudaErrorInvalidValue);
}

}  // namespace

Launches::Launches(machine::Machine machine, int most_traced, double limit_s)
    : machine_(std::move(machine)),
      most_traced_(most_traced),
      whole_time_(static_cast<long>(limit_s * 1000 / 2)) {
  machine_.no_blocks_after = std::chrono::steady_clock::now() + whole_time_;
}

bool Launches::is_late() const {
  return std::chrono::steady_clock::now() > *machine_.no_blocks_after;
}

void Launches::launch(const machine::ProgramLaunch& launch) {
  ++made;
  try {
    const OutsideMain outside;  // for the paths of source files
    require_opt_in(launch);
    const void* kernel = machine::traced_twin(launch.kernel);
    if (kernel == nullptr) {
      throw model::Refusal(
          machine::function_name(launch.kernel) + ": the traced copy of this kernel is missing");
    }
    trace(launch, kernel);
  } catch (const machine::LaunchRefusal& refusal) {
    simt::set_launch_error(refusal.error);
    add_note(refusal.what());
  } catch (const machine::KernelFault&) {
    if (any_cut_short) {
      note_doubt(launch.kernel);
    } else {
      failure = std::current_exception();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  machine::traced_kernel = {};  // also if the kernel did not end
  if (stopped()) leave_main(1);
}

// Printed at once, because the program may crash on incomplete data.
void Launches::note_lateness() {
  if (std::exchange(any_cut_short, true)) return;
  const double whole_s = std::chrono::duration<double>(whole_time_).count();
  std::fprintf(
      stderr,
      "try: note: after %g s, half of --limit, only blocks to be traced ran, and what the program "
      "computed since then is wrong; more time, or a smaller problem, lets all of them run: "
      "--limit "
      "%g\n",
      whole_s, whole_s * 10);
}

void Launches::add_note(const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

// Earlier launches have left out results, which may be why this one fails.
void Launches::note_doubt(const void* kernel) {
  add_note(
      machine::function_name(kernel) +
      ": has a hazard after that time, which incomplete data may have caused");
}

void Launches::trace(const machine::ProgramLaunch& launch, const void* kernel) {
  int& launches = launches_[kernel];
  machine::Machine machine = machine_;
  const auto run_with = [&launch](const void* function, void (*thread)(void*)) {
    return [&launch, function, thread] {
      simt::run_grid(
          function, launch.grid, launch.block, static_cast<int>(launch.shared_bytes), thread,
          launch.context, launch.context_bytes);
    };
  };
  bool is_whole = false;
  const host::Operation operation = host::begin_operation();
  std::vector<machine::Touched> touched;
  // A launch that is not counted is watched if other work may run at the same time. That takes a
  // part of the time.
  const bool counted = launches < most_traced_;
  const bool watches = !counted && machine.hazards && host::may_conflict(operation) && !is_late() &&
                       watching_ < whole_time_ / 4;
  if (counted || watches) {
    const auto* thread = machine::traced_twin(reinterpret_cast<const void*>(launch.thread));
    if (thread == nullptr) {
      throw model::Refusal(
          machine::function_name(kernel) + ": the traced copy of its launch is missing");
    }
    if (launches > 0) machine.audit = nullptr;
    if (watches) machine.recorder = nullptr;
    machine.touched = [&](std::vector<machine::Touched> all) { touched = std::move(all); };
    const auto begin = std::chrono::steady_clock::now();
    machine.launched = [&](const machine::Launch& run, model::Counts counts) {
      if (any_cut_short && !counts.hazards.empty()) {
        note_doubt(kernel);
        counts.hazards.clear();
      }
      is_whole = counts.blocks_traced == counts.blocks;
      if (watches) {
        for (const model::Hazard& hazard : counts.hazards) kernels.add_hazard(kernel, hazard);
        return;
      }
      kernels.add_launch(run, counts, 0, 0);
      if (machine.audit != nullptr) {
        trace::resolve_lines(*machine.audit, trace::kernel_lines(run.kernel));
      }
    };
    // A kernel that is traced late gets some time, too.
    machine.cut_blocks_after =
        std::max(*machine.no_blocks_after, std::chrono::steady_clock::now() + whole_time_ / 8);
    machine::traced_kernel = {launch.kernel, kernel};
    trace::trace(
        machine, {},
        run_with(kernel, reinterpret_cast<void (*)(void*)>(const_cast<void*>(thread))));
    ++launches;
    if (std::chrono::steady_clock::now() > *machine.cut_blocks_after) {
      note_lateness();
      add_note(
          machine::function_name(kernel) +
          ": only the beginning of its blocks was traced, so the counts per thread are too small");
    }
    if (watches) watching_ += std::chrono::steady_clock::now() - begin;
    host::end_operation(operation, machine::function_name(kernel), std::move(touched));
    if (traced && counted) traced();
    machine.recorder = nullptr;
    machine.audit = nullptr;
    machine.blocks = machine::Blocks::kAllButSample;
  } else {
    machine.recorder = nullptr;
    machine.audit = nullptr;
    machine.blocks = machine::Blocks::kAll;
    ++launches;
  }
  if (is_whole || kernels.any_abandoned()) return;
  machine.launched = {};
  if (!is_late()) {
    const auto run_launch = run_with(launch.kernel, launch.thread);
    for (const model::Hazard& hazard : machine::run(machine, run_launch)) {
      kernels.add_hazard(kernel, hazard);
    }
  }
  if (is_late()) note_lateness();
}

int Launches::launches_of(const void* kernel) const {
  const auto found = launches_.find(kernel);
  return found == launches_.end() ? 0 : found->second;
}

}  // namespace attempt
