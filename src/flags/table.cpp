// The flags: how their values are read, their table, and the help text.
#include "flags/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace flags {

void refuse(const Value& value, const std::string& why) {
  const std::string shown = value.text.empty() ? "\"\"" : text::echoed(value.text);
  throw model::Refusal(value.flag + " " + shown + ": " + why + "; " + value.hint);
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

namespace {

// Digits, optionally with an exponent as in 1e9, up to `most`.
std::uint64_t whole_number(const Value& value, std::uint64_t most) {
  const std::string_view text = value.text;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const std::string_view exponent = e < text.size() ? text.substr(e + 1) : "0";
  if (!all_digits(digits) || !all_digits(exponent)) {
    double number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size()) {
      refuse(value, "not a number");
    }
    refuse(value, text[0] == '-' ? "negative" : "not a whole number");
  }
  const auto too_large = [&] { refuse(value, "more than " + std::to_string(most)); };
  std::uint64_t number = 0;
  for (const char digit : digits) {
    const unsigned units = digit - '0';
    if (number > (most - units) / 10) too_large();
    number = number * 10 + units;
  }
  unsigned zeros = 0;
  const auto parsed = std::from_chars(exponent.begin(), exponent.end(), zeros);
  if (number == 0) return 0;
  if (parsed.ec != std::errc()) too_large();
  for (; zeros > 0; --zeros) {
    if (number > most / 10) too_large();
    number *= 10;
  }
  return number;
}

int whole_int(const Value& value) {
  return static_cast<int>(whole_number(value, std::numeric_limits<int>::max()));
}

float real_number(const Value& value) {
  std::string_view text = value.text;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    refuse(value, "not a number");
  }
  const float result = static_cast<float>(number);
  if (error != std::errc() || (std::isfinite(number) && std::isinf(result)) ||
      (number != 0 && result == 0)) {
    refuse(value, "outside the range of fp32");
  }
  if (!std::isfinite(number)) refuse(value, "not a finite number");
  return result;
}

const std::string& file_name(const Value& value) {
  if (value.text.empty()) refuse(value, "not a file name");
  return value.text;
}

template <class Choice>
Set choice(Choice Flags::*field, std::initializer_list<std::pair<const char*, Choice>> of_these) {
  return [field, choices = std::vector(of_these)](Flags& flags, const Value& value) {
    for (const auto& [word, meaning] : choices) {
      if (value.text != word) continue;
      flags.*field = meaning;
      return;
    }
    refuse(value, "not one of the choices");
  };
}

Set yes(bool Flags::*field) {
  return [=](Flags& flags, const Value&) { flags.*field = true; };
}

Set whole(std::optional<int> Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = whole_int(value); };
}

Set whole(std::uint64_t Flags::*field) {
  return [=](Flags& flags, const Value& value) {
    flags.*field = whole_number(value, std::numeric_limits<std::uint64_t>::max());
  };
}

Set count(std::optional<int> Flags::*field, int most) {
  return [=](Flags& flags, const Value& value) {
    flags.*field = whole_int(value);
    if (flags.*field == 0) refuse(value, "too few");
    if (flags.*field > most) refuse(value, "too many");
  };
}

Set real(float Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = real_number(value); };
}

Set file(std::string Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = file_name(value); };
}

// `empty` says what an empty text is not: "not a stage"
Set name(std::string Flags::*field, const char* empty) {
  return [=](Flags& flags, const Value& value) {
    if (value.text.empty()) refuse(value, empty);
    flags.*field = value.text;
  };
}

// These do more than set one field.
void set_reps(Flags& flags, const Value& value) {
  flags.reps = whole_int(value);
  if (flags.reps == 0) refuse(value, "nothing to time");
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
  flags.sections.clear();
  for (std::size_t begin = 0; begin <= value.text.size();) {
    const std::size_t end = std::min(value.text.find(',', begin), value.text.size());
    flags.sections.push_back(value.text.substr(begin, end - begin));
    begin = end + 1;
    if (std::ranges::find(kExplained, flags.sections.back()) != kExplained.end()) continue;
    refuse(
        value, "there is no section \"" + text::echoed(flags.sections.back()) + "\", they are " +
                   names_of_explained_sections());
  }
}

