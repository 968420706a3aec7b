// The command line: text in, a checked request out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/stage.h"
#include "report/report.h"

enum class Device { automatic, gpu, cpu };
enum class Trace { sample, all };

// What was asked for; an empty string or optional is a flag that was not given. The help text says
// what each means.
struct Flags {
  bool help = false, version = false, list = false, explain = false, no_color = false;
  bool ncu_metrics = false;
  bool ncu_unit_metrics = false;
  bool hazards = true;
  std::vector<std::string> sections;  // of --explain; empty: all
  bool ask = false;                   // for predictions before the counts
  std::string stage;                  // as typed; select_stages resolves it
  std::string variant;                // as typed; select_variant resolves it
  std::string experiment;             // as typed; run_experiment resolves it
  std::optional<int> size, m, n, k;   // 0 and up; problem_size resolves them
  float alpha = 1;
  float beta = 0;  // 1 with --c, where not given
  std::uint64_t seed = 1;
  std::optional<int> reps;   // 1 and up
  std::string a, b, c, out;  // .npy files
  Device device = Device::automatic;
  std::string gpu;
  Trace trace = Trace::sample;
  Format format = Format::table;
  std::string figures;    // the directory to draw the pictures to
  std::string ncu;        // ncu's CSV, to set beside the traced counts
  std::string ncu_units;  // ncu's CSV, to set beside the ceilings
  // --step and what belongs to it
  bool step = false, ascii = false, print = false, print_each = false;
  std::string until, script;  // a place as move_to (src/step/step.h) takes it; a file of keys
  std::optional<int> frame;
};

// Reads main's arguments. Where a flag is repeated, the last one counts. Throws a Refusal for an
// unknown flag, a value that its flag does not take, and flags that do not go together.
Flags parse_flags(int argc, char** argv);

const char* help_text();  // 100 columns wide, ends with a newline

struct ProblemSize {
  int M, N, K;
};

// --m, --n and --k before --size before `otherwise`, each side for itself.
ProblemSize problem_size(const Flags& flags, int otherwise);

// The stages that `text` names, in the order of the table: a number (5), a range (3-6), a name or
// its beginning without case, blanks and dashes ("warp"); all of them where it is empty. Throws a
// Refusal that lists the stages if there is no such stage.
std::vector<const Stage*> select_stages(const std::string& text, std::span<const Stage> stages);

// The variant of that name, the default where `name` is empty. Throws a Refusal that lists the
// stage's variants if it has none of that name, or none at all (the serial stage).
const Variant& select_variant(const Stage& stage, const std::string& name);

// Whether output to `out` is to be coloured: on a terminal, and neither --no-color, NO_COLOR in the
// environment (https://no-color.org) nor TERM (dumb, or none) says no.
bool wants_colour(const Flags& flags, std::FILE* out);

// What --section, --ask and --format say about an explanation.
Explaining explaining(const Flags& flags);
