#include "show/report/explain/explain.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <sstream>
#include <utility>

#include "lab/run.h"
#include "model/tensor_core.h"
#include "show/report/known.h"
#include "show/report/words.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace report {

std::string heading(const std::string& text, text::Style style) {
  return text::printed("\n%s\n", text::coloured(text, text::Colour::bold, style).c_str());
}

std::string fact(std::string_view label, std::string_view words) {
  return text::labelled(text::repeated(" ", kIndent) + std::string(label), kIndent + kLabel, words);
}

std::string verdict(std::string_view words) {
  return text::labelled("", 2 * kIndent, words);
}

namespace {

constexpr int kHidden = model::kFp32Format.fraction_bits - model::kTf32Format.fraction_bits;

// "0 10000000 1001001000 0111111011011": sign, exponent, and the fraction in two parts, the second
// of which a tf32 number does not have.
std::string bits_of(float x, bool is_tf32) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  std::string text;
  for (int bit = 31; bit >= (is_tf32 ? kHidden : 0); --bit) {
    text += (bits >> bit & 1u) != 0 ? '1' : '0';
    if (bit == 31 || bit == model::kFp32Format.fraction_bits || bit == kHidden) text += ' ';
  }
  return text;
}

std::string line(const char* name, double value, const std::string& bits, const char* remark) {
  return text::without_trailing_spaces(
             text::printed("  %-10s%-17.9g%-37s%s", name, value, bits.c_str(), remark)) +
         "\n";
}

std::string sum(const char* name, double value, double exact) {
  const double error = std::fabs(value - exact) / exact;
  return text::printed("  %-34s%-17.10g%.0e\n", name, value, error);
}

// The part of the idea that splits a float into two tf32 numbers; empty if the stage does not. The
// whole leaves it out.
std::string split_of(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  const bool splits = row.variant && row.variant->multiplier == model::Multiplier::wgmma_3xtf32;
  if (!splits || whole) return "";
  const auto a = std::numbers::pi_v<float>, b = std::numbers::e_v<float>;
  const auto [high, low] = model::split_into_tf32(a);
  const auto [b_high, b_low] = model::split_into_tf32(b);
  std::string text = heading("The split of one product: a is pi, and b is e", style);
  text += text::printed("  %-10s%-17s%s\n", "", "value", "sign, exponent, fraction");
  text += line("a", a, bits_of(a, false), "");
  text += line("high", high, bits_of(high, true), "what the tensor cores see of a");
  text += line("a - high", a - high, bits_of(a - high, false), "exact");
  text += line("low", low, bits_of(low, true), "rounded to tf32");
  const double exact = static_cast<double>(a) * b;
  const double highs = static_cast<double>(high) * b_high;
  const double middle = static_cast<double>(high) * b_low + static_cast<double>(low) * b_high;
  const double lows = static_cast<double>(low) * b_low;
  text += text::printed("\n  %-34s%-17s%s\n", "products", "sum", "relative error");
  text += sum("high * b_high", highs, exact);
  text += sum("+ high * b_low + low * b_high", highs + middle, exact);
  text += sum("+ low * b_low, which is left out", highs + middle + lows, exact);
  text += sum("for comparison: a * b in fp32", a * b, exact);
  return text;
}

SectionParts explain_idea(const Explained& explained) {
  const lab::Row& row = explained.row;
  const auto prose = [](std::string_view words) {
    return SectionParts{{text::labelled("", 0, words), SectionPart::prose}};
  };
  if (row.launch) return {};
  if (row.variant && row.variant->contrast) return prose(row.variant->contrast->lesson.idea);
  if (row.stage) {
    SectionParts parts = prose(row.stage->lesson.idea);
    if (std::string split = split_of(explained); !split.empty())
      parts.push_back({std::move(split)});
    return parts;
  }
  if (row.number == 0) {
    return prose(
        "The triple loop as everyone first writes it, on one CPU core: i over the rows of C, j "
        "over its columns, k along the sum. The later stages run on a GPU and are measured against "
        "it.");
  }
  return prose("A yardstick, not a stage: the lesson has its time and its error, not its code.");
}

std::string plain_name(std::string_view kernel) {
  return std::string(kernel.substr(0, kernel.find('<')));
}

// From the first line to the last; none for {0, 0}.
std::vector<std::string> source_lines(const lab::Row& row, std::pair<int, int> lines) {
  const std::vector<std::string> all = text::shown_lines(row.source);
  const auto last = std::min<std::ptrdiff_t>(lines.second, std::ssize(all));
  return {all.begin() + std::max(lines.first, 1) - 1, all.begin() + last};
}

