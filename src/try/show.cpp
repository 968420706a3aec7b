#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/refusal.h"
#include "show/page/page.h"
#include "show/pictures/block_requests.h"
#include "show/pictures/pictures.h"
#include "show/report/explain/explain.h"
#include "show/report/words.h"
#include "show/step/step_command.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"
#include "try/print.h"

namespace attempt {

extern "C" char __executable_start;

namespace {

constexpr std::size_t kMostEvents = 200'000;  // per launch; nobody steps through more

// The line of `kernel` that a return address belongs to; 0 if unknown.
int line_of(const void* place, const trace::SourceRange& kernel) {
  if (place == nullptr) return 0;
  std::vector<model::LineCounts> lines(1);
  lines[0].places = {
      static_cast<std::uint32_t>(static_cast<const char*>(place) - &__executable_start - 1)};
  trace::resolve_lines(lines, kernel);
  return lines[0].line;
}

// The text of a kernel without counts.
std::string plain_source(const trace::SourceRange& kernel) {
  const std::vector<std::string> lines = text::shown_lines(trace::source_text(kernel.file));
  const int last = std::min(kernel.last, static_cast<int>(lines.size()));
  std::string numbered;
  for (int line = std::max(kernel.first, 1); line <= last; ++line) {
    numbered +=
        text::shortened(text::printed("%5d ", line) + lines[line - 1], text::kReportWidth) + "\n";
  }
  return numbered;
}

std::string launch_text(const model::Recording& recording) {
  const auto& [gx, gy, gz] = recording.grid;
  const auto& [bx, by, bz] = recording.block;
  return text::printed("grid %u x %u x %u, block %u x %u x %u", gx, gy, gz, bx, by, bz) +
         (recording.complete ? "" : "; only the first part of its first block is shown");
}

// A launch for the page's player.
page::ShownScene scene_of(
    model::Recording recording, const std::string& fault, const lab::Run& run,
    const bool (&by_columns)[3]) {
  page::ShownScene shown;
  shown.name = machine::function_name(recording.kernel);
  shown.idea = launch_text(recording);
  shown.M = run.M;
  shown.N = run.N;
  shown.K = run.K;
  shown.scene = step::scene_of(std::move(recording), shown.name, fault, run.M, run.N, run.K);
  step::draw_by_columns(shown.scene, by_columns, run.M, run.K);
  return shown;
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
  } catch (const machine::KernelFault& fault) {
    fault_ = fault;
  }
}

guard::Outcome ShowRecorder::show(
    std::FILE* out, text::Style style, const lab::Run& run, const std::string& wrong) {
  pictures::Show show;
  show.title = title.empty() ? lab::product(run) : title;
  for (const lab::Row& row : run.rows) {
    if (!row.counts) continue;
    for (const model::Hazard& hazard : row.counts->hazards) {
      const bool is_note = model::is_note(hazard.kind);
      show.complaints.push_back(
          (is_note ? "note: " : "") +
          report::hazard_sentence(hazard, run, row, is_note ? std::nullopt : remedy));
      if (remedy) remedy = "";
      for (const model::Hazard::Actor& actor : {hazard.first, hazard.second}) {
        if (actor.thread >= 0) show.lines.insert(actor.line);
      }
    }
  }
  if (!wrong.empty()) show.complaints.push_back(wrong);
  page::LessonPage lesson;
  std::vector<const void*> known;
  for (model::Recording& recording : recorder_.launches) {
    if (std::find(known.begin(), known.end(), recording.kernel) != known.end()) continue;
    known.push_back(recording.kernel);
    const trace::SourceRange range = trace::kernel_lines(recording.kernel);
    trace::resolve_lines(recording, range);
    const bool failed = fault_ && &recording == &recorder_.launches.back();
    if (failed) {
      const int line = line_of(fault_->place, range);
      show.lines.insert(line);
      show.complaints.push_back(
          (line > 0 ? text::printed("line %d: ", line) : "") + fault_->what());
    }
    const std::size_t number = known.size() - 1;
    const std::string counted = !fault_ && number < run.rows.size()
                                    ? report::annotated_source(run.rows[number], style)
                                    : "";
    pictures::BlockRequests block = pictures::requests_of_block(recording, 0, run.M, run.N, run.K);
    std::copy(std::begin(by_columns), std::end(by_columns), block.by_columns);
    show.kernels.push_back(
        {machine::function_name(recording.kernel), launch_text(recording), std::move(block),
         counted.empty() ? plain_source(range) : counted});
    lesson.scenes.push_back(
        scene_of(std::move(recording), failed ? fault_->what() : "", run, by_columns));
  }
  pictures::print_show(out, show, style);
  for (pictures::ShownKernel& kernel : show.kernels) {  // colours are only for the terminal
    const std::size_t number = &kernel - show.kernels.data();
    if (!fault_ && number < run.rows.size())
      kernel.source = report::annotated_source(run.rows[number], {});
  }
  lesson.title = show.title;
  lesson.complaints = show.complaints;
  if (lesson.complaints.empty()) lesson.verdict = "No hazard was found, and the result is right.";
  lesson.pictures = pictures::show_html(show);
  const std::string problem = text::write_file(page_, {page::lesson_html(lesson)});
  if (!problem.empty()) throw model::Refusal("--show " + text::echoed(page_) + ": " + problem);
  std::fprintf(out, "\nThe same as a page: %s\n", text::echoed(page_).c_str());
  return {show.complaints.empty() ? 0 : 1, ""};
}

std::function<void(const guard::Ended&)> page_of_stopped(const std::string& page) {
  if (page.empty()) return nullptr;
  return [page](const guard::Ended& ended) {
    const std::size_t colon = std::min(ended.line.rfind(':'), ended.line.size());
    const std::string file = ended.line.substr(0, colon);
    const int line = colon < ended.line.size() ? std::atoi(ended.line.c_str() + colon + 1) : 0;
    page::LessonPage lesson;
    lesson.title = file.empty() ? "a kernel that did not end" : file;
    lesson.complaints = {(ended.line.empty() ? "" : ended.line + ": ") + ended.sentence};
    const int lines = static_cast<int>(text::shown_lines(trace::source_text(file)).size());
    const std::string source = file.empty() ? "" : plain_source({file, 1, lines});
    lesson.pictures = pictures::show_html({"", {}, {line}, {{"", "", {}, source}}});
    const std::string problem = text::write_file(page, {page::lesson_html(lesson)});
    if (problem.empty()) {
      std::printf("The page says where: %s\n", text::echoed(page).c_str());
    } else {
      std::fprintf(stderr, "--show %s: %s\n", text::echoed(page).c_str(), problem.c_str());
    }
  };
}

}  // namespace attempt
