#include "report/explain/sections.h"

#include "lab/run.h"
#include "report/bound_by.h"
#include "report/device_words.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

// The GPU while it was measured: a throttled or cold GPU makes any kernel slow.
std::string device(const lab::Timing& time) {
  std::string text;
  if (time.device) {
    text += fact("clocks", clocks_words(*time.device) + temperature_words(*time.device));
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

std::string timing(const lab::Run& run, const lab::Row& row, text::Style style) {
  std::string text = heading("Time and error", style);
  if (!row.time) {
    return text +
           fact(
               "traced",
               run.gpu_present
                   ? "This row did not run on the GPU."
                   : "There is no GPU here: the kernel ran on the CPU, counted and not timed.");
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
  if (const auto rate = lab::tflops(run, row)) {
    text += fact("rate", "2*M*N*K operations: " + tflops_words(*rate) + " TFLOP/s");
  }
  if (const auto ratio = lab::cublas_ratio(run, row))
    text += fact("", text::brief(100 * *ratio) + " % of cuBLAS fp32");
  if (const auto ratio = lab::times_the_stage_before(run, row)) {
    text += fact("", text::brief(*ratio) + " times the speed of the stage before");
  }
  return text + device(time);
}

std::string result(const lab::Row& row, text::Style style) {
  if (!row.error) return "";
  const model::Error& error = *row.error;
  std::string text = fact(
      "error", text::scientific(error.relative) +
                   " of the fp64 reference's norm (Frobenius); the largest of one element is " +
                   text::scientific(error.max_abs));
  if (row.cublas_error)
    text += fact("against cuBLAS", text::scientific(*row.cublas_error) + " of its norm");
  if (error.bound_ok) {
    text += text::repeated(" ", kIndent) + text::pad_right("bound", kLabel) +
            text::coloured("ok", text::Colour::green, style) +
            ": no element is farther off than rounding can explain\n";
    if (error.overflowed > 0) {
      text += fact(
          "overflow",
          text::grouped(error.overflowed) +
              (error.overflowed == 1 ? " element is" : " elements are") +
              " infinite or NaN, as in every BLAS: such sums are beyond the range of fp32.");
    }
  } else {
    text += text::repeated(" ", kIndent) + text::pad_right("bound", kLabel) +
            text::coloured("FAIL", text::Colour::red, style) +
            ": an element is farther off than rounding can explain\n";
    if (error.first) {
      text += fact(
          "", text::printed(
                  "C[%lld][%lld] is %.9g, expected %.9g", static_cast<long long>(error.first->row),
                  static_cast<long long>(error.first->column), error.first->value,
                  error.first->expected));
    }
  }
  return text;
}

}  // namespace

std::vector<Part> explain_time(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  return {{timing(run, row, style) + result(row, style)}};
}

}  // namespace report
