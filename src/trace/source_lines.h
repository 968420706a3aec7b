// From places in the program to lines of the kernels' source, by binutils' addr2line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/audit.h"
#include "model/counts.h"
#include "model/recording.h"

namespace trace {

// Places in this program, as distances from its begin.
using Places = std::vector<std::uint32_t>;

// What `addr2line -a -i` prints of them; nothing where it is not to be had.
std::string addr2line(const Places& places);

// Asked instead of addr2line() for all that follows, where it is not empty: by a process that may
// start no other.
extern std::function<std::string(const Places&)> addr2line_elsewhere;

// And instead of source_text(): by a process that may open no file.
extern std::function<std::string(const std::string& file)> source_text_elsewhere;

struct SourceRange {
  std::string file;
  int first = 0, last = 0;  // lines, from 1
};

// Where the kernel at `kernel` stands, a function compiled for the CPU; lines 0 to 0 where that
// cannot be found: without addr2line, debug information or the file.
SourceRange kernel_lines(const void* kernel);

// The text of a source file: of gemm_steps.cu as it was when this was compiled.
std::string source_text(const std::string& file);

// Gives every one of `lines` its line of `kernel`: the innermost of the calls that led to it which
// still stands in the kernel, so that an access inside a helper belongs to the line that calls it.
// What then is the same line, array, direction and width becomes one; sorted by line.
void resolve_lines(std::vector<model::LineCounts>& lines, const SourceRange& kernel);

// The same for hazards; sorted by kind and lines, and each pair of lines once.
void resolve_lines(std::vector<model::Hazard>& hazards, const SourceRange& kernel);

// The same for what an audit found, but for what has its line already: of another kernel.
void resolve_lines(model::Audit& audit, const SourceRange& kernel);

// The same for the sites and hazards of a recording, whose order stays.
void resolve_lines(model::Recording& recording, const SourceRange& kernel);

}  // namespace trace
