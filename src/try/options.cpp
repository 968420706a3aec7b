#include "try/options.h"

#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "text/echoed.h"

namespace attempt {

const char* const kUsage =
    "make try KERNEL=file.cu TRY_FLAGS=\"...\": traces and checks the file's\n"
    "  void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,\n"
    "             float* C)\n"
    "which launches its kernels by launch(kernel, grid, block, shared_bytes, arguments...).\n\n"
    "  --limit S            time limit for sgemm in seconds; default: 10\n"
    "  --registers N        registers per thread, for occupancy; default: those that nvcc "
    "reports,\n"
    "                       if it is installed\n"
    "  --show FILE.html     draw what the kernels do, here and as a page\n"
    "  --name-threads       printf in a kernel starts with the block and the thread\n"
    "  -I.. -D..            passed to the compiler\n"
    "and these flags of gemm_steps (see its --help): --size --m --n --k --alpha --beta --seed --a "
    "--b\n"
    "--c --device --gpu --trace --reps --explain --section --format --wide --no-color, and --step "
    "with its own flags\n";

namespace {

int parse_registers(const char* text) {
  const char* end = text + std::strlen(text);
  int registers = 0;
  const auto parsed = std::from_chars(text, end, registers);
  constexpr int kMost = 255;  // per thread, on every GPU of the table
  if (parsed.ec != std::errc() || parsed.ptr != end || registers < 1 || registers > kMost) {
    throw model::Refusal(
        "--registers " + text::echoed(text) +
        ": not a register count; give registers per thread, 1 to 255, for example --registers 64");
  }
  return registers;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<char*> others{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--name-threads") {
      options.name_threads = true;
    } else if (argument == "--registers") {
      options.registers = parse_registers(i + 1 < argc ? argv[++i] : "");
    } else if (argument == "--show") {
      options.show = i + 1 < argc ? argv[++i] : "";
      if (!options.show.ends_with(".html")) {
        throw model::Refusal(
            "--show " + text::echoed(options.show) +
            ": give the page to write, for example show.html");
      }
    } else if (argument == "--limit") {
      const char* text = i + 1 < argc ? argv[++i] : "";
      const char* end = text + std::strlen(text);
      const auto parsed = std::from_chars(text, end, options.limit_s);
      const bool fits = options.limit_s > 0 && options.limit_s <= 86400;
      if (parsed.ec != std::errc() || parsed.ptr != end || !fits) {
        throw model::Refusal(
            "--limit " + text::echoed(text) +
            ": not a time limit; give seconds, up to 86400, for example --limit 30");
      }
    } else {
      others.push_back(argv[i]);
    }
  }
  others.push_back(nullptr);
  options.flags = flags::parse_flags(static_cast<int>(others.size()) - 1, others.data());
  const flags::Flags& flags = options.flags;
  if (flags.ask) {
    throw model::Refusal(
        "--ask works only for the stages, whose counts follow from formulas; leave it out");
  }
  const std::pair<bool, const char*> of_stages[] = {
      {!flags.stage.empty(), "--stage"},
      {flags.list, "--list"},
      {flags.legend, "--legend"},
      {!flags.figures.empty(), "--figures"},
      {!flags.experiment.empty(), "--experiment"},
      {!flags.ncu.empty(), "--ncu"},
      {!flags.ncu_units.empty(), "--ncu-units"},
      {flags.ncu_metrics, "--ncu-metrics"},
      {flags.ncu_unit_metrics, "--ncu-unit-metrics"},
      {flags.version, "--version"}};
  for (const auto& [given, name] : of_stages) {
    if (!given) continue;
    throw model::Refusal(std::string(name) + " works only for the stages, not for your own file");
  }
  if (!flags.out.empty()) {
    throw model::Refusal("--out: make try checks C and does not save it; leave --out out");
  }
  return options;
}

}  // namespace attempt
