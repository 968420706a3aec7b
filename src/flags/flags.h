// The command line: text in, a checked request out.
#pragma once

#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/request.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace flags {

enum class Resident { automatic, gpu, host };

// The values of --format (markdown only for an explanation).
enum class Format { table, json, csv, markdown };

// The sections of --explain, in the order in which they are printed, for --section.
inline constexpr std::array<std::string_view, 15> kExplained = {
    "idea",   "diff",      "kernel",  "loads",        "tiles", "launch",    "swizzle", "counts",
    "thread", "occupancy", "ceiling", "instructions", "time",  "questions", "answers"};

// How a stage is explained.
struct Explaining {
  std::vector<std::string> sections = {};  // of kExplained; empty: all but "loads" and "answers"
  bool markdown = false;
  std::FILE* quiz_from = nullptr;  // where the reader's predictions come from
};

// The request. An empty string or optional is a flag that was not given. The help text says what
// each flag means.
struct Flags : lab::Request {
  bool help = false, version = false, list = false, explain = false, no_color = false;
  bool wide = false, legend = false;  // of the table
  std::vector<std::string> sections;  // of --explain; empty: all
  bool ask = false;                   // asks for predictions before it shows the counts
  std::string stage;                  // as typed; select_stages resolves it
  std::string variant;                // as typed; select_variant resolves it
  std::string experiment;             // as typed; run_experiment resolves it
  std::string out;                    // a .npy file
  Format format = Format::table;
  std::string json;         // the file that gets the table's run as JSON, too
  std::string figures;      // the directory for the pictures
  std::string page;         // the HTML file for the interactive page
  std::string ncu;          // ncu's CSV, printed as profile::print_ncu says
  std::string ncu_metrics;  // counts, units or caches
  // --step and the flags that belong to it
  bool step = false, ascii = false, print = false;
  std::string until,
      script;  // a place as move_to (src/show/step/scene.h) reads it; a file of keys
  std::optional<int> frame;
  // --gpus and the flags that belong to it
  std::optional<int> gpus, panel;  // 1 or more
  std::string grid;                // as typed; cluster::choose_grid finds it
  std::string link = "nvlink";     // pcie4 or 100GbE
  Resident resident = Resident::automatic;
};

// Reads main's arguments. If a flag is repeated, the last one counts. Throws a Refusal for an
// unknown flag, a value that its flag does not accept, and flags that cannot be combined.
Flags parse_flags(int argc, char** argv);

const char* help_text();  // 100 columns wide, ends with a newline

// Whether output to `out` is coloured: only on a terminal, and only if neither --no-color, NO_COLOR
// in the environment (https://no-color.org) nor TERM (dumb or unset) forbids it.
bool wants_colour(const Flags& flags, std::FILE* out);

// How --section, --ask and --format shape an explanation.
Explaining explaining(const Flags& flags);

// The stages that `text` names, in the order of the table: a number (5), a range (3-6, or 3- up to
// the last), or a name or its beginning, ignoring case, blanks and dashes ("warp"). An empty text
// names all stages. Throws a Refusal that lists the stages if there is no such stage.
std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages);

// The value for --variant that names the first variant of every stage.
inline constexpr const char* kFirstVariant = "first";

// The variant with that name, or the first if `name` is empty. Throws a Refusal that lists the
// stage's variants if it has none of that name, or none at all (the serial stage).
const model::Variant& select_variant(const model::Stage& stage, const std::string& name);

// The same, but if `name` is empty, the variant that suits the product on that GPU (model/stage.h).
const model::Variant& select_variant(
    const model::Stage& stage, const std::string& name, const model::Gpu& gpu, int M, int N,
    int K = 0);

}  // namespace flags
