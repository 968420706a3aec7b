#include "flags/flags.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>

#include "model/refusal.h"

namespace flags {

namespace {

// A flag's value on its way into Flags, with what a refusal has to say.
struct Value {
  std::string flag;  // "--size"
  std::string text;  // "1024"
  std::string hint;  // "give rows as a whole number, for example --size 1024"
};

[[noreturn]] void refuse(const Value& value, const std::string& why) {
  const std::string shown = value.text.empty() ? "\"\"" : value.text;
  throw model::Refusal(value.flag + " " + shown + ": " + why + "; " + value.hint);
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Digits, or digits with an exponent as in 1e9, up to `most`.
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
Choice choice(const Value& value, std::initializer_list<std::pair<const char*, Choice>> choices) {
  for (const auto& [name, meaning] : choices) {
    if (value.text == name) return meaning;
  }
  refuse(value, "not one of the choices");
}

// Names of sections, separated by commas.
std::vector<std::string> section_names(const Value& value) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= value.text.size();) {
    const std::size_t end = std::min(value.text.find(',', begin), value.text.size());
    names.push_back(value.text.substr(begin, end - begin));
    begin = end + 1;
    const auto known = report::explained_sections();
    if (std::find(known.begin(), known.end(), names.back()) != known.end()) continue;
    std::string all;
    for (const char* name : known) all += (all.empty() ? "" : ", ") + std::string(name);
    refuse(value, "there is no section \"" + names.back() + "\", they are " + all);
  }
  return names;
}

struct Option {
  const char* name;
  const char* hint;  // what to give; null for a flag without a value
  void (*set)(Flags& flags, const Value& value);
};

const Option kOptions[] = {
    {"--stage", "give a number, a name or a range, for example --stage 5 or --stage 3-6",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not a stage");
       flags.stage = value.text;
     }},
    {"--explain", nullptr, [](Flags& flags, const Value&) { flags.explain = true; }},
    {"--section", "give sections, for example --section counts or --section diff,kernel",
     [](Flags& flags, const Value& value) {
       flags.explain = true;
       flags.sections = section_names(value);
     }},
    {"--ask", nullptr, [](Flags& flags, const Value&) { flags.explain = flags.ask = true; }},
    {"--size", "give rows as a whole number, for example --size 1024",
     [](Flags& flags, const Value& value) { flags.size = whole_int(value); }},
    {"--m", "give the rows of A and C as a whole number, for example --m 1024",
     [](Flags& flags, const Value& value) { flags.m = whole_int(value); }},
    {"--n", "give the columns of B and C as a whole number, for example --n 1024",
     [](Flags& flags, const Value& value) { flags.n = whole_int(value); }},
    {"--k", "give the columns of A, which are the rows of B, as a whole number, for example --k 64",
     [](Flags& flags, const Value& value) { flags.k = whole_int(value); }},
    {"--alpha", "give the factor of A*B as a number, for example --alpha 0.5",
     [](Flags& flags, const Value& value) { flags.alpha = real_number(value); }},
    {"--beta", "give the factor of C as a number, for example --beta 2.5",
     [](Flags& flags, const Value& value) { flags.beta = real_number(value); }},
    {"--seed", "give a whole number, for example --seed 7",
     [](Flags& flags, const Value& value) {
       flags.seed = whole_number(value, std::numeric_limits<std::uint64_t>::max());
     }},
    {"--reps", "give the number of timed runs, 1 or more, for example --reps 20",
     [](Flags& flags, const Value& value) {
       flags.reps = whole_int(value);
       if (flags.reps == 0) refuse(value, "nothing to time");
     }},
    {"--a", "give a NumPy file, for example --a A.npy",
     [](Flags& flags, const Value& value) { flags.a = file_name(value); }},
    {"--b", "give a NumPy file, for example --b B.npy",
     [](Flags& flags, const Value& value) { flags.b = file_name(value); }},
    {"--c", "give a NumPy file, for example --c C.npy",
     [](Flags& flags, const Value& value) { flags.c = file_name(value); }},
    {"--out", "give the file to write, for example --out D.npy",
     [](Flags& flags, const Value& value) { flags.out = file_name(value); }},
    {"--figures", "give the directory to draw to, for example --figures figures",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not a directory");
       flags.figures = value.text;
     }},
    {"--device", "give gpu or cpu",
     [](Flags& flags, const Value& value) {
       flags.device =
           choice<lab::Device>(value, {{"gpu", lab::Device::gpu}, {"cpu", lab::Device::cpu}});
     }},
    {"--gpu", "give a GPU by its name, for example --gpu \"RTX 3090\"",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not a GPU");
       flags.gpu = value.text;
     }},
    {"--trace", "give sample or all",
     [](Flags& flags, const Value& value) {
       flags.trace =
           choice<lab::Trace>(value, {{"sample", lab::Trace::sample}, {"all", lab::Trace::all}});
     }},
    {"--hazards", "give on or off",
     [](Flags& flags, const Value& value) {
       flags.hazards = choice<bool>(value, {{"on", true}, {"off", false}});
     }},
    {"--variant", "give one that --list names, for example --variant 64x64x8",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not a variant");
       flags.variant = value.text;
     }},
    {"--experiment", "give one that --experiment list names, for example --experiment coarsening",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not an experiment");
       flags.experiment = value.text;
     }},
    {"--format", "give table, json, csv or, with --explain, markdown",
     [](Flags& flags, const Value& value) {
       flags.format = choice<report::Format>(
           value, {{"table", report::Format::table},
                   {"json", report::Format::json},
                   {"csv", report::Format::csv},
                   {"markdown", report::Format::markdown}});
     }},
    {"--no-color", nullptr, [](Flags& flags, const Value&) { flags.no_color = true; }},
    {"--list", nullptr, [](Flags& flags, const Value&) { flags.list = true; }},
    {"--step", nullptr, [](Flags& flags, const Value&) { flags.step = true; }},
    {"--until", "give a place: barrier:2, line:171, step:40, hazard:1 or end",
     [](Flags& flags, const Value& value) {
       if (value.text.empty()) refuse(value, "not a place");
       flags.until = value.text;
     }},
    {"--frame", "give a step's number, from 0, for example --frame 12",
     [](Flags& flags, const Value& value) { flags.frame = whole_int(value); }},
    {"--script", "give a file of keys, for example --script keys.txt",
     [](Flags& flags, const Value& value) { flags.script = file_name(value); }},
    {"--print", nullptr, [](Flags& flags, const Value&) { flags.print = true; }},
    {"--print-each", nullptr, [](Flags& flags, const Value&) { flags.print_each = true; }},
    {"--ascii", nullptr, [](Flags& flags, const Value&) { flags.ascii = true; }},
    {"--ncu", "give the CSV that ncu wrote, for example --ncu build/ncu.csv",
     [](Flags& flags, const Value& value) { flags.ncu = file_name(value); }},
    {"--ncu-metrics", nullptr, [](Flags& flags, const Value&) { flags.ncu_metrics = true; }},
    {"--ncu-units", "give the CSV that ncu wrote, for example --ncu-units build/ncu.csv",
     [](Flags& flags, const Value& value) { flags.ncu_units = file_name(value); }},
    {"--ncu-unit-metrics", nullptr,
     [](Flags& flags, const Value&) { flags.ncu_unit_metrics = true; }},
    {"--help", nullptr, [](Flags& flags, const Value&) { flags.help = true; }},
    {"-h", nullptr, [](Flags& flags, const Value&) { flags.help = true; }},
    {"--version", nullptr, [](Flags& flags, const Value&) { flags.version = true; }},
};

