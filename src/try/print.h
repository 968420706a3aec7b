// A run of a user's file, in the format that the flags ask for.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "flags/flags.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/recording.h"
#include "simulator/simulator.h"
#include "text/numbers.h"
#include "try/options.h"

namespace attempt {

// `note` follows what is for readers. With --ncu, prints ncu's counts beside the traced ones
// instead, and returns whether the two agree. Throws a Refusal if they cannot be compared, or if
// --kernels names none of the rows.
bool print(
    std::FILE* out, const Options& options, lab::Run run, const std::string& note,
    text::Style style);

// Says why a user's sgemm is wrong.

// One sentence about the result of sgemm for `p`, which was loaded as `flags` ask. An sgemm that
// reads C although beta is 0 is common: then it runs once more on the CPU, with a beta that is not.
std::string why_wrong(
    const flags::Flags& flags, const model::Gpu& gpu, const lab::Problem& p,
    const model::Error& error);

// make show: records the first block of every launch and shows it, even if a kernel fails.

class ShowRecorder {
 public:
  // `page` is the HTML file to write; if it is empty, nothing is recorded.
  explicit ShowRecorder(std::string page);

  // Describes the multiplication if it is not `C = A * B`, row by row.
  std::string title;
  bool by_columns[3] = {false, false, false};
  // Follows the first hazard, in place of the usual remedies (report::hazard_sentence).
  std::optional<std::string> remedy;

  model::Recorder* wanted() { return page_.empty() ? nullptr : &recorder_; }

  // Runs `trace`. While recording, a kernel's fault is kept, to be shown.
  void keep_fault(const std::function<void()>& trace);
  bool fault() const { return fault_.has_value(); }

  // Prints the recording and writes the page. `run` has a row for every kernel, or none if one
  // failed; `wrong` says what is wrong with the result, if anything. Throws a Refusal if the page
  // cannot be written.
  guard::Outcome show(
      std::FILE* out, text::Style style, const lab::Run& run, const std::string& wrong);

 private:
  std::string page_;
  model::Recorder recorder_;
  std::optional<machine::KernelFault> fault_;
};

// For guard::Guard: writes the page of a kernel that was stopped or died, which says where. With an
// empty `page` it writes none.
std::function<void(const guard::Ended&)> page_of_stopped(const std::string& page);

// What the user's calls of CUDA functions noted.

// Prints on stderr a note if nvcc does not compile the file, and the notes of host/call.h, each
// with the line of its call.
bool print_notes();

}  // namespace attempt
