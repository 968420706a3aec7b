#include "try/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "model/compiled_kernel.h"
#include "model/refusal.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "try/guarded_kernel.h"
#include "try/users_problem.h"

namespace attempt {

const char* const kUsage =
    "make try KERNEL=file.cu TRY_FLAGS=\"...\" TRY_ARGS=\"...\": runs the file's own main with\n"
    "TRY_ARGS, and traces the kernels that it launches. A file that defines\n"
    "  void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,\n"
    "             float* C)\n"
    "needs no main: make try calls sgemm, and checks what it computes. Parameters with these "
    "names\n"
    "may have another order, and A, B and C may be of half or __nv_bfloat16.\n\n"
    "  --limit S            limit on the processor time, in seconds; default: 60, or 10 for an\n"
    "                       sgemm without a GPU. Main's launches run completely in the first half\n"
    "                       of it. Only a program that sleeps or waits is limited by the clock:\n"
    "                       3 S, at least 10\n"
    "  --launches N|all     of each kernel of a whole program, count the first N launches; "
    "default: 1.\n"
    "                       A few that differ from them are searched for hazards, too\n"
    "  --keep-going         after a kernel's fatal hazard, let the program run on without it\n"
    "  --kernels LIST       print only these rows of the table, for example 2,5\n"
    "  --registers N        registers per thread, for occupancy; default: those that nvcc "
    "reports,\n"
    "                       if it is installed\n"
    "  --show FILE.html     draw what the kernels do, here and as a page\n"
    "  --name-threads       printf in a kernel starts with the block and the thread\n"
    "  -I.. -D.. -std..     passed to the compiler\n"
    "and these flags of gemm_steps (see its --help): --size --m --n --k --alpha --beta --seed "
    "--data\n"
    "--a --b --c --device --gpu --trace --reps --explain --section --format --wide --no-color, and "
    "--step "
    "with its own flags\n";

namespace {

template <class T>
T number(std::string_view text, T least, T most, const std::string& refusal) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (whole && value >= least && value <= most) return value;
  throw model::Refusal(refusal);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.limit_s = simt_users_main != nullptr || sgemm_gpu != nullptr ? 60 : 10;
  std::vector<char*> others{argv[0]};
  const std::set<std::string> with_value = {"--registers", "--kernels", "--show",
                                            "--launches",  "--file",    "--limit"};
  constexpr int kAll = std::numeric_limits<int>::max();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = with_value.contains(argument) && i + 1 < argc ? argv[++i] : "";
    const auto refusal = [&](const std::string& why) {
      return argument + " " + text::echoed(value) + ": " + why;
    };
    if (argument == "--name-threads") {
      options.name_threads = true;
    } else if (argument == "--keep-going") {
      options.keep_going = true;
    } else if (argument == "--registers") {
      constexpr int kMost = 255;  // per thread, on every GPU of the table
      options.registers = number(
          value, 1, kMost,
          refusal("not a register count; give registers per thread, 1 to 255, for example "
                  "--registers 64"));
    } else if (argument == "--kernels") {
      for (std::size_t begin = 0, end = 0; begin <= value.size(); begin = end + 1) {
        end = std::min(value.find(',', begin), value.size());
        options.kernels.push_back(number(
            std::string_view(value).substr(begin, end - begin), 1, kAll,
            refusal("not rows of the table; give their numbers, for example --kernels 2,5")));
      }
    } else if (argument == "--show") {
      options.show = value;
      if (!value.ends_with(".html"))
        throw model::Refusal(refusal("give the page to write, for example show.html"));
    } else if (argument == "--launches") {
      options.launches = value == "all" ? kAll
                                        : number(
                                              value, 1, kAll,
                                              refusal("not a number of launches; give 1 or more, "
                                                      "or all, for example --launches 3"));
    } else if (argument == "--file") {
      options.file = value;
    } else if (argument == "--") {
      options.arguments.assign(argv + i + 1, argv + argc);
      break;
    } else if (argument == "--limit") {
      options.limit_s = number(
          value, std::numeric_limits<double>::min(), 86400.0,
          refusal("not a time limit; give seconds, up to 86400, for example --limit 30"));
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
      {flags.version, "--version"}};
  for (const auto& [given, name] : of_stages) {
    if (!given) continue;
    throw model::Refusal(std::string(name) + " works only for the stages, not for your own file");
  }
  if (!flags.ncu.empty() && options.launches != 1) {
    throw model::Refusal(
        "--ncu: of each kernel the first launch is compared; leave --launches out");
  }
  if (options.file.empty()) {
    std::error_code unknown;
    options.file = std::filesystem::read_symlink("/proc/self/exe", unknown).filename().string();
  }
  if (!flags.out.empty()) {
    throw model::Refusal("--out: make try checks C and does not save it; leave --out out");
  }
  return options;
}

std::string beside_the_program(const std::string& ending) {
  std::error_code no_link;
  return std::filesystem::read_symlink("/proc/self/exe", no_link).string() + ending;
}

std::string architecture_of(const model::Gpu& gpu) {
  // Hopper's own instructions need the suffix.
  return std::to_string(gpu.compute_capability) + (gpu.compute_capability == 90 ? "a" : "");
}

std::string why_not_compiled() {
  std::ifstream why(beside_the_program(".why_not_compiled"));
  std::string sentence;
  std::getline(why, sentence);
  return sentence.starts_with("nvcc does not compile") ? sentence : "";
}

std::optional<int> compiled_registers(const std::string& kernel, int compute_capability) {
  using model::without_spaces;
  std::ifstream records(beside_the_program(".registers"));
  std::optional<int> registers;
  int nearest = 0;
  for (std::string line; std::getline(records, line);) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    int capability = 0, used = 0;
    if (begin == end || std::sscanf(line.c_str() + end, "\", %d, %d", &capability, &used) != 2 ||
        without_spaces(line.substr(begin + 1, end - begin - 1)) != without_spaces(kernel) ||
        capability > compute_capability || capability < nearest) {
      continue;
    }
    nearest = capability;
    registers = used;
  }
  return registers;
}

lab::SharedLoads shared_loads_of(
    const lab::Measurement& measurement, const std::string& kernel, const model::Gpu& gpu) {
  lab::SharedLoads loads{"sm_" + architecture_of(gpu), std::nullopt, ""};
  const std::string code = beside_the_program("." + loads.architecture + ".sass");
  std::ifstream disassembly(code);
  if (!disassembly) {
    std::ifstream why(beside_the_program(".why_not_compiled"));
    std::getline(why, loads.why_unknown);
    if (loads.why_unknown.empty()) {
      loads.why_unknown = "Without nvcc, the code of " + loads.architecture + " is not known.";
    }
    return loads;
  }
  static std::string read_from;
  static std::vector<model::SassKernel> kernels;
  if (read_from != code) {
    kernels = model::read_sass(disassembly);
    read_from = code;
  }
  const std::string wanted = model::without_spaces(kernel);
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const model::SassKernel& candidate) {
        return model::without_spaces(machine::function_name_of(candidate.name)) == wanted;
      });
  if (found == kernels.end()) {
    loads.why_unknown = "nvcc's code for " + loads.architecture + " has no kernel of that name.";
    return loads;
  }
  loads.compiled = model::compiled_loads(
      *measurement.counts, *found, measurement.source_file, measurement.source_first,
      measurement.source_last);
  return loads;
}

}  // namespace attempt
