// The flags: how their values are read, their table, and the help text.
#include "flags/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace flags {

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::vector<std::string> split(std::string_view text, char sign) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(sign, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
  }
  return parts;
}

namespace {

// Says why the value is not accepted.
[[noreturn]] void refuse(const Value& value, const std::string& why) {
  const std::string shown = value.text.empty() ? "\"\"" : text::echoed(value.text);
  throw model::Refusal(value.flag + " " + shown + ": " + why + "; " + value.hint);
}

// Reads all of `text` as a number, or refuses the value.
std::errc read_number(std::string_view text, double& number, const Value& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error != std::errc::invalid_argument && end == text.data() + text.size();
  if (!is_number) refuse(value, "not a number");
  return error;
}

// Digits, optionally with an exponent as in 1e9, up to `most`.
std::uint64_t whole_number(const Value& value, std::uint64_t most) {
  const std::size_t e = std::min(value.text.find_first_of("eE"), value.text.size());
  std::string digits = value.text.substr(0, e);
  const std::string exponent = e < value.text.size() ? value.text.substr(e + 1) : "0";
  if (!all_digits(digits) || !all_digits(exponent)) {
    double number;
    read_number(value.text, number, value);
    refuse(value, value.text[0] == '-' ? "negative" : "not a whole number");
  }
  constexpr unsigned kTooMany = 99;  // zeros, but for 0
  unsigned zeros = kTooMany;
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), zeros);
  digits.append(std::min(zeros, kTooMany), '0');
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || number > most) refuse(value, "more than " + std::to_string(most));
  return number;
}

// Each sets a field of Flags.
Set yes(bool Flags::*field) {
  return [=](Flags& flags, const Value&) { flags.*field = true; };
}

Set whole(std::uint64_t Flags::*field) {
  return [=](Flags& flags, const Value& value) {
    flags.*field = whole_number(value, std::numeric_limits<std::uint64_t>::max());
  };
}

Set whole(
    std::optional<int> Flags::*field, int least = 0, const char* too_few = "too few",
    int most = std::numeric_limits<int>::max()) {
  return [=](Flags& flags, const Value& value) {
    const auto number = static_cast<int>(whole_number(value, std::numeric_limits<int>::max()));
    if (number < least) refuse(value, too_few);
    if (number > most) refuse(value, "too many");
    flags.*field = number;
  };
}

Set real(float Flags::*field) {
  return [=](Flags& flags, const Value& value) {
    std::string_view text = value.text;
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    double number;
    const std::errc error = read_number(text, number, value);
    const float result = flags.*field = static_cast<float>(number);
    if (error != std::errc() || (std::isfinite(number) && std::isinf(result)) ||
        (number != 0 && result == 0)) {
      refuse(value, "outside the range of fp32");
    }
    if (!std::isfinite(number)) refuse(value, "not a finite number");
  };
}

// `empty` says what an empty text is not: "not a stage"
Set name(std::string Flags::*field, const char* empty) {
  return [=](Flags& flags, const Value& value) {
    if (value.text.empty()) refuse(value, empty);
    flags.*field = value.text;
  };
}

Set file(std::string Flags::*field) {
  return name(field, "not a file name");
}

// Stores the position of the value, from `first` on, among these words or else those of its name.
template <class Owner, class Choice>
Set choice(Choice Owner::*field, int first = 0, const char* words = nullptr) {
  return [=](Flags& flags, const Value& value) {
    const std::vector<std::string> choices = split(words ? words : value.choices, '|');
    const auto chosen = std::ranges::find(choices, value.text);
    if (chosen == choices.end()) refuse(value, "not one of the choices");
    if constexpr (std::is_same_v<Choice, std::string>) {
      flags.*field = *chosen;
    } else {
      flags.*field = static_cast<Choice>(first + (chosen - choices.begin()));
    }
  };
}

void set_ask(Flags& flags, const Value&) {
  flags.explain = flags.ask = true;
}