// Which lines stand before a kernel's first statement or say what divides what: parameters of the
// template and the function, and static_assert.
std::vector<bool> head_lines(const std::vector<std::string>& kernel) {
  std::vector<bool> head(kernel.size(), false);
  bool in_signature = true, in_assert = false;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    in_assert = in_assert || kernel[i].find("static_assert") != std::string::npos;
    head[i] = in_signature || in_assert;
    if (kernel[i].ends_with("{")) in_signature = false;
    if (kernel[i].ends_with(";")) in_assert = false;
  }
  return head;
}

// The first and the last line of the kernel above that one, which is launched before it.
std::pair<int, int> kernel_above(const lab::Row& row, const std::string& name) {
  const std::vector<std::string> all = text::shown_lines(row.source);
  std::pair<int, int> above, last;
  for (int i = 0; i < std::ssize(all); ++i) {
    if (all[i].starts_with("__global__")) above = std::exchange(last, {i + 1, 0});
    if (all[i] == "}" && last.second == 0) last.second = i + 1;
    if (last.first == i + 1 && all[i].find(" " + name + "(") != std::string::npos) break;
  }
  return above;
}

// The lines that carry the idea: these beside those of the stage before. The name of the kernel is
// no difference.
std::vector<DiffLine> beside_each_other(
    const lab::Row& row, std::pair<int, int> old_lines, std::pair<int, int> lines, bool whole) {
  std::vector<std::string> before = source_lines(row, old_lines);
  const std::vector<std::string> after = source_lines(row, lines);
  const std::string old_name = plain_name(row.before_kernel),
                    name = plain_name(lab::kernel_name(row));
  for (std::string& line : before) {
    const std::size_t at = line.find(" " + old_name + "(");
    if (at != line.npos) line.replace(at + 1, old_name.size(), name);
  }
  std::vector<DiffLine> all = line_diff(before, after);
  if (whole) {
    const std::vector<bool> old_head = head_lines(before), head = head_lines(after);
    std::erase_if(all, [&](const DiffLine& line) {
      return line.after > 0 ? head[line.after - 1] : old_head[line.before - 1];
    });
  }
  return all;
}

SectionParts explain_diff(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  if (!row.stage || !row.variant || row.before_first == 0 || row.source_first == 0) return {};
  std::pair before{row.before_first, row.before_last}, now{row.source_first, row.source_last};
  const bool same_function = before.first == now.first;
  if (same_function) {
    before = kernel_above(row, plain_name(row.before_kernel));
    now = kernel_above(row, plain_name(lab::kernel_name(row)));
  }
  const std::vector<DiffLine> all = beside_each_other(row, before, now, whole);
  // In the whole, first lines that did not change are left out, then the old ones.
  const std::size_t most = whole ? 12 : all.size();
  std::vector<DiffLine> shown = shortened_diff(all, 1);
  if (shown.size() > most) shown = shortened_diff(all, 0);
  if (shown.size() > most) std::erase_if(shown, [](const auto& line) { return line.after == 0; });
  const bool left_out = shown.size() > most;
  if (left_out) shown.resize(most - 1);
  std::string text = heading(
      text::printed("What changed since stage %d, ", row.before_number) + row.before_name, style);
  if (same_function) text += "  Both kernels call one function. The kernel before them changed:\n";
  for (const DiffLine& line : shown) {
    if (line.before == 0 && line.after == 0) {
      text += "        …\n";
      continue;
    }
    const int number = line.after > 0 ? now.first + line.after - 1 : before.first + line.before - 1;
    const char sign = line.before == 0 ? '+' : line.after == 0 ? '-' : ' ';
    const std::string shown_line =
        text::shortened(text::printed("%5d %c ", number, sign) + line.text, text::report_width());
    const text::Colour colour = sign == '+' ? text::Colour::green : text::Colour::red;
    text += (sign == ' ' ? shown_line : text::coloured(shown_line, colour, style)) + "\n";
  }
  if (left_out) text += "  ... and more: --section diff shows every changed line\n";
  return {{text, SectionPart::diff}};
}

// The GPU while it was measured: a throttled or cold GPU makes any kernel slow.
std::string device(const lab::Timing& time) {
  std::string text;
  if (time.device) {
    const std::optional<double>& celsius = time.device->max_celsius;
    const std::string warmth = celsius ? text::printed(", %.0f °C", *celsius) : "";
    text += fact("clocks", clocks_words(*time.device) + warmth);
    text += fact("", readings_words(*time.device));
  } else if (time.busy_before_ms) {
    text += fact("clocks", "not known: the driver's NVML could not be read");
  }
  if (time.busy_before_ms) {
    text += fact(
        "busy before", text::brief(*time.busy_before_ms / 1e3) +
                           " s of work for this program, without a pause of more than a second");
  }
  return text;
}