// The fewest letters to insert, remove or replace that make `a` into `b` (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse_unknown(const std::string& flag) {
  if (flag.empty() || flag[0] != '-') {
    const std::string shown = flag.empty() ? "\"\"" : flag;
    throw model::Refusal(
        shown + ": not a flag; for a stage write --stage 5, --help lists the flags");
  }
  const Option* nearest = &kOptions[0];
  for (const Option& option : kOptions) {
    if (distance(flag, option.name) < distance(flag, nearest->name)) nearest = &option;
  }
  // At most two letters apart and more than half of them right: else the guess is no help.
  const std::size_t apart = distance(flag, nearest->name);
  const bool alike = apart <= 2 && 2 * apart < std::string_view(nearest->name).size() - 2;
  throw model::Refusal(
      flag + ": no such flag; " +
      (alike ? std::string("did you mean ") + nearest->name + "?"
             : std::string("--help lists the flags")));
}

void refuse_step_conflicts(const Flags& flags) {
  if (!flags.step) {
    const char* of_step = !flags.until.empty()    ? "--until"
                          : flags.frame           ? "--frame"
                          : !flags.script.empty() ? "--script"
                          : flags.print           ? "--print"
                          : flags.print_each      ? "--print-each"
                          : flags.ascii           ? "--ascii"
                                                  : nullptr;
    if (of_step) throw model::Refusal(std::string(of_step) + ": is for --step; write that, too");
  } else {
    const char* other = flags.explain                           ? "--explain"
                        : flags.list                            ? "--list"
                        : !flags.out.empty()                    ? "--out"
                        : !flags.ncu.empty()                    ? "--ncu"
                        : flags.format != report::Format::table ? "--format"
                        : flags.device == lab::Device::gpu      ? "--device gpu"
                        : flags.trace == lab::Trace::all        ? "--trace all"
                        : !flags.hazards                        ? "--hazards off"
                        : !flags.until.empty() && flags.frame   ? "--until and --frame"
                                                                : nullptr;
    if (other) {
      throw model::Refusal(
          std::string(other) +
          ": does not go with --step, which shows one traced block as text; leave one out");
    }
  }
}

