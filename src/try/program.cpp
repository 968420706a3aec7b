#include "try/program.h"

#include <setjmp.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "host/kernels.h"
#include "lab/device.h"
#include "lab/measure.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "report/hazard_sentence.h"
#include "text/file.h"
#include "text/numbers.h"
#include "try/launches.h"
#include "try/notes.h"
#include "try/print.h"
#include "try/registers.h"

namespace attempt {
namespace {

// Where main was called, while it runs on the thread `runs_on`.
struct MainCall {
  jmp_buf before;
  int exit_code = 0;
  bool runs = false;
  pthread_t runs_on{};
};
MainCall main_call;

// The exit code of main, or of exit(). C++ destroys nothing on exit() but static objects, which
// live as long as this process.
int call_main(int argc, char** argv) {
  main_call.runs_on = pthread_self();
  if (_setjmp(main_call.before) == 0) {
    main_call.runs = true;
    main_call.exit_code = simt_users_main(argc, argv, environ);
  }
  main_call.runs = false;
  return main_call.exit_code & 0xff;
}

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

}  // namespace

void leave_program(int exit_code) {
  if (!main_call.runs || !pthread_equal(main_call.runs_on, pthread_self())) return;
  main_call.exit_code = exit_code;
  _longjmp(main_call.before, 1);
}

guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, std::FILE* report,
    int stdout_of) {
  if (stdout_of >= 0) dup2(stdout_of, STDOUT_FILENO);
  const flags::Flags& flags = options.flags;
  lab::Run run = lab::new_run(flags, false, command);
  run.program = options.file;

  machine::Machine machine{&run.gpu};
  machine.hazards = flags.hazards;
  machine.blocks =
      flags.trace == lab::Trace::all ? machine::Blocks::kAll : machine::Blocks::kSample;
  Launches launches(machine, options.launches, [] { leave_program(1); });
  std::vector<std::string> words{options.file};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  machine::program_launches = &launches;
  host::set_find_registers([&](const std::string& kernel) {
    return options.registers ? options.registers
                             : compiled_registers(kernel, run.gpu.compute_capability);
  });
  guard::watched([&] {
    run.exit_code = call_main(static_cast<int>(words.size()), arguments.data());
    flush_streams();
  });
  machine::program_launches = nullptr;
  if (launches.failure) std::rethrow_exception(launches.failure);

  for (Kernels::Entry& entry : launches.kernels.entries) {
    entry.shape.launches = launches.launches_of(entry.function);
    run.rows.push_back(
        row_of(run.gpu, entry, options.registers, static_cast<int>(run.rows.size()) + 1));
    lab::annotate(run.rows.back(), entry.function);
  }
  print(report, flags, run, "", style);
  for (const std::string& note : launches.notes) {
    std::fprintf(stderr, "try: note: %s\n", note.c_str());
  }
  print_notes();
  const bool hazardous = report::report_hazards("try", run);
  return {hazardous ? 1 : run.exit_code, ""};
}

}  // namespace attempt