std::string names_of_explained_sections() {
  std::string names;
  for (const std::string_view section : kExplained) {
    names += (names.empty() ? "" : ", ") + std::string(section);
  }
  return names;
}

const char* help_of_section() {
  static const std::string help =
      "only these parts of --explain: " + names_of_explained_sections() + "; separated by commas";
  return help.c_str();
}

void set_sections(Flags& flags, const Value& value) {
  flags.explain = true;
  flags.sections = split(value.text, ',');
  for (const std::string& section : flags.sections) {
    if (std::ranges::find(kExplained, section) != kExplained.end()) continue;
    refuse(
        value, "there is no section \"" + text::echoed(section) + "\", they are " +
                   names_of_explained_sections());
  }
}

const std::vector<Section> kSections = {
    {"What to run",
     {
         {"--list", nullptr, yes(&Flags::list),
          "list the stages, their variants, and which of them runs with these flags"},
         {"--stage", "S", name(&Flags::stage, "not a stage"),
          "a number (5), a range (3-6, 3-), a name or its beginning (warp), or several (11,17-); "
          "default: all",
          "give a number, a name or a range, for example --stage 5 or --stage 3-6"},
         {"--variant", "NAME", name(&Flags::variant, "not a variant"),
          "other tile sizes than those that suit the GPU and the size; --list shows them. first: "
          "each stage's first, whatever the size",
          "give one that --list shows, for example --variant 64x64x8, or first",
          [](const Flags& f) { return !f.variant.empty() && f.variant != kFirstVariant; }},
         {"--explain", nullptr, yes(&Flags::explain),
          "explain each stage: launch shape, predicted and traced counts, occupancy", "",
          [](const Flags& f) { return f.explain; }},
         {"--section", "NAMES", set_sections, help_of_section(),
          "give sections, for example --section counts or --section diff,kernel"},
         {"--ask", nullptr, set_ask,
          "--explain, but first ask for your predictions, as numbers or formulas"},
         {"--experiment", "NAME", name(&Flags::experiment, "not an experiment"),
          "answer a question that takes several launches, as a table that ends with a conclusion; "
          "--experiment list shows all experiments",
          "give one that --experiment list shows, for example --experiment coarsening"},
         {"--device", "gpu|cpu", choice(&Flags::device, 1),
          "where the kernels run; default: the GPU if there is one, else the CPU",
          "give gpu or cpu"},
         {"--gpu", "NAME", name(&Flags::gpu, "not a GPU"),
          "the GPU for which tiles are chosen and occupancy is computed; default: the "
          "one present, else H200. paper: the walkthrough's GPU with 4 lanes per warp, "
          "where every count can be worked out by hand",
          "give a GPU by its name, for example --gpu \"RTX 3090\""},
         {"--trace", "sample|all|none", choice(&Flags::trace),
          "trace the corner, middle and edge blocks (default), or every block, which gives totals "
          "for the whole launch, or none: times alone, on a GPU",
          "give sample, all or none"},
         {"--hazards", "on|off", choice(&Flags::hazards, 0, "off|on"),
          "look for races, accesses out of bounds, divergent barriers, loads of unwritten data and "
          "misaligned accesses in the traced blocks; default: on",
          "give on or off"},
         {"--reps", "N", whole(&Flags::reps, 1, "nothing to time"),
          "number of timed runs per stage",
          "give the number of timed runs, 1 or more, for example --reps 20"},
     }},
    {"Step by step",
     {
         {"--step", nullptr, yes(&Flags::step),
          "step through a block, one step of a warp at a time; the size is 2 blocks and 2 tiles "
          "of K unless --m, --n or --k change it; ? shows the keys"},
         {"--until", "PLACE", name(&Flags::until, "not a place"),
          "start at barrier:2, line:171, step:40, hazard:1 or end",
          "give a place: barrier:2, line:171, step:40, hazard:1 or end"},
         {"--frame", "N", whole(&Flags::frame), "start at step N; 0 is the block's start",
          "give a step's number, from 0, for example --frame 12"},
         {"--print", nullptr, yes(&Flags::print),
          "print one frame as text, 80 x 24; the default without a terminal"},
         {"--script", "FILE", file(&Flags::script),
          "run the keys in FILE (\"3n b /As[row]\" ...) and print the last frame, or the frames at "
          "each word \"print\"",
          "give a file of keys, for example --script keys.txt"},
         {"--ascii", nullptr, yes(&Flags::ascii), "use only ASCII, for terminals without Unicode"},
     },
     true},
    {"On more than one GPU",
     {
         {"--gpus", "N", whole(&Flags::gpus, 1, "too few", 256),
          "after the ladder, also on N GPUs together: the matrices cut into parts, and panels of "
          "them sent by NCCL; with --device cpu, on N that the CPU plays",
          "give the number of GPUs, from 1 to 256, for example --gpus 4"},
         {"--grid", "PxQ", name(&Flags::grid, "not a grid"),
          "cut C into P x Q parts; default: the grid in which the fewest bytes travel",
          "give rows x columns, for example --grid 2x2"},
         {"--panel", "K", whole(&Flags::panel, 1, "too few", 1 << 30),
          "the width of a panel; default: the one with the least time by the model, or from the "
          "host an eighth of K, from 1024 to 4096",
          "give the columns of A in a panel, for example --panel 64"},
         {"--resident", "gpu|host", choice(&Flags::resident, 1),
          "where A, B and C stay; default: on the GPUs if there is room, else in the host's "
          "memory, from which they pass through the GPUs",
          "give gpu or host"},
         {"--link", "NAME", choice(&Flags::link, 0, "nvlink|pcie4|100GbE"),
          "what connects the GPUs of the model: nvlink (default), pcie4 or 100GbE",
          "give nvlink, pcie4 or 100GbE"},
     },
     true},
    {"On which matrices (A is M x K, B is K x N, C is M x N)",
     {
         {"--size", "N", whole(&Flags::size), "M = N = K; default: 4096 on a GPU, 256 traced",
          "give rows as a whole number, for example --size 1024"},
         {"--m", "M", whole(&Flags::m), nullptr,
          "give the rows of A and C as a whole number, for example --m 1024"},
         {"--n", "N", whole(&Flags::n), nullptr,
          "give the columns of B and C as a whole number, for example --n 1024"},
         {"--k", "K", whole(&Flags::k), "each side separately; a side that is left out is --size",
          "give the columns of A, which are the rows of B, as a whole number, for example --k 64"},
         {"--alpha", "X", real(&Flags::alpha), nullptr,
          "give the factor of A*B as a number, for example --alpha 0.5"},
         {"--beta", "X", real(&Flags::beta),
          "default: 1 and 0 (beta 1 with --c); with beta = 0 the old C is not read",
          "give the factor of C as a number, for example --beta 2.5",
          [](const Flags& f) { return f.beta != 0; }},
         {"--seed", "N", whole(&Flags::seed), "seed of the random matrices; default: 1",
          "give a whole number, for example --seed 7"},
         {"--data", "KIND",
          choice(&Flags::data, 0, "uniform|normal|positive|wide|wide-k|relu|spike"),
          "how A and B are distributed: uniform in [-1, 1) (default), normal, positive, or wide: "
          "times 2^-20 to 2^20, for each element, or wide-k: for each index of K, or relu: uniform "
          "with 0 for what is negative, or spike: every 64th of a row of A is strong and meets a "
          "zero of B",
          "give uniform, normal, positive, wide, wide-k, relu or spike",
          [](const Flags& f) { return f.data != lab::Data::uniform; }},
         {"--a", "FILE", file(&Flags::a), nullptr, "give a NumPy file, for example --a A.npy"},
         {"--b", "FILE", file(&Flags::b),
          "read A and B from NumPy files (float32 or float64, C or Fortran order)",
          "give a NumPy file, for example --b B.npy"},
         {"--c", "FILE", file(&Flags::c), "read the old C from a NumPy file",
          "give a NumPy file, for example --c C.npy"},
         {"--out", "FILE", file(&Flags::out),
          "write the last stage's C to a NumPy file, which may be that of --c",
          "give the file to write, for example --out D.npy"},
     }},
    {"How to print it",
     {
         {"--format", "F", choice(&Flags::format, 0, "table|json|csv|markdown"),
          "table (default), json, csv, or markdown with --explain",
          "give table, json, csv or, with --explain, markdown",
          [](const Flags& f) { return f.format != Format::table; }},
         {"--json", "FILE", file(&Flags::json),
          "also write the run to FILE as JSON, beside what is printed",
          "give the file to write, for example --json results/h200-4096.json"},
         {"--wide", nullptr, yes(&Flags::wide),
          "the table with all its columns, however wide: times the stage before, loads per result, "
          "ideal sectors, registers"},
         {"--legend", nullptr, yes(&Flags::legend),
          "what every column of the table means, and nothing else"},
         {"--no-color", nullptr, yes(&Flags::no_color),
          "print without colour; NO_COLOR in the environment does the same"},
         {"--ncu", "FILE", file(&Flags::ncu),
          "print what ncu measured (CSV): counts beside the traced ones, busy units beside the "
          "ceilings, or below the table hit rates of the caches (make profile, ceilings, caches)",
          "give the CSV that ncu wrote, for example --ncu build/ncu.csv"},
         {"--ncu-metrics", "counts|units|caches", choice(&Flags::ncu_metrics),
          "print the metrics to request from ncu",
          "give counts, units or caches, for example --ncu-metrics counts"},
         {"--figures", "DIR", name(&Flags::figures, "not a directory"),
          "draw the lesson's figures as SVG in DIR, and say what each shows",
          "give the directory for the figures, for example --figures figures"},
         {"--page", "FILE", file(&Flags::page),
          "write the stages that --stage names, or all, as one interactive page of HTML; the size "
          "is 256, and 192 along K, unless --size, --m, --n or --k change it",
          "give the file for the page, for example --page lesson.html"},
         {"--help", nullptr, yes(&Flags::help), nullptr},
         {"--version", nullptr, yes(&Flags::version), ""},
     }},
};