void refuse_conflicts(const Flags& flags) {
  if (flags.a.empty() != flags.b.empty()) {
    const bool has_a = !flags.a.empty();
    throw model::Refusal(
        has_a ? "--a " + flags.a + ": B is missing; give --b B.npy too"
              : "--b " + flags.b + ": A is missing; give --a A.npy too");
  }
  if (!flags.c.empty() && flags.a.empty()) {
    throw model::Refusal(
        "--c " + flags.c + ": A and B are missing; give --a A.npy and --b B.npy too");
  }
  if (!flags.a.empty() && (flags.size || flags.m || flags.n || flags.k)) {
    const char* flag = flags.size ? "--size" : flags.m ? "--m" : flags.n ? "--n" : "--k";
    throw model::Refusal(
        std::string(flag) + " and --a: the files say how large the matrices are; leave " + flag +
        " out");
  }
  if (!flags.a.empty() && flags.c.empty() && flags.beta != 0) {
    throw model::Refusal("--beta: C is missing; give --c C.npy too, or leave --beta out");
  }
  refuse_step_conflicts(flags);
  if (flags.format == report::Format::markdown && !flags.explain) {
    throw model::Refusal("--format markdown: only --explain writes it; give --explain too");
  }
  if (flags.ask && flags.format != report::Format::table) {
    throw model::Refusal("--ask: its questions and a --format do not mix; leave one of them out");
  }
  if (!flags.variant.empty() && flags.stage.empty()) {
    throw model::Refusal(
        "--variant " + flags.variant +
        ": the stage is missing; give it too, for example --stage 4");
  }
}

// Without case, blanks and dashes, so that names can be typed without quotes.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (letter != ' ' && letter != '-') plain += capital ? char(letter - 'A' + 'a') : letter;
  }
  return plain;
}