// The flags that most requests ignore.
const std::vector<const char*> kReport = {"--json", "--explain", "--out", "--format"};

}  // namespace

std::span<const Section> sections() {
  static const std::vector<Section> all = {
      {"What to run",
       {
           {.name = "--list",
            .help = "list the stages, their variants, and which of them runs with these flags",
            .set = yes(&Flags::list),
            .ignores = {"--json", "--explain", "--out", "--a"}},
           {.name = "--stage",
            .value = "S",
            .help = "a number (5), a range (3-6, 3-), a name or its beginning (warp), or several "
                    "(11,17-); default: all",
            .hint = "give a number, a name or a range, for example --stage 5 or --stage 3-6",
            .set = name(&Flags::stage, "not a stage")},
           {.name = "--variant",
            .value = "NAME",
            .help =
                "other tile sizes than those that suit the GPU and the size; --list shows them. "
                "first: each stage's first, whatever the size",
            .hint = "give one that --list shows, for example --variant 64x64x8, or first",
            .set = name(&Flags::variant, "not a variant"),
            .needs =
                {{{"--stage"},
                  "{typed}: the stage is missing; give it too, for example --stage 4"}},
            .is_used =
                [](const Flags& f) { return !f.variant.empty() && f.variant != kFirstVariant; }},
           {.name = "--explain",
            .help = "explain each stage: launch shape, predicted and traced counts, occupancy",
            .set = yes(&Flags::explain),
            .is_used = [](const Flags& f) { return f.explain; }},
           {.name = "--section",
            .value = "NAMES",
            .help = help_of_section(),
            .hint = "give sections, for example --section counts or --section diff,kernel",
            .set = set_sections},
           {.name = "--ask",
            .help = "--explain, but first ask for your predictions, as numbers or formulas",
            .set = set_ask,
            .excludes =
                {{{"--format"},
                  "--ask: it cannot be combined with --format; leave one of them out"}}},
           {.name = "--experiment",
            .value = "NAME",
            .help = "answer a question that takes several launches, as a table that ends with a "
                    "conclusion; --experiment list shows all experiments",
            .hint = "give one that --experiment list shows, for example --experiment coarsening",
            .set = name(&Flags::experiment, "not an experiment"),
            .ignores = {"--json", "--explain", "--a", "--data", "--out"}},
           {.name = "--device",
            .value = "gpu|cpu",
            .help = "where the kernels run; default: the GPU if there is one, else the CPU",
            .hint = "give gpu or cpu",
            .set = choice<lab::Device>(
                &Flags::device, {{"gpu", lab::Device::gpu}, {"cpu", lab::Device::cpu}})},
           {.name = "--gpu",
            .value = "NAME",
            .help =
                "the GPU for which tiles are chosen and occupancy is computed; default: the one\n"
                "present, else H200. paper: the walkthrough's GPU with 4 lanes per warp,\n"
                "where every count can be worked out by hand",
            .hint = "give a GPU by its name, for example --gpu \"RTX 3090\"",
            .set = name(&Flags::gpu, "not a GPU")},
           {.name = "--trace",
            .value = "sample|all|none",
            .help = "trace the corner, middle and edge blocks (default), or every block, which "
                    "gives totals for the whole launch, or none: times alone, on a GPU",
            .hint = "give sample, all or none",
            .set = choice<lab::Trace>(
                &Flags::trace, {{"sample", lab::Trace::sample},
                                {"all", lab::Trace::all},
                                {"none", lab::Trace::none}}),
            .excludes =
                {{.others = {"--explain", "--step", "--experiment", "--ncu"},
                  .message = "--trace none: only the table, JSON and CSV do without counts; "
                             "leave it out",
                  .value = "none"}}},
           {.name = "--hazards",
            .value = "on|off",
            .help =
                "look for races, accesses out of bounds, divergent barriers, loads of unwritten "
                "data and misaligned accesses in the traced blocks; default: on",
            .hint = "give on or off",
            .set = choice<bool>(&Flags::hazards, {{"on", true}, {"off", false}})},
           {.name = "--reps",
            .value = "N",
            .help = "number of timed runs per stage",
            .hint = "give the number of timed runs, 1 or more, for example --reps 20",
            .set = set_reps},
       }},
      {"Step by step",
       {
           {.name = "--step",
            .help = "step through a block, one request of a warp at a time; the size is 2 blocks "
                    "and 2 tiles of K unless --m, --n or --k change it; ? shows the keys",
            .set = yes(&Flags::step),
            .excludes =
                {{{"--explain", "--list", "--out", "--ncu", "--format", "--device gpu",
                   "--trace all", "--hazards off"},
                  "{other}: does not go with --step, which shows one traced block as text; "
                  "leave one out"}},
            .ignores = {"--json"}},
           {.name = "--until",
            .value = "PLACE",
            .help = "start at barrier:2, line:171, step:40, hazard:1 or end",
            .hint = "give a place: barrier:2, line:171, step:40, hazard:1 or end",
            .set = name(&Flags::until, "not a place"),
            .belongs_to = "--step",
            .excludes =
                {{{"--frame"}, "--until and --frame: each says where to start; leave one out"}}},
           {.name = "--frame",
            .value = "N",
            .help = "start at step N; 0 is the block's start",
            .hint = "give a step's number, from 0, for example --frame 12",
            .set = whole(&Flags::frame),
            .belongs_to = "--step"},
           {.name = "--print",
            .help = "print one frame as text, 80 x 24; the default without a terminal",
            .set = yes(&Flags::print),
            .belongs_to = "--step"},
           {.name = "--script",
            .value = "FILE",
            .help = "run the keys in FILE (\"3n b /As[row]\" ...) and print the last frame, or the"
                    " frames at each word \"print\"",
            .hint = "give a file of keys, for example --script keys.txt",
            .set = file(&Flags::script),
            .belongs_to = "--step"},
           {.name = "--ascii",
            .help = "use only ASCII, for terminals without Unicode",
            .set = yes(&Flags::ascii),
            .belongs_to = "--step"},
       }},
      {"On more than one GPU",
       {
           {.name = "--gpus",
            .value = "N",
            .help = "after the ladder, also on N GPUs together: the matrices cut into parts, and "
                    "panels of them sent by NCCL; with --device cpu, on N that the CPU plays",
            .hint = "give the number of GPUs, from 1 to 256, for example --gpus 4",
            .set = count(&Flags::gpus, 256),
            .ignores = kReport},
           {.name = "--grid",
            .value = "PxQ",
            .help = "cut C into P x Q parts; default: the grid in which the fewest bytes travel",
            .hint = "give rows x columns, for example --grid 2x2",
            .set = name(&Flags::grid, "not a grid"),
            .belongs_to = "--gpus"},
           {.name = "--panel",
            .value = "K",
            .help =
                "the width of a panel; default: the one with the least time by the model, or from "
                "the host an eighth of K, from 1024 to 4096",
            .hint = "give the columns of A in a panel, for example --panel 64",
            .set = count(&Flags::panel, 1 << 30),
            .belongs_to = "--gpus"},
           {.name = "--local",
            .value = "stage|cublas",
            .help = "what multiplies on each GPU: the best stage in fp32 (default), or cuBLAS",
            .hint = "give stage or cublas",
            .set =
                choice<Local>(&Flags::local, {{"stage", Local::stage}, {"cublas", Local::cublas}}),
            .belongs_to = "--gpus"},
           {.name = "--resident",
            .value = "gpu|host",
            .help = "where A, B and C stay; default: on the GPUs if there is room, else in the "
                    "host's memory, from which they pass through the GPUs",
            .hint = "give gpu or host",
            .set = choice<Resident>(
                &Flags::resident, {{"gpu", Resident::gpu}, {"host", Resident::host}}),
            .belongs_to = "--gpus"},
           {.name = "--link",
            .value = "NAME",
            .help = "what connects the GPUs of the model: nvlink (default), pcie4 or 100GbE",
            .hint = "give nvlink, pcie4 or 100GbE",
            .set = name(&Flags::link, "not a link"),
            .belongs_to = "--gpus"},
       }},
      {"On which matrices (A is M x K, B is K x N, C is M x N)",
       {
           {.name = "--size",
            .value = "N",
            .help = "M = N = K; default: 4096 on a GPU, 256 traced",
            .hint = "give rows as a whole number, for example --size 1024",
            .set = whole(&Flags::size)},
           {.name = "--m",
            .value = "M",
            .hint = "give the rows of A and C as a whole number, for example --m 1024",
            .set = whole(&Flags::m),
            .then = " "},
           {.name = "--n",
            .value = "N",
            .hint = "give the columns of B and C as a whole number, for example --n 1024",
            .set = whole(&Flags::n),
            .then = " "},
           {.name = "--k",
            .value = "K",
            .help = "each side separately; a side that is left out is --size",
            .hint = "give the columns of A, which are the rows of B, as a whole number, for "
                    "example --k 64",
            .set = whole(&Flags::k)},
           {.name = "--alpha",
            .value = "X",
            .hint = "give the factor of A*B as a number, for example --alpha 0.5",
            .set = real(&Flags::alpha),
            .then = " "},
           {.name = "--beta",
            .value = "X",
            .help = "default: 1 and 0 (beta 1 with --c); with beta = 0 the old C is not read",
            .hint = "give the factor of C as a number, for example --beta 2.5",
            .set = real(&Flags::beta),
            .is_used = [](const Flags& f) { return f.beta != 0; }},
           {.name = "--seed",
            .value = "N",
            .help = "seed of the random matrices; default: 1",
            .hint = "give a whole number, for example --seed 7",
            .set = whole(&Flags::seed)},
           {.name = "--data",
            .value = "KIND",
            .help =
                "how A and B are distributed: uniform in [-1, 1) (default), normal, positive, or "
                "wide: times 2^-20 to 2^20, for each element, or wide-k: for each index of K, or "
                "spike: every 64th of a row of A is strong and meets a zero of B",
            .hint = "give uniform, normal, positive, wide, wide-k or spike",
            .set = choice<lab::Data>(
                &Flags::data, {{lab::name_of(lab::Data::uniform), lab::Data::uniform},
                               {lab::name_of(lab::Data::normal), lab::Data::normal},
                               {lab::name_of(lab::Data::positive), lab::Data::positive},
                               {lab::name_of(lab::Data::wide), lab::Data::wide},
                               {lab::name_of(lab::Data::wide_k), lab::Data::wide_k},
                               {lab::name_of(lab::Data::spike), lab::Data::spike}}),
            .excludes = {{{"--a"}, "{typed}: A and B come from files; leave --data out"}},
            .is_used = [](const Flags& f) { return f.data != lab::Data::uniform; }},
           {.name = "--a",
            .value = "FILE",
            .hint = "give a NumPy file, for example --a A.npy",
            .set = file(&Flags::a),
            .needs = {{{"--b"}, "{typed}: B is missing; give --b B.npy too"}},
            .excludes =
                {{{"--size", "--m", "--n", "--k"},
                  "{other} and --a: the files determine the size of the matrices; leave "
                  "{other} out"},
                 {.others = {"--beta"},
                  .message = "--beta: C is missing; give --c C.npy too, or leave --beta out",
                  .unless = "--c"}},
            .then = " "},
           {.name = "--b",
            .value = "FILE",
            .help = "read A and B from NumPy files (float32 or float64, C or Fortran order)",
            .hint = "give a NumPy file, for example --b B.npy",
            .set = file(&Flags::b),
            .needs = {{{"--a"}, "{typed}: A is missing; give --a A.npy too"}}},
           {.name = "--c",
            .value = "FILE",
            .help = "read the old C from a NumPy file",
            .hint = "give a NumPy file, for example --c C.npy",
            .set = file(&Flags::c),
            .needs = {{{"--a"}, "{typed}: A and B are missing; give --a A.npy and --b B.npy too"}}},
           {.name = "--out",
            .value = "FILE",
            .help = "write the last stage's C to a NumPy file, which may be that of --c",
            .hint = "give the file to write, for example --out D.npy",
            .set = file(&Flags::out)},
       }},
      {"How to print it",
       {
           {.name = "--format",
            .value = "F",
            .help = "table (default), json, csv, or markdown with --explain",
            .hint = "give table, json, csv or, with --explain, markdown",
            .set = choice<Format>(
                &Flags::format, {{"table", Format::table},
                                 {"json", Format::json},
                                 {"csv", Format::csv},
                                 {"markdown", Format::markdown}}),
            .needs =
                {{.others = {"--explain"},
                  .message = "--format markdown: only --explain writes it; give --explain too",
                  .value = "markdown"}},
            .is_used = [](const Flags& f) { return f.format != Format::table; }},
           {.name = "--json",
            .value = "FILE",
            .help = "also write the run to FILE as JSON, beside what is printed",
            .hint = "give the file to write, for example --json results/h200-4096.json",
            .set = file(&Flags::json)},
           {.name = "--wide",
            .help = "the table with all its columns, however wide: times the stage before, loads "
                    "per result, ideal sectors, registers",
            .set = yes(&Flags::wide),
            .excludes =
                {{{"--explain", "--format"},
                  "--wide and {other}: only the table has more columns; leave one of them "
                  "out"}}},
           {.name = "--legend",
            .help = "what every column of the table means, and nothing else",
            .set = yes(&Flags::legend),
            .ignores = kReport},
           {.name = "--no-color",
            .help = "print without colour; NO_COLOR in the environment does the same",
            .set = yes(&Flags::no_color)},
           {.name = "--ncu",
            .value = "FILE",
            .help =
                "print what ncu measured (CSV): counts beside the traced ones, busy units beside "
                "the ceilings, or below the table hit rates of the caches (make profile, ceilings, "
                "caches)",
            .hint = "give the CSV that ncu wrote, for example --ncu build/ncu.csv",
            .set = file(&Flags::ncu),
            .ignores = {"--json", "--explain", "--format"},
            .beside = "--experiment"},
           {.name = "--ncu-metrics",
            .value = "counts|units|caches",
            .help = "print the metrics to request from ncu",
            .hint = "give counts, units or caches, for example --ncu-metrics counts",
            .set = choice<std::string>(
                &Flags::ncu_metrics,
                {{"counts", "counts"}, {"units", "units"}, {"caches", "caches"}}),
            .ignores = kReport},
           {.name = "--figures",
            .value = "DIR",
            .help = "draw the lesson's figures as SVG in DIR, and say what each shows",
            .hint = "give the directory for the figures, for example --figures figures",
            .set = name(&Flags::figures, "not a directory"),
            .ignores = kReport},
           {.name = "--page",
            .value = "FILE",
            .help = "write the stages that --stage names, or all, as one interactive page of HTML; "
                    "the size is 128 unless --size, --m, --n or --k change it",
            .hint = "give the file for the page, for example --page lesson.html",
            .set = file(&Flags::page),
            .ignores = kReport},
           {.name = "--help", .short_name = "-h", .set = yes(&Flags::help), .then = "  "},
           {.name = "--version", .set = yes(&Flags::version)},
       }},
  };
  return all;
}

const Flag* find_flag(std::string_view typed) {
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      if (typed == flag.name || (flag.short_name && typed == flag.short_name)) return &flag;
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
  for (std::size_t begin = 0; begin < does.size();) {
    const std::size_t end = std::min(does.find('\n', begin), does.size());
    text += text::labelled(label, kMargin, does.substr(begin, end - begin));
    label.clear();
    begin = end + 1;
  }
  return text;
}

std::string made() {
  std::string text = kAbout;
  for (const Section& section : sections()) {
    text += std::string(section.heading) + "\n";
    std::string names;
    for (const Flag& flag : section.flags) {
      names += flag.name;
      if (flag.value) names += std::string(" ") + flag.value;
      if (flag.then) {
        names += flag.then;
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
