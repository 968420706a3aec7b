#include "try/show.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>

#include "model/refusal.h"
#include "report/annotated.h"
#include "pictures/figures.h"
#include "report/hazard_sentence.h"
#include "report/numbers.h"
#include "pictures/show.h"
#include "pictures/block_requests.h"
#include "trace/source_lines.h"
#include "machine/symbols.h"

extern "C" char __executable_start;

namespace {

constexpr std::size_t kMostEvents = 200'000;  // of a launch: more can nobody look at

// The line of `kernel` that a return address belongs to; 0 where it is not known.
int line_of(const void* place, const simt::SourceRange& kernel) {
  if (place == nullptr) return 0;
  std::vector<LineCounts> lines(1);
  lines[0].places = {
      static_cast<std::uint32_t>(static_cast<const char*>(place) - &__executable_start - 1)};
  simt::resolve_lines(lines, kernel);
  return lines[0].line;
}

// The text of a kernel whose counts are not known.
std::string plain_source(const simt::SourceRange& kernel) {
  std::string_view text;
  const std::string whole = simt::source_text(kernel.file);
  text = whole;
  std::string numbered;
  for (int line = 1; line <= kernel.last && !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (line >= kernel.first) {
      numbered +=
          shortened(printed("%5d ", line) + std::string(text.substr(0, end)), kReportWidth) + "\n";
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbered;
}

std::string launch_text(const Recording& recording) {
  const auto& [gx, gy, gz] = recording.grid;
  const auto& [bx, by, bz] = recording.block;
  return printed("grid %u x %u x %u, block %u x %u x %u", gx, gy, gz, bx, by, bz) +
         (recording.complete ? "" : "; only the beginning of its first block is shown");
}

void write_page(const std::string& path, const std::string& html) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial, std::ios::binary);
  file << html;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(partial, path, error);
  if (file && !error) return;
  std::filesystem::remove(partial, error);
  throw Refusal("--show " + path + ": cannot be written; give a file that you may write");
}

}  // namespace

ShowRecorder::ShowRecorder(std::string page) : page_(std::move(page)) {
  recorder_.blocks = {0};
  recorder_.most_events = kMostEvents;
}

void ShowRecorder::keep_fault(const std::function<void()>& trace) {
  if (page_.empty()) return trace();
  try {
    trace();
  } catch (const simt::KernelFault& fault) {
    fault_ = fault;
  }
}

Outcome ShowRecorder::show(std::FILE* out, Style style, const Run& run, const std::string& wrong) {
  Show show;
  show.title = title.empty() ? product(run) : title;
  for (const Row& row : run.rows) {
    if (!row.counts) continue;
    for (const Hazard& hazard : row.counts->hazards) {
      show.complaints.push_back(hazard_sentence(hazard, run, row));
      for (const Hazard::Actor& actor : {hazard.first, hazard.second}) {
        if (actor.thread >= 0) show.lines.insert(actor.line);
      }
    }
  }
  if (!wrong.empty()) show.complaints.push_back(wrong);
  std::vector<const void*> known;
  for (Recording& recording : recorder_.launches) {
    if (std::find(known.begin(), known.end(), recording.kernel) != known.end()) continue;
    known.push_back(recording.kernel);
    const simt::SourceRange range = simt::kernel_lines(recording.kernel);
    simt::resolve_lines(recording, range);
    const bool failed = fault_ && &recording == &recorder_.launches.back();
    if (failed) {
      const int line = line_of(fault_->place, range);
      show.lines.insert(line);
      show.complaints.push_back((line > 0 ? printed("line %d: ", line) : "") + fault_->what());
    }
    const std::size_t number = known.size() - 1;
    const std::string counted =
        !fault_ && number < run.rows.size() ? annotated_source(run.rows[number], style) : "";
    Story story = story_of(recording, 0, run.M, run.N, run.K);
    std::copy(std::begin(by_columns), std::end(by_columns), story.by_columns);
    show.kernels.push_back({simt::function_name(recording.kernel), launch_text(recording),
                            std::move(story), counted.empty() ? plain_source(range) : counted});
  }
  print_show(out, show, style);
  for (ShownKernel& kernel : show.kernels) {  // colours are for the terminal alone
    const std::size_t number = &kernel - show.kernels.data();
    if (!fault_ && number < run.rows.size()) kernel.source = annotated_source(run.rows[number], {});
  }
  write_page(page_, html_page(show));
  std::fprintf(out, "\nThe same as a page: %s\n", page_.c_str());
  return {show.complaints.empty() ? 0 : 1, ""};
}