// What most requests for an output of their own do not use, and how this is reported.
constexpr const char* kReport = "--json,--explain,--out,--format";
constexpr const char* kUnused = "{flag} does not use {other}; leave {other} out";

constexpr Rule kRules[] = {
    {"--list", kExcludes, "--json,--explain,--out,--a", kUnused},
    {"--variant", kNeeds, "--stage",
     "{typed}: the stage is missing; give it too, for example --stage 4"},
    {"--ask", kExcludes, "--format",
     "--ask: it cannot be combined with --format; leave one of them out"},
    {"--experiment", kExcludes, "--json,--explain,--a,--data,--out", kUnused},
    {"--trace none", kExcludes, "--explain,--step,--experiment,--ncu",
     "--trace none: only the table, JSON and CSV do without counts; leave it out"},
    {"--step", kExcludes,
     "--explain,--list,--out,--ncu,--format,--device gpu,--trace all,--hazards off",
     "{other}: does not go with --step, which shows one traced block as text; leave one out"},
    {"--step", kExcludes, "--json", kUnused},
    {"--until", kExcludes, "--frame",
     "--until and --frame: each says where to start; leave one out"},
    {"--gpus", kExcludes, "--json,--explain,--out,--format,--a", kUnused},
    {"--data", kExcludes, "--a", "{typed}: A and B come from files; leave --data out"},
    {"--a", kNeeds, "--b", "{typed}: B is missing; give --b B.npy too"},
    {"--a", kExcludes, "--size,--m,--n,--k",
     "{other} and --a: the files determine the size of the matrices; leave {other} out"},
    {"--a,--beta", kNeeds, "--c", "--beta: C is missing; give --c C.npy too, or leave --beta out"},
    {"--b", kNeeds, "--a", "{typed}: A is missing; give --a A.npy too"},
    {"--c", kNeeds, "--a", "{typed}: A and B are missing; give --a A.npy and --b B.npy too"},
    {"--format markdown", kNeeds, "--explain",
     "--format markdown: only --explain writes it; give --explain too"},
    {"--wide", kExcludes, "--explain,--format",
     "--wide and {other}: only the table has more columns; leave one of them out"},
    {"--legend", kExcludes, kReport, kUnused},
    {"--ncu", kExcludes, "--json,--explain,--format", kUnused},
    {"--ncu-metrics", kExcludes, kReport, kUnused},
    {"--figures", kExcludes, kReport, kUnused},
    {"--figures", kExcludes, "--gpu",
     "--figures: it draws the ladder as it was recorded on an H200; leave --gpu out (make show "
     "draws "
     "what a kernel does on another GPU)"},
    {"--page", kExcludes, kReport, kUnused},
};

}  // namespace

