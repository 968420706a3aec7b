// make show: records the first block of every launch, and shows it, also of a kernel that fails.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "guard/guard.h"
#include "lab/run.h"
#include "machine/grid.h"
#include "text/style.h"
#include "trace/recorder.h"

namespace attempt {

class ShowRecorder {
 public:
  // `page` is the HTML file to write; where it is empty nothing is recorded.
  explicit ShowRecorder(std::string page);

  // Of the multiplication, where it is not `C = A * B` row by row.
  std::string title;
  bool by_columns[3] = {false, false, false};

  trace::Recorder* wanted() { return page_.empty() ? nullptr : &recorder_; }

  // Runs `trace`. Where something is recorded, a fault of a kernel is kept, to be shown.
  void keep_fault(const std::function<void()>& trace);
  bool fault() const { return fault_.has_value(); }

  // Prints what was recorded and writes the page. `run` has a row for every kernel, or none where
  // one failed; `wrong` says what is wrong with the result, if anything is. Throws Refusal where
  // the page cannot be written.
  guard::Outcome show(
      std::FILE* out, text::Style style, const lab::Run& run, const std::string& wrong);

 private:
  std::string page_;
  trace::Recorder recorder_;
  std::optional<machine::KernelFault> fault_;
};

}  // namespace attempt
