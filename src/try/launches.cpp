#include "try/launches.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lab/device.h"
#include "lab/measure.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "show/report/words.h"
#include "simulator/programs.h"
#include "text/numbers.h"
#include "try/guarded_kernel.h"
#include "try/options.h"
#include "try/print.h"
#include "try/users_problem.h"

namespace attempt {

void Kernels::add_launch(
    const machine::RequestedLaunch& launch, const model::Counts& counts, int M, int N) {
  for (Entry& entry : entries) {
    if (entry.row.launch->kernel != launch.kernel) continue;
    model::add(*entry.row.counts, counts);
    entry.row.counts->blocks += counts.blocks;
    ++entry.row.launch->launches;
    return;
  }
  Entry& entry = entries.emplace_back();
  entry.row.name = machine::function_name(launch.kernel);
  entry.row.counts = counts;
  entry.row.launch = lab::LaunchShape{launch};
  entry.row.variant = &entry.variant;
  // The part of C that each block computes, if the blocks share C evenly.
  const auto share = [](int of, unsigned blocks) {
    return static_cast<int>((of + std::int64_t{blocks} - 1) / blocks);
  };
  entry.variant.name = "";
  entry.variant.BM = share(M, launch.grid.y);
  entry.variant.BN = share(N, launch.grid.x);
  entry.variant.block_x = static_cast<int>(launch.block.x);
  entry.variant.block_y = static_cast<int>(launch.block.y * launch.block.z);
  entry.variant.shared_bytes = launch.dynamic_shared_bytes;
  entry.variant.kernel.name = entry.row.name.c_str();
}

void Kernels::add_hazard(const void* function, const model::Hazard& hazard) {
  for (Entry& entry : entries) {
    if (entry.row.launch->kernel == function) model::add(entry.row.counts->hazards, hazard);
  }
}

bool Kernels::any_abandoned() const {
  return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return model::has_fatal(*entry.row.counts);
  });
}

bool Kernels::all_traced() const {
  return std::all_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.row.counts->blocks_traced == entry.row.counts->blocks;
  });
}

lab::Row row_of(
    const model::Gpu& model, const Kernels::Entry& entry, std::optional<int> registers,
    int number) {
  lab::Row row = entry.row;
  row.number = number;
  lab::annotate(row, row.launch->kernel);
  row.shared_loads = shared_loads_of(row, row.name, model);
  if (!registers) registers = compiled_registers(row.name, model.compute_capability);
  row.occupancy = model::occupancy(
      model, {entry.variant.threads(), registers.value_or(0),
              row.launch->static_shared_bytes + row.launch->dynamic_shared_bytes});
  return row;
}

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

// What each thread of the launch calls, in the traced copy; null if that is missing.
auto traced_thread(const machine::ProgramLaunch& launch) {
  const void* twin = machine::traced_twin(reinterpret_cast<const void*>(launch.thread));
  return reinterpret_cast<void (*)(void*)>(const_cast<void*>(twin));
}

// What may make a launch do what no other of its kernel has done.
std::vector<std::uintptr_t> key_of(const machine::ProgramLaunch& launch) {
  const auto [grid, block] = std::pair(launch.grid, launch.block);
  std::vector<std::uintptr_t> key{
      grid.x, grid.y, grid.z, block.x, block.y, block.z, launch.shared_bytes};
  for (const void* pointer : launch.pointers) {
    key.push_back(reinterpret_cast<std::uintptr_t>(pointer));
  }
  return key;
}
constexpr std::size_t kMostAlsoTraced = 8;  // of each kernel
constexpr double kAlsoTracing_s = 1;

}  // namespace

Launches::Launches(machine::Machine machine, int most_traced, double limit_s)
    : machine_(std::move(machine)), most_traced_(most_traced), whole_s_(limit_s / 2) {
  machine_.no_blocks_after = machine::used_s() + whole_s_;
}

bool Launches::is_late() const {
  return machine::used_s() > *machine_.no_blocks_after;
}

