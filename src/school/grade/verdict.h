// The verdict on a student's kernel, sent by the process that ran it to the one that prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "school/grade/exercise.h"

namespace grade {

// Everything is text: the other process only prints it.
struct Verdict {
  std::size_t finished = 0;  // cases in which the kernel finished
  std::string table;         // of those; empty if there is a complaint before
  std::string score;
  std::optional<Complaint> complaint;
  // Three lines for grade_class.sh, yes or no: whether the results are right; and if they are,
  // whether there was no hazard, and whether the targets are met, including what an exercise asks
  // besides its kernel. Nothing if that is unknown.
  std::string facts;
};

// Replaces the first by the second if that is more serious.
void keep_gravest(std::optional<Complaint>& kept, const std::optional<Complaint>& more);

// The verdict on the first `finished` of all cases, which counts if the next one does not finish;
// with all cases finished it is the final one. `of_kernel` is the complaint found in those cases.
// The submission has the finished ones.
Verdict verdict_on(
    const Submission& submission, std::size_t all, const std::optional<Complaint>& of_kernel);

// Several texts as one, to send it to another process. None of them may have a zero byte.
std::string packed(const std::vector<std::string>& texts);
std::vector<std::string> unpacked(const std::string& text);

// One of the texts as a whole number; nothing if it is missing or not a number.
std::optional<std::size_t> number_in(const std::vector<std::string>& texts, std::size_t at);

std::string packed(const Verdict& verdict);
// The report of a process that ran a kernel. The kernel may have written it, so the result is
// nothing if this is not a verdict, and its texts have no control sequences.
std::optional<Verdict> unpacked_verdict(const std::string& text);

// make show, make step and make debug EX=n: one case of an exercise, in pictures, step by step or
// under gdb, with the kernel that the grader put together.

struct InspectOptions {
  std::string how;           // "show", "step" or "debug"; empty: grade
  std::string page;          // for show: the HTML file to write
  std::vector<char*> flags;  // as gemm_steps takes them, the first a placeholder for its name
};

// The answer, and how it is run.
struct Inspected {
  std::string exercise, file, student;
  std::uint64_t seed;
  double limit_s;
};

// Shows the smallest case in which the kernel fails, or else the smallest in which there is
// something to see. If an exercise has questions that come first, they must have been answered.
// Returns the exit code: 0, 1 if the kernel fails there, or 2. Throws a Refusal for flags that do
// not apply here. Only a program that inspects is linked with it.
[[gnu::weak]] int inspect(const InspectOptions& options, const Inspected& what);

}  // namespace grade
