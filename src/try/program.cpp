#include "try/program.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "host/kernels.h"
#include "lab/device.h"
#include "lab/measure.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "report/hazard_sentence.h"
#include "text/numbers.h"
#include "trace/audit.h"
#include "try/audit.h"
#include "try/compiled_code.h"
#include "try/launches.h"
#include "try/main_call.h"
#include "try/notes.h"
#include "try/print.h"
#include "try/scenes.h"
#include "try/show.h"

namespace attempt {
namespace {

// Main's exit code.
int run_main(const Options& options, Launches& launches) {
  std::vector<std::string> words{options.file};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  int exit_code = 0;
  machine::program_launches = &launches;
  guard::watched([&] { exit_code = call_main(words); });
  machine::program_launches = nullptr;
  return exit_code;
}

// Of a program that has not ended.
std::string unfinished_report(const flags::Flags& flags, const lab::Run& run, text::Style style) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const out = open_memstream(&text, &bytes);
  print(out, flags, run, "", style);
  if (flags.format == report::Format::table) report::report_hazards("try", run, out);
  std::fclose(out);
  std::string report(text, bytes);
  std::free(text);
  return report;
}

guard::Outcome step_program(const Options& options, bool on_terminal, std::FILE* report) {
  // If the parent is gone, the terminal must be restored.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const model::Gpu gpu = lab::choose_model(options.flags, false);
  machine::Machine machine{&gpu, machine::Blocks::kSample};
  trace::Recorder recorder = step::step_recorder();
  machine.recorder = &recorder;
  Launches launches(machine, options.launches, options.limit_s);
  run_main(options, launches);
  step::RecordedRun run{std::move(recorder.launches), ""};
  try {
    if (launches.failure) std::rethrow_exception(launches.failure);
  } catch (const machine::KernelFault& fault) {
    run.fault = fault.what();
  }
  if (run.launches.empty())
    throw model::Refusal("the program launches no kernel here, so there are no steps");
  const step::StepScenes scenes = scenes_of(run, 0, 0, 0);
  return {step::step(options.flags, scenes, on_terminal, report), ""};
}

}  // namespace

guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, bool on_terminal,
    std::FILE* report) {
  const flags::Flags& flags = options.flags;
  if (flags.step) return step_program(options, on_terminal, report);
  const std::string for_gpu = beside_the_program(".on_gpu");  // if nvcc made it (for_gpu.sh)
  lab::Run run =
      lab::new_run(flags, access(for_gpu.c_str(), X_OK) == 0 && lab::choose_device(flags), command);
  run.program = options.file;

  machine::Machine machine{&run.gpu};
  machine.hazards = flags.hazards;
  machine.host_variables = true;
  machine.blocks =
      flags.trace == lab::Trace::all ? machine::Blocks::kAll : machine::Blocks::kSample;
  ShowRecorder recorder(options.show);
  recorder.title = text::shortened(options.file, text::kReportWidth);
  machine.recorder = recorder.wanted();
  model::Audit audit;
  const bool audits = recorder.wanted() == nullptr && trace::why_no_audit().empty();
  audit.most_s = options.limit_s / 16;
  if (audits) machine.audit = &audit;
  host::set_find_registers([&](const std::string& kernel) {
    return options.registers ? options.registers
                             : compiled_registers(kernel, run.gpu.compute_capability);
  });
  Launches launches(machine, options.launches, options.limit_s);
  const auto fill_rows = [&] {
    run.rows.clear();
    for (Kernels::Entry& entry : launches.kernels.entries) {
      entry.shape.launches = launches.launches_of(entry.function);
      run.rows.push_back(
          row_of(run.gpu, entry, options.registers, static_cast<int>(run.rows.size()) + 1));
      lab::annotate(run.rows.back(), entry.function);
      run.rows.back().shared_loads = shared_loads_of(run.rows.back(), entry.name, run.gpu);
    }
  };
  // If the program never ends, this is its report.
  if (recorder.wanted() == nullptr) {
    launches.traced = [&] {
      run.unended = true;
      fill_rows();
      guard::report_until_now(unfinished_report(flags, run, style));
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
  if (!audit.surprises.empty()) return {1, sentence_about(audit.surprises.front())};
  const std::string note = !audits              ? "Not audited: " + trace::why_no_audit() + "."
                           : audit.accesses > 0 ? note_about(audit)
                                                : "";
  const bool agrees = print(report, flags, run, note, style);
  const bool host_is_wrong = print_notes();
  const bool hazardous = report::report_hazards("try", run) || host_is_wrong;
  return {hazardous || !agrees ? 1 : run.exit_code, ""};
}

}  // namespace attempt