// What comes before a kernel that multiplies parts, and what came after it.
std::string parts(const lab::Run& run, const lab::Row& row) {
  std::string text;
  if (row.stood_in > 0) {
    text += fact("stand-in", std::string(stand_in_words(row.stood_in)) + ".");
  }
  if (row.variant == nullptr || !model::multiplies_parts(*row.variant)) return text;
  const double bytes = model::bytes_of_parts(*row.variant, run.M, run.N, run.K);
  std::string words = "splits A and B: " + text::significant(bytes / 1e6) + " MB, read and written";
  if (row.variant->has_units) words += ", with B once more, to find its units";
  if (row.preparation && row.time) {
    words += text::printed(
        ", in %s ms: %s %% of the time", text::significant(row.preparation->median_ms).c_str(),
        text::brief(100 * row.preparation->median_ms / row.time->median_ms).c_str());
  } else if (model::has_clock(run.gpu)) {
    words += ", at least " + text::significant(bytes / run.gpu.dram_gb_per_s * 1e-6) + " ms";
  }
  return text + fact("pre-pass", words) +
         fact("", "The counts above are those of the kernel that multiplies.");
}

std::string timing(const Known& known, text::Style style) {
  const lab::Run& run = known.run;
  const lab::Row& row = known.row;
  std::string text = heading("Time and error", style);
  if (row.stage && !model::is_traceable(*row.stage, run.gpu)) {
    return text + fact(
                      "not run", "It " + row.why_not_run + ", which the " + run.gpu.name +
                                     " lacks: it is neither run nor traced.");
  }
  if (!row.time) {
    return text +
           fact(
               "traced",
               run.gpu_present
                   ? "This row did not run on the GPU."
                   : "There is no GPU here: the kernel ran on the CPU, counted and not timed.") +
           parts(run, row);
  }
  const lab::Timing& time = *row.time;
  text += fact(
      "median",
      text::significant(time.median_ms) + " ms" +
          text::printed(
              " of %d runs (%s to %s ms)", time.repetitions, text::significant(time.min_ms).c_str(),
              text::significant(time.max_ms).c_str()) +
          (time.partial ? ", scaled up from the first rows of C" : ""));
  if (row.variant && model::multiplies_bf16(*row.variant)) {
    text += fact("not timed", "A and B were rounded to bf16 before the clock started");
  }
  text += parts(run, row);
  if (known.tflops) {
    text += fact("rate", "2*M*N*K operations: " + tflops_words(*known.tflops) + " TFLOP/s");
  }
  if (known.cublas_ratio) {
    text += fact("", text::brief(100 * *known.cublas_ratio) + " % of cuBLAS fp32");
  }
  if (known.times_before) {
    text += fact("", text::brief(*known.times_before) + " times the speed of the stage before");
  }
  return text + device(time);
}

std::string result(const lab::Row& row, text::Style style) {
  if (row.unfit_data) return fact("error", std::string(kUnfitData) + ".");
  if (!row.error) return "";
  const model::Error& error = *row.error;
  std::string text = fact(
      "error", text::scientific(error.relative) +
                   " of the fp64 reference's norm (Frobenius); the largest of one element is " +
                   text::scientific(error.max_abs));
  if (row.cublas_error)
    text += fact("against cuBLAS", text::scientific(*row.cublas_error) + " of its norm");
  const bool ok = error.bound_ok;
  text += text::repeated(" ", kIndent) + text::pad_right("bound", kLabel) +
          text::coloured(ok ? "ok" : "FAIL", ok ? text::Colour::green : text::Colour::red, style) +
          (ok ? ": no" : ": an") + " element is farther off than rounding can explain\n";
  if (ok && error.overflowed > 0) {
    text += fact(
        "overflow", text::grouped(error.overflowed) +
                        (error.overflowed == 1 ? " element is" : " elements are") +
                        " infinite or NaN, as in every BLAS: such sums are beyond the range of "
                        "fp32.");
  }
  if (!ok && error.first) {
    text += fact(
        "", text::printed(
                "C[%lld][%lld] is %.9g, expected %.9g", static_cast<long long>(error.first->row),
                static_cast<long long>(error.first->column), error.first->value,
                error.first->expected));
  }
  return text;
}

SectionParts explain_time(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  return {{timing(known, style) + result(row, style)}};
}

template <bool answered>
SectionParts explain_questions(const Explained& explained) {
  const auto& [known, run, row, style, whole, format] = explained;
  const std::vector<AskedQuestion> asked = questions_of(run, row);
  if (asked.empty()) return {};
  std::string text = heading(
      answered ? "Questions and their answers"
               : "Questions (--section answers works them out with your numbers)",
      style);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    text += text::labelled(text::printed("  %zu", i + 1), 2 * kIndent, asked[i].text);
    if (!answered) continue;
    if (asked[i].value) text += verdict("Answer: " + asked[i].worked_out + ".");
    text += verdict(asked[i].because);
  }
  return {{text}};
}