void Launches::launch(const machine::ProgramLaunch& launch) {
  const bool of_main = simt_users_main != nullptr;
  ++made;
  if (left_out_.contains(launch.kernel) || (!of_main && stopped())) return;
  try {
    const OutsideMain outside;  // for the paths of source files
    if (of_main) require_opt_in(launch);
    const void* kernel = machine::traced_twin(launch.kernel);
    if (kernel == nullptr) {
      throw model::Refusal(
          machine::function_name(launch.kernel) + ": the traced copy of this kernel is missing");
    }
    trace(launch, kernel);
  } catch (const machine::LaunchRefusal& refusal) {
    if (!of_main) throw;
    any_refused_ = true;
    simt::set_launch_error(refusal.error);
    add_note(refusal.what());
  } catch (const machine::KernelFault& fault) {
    if (any_cut_short) {
      note_doubt(launch.kernel);
    } else if (keep_going) {
      host::note(fault.what(), fault.place, true);
      leave_out(launch.kernel);
    } else {
      failure = std::current_exception();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  machine::traced_kernel = {};  // also if the kernel did not end
  if (failure && !of_main) std::rethrow_exception(failure);
  if (stopped()) leave_main(1);
}

// Printed at once, because the program may crash on incomplete data.
void Launches::note_lateness() {
  if (std::exchange(any_cut_short, true)) return;
  std::fprintf(
      stderr,
      "try: note: after %g s of processor time, half of --limit, only blocks to be traced ran, and "
      "what the program "
      "computed since then is wrong; more time, or a smaller problem, lets all of them run: "
      "--limit "
      "%g\n",
      whole_s_, whole_s_ * 10);
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

void Launches::leave_out(const void* kernel) {
  left_out_.insert(kernel);
  add_note(
      machine::function_name(kernel) +
      ": did not end, and is left out from then on; what the program computed since then may be "
      "wrong");
}

void Launches::trace(const machine::ProgramLaunch& launch, const void* kernel) {
  OfKernel& launches = launches_[kernel];
  machine::Machine machine = machine_;
  const auto run_with = [&launch](const void* function, void (*thread)(void*)) {
    return [&launch, function, thread] {
      simt::run_grid(
          function, launch.grid, launch.block, static_cast<int>(launch.shared_bytes), thread,
          launch.context, launch.context_bytes);
    };
  };
  bool is_whole = false, cut = false, is_abandoned = false;
  const host::Operation operation = host::begin_operation();
  std::vector<machine::Touched> touched;
  const bool counted = launches.made < most_traced_;
  // A launch that is not counted is watched if other work may run at the same time, which takes a
  // part of the time, or if it differs from those traced.
  const bool differs = !launches.traced.contains(key_of(launch)) &&
                       (launches.also_traced == 0 ||
                        (launches.also_traced < kMostAlsoTraced && watching_s_ < kAlsoTracing_s));
  const bool watches = !counted && machine.hazards && !is_late() &&
                       (differs || (host::may_conflict(operation) && watching_s_ < whole_s_ / 4));
  if (counted || watches) {
    const auto thread = traced_thread(launch);
    if (thread == nullptr) {
      throw model::Refusal(
          machine::function_name(kernel) + ": the traced copy of its launch is missing");
    }
    if (launches.made > 0) machine.audit = nullptr;
    if (watches && differs) ++launches.also_traced;
    if (launches.traced.size() <= kMostAlsoTraced) launches.traced.insert(key_of(launch));
    if (watches) machine.recorder = nullptr;
    machine.touched = [&](std::vector<machine::Touched> all) { touched = std::move(all); };
    const double begun_s = machine::used_s();
    machine.launched = [&](const machine::RequestedLaunch& run, model::Counts counts) {
      if (any_cut_short && !counts.hazards.empty()) {
        note_doubt(kernel);
        counts.hazards.clear();
      }
      is_whole = counts.blocks_traced == counts.blocks;
      cut = counts.blocks_cut > 0;
      is_abandoned = model::has_fatal(counts);
      if (watches) {
        for (const model::Hazard& hazard : counts.hazards) kernels.add_hazard(kernel, hazard);
        return;
      }
      kernels.add_launch(run, counts, M, N);
      if (machine.audit != nullptr) {
        trace::resolve_lines(*machine.audit, trace::kernel_lines(run.kernel));
      }
    };
    // A kernel that is traced late gets some time, too.
    machine.cut_blocks_after = std::max(*machine.no_blocks_after, begun_s + whole_s_ / 8);
    machine::traced_kernel = {launch.kernel, kernel};
    machine::came_to_volatile = false;
    trace::trace(machine, machine.arrays, run_with(kernel, thread));
    if (machine::came_to_volatile) volatile_.insert(kernel);
    if (cut) {
      note_lateness();
      add_note(
          machine::function_name(kernel) +
          ": only the beginning of its blocks was traced, so the counts per thread are too small");
    }
    if (watches) watching_s_ += machine::used_s() - begun_s;
    host::end_operation(operation, machine::function_name(kernel), std::move(touched));
    if (traced && counted) traced();
    machine.recorder = nullptr;
    machine.audit = nullptr;
    machine.blocks = machine::Blocks::kAllButSample;
  } else {
    machine.recorder = nullptr;
    machine.audit = nullptr;
    machine.blocks = machine::Blocks::kAll;
    ++untraced;
  }
  ++launches.made;
  if (is_abandoned && keep_going) leave_out(launch.kernel);
  if (is_whole || is_abandoned || only_traced) return;
  machine.launched = {};
  if (!is_late()) {
    // Only the traced copy keeps a warp in step at volatile accesses.
    const bool in_step = volatile_.contains(kernel);
    machine::traced_kernel = {};
    if (in_step) machine::traced_kernel = {launch.kernel, kernel};
    const auto run_launch =
        in_step ? run_with(kernel, traced_thread(launch)) : run_with(launch.kernel, launch.thread);
    for (const model::Hazard& hazard : machine::run(machine, run_launch)) {
      kernels.add_hazard(kernel, hazard);
    }
  }
  if (is_late()) note_lateness();
}

int Launches::launches_of(const void* kernel) const {
  const auto found = launches_.find(kernel);
  return found == launches_.end() ? 0 : found->second.made;
}

// In each warp other lanes, and of a long block its beginning: few accesses, of all kinds.
void Launches::audit(double limit_s) {
  if (!trace::why_no_audit().empty()) return;
  audit_.emplace();
  audit_->most_accesses = 20'000;
  audit_->every = 9;
  audit_->most_s = limit_s / 16;
  machine_.audit = &*audit_;
}

std::string Launches::audited_wrong() const {
  if (!audit_ || audit_->surprises.empty()) return "";
  const model::Audit::Surprise& surprise = audit_->surprises.front();
  const std::string file = surprise.file.empty() ? "" : " of " + surprise.file;
  const std::string where =
      surprise.line > 0 ? text::printed("line %d", surprise.line) + file + ": " : "";
  const std::string thread = text::printed("thread %lld", static_cast<long long>(surprise.thread));
  const char* action = surprise.stores ? "store" : "load";
  if (surprise.announced) {
    return where + thread + " does not make a " + action +
           " that the compiler announces, as of a bit-field of 24 bits, which it loads as a word; "
           "the counts would include it, so none are printed";
  }
  return where + thread + " makes a " + action +
         " that the compiler does not announce; the counts would miss it, so none are printed";
}

std::string Launches::audit_note() const {
  if (!audit_) return "Not audited: " + trace::why_no_audit() + ".";
  if (audit_->accesses == 0) return "";
  return std::string("Audited: ") + (audit_->whole ? "all " : "the first ") +
         text::grouped(audit_->accesses) + " accesses of every " + std::to_string(audit_->every) +
         "th thread of " +
         (audit_->blocks == 1
              ? "the first block"
              : "the first blocks of " + text::grouped(audit_->blocks) + " launches") +
         " were announced to the tracer, and no others.";
}

namespace {

// Main's exit code.
int run_main(const Options& options, Launches& launches) {
  int exit_code = 0;
  machine::program_launches = &launches;
  guard::watched([&] { exit_code = call_main(options.file, options.arguments); });
  for (const auto& array : machine::device_arrays()) host::note_unwritten(array, nullptr);
  machine::program_launches = nullptr;
  return exit_code;
}

// Of a program that has not ended.
std::string unfinished_report(const Options& options, const lab::Run& run, text::Style style) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const out = open_memstream(&text, &bytes);
  print(out, options, run, "", style);
  if (options.flags.format == flags::Format::table) report::report_hazards("try", run, out);
  std::fclose(out);
  std::string report(text, bytes);
  std::free(text);
  return report;
}

// Two tiles of up to 32 along K, so that a hazard between two tiles shows.
flags::Flags at_teaching_size(flags::Flags flags) {
  if (!flags.a.empty() || flags.size) return flags;
  flags.m = flags.m.value_or(32);
  flags.n = flags.n.value_or(32);
  flags.k = flags.k.value_or(64);
  return flags;
}

}  // namespace

void run_product(Launches& launches, const std::function<void()>& product) {
  machine::program_launches = &launches;
  guard::watched(product);
  machine::program_launches = nullptr;
}

guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, std::FILE* report) {
  const flags::Flags& flags = options.flags;
  const std::string for_gpu = beside_the_program(".on_gpu");  // if nvcc made it (try.sh)
  lab::Run run =
      lab::new_run(flags, access(for_gpu.c_str(), X_OK) == 0 && lab::choose_device(flags), command);
  run.program = options.file;

  machine::Machine machine = lab::machine_for(flags, run.gpu);
  machine.host_variables = true;
  ShowRecorder recorder(options.show);
  recorder.title = text::shortened(options.file, text::kReportWidth);
  machine.recorder = recorder.wanted();
  host::set_find_registers([&](const std::string& kernel) {
    return options.registers ? options.registers
                             : compiled_registers(kernel, run.gpu.compute_capability);
  });
  Launches launches(machine, options.launches, options.limit_s);
  if (recorder.wanted() == nullptr) launches.audit(options.limit_s);
  launches.keep_going = options.keep_going;
  const auto fill_rows = [&] {
    run.rows.clear();
    for (Kernels::Entry& entry : launches.kernels.entries) {
      entry.row.launch->launches = launches.launches_of(entry.row.launch->kernel);
      run.rows.push_back(
          row_of(run.gpu, entry, options.registers, static_cast<int>(run.rows.size()) + 1));
    }
  };
  // If the program never ends, this is its report.
  if (recorder.wanted() == nullptr) {
    launches.traced = [&] {
      run.unended = true;
      fill_rows();
      guard::report_until_now(unfinished_report(options, run, style));
      run.unended = false;
    };
  }
  run.exit_code = run_main(options, launches);
  run.stopped = launches.stopped();
  if (launches.failure) {
    if (recorder.wanted() == nullptr) std::rethrow_exception(launches.failure);
    recorder.keep_fault([&] { std::rethrow_exception(launches.failure); });
  }

  fill_rows();
  const bool times = flags.ncu.empty() && recorder.wanted() == nullptr;
  if (run.gpu_present && !run.stopped && times) {
    const std::string folder = std::filesystem::path(options.file).parent_path();
    const profile::GpuRun on_gpu =
        profile::run_on_gpu({for_gpu, options.arguments, folder}, run.exit_code, options.limit_s);
    for (lab::Row& row : run.rows) row.time = profile::time_of(on_gpu, row.name);
    if (!on_gpu.note.empty()) launches.notes.push_back(on_gpu.note);
  }
  for (const std::string& note : launches.notes) {
    std::fprintf(stderr, "try: note: %s\n", note.c_str());
  }
  if (recorder.wanted() != nullptr) return recorder.show(report, style, run, "");
  if (const std::string wrong = launches.audited_wrong(); !wrong.empty()) return {1, wrong};
  const bool agrees = print(report, options, run, launches.audit_note(), style);
  const bool host_is_wrong = print_notes();
  const bool hazardous = report::report_hazards("try", run) || host_is_wrong;
  if (launches.any_cut_short) {
    std::fputs(
        "try: note: the program was cut short; if it finds its results wrong, this may be the "
        "reason\n",
        stderr);
  }
  if (run.exit_code != 0 && !hazardous && launches.untraced > 0) {
    std::fprintf(
        stderr,
        "try: note: the program ends with %d, and %s of its %s launches were not traced; "
        "TRY_FLAGS=\"--launches all\" traces them and may find why\n",
        run.exit_code, text::grouped(launches.untraced).c_str(),
        text::grouped(launches.made).c_str());
  }
  return {hazardous || !agrees ? 1 : run.exit_code, ""};
}

guard::Outcome step_file(const Options& options, bool on_terminal, std::FILE* report) {
  // If the parent is gone, the terminal must be restored.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const model::Gpu gpu = lab::choose_model(options.flags, false);
  machine::Machine machine{&gpu, machine::Blocks::kSample};
  model::Recorder recorder = step::step_recorder();
  machine.recorder = &recorder;
  std::string fault;
  const auto keep_fault = [&](const std::function<void()>& code) {
    try {
      code();
    } catch (const machine::KernelFault& thrown) {
      fault = thrown.what();
    }
  };
  int M = 0, N = 0, K = 0;  // of the product, if there is one
  if (simt_users_main != nullptr) {
    Launches launches(machine, options.launches, options.limit_s);
    run_main(options, launches);
    keep_fault([&] {
      if (launches.failure) std::rethrow_exception(launches.failure);
    });
  } else {
    const UsersProblem p(lab::load_problem(at_teaching_size(options.flags), false));
    M = p.M, N = p.N, K = p.K;
    lab::Floats C = p.C;
    const std::vector<machine::GlobalArray> arrays = p.arrays(C);
    machine.arrays = arrays;
    Launches launches(machine);
    run_product(launches, [&] { keep_fault(p.product_by(sgemm_plain, C)); });
  }
  if (recorder.launches.empty()) {
    const std::string who = simt_users_main != nullptr ? "the program" : "sgemm";
    throw model::Refusal(who + " launches no kernel here, so there are no steps");
  }
  step::StepScenes scenes;
  scenes.count = static_cast<int>(recorder.launches.size());
  scenes.load = [&](int number) {
    const model::Recording& launch = recorder.launches[number];
    std::string name = machine::function_name(launch.kernel);
    if (scenes.count > 1) {
      name += ", launch " + std::to_string(number + 1) + " of " + std::to_string(scenes.count);
    }
    return step::scene_of(launch, name, number + 1 == scenes.count ? fault : "", M, N, K);
  };
  return {step::step(options.flags, scenes, on_terminal, report), ""};
}

}  // namespace attempt