std::span<const Section> sections() {
  return kSections;
}

std::span<const Rule> rules() {
  return kRules;
}

const Flag* find_flag(std::string_view typed) {
  if (typed == "-h") typed = "--help";
  for (const Section& section : kSections) {
    for (const Flag& flag : section.flags) {
      if (typed == flag.name) return &flag;
    }
  }
  return nullptr;
}

namespace {

constexpr const char* kAbout =
    R"(gemm_steps: how a matrix multiplication becomes fast on a GPU, one stage at a time

Computes C = alpha*A*B + beta*C in fp32 with every stage of the ladder, checks each result, counts
the loads and stores of each kernel, and times it if there is an NVIDIA GPU. Without a GPU the same
kernels run on the CPU, which traces every access.

usage: gemm_steps [flags]

)";

constexpr const char* kExamples =
    R"(A value may also be given as --flag=value. Whole numbers may be written as 1e4. If a flag is
repeated, its last value counts.

Examples
  gemm_steps                                       run all stages
  gemm_steps --stage 5 --explain                   one stage in depth
  gemm_steps --stage 3-6 --size 1000               four stages at a size that no tile divides
  gemm_steps --stage 4 --variant 16x16x16-tm8 --trace all
  gemm_steps --gpu "A100 SXM4 80GB" --format json   occupancy for another GPU, as JSON
  gemm_steps --stage 9 --a A.npy --b B.npy --out C.npy