struct ExplainSection {
  const char* name;
  SectionParts (*explain)(const Explained&);
  bool holds_counts;             // and so comes after the reader's predictions
  std::string_view within = "";  // the section that contains it
  bool is_in_whole = true;
};

constexpr ExplainSection kSections[] = {
    {"idea", explain_idea, false},
    {"diff", explain_diff, false},
    {"kernel", explain_kernel, true},
    {"loads", explain_loads, true, "", false},
    {"tiles", explain_tiles, false},
    {"launch", explain_launch, false, "tiles"},
    {"swizzle", explain_swizzle, false, "tiles"},
    {"counts", explain_counts, true},
    {"thread", explain_thread, true, "counts"},
    {"occupancy", explain_occupancy, true},
    {"ceiling", explain_ceiling, true},
    {"instructions", explain_instructions, true, "ceiling"},
    {"time", explain_time, true},
    {"questions", explain_questions<false>, true},
    {"answers", explain_questions<true>, true, "", false}};

static_assert(
    std::ranges::equal(flags::kExplained, kSections, {}, {}, [](const ExplainSection& section) {
      return std::string_view(section.name);
    }));

std::string title(const lab::Row& row, text::Style style, bool underlined) {
  const bool is_stage = row.number >= 0 && !row.launch;
  std::string text = is_stage ? text::printed("Stage %d: ", row.number) + row.name : row.name;
  if (row.variant && is_stage) text += text::printed(" (%s)", row.variant->name);
  return text::coloured(text::shortened(text, text::report_width()), text::Colour::bold, style) +
         "\n" + (underlined ? text::repeated("─", text::report_width()) + "\n" : "");
}

// A diff as Markdown colours it: the sign stands in the first column, the number after it.
std::string signs_first(const std::string& body) {
  constexpr std::size_t kSign = 6;
  std::string text;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    const bool numbered = line.size() > kSign && std::isdigit(static_cast<unsigned char>(line[4]));
    text += (numbered ? line[kSign] + line.substr(0, kSign) + line.substr(kSign + 1) : line) + "\n";
  }
  return text;
}

// A heading of the second level, and the lines as they stand in a fence of code.
std::string as_markdown(const SectionPart& part) {
  if (part.kind == SectionPart::prose) return "\n" + part.text;
  const std::size_t end = part.text.find('\n', 1);
  const std::string head = part.text.substr(1, end - 1), body = part.text.substr(end + 1);
  if (part.kind == SectionPart::table) return "\n## " + head + "\n" + body;
  return "\n## " + head + "\n\n```" + (part.kind == SectionPart::diff ? "diff" : "text") + "\n" +
         (part.kind == SectionPart::diff ? signs_first(body) : body) + "```\n";
}

void print_lines(std::FILE* out, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // Columns end in spaces where their last cell is empty.
    std::fprintf(out, "%s\n", text::without_trailing_spaces(line).c_str());
  }
}

}  // namespace

bool explain(
    std::FILE* out, const lab::Run& run, const lab::Row& row, text::Style style,
    const flags::Explaining& how) {
  const bool all = how.sections.empty();
  const Known known(run, row);
  const Explained explained{
      known,
      run,
      row,
      style,
      all && !row.launch,
      how.markdown ? flags::Format::markdown : flags::Format::table};
  const auto named = [&](std::string_view name) { return std::ranges::count(how.sections, name); };
  const bool underlined = all || run.rows.size() > 1;
  const auto wanted = [&](const ExplainSection& section) {
    return all ? section.is_in_whole && section.within.empty()
               : named(section.name) && !named(section.within);
  };
  const auto print = [&](const ExplainSection& section) {
    if (!wanted(section)) return;
    bool is_empty = true;
    for (const SectionPart& part : section.explain(explained)) {
      if (part.text.empty()) continue;
      const bool follows_title = !underlined && part.kind == SectionPart::prose;
      is_empty = false;
      print_lines(out, how.markdown ? as_markdown(part) : (follows_title ? "\n" : "") + part.text);
    }
    if (is_empty && !all) std::fprintf(out, "\n%s: nothing of the kind here\n", section.name);
  };
  const std::string head = title(row, style, underlined);
  print_lines(out, how.markdown ? "# " + head.substr(0, head.find('\n') + 1) : head);
  const bool asks = how.quiz_from && row.stage && row.variant && row.counts;
  for (const bool after : {false, true}) {  // the reader's predictions, if there are any
    if (asks && after && !quiz(how.quiz_from, out, known)) return false;
    for (const ExplainSection& section : kSections) {
      if ((asks && section.holds_counts) == after) print(section);
    }
  }
  return true;
}

}  // namespace report
