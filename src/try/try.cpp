// make try KERNEL=file.cu: a user's sgemm, traced, checked and, if there is a GPU, timed.
//
// The file is compiled up to three times, like gemm_steps.cu; the Makefile gives each copy's sgemm
// its own name. Everything runs in a child process (guard/guard.h).

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flags/flags.h"
#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "show/report/explain/explain.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "show/report/words.h"
#include "show/step/step_command.h"
#include "simulator/programs.h"
#include "text/file.h"
#include "try/guarded_kernel.h"
#include "try/launches.h"
#include "try/options.h"
#include "try/print.h"
#include "try/users_problem.h"

namespace attempt {

bool print(
    std::FILE* out, const Options& options, lab::Run run, const std::string& note,
    text::Style style) {
  const flags::Flags& flags = options.flags;
  if (const std::vector<int>& wanted = options.kernels; !wanted.empty()) {
    std::erase_if(run.rows, [&](const lab::Row& row) {
      return std::find(wanted.begin(), wanted.end(), row.number) == wanted.end();
    });
    if (run.rows.empty() && !run.unended) {
      throw model::Refusal("--kernels: the table has no row of that number");
    }
  }
  if (!flags.ncu.empty()) {
    return profile::print_ncu(out, profile::read_ncu_file(flags.ncu), run);
  }
  const bool json = flags.format == flags::Format::json;
  if (json || flags.format == flags::Format::csv) {
    std::fputs((json ? report::json_text(run) : report::csv_text(run)).c_str(), out);
    return true;
  }
  if (flags.explain) {
    if (!run.program.empty()) std::fputs(report::about(run).c_str(), out);
    for (const lab::Row& row : run.rows)
      report::explain(out, run, row, style, flags::explaining(flags));
  } else {
    report::print_table(out, run, style, flags.wide);
  }
  if (!note.empty()) std::fprintf(out, "%s\n", note.c_str());
  return true;
}

namespace {

// While this object exists, stdout is discarded, because another run of sgemm
// has printed the same.
struct Muted {
  Muted() : stdout_before(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~Muted() {
    std::fflush(stdout);
    dup2(stdout_before, STDOUT_FILENO);
    close(stdout_before);
  }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;
  const int stdout_before;
};

model::Error error_on_cpu(const flags::Flags& flags, const model::Gpu& gpu) {
  const UsersProblem p(lab::load_problem(flags, false));
  lab::Floats result = p.C;
  const std::vector<machine::GlobalArray> arrays = p.arrays(result);
  machine::Machine machine{&gpu};
  machine.arrays = arrays;
  const Muted muted;
  const bool as_traced = machine::blocks_may_wait || machine::came_to_volatile;
  const auto sgemm = as_traced ? sgemm_traced : sgemm_plain;
  guard::watched([&] { machine::run(machine, p.product_by(sgemm, result)); });
  return p.compare(lab::compute_reference(p), result);
}

}  // namespace

std::string why_wrong(
    const flags::Flags& flags, const model::Gpu& gpu, const lab::Problem& p,
    const model::Error& error) {
  const std::string wrong = report::wrong_sentence("sgemm", error);
  if (p.beta != 0 || !std::isnan(error.first.value().value)) return wrong;
  flags::Flags with_beta = flags;
  with_beta.beta = 0.5f;
  const model::Error second = error_on_cpu(with_beta, gpu);
  if (!second.bound_ok) return wrong + "; with --beta 0.5, " + report::wrong_sentence("it", second);
  return "sgemm reads C although beta is 0, and 0 * NaN is NaN: test beta == 0 and do not read C "
         "then, as BLAS says. With --beta 0.5 it is right.";
}

namespace {

// The time is that of all launches together.
void run_on_gpu(
    const flags::Flags& flags, const lab::Problem& p, lab::Floats& result, lab::Row& row) {
  lab::OnGpu on_gpu(p);
  const auto watched_sgemm = [](auto... arguments) {
    guard::watched([&] {
      sgemm_gpu(arguments...);
      gpu::synchronize();
    });
  };
  on_gpu.compute(watched_sgemm, result);
  const Muted muted;
  guard::watched([&] { row.time = on_gpu.time(sgemm_gpu, flags.reps.value_or(0)); });
}

// Elements of C that no thread has stored to, if all blocks were traced.
std::optional<model::Hazard> never_written(const std::vector<bool>& written) {
  const auto first = std::find(written.begin(), written.end(), false);
  if (first == written.end()) return std::nullopt;
  model::Hazard hazard{model::HazardKind::never_written, "C", 0, 0, {}, {}};
  hazard.byte = 4 * static_cast<std::uint64_t>(first - written.begin());
  hazard.extent = std::count(first, written.end(), false);
  return hazard;
}

guard::Outcome try_sgemm(
    const Options& options, const std::string& command, text::Style style, std::FILE* report) {
  const flags::Flags& flags = options.flags;
  lab::Run run = lab::new_run(flags, sgemm_gpu != nullptr && lab::choose_device(flags), command);
  const UsersProblem p(lab::load_problem(flags, run.gpu_present));
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;
  run.types = p.types();
  const lab::Reference reference = lab::compute_reference(p);

  lab::Floats result = p.C;
  std::vector<machine::GlobalArray> arrays = p.arrays(result);
  std::vector<bool> written;
  machine::Machine machine = lab::machine_for(flags, run.gpu);
  machine.host_variables = true;
  machine.arrays = arrays;
  for (machine::GlobalArray& array : arrays) array.all_written = false;  // by a single launch
  machine.wrote = [&](std::span<const std::uint64_t> last) {
    written.resize(last.size());
    for (std::size_t i = 0; i < last.size(); ++i) written[i] = written[i] || last[i] != 0;
  };
  ShowRecorder recorder(options.show);
  machine.recorder = recorder.wanted();
  Launches launches(machine);
  if (recorder.wanted() == nullptr) launches.audit(options.limit_s);
  launches.M = p.M;
  launches.N = p.N;
  launches.only_traced = run.gpu_present;
  {
    std::optional<Muted> muted;
    if (run.gpu_present) muted.emplace();  // the run on the GPU prints
    run_product(launches, [&] { recorder.keep_fault(p.product_by(sgemm_plain, result)); });
  }
  if (recorder.fault()) return recorder.show(report, style, run, "");
  Kernels& kernels = launches.kernels;
  if (kernels.entries.empty() && p.results() > 0) {
    throw model::Refusal("sgemm launches no kernel here, so there is nothing to count");
  }
  if (const std::string wrong = launches.audited_wrong(); !wrong.empty()) return {1, wrong};
  if (kernels.all_traced() && !kernels.any_abandoned()) {
    if (const auto hazard = never_written(written)) {
      kernels.entries.back().row.counts->hazards.push_back(*hazard);
    }
  }

  lab::Row all;
  all.name = "sgemm";
  if (!kernels.any_abandoned()) {
    if (run.gpu_present) run_on_gpu(flags, p, result, all);
    all.error = p.compare(reference, result);
  }
  // If there are several kernels, one may load what another stored.
  if (kernels.entries.size() == 1) {
    lab::note_never_written(p, result, *kernels.entries[0].row.counts);
  }
  for (const Kernels::Entry& entry : kernels.entries) {
    run.rows.push_back(
        row_of(run.gpu, entry, options.registers, static_cast<int>(run.rows.size()) + 1));
  }
  if (run.rows.size() == 1) {
    run.rows[0].error = all.error;
    run.rows[0].time = all.time;
  } else {
    run.rows.push_back(all);
  }
  if (!options.show.empty()) {
    const bool is_right = !all.error || all.error->bound_ok;
    return recorder.show(
        report, style, run, is_right ? "" : why_wrong(flags, run.gpu, p, *all.error));
  }
  const std::string bound = all.error ? p.bound_sentence(reference, result) : "";
  const std::string note = launches.audit_note();
  const bool agrees = print(
      report, options, run, bound.empty() || note.empty() ? bound + note : bound + "\n" + note,
      style);
  const bool host_is_wrong = print_notes();
  const bool hazardous = report::report_hazards("try", run) || host_is_wrong;
  if (!all.error || all.error->bound_ok) return {hazardous || !agrees ? 1 : 0, ""};
  const std::string why = why_wrong(flags, run.gpu, p, *all.error);
  return {1, bound.empty() ? why : why + ". " + bound};
}

}  // namespace

}  // namespace attempt

namespace {

// Of the GPU that the flags name. Nothing if they are to be refused: the run itself says why.
int print_architecture(int argc, char** argv) {
  try {
    const attempt::Options options = attempt::parse_options(argc, argv);
    std::puts(attempt::architecture_of(lab::choose_model(options.flags, false)).c_str());
  } catch (const model::Refusal&) {
  }
  return 0;
}

int try_or_refuse(int argc, char** argv) {
  using namespace attempt;
  guard::main_begins();
  machine::kernels_may_allocate = true;
  try {
    lab::prepare_threads();
    // A user's flags come after the first two words, so try.sh's own are no flags.
    const std::string_view asked = argc > 1 ? argv[1] : "";
    if (asked == "architecture") return print_architecture(argc - 1, argv + 1);
    if (asked == "debug") return debug(parse_options(argc - 1, argv + 1));
    const Options options = parse_options(argc, argv);
    if (options.keep_going && simt_users_main == nullptr) {
      throw model::Refusal("--keep-going works only for a file with a main; leave it out");
    }
    if (options.flags.help) return std::fputs(kUsage, stdout), 0;
    if (const std::string& kind = options.flags.ncu_metrics; !kind.empty()) {
      return std::puts(profile::ncu_metrics(kind).c_str()), 0;
    }
    name_threads = options.name_threads;
    if (std::filesystem::exists(options.file)) trace::users_file = options.file;
    const text::Style style{flags::wants_colour(options.flags, stdout)};
    const bool on_terminal = step::steps_on_terminal(options.flags);
    const bool of_main = sgemm_traced == nullptr;
    // What a program prints appears on our stdout, unless that is to hold a report for a machine.
    const bool prints = of_main && options.flags.format == flags::Format::table;
    const int stdout_of = prints ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    guard::Guard guard = kernel_guard(options.limit_s, "try", of_main ? "the program" : "sgemm");
    guard.if_stopped = page_of_stopped(options.show);
    return guard::run_guarded(guard, [&](std::FILE* report) {
      if (stdout_of >= 0) dup2(stdout_of, STDOUT_FILENO);
      if (options.flags.step) return step_file(options, on_terminal, report);
      return (of_main ? run_program : try_sgemm)(options, lab::joined(argc, argv), style, report);
    });
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "try: %s\n", refusal.what());
  } catch (const guard::NoChild& no_child) {
    std::fprintf(stderr, "try: %s\n", no_child.what());
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  text::open_standard_streams();
  return text::finished("try", try_or_refuse(argc, argv));
}
