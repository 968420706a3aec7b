// What the process that ran a student's kernel concludes from it, for the one that tells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "school/grade/exercise.h"

namespace grade {

// All in words: what crosses from one process to the other can be told, and nothing else.
struct Verdict {
  std::size_t finished = 0;  // cases in which the kernel came to its end
  std::string table;         // of those; empty where an answer is complained about before
  std::string score;
  std::optional<Complaint> complaint;
  // Three lines for grade_class.sh, yes or no: whether the results are right; and where they are,
  // whether nothing hazardous was done, and whether the targets are met, to which belongs what an
  // exercise asks beside its kernel. Nothing where it cannot be told.
  std::string facts;
};

// Takes the second in the place of the first where it is graver.
void keep_gravest(std::optional<Complaint>& kept, const std::optional<Complaint>& more);

// The verdict on the first `finished` of all cases, measured, as it is to stand if the next one
// does not come to its end; with all of them finished it is the last one. `of_kernel` is what was
// found in those cases. The submission has the finished ones.
Verdict verdict_on(
    const Submission& submission, std::size_t all, const std::optional<Complaint>& of_kernel);

// Texts in one, to cross from process to process. None of them may have a zero byte.
std::string packed(const std::vector<std::string>& texts);
std::vector<std::string> unpacked(const std::string& text);

// The whole number that is one of them; none where it is not there, or none.
std::optional<std::size_t> number_in(const std::vector<std::string>& texts, std::size_t at);

std::string packed(const Verdict& verdict);
// What a process says that ran a kernel, which may be what that kernel wants it to say: none where
// it is no verdict, and in words nothing that a terminal might obey.
std::optional<Verdict> unpacked_verdict(const std::string& text);

// make show, make step and make debug EX=n: one case of an exercise, in pictures, step by step or
// under gdb, with the kernel that the grader put together.

struct InspectOptions {
  std::string how;           // "show", "step" or "debug"; empty: grade
  std::string page;          // of show: the HTML file to write
  std::vector<char*> flags;  // as gemm_steps takes them, the first a placeholder for its name
};

// The answer, and how it is run.
struct Inspected {
  std::string exercise, file, student;
  std::uint64_t seed;
  double limit_s;
};

// Shows the smallest case in which the kernel fails, or else the smallest in which there is
// something to see. Where an exercise asks something before its tool speaks, it must have been
// answered. Returns the exit code: 0, 1 where the kernel fails there, or 2. Throws Refusal for
// flags that make no sense here.
int inspect(const InspectOptions& options, const Inspected& what);

}  // namespace grade