[[noreturn]] void refuse_stage(
    const std::string& text, const std::string& why, std::span<const model::Stage> stages) {
  std::string sentence = "--stage " + text + ": " + why + "; the stages are ";
  for (const model::Stage& stage : stages) {
    sentence +=
        (&stage == stages.data() ? "" : ", ") + std::to_string(stage.number) + " " + stage.name;
  }
  throw model::Refusal(sentence);
}

// The position in the table of the stage with that number, written in digits.
std::size_t numbered(
    const std::string& digits, const std::string& text, std::span<const model::Stage> stages) {
  int number = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  for (std::size_t at = 0; at < stages.size(); ++at) {
    if (parsed.ec == std::errc() && stages[at].number == number) return at;
  }
  refuse_stage(text, "there is no stage " + digits, stages);
}

}  // namespace

Flags parse_flags(int argc, char** argv) {
  Flags flags;
  bool beta_given = false;
  for (int at = 1; at < argc; ++at) {
    const std::string argument = argv[at];
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const auto* option = std::find_if(
        std::begin(kOptions), std::end(kOptions), [&](const Option& o) { return o.name == name; });
    if (option == std::end(kOptions)) refuse_unknown(name);
    Value value{name, "", option->hint ? option->hint : ""};
    if (equals < argument.size()) {
      if (!option->hint) throw model::Refusal(argument + ": takes no value; write " + name);
      value.text = argument.substr(equals + 1);
    } else if (option->hint) {
      const bool missing = at + 1 == argc || std::string_view(argv[at + 1]).starts_with("--");
      if (missing) throw model::Refusal(name + ": the value is missing; " + value.hint);
      value.text = argv[++at];
    }
    option->set(flags, value);
    beta_given = beta_given || name == "--beta";
  }
  if (!flags.c.empty() && !beta_given) flags.beta = 1;
  refuse_conflicts(flags);
  return flags;
}

const char* help_text() {
  return R"(gemm_steps: how a matrix multiplication becomes fast on a GPU, one stage at a time

Computes C = alpha*A*B + beta*C in fp32 with every stage of the ladder, checks each result, counts
what each kernel loads and stores, and times it where there is an NVIDIA GPU. Without one the same
kernels run on the CPU, where every access is traced.

usage: gemm_steps [flags]

What to run
  --stage S            a number (5), a range (3-6, 3-), a name or its beginning (warp); default: all
  --variant NAME       another choice of tile sizes for the stage; --list names them
  --explain            each stage in depth: launch shape, predicted and traced counts, occupancy
  --section NAMES      only these parts of --explain: idea, diff, kernel, tiles, counts, occupancy,
                       ceiling, time, questions, answers; several with commas between
  --ask                --explain, but your predictions first: a line each, numbers or formulas
  --experiment NAME    a question that takes several launches to answer, as a table that ends with
                       what it shows; --experiment list names them all
  --device gpu|cpu     where the kernels run; default: the GPU, where there is one
  --gpu NAME           the GPU that occupancy is worked out for; default: the one present, else
                       RTX 3090
  --trace sample|all   trace the corner, middle and edge blocks (default), or every block, which
                       gives totals for the whole launch
  --hazards on|off     look for races, accesses out of bounds, divergent barriers, unwritten and
                       unaligned reads where blocks are traced; default: on
  --reps N             timed runs of each stage

Step by step
  --step               through what a block does, a warp's request at a time, at a size of 2 blocks
                       and 2 tiles of K (--m, --n, --k choose another); ? shows the keys
  --until PLACE        begin at barrier:2, line:171, step:40, hazard:1 or end
  --frame N            begin at step N; 0 is the block's beginning
  --print              print that frame as text, 80 x 24, as is done without a terminal
  --script FILE        press the keys in FILE ("3n b /As[row]" ...), and print the last frame, or
                       those where the word print stands
  --print-each         print a frame after each key of the script
  --ascii              nothing but ASCII, for terminals without Unicode

On which matrices (A is M x K, B is K x N, C is M x N)
  --size N             M = N = K; default: 4096 on a GPU, 256 traced
  --m M --n N --k K    each side for itself; what is not given is --size
  --alpha X --beta X   default: 1 and 0 (1 with --c); with beta = 0 the old C is not read
  --seed N             of the random matrices; default: 1
  --a FILE --b FILE    A and B from NumPy files (float32 or float64, C or Fortran order)
  --c FILE             the old C, likewise
  --out FILE           write the new C, as the last stage computed it, to a NumPy file

How to print it
  --format F           table (default), json, csv, or markdown with --explain
  --no-color           no colour on a terminal; NO_COLOR in the environment does the same
  --ncu FILE           set ncu's counts, as CSV, beside the traced ones (make profile STAGE=5)
  --ncu-units FILE     set ncu's busy units beside the ceilings (make ceilings)
  --ncu-metrics, --ncu-unit-metrics
                       the metrics that ncu must be asked for
  --figures DIR        draw the lesson's pictures there, as SVG, and say what each of them shows
  --list               the stages with their variants
  --help  --version

--flag=value works as well. Whole numbers may be written as 1e4; of a repeated flag the last counts.

Examples
  gemm_steps                                       walk the whole ladder
  gemm_steps --stage 5 --explain                   one stage in depth
  gemm_steps --stage 3-6 --size 1000               four stages, where no tile divides the matrix
  gemm_steps --stage 4 --variant 16x16x16-tm8 --trace all
  gemm_steps --gpu "A100 SXM 80GB" --format json   occupancy on a GPU that is not here
  gemm_steps --stage 9 --a A.npy --b B.npy --out C.npy

Exit code: 0, 1 if a result failed its check or a hazard was found, 2 if the request cannot be met.
)";
}