Exit code: 0; 1 if a result fails its check or a hazard is found; 2 if the program cannot do what
was asked or cannot write its output. A result beyond the range of fp32 is not a failure: it
overflows.
)";

constexpr int kMargin = 23;  // columns before the description of a flag

// The names on the left, on a line of their own if they need the room, and the description beside
// them.
std::string beside(const std::string& names, const std::string& does) {
  std::string label = "  " + names, text;
  if (does.empty()) return label + "\n";
  if (text::display_width(label) >= kMargin) {
    text = label + "\n";
    label.clear();
  }
  for (const std::string& line : split(does, '\n')) {
    text += text::labelled(label, kMargin, line);
    label.clear();
  }
  return text;
}

std::string made() {
  std::string text = kAbout;
  for (const Section& section : kSections) {
    text += std::string(section.heading) + "\n";
    std::string names;
    for (const Flag& flag : section.flags) {
      names += flag.name;
      if (flag.value) names += std::string(" ") + flag.value;
      if (!flag.help) {
        names += flag.value ? " " : "  ";
        continue;
      }
      text += beside(names, flag.help);
      names.clear();
    }
    text += "\n";
  }
  return text + kExamples;
}

}  // namespace

const char* help_text() {
  static const std::string text = made();
  return text.c_str();
}

}  // namespace flags