std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages) {
  std::vector<const model::Stage*> selected;
  const auto add = [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at <= last; ++at) selected.push_back(&stages[at]);
    return selected;
  };
  if (text.empty()) return stages.empty() ? selected : add(0, stages.size() - 1);

  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::string from = text.substr(0, dash);
  const std::string to = dash < text.size() ? text.substr(dash + 1) : from;
  const bool to_the_last = dash + 1 == text.size();
  if (all_digits(from) && (to_the_last || all_digits(to))) {
    const std::size_t first = numbered(from, text, stages);
    const std::size_t last = to_the_last ? stages.size() - 1 : numbered(to, text, stages);
    if (first > last) {
      throw model::Refusal(
          "--stage " + text + ": the range runs backwards; write --stage " + to + "-" + from);
    }
    return add(first, last);
  }

  const std::string wanted = plain_name(text);
  const bool is_word = !wanted.empty() && !all_digits(wanted);
  for (const model::Stage& stage : stages) {
    const std::string name = plain_name(stage.name);
    if (name == wanted) return {&stage};
    if (is_word && name.starts_with(wanted)) selected.push_back(&stage);
  }
  if (selected.empty()) refuse_stage(text, "there is no such stage", stages);
  if (selected.size() > 1) refuse_stage(text, "more than one stage begins like this", stages);
  return selected;
}

const model::Variant& select_variant(const model::Stage& stage, const std::string& name) {
  std::string names;
  for (const model::Variant& variant : stage.variants) {
    if (name.empty() || name == variant.name) return variant;
    names += (names.empty() ? "" : ", ") + std::string(variant.name);
  }
  const std::string stage_name = "stage " + std::to_string(stage.number) + " (" + stage.name + ")";
  throw model::Refusal(
      "--variant " + name + ": " + stage_name + " has " +
      (names.empty() ? "no variants; leave --variant out" : "no such variant; it has " + names));
}

bool wants_colour(const Flags& flags, std::FILE* out) {
  if (flags.format == report::Format::markdown) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !flags.no_color && !(no_color && *no_color) && terminal &&
         std::string_view(terminal) != "dumb" && isatty(fileno(out));
}

report::Explaining explaining(const Flags& flags) {
  return {flags.sections, flags.format == report::Format::markdown, flags.ask ? stdin : nullptr};
}

}  // namespace flags
