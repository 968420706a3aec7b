#include "report/legend.h"

#include <algorithm>

#include "lab/run.h"
#include "report/device_words.h"
#include "report/recorded.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr int kTerm = 12;

struct Entry {
  const char* term;
  std::string words;
};

std::string latency() {
  return text::printed("latency: no unit is busy %d %% of the time", lab::kBusy) +
         ", so warps mostly wait for results, and the ceiling cannot see that";
}

// The most urgent first.
std::vector<Entry> entries_of(const lab::Run& run, const std::vector<std::string>& left_out) {
  const auto any_row = [&](const auto& is) {
    return std::any_of(run.rows.begin(), run.rows.end(), is);
  };
  std::vector<Entry> entries;
  if (!left_out.empty()) {
    std::string names;
    for (const std::string& name : left_out) names += (names.empty() ? "" : ", ") + name;
    entries.push_back(
        {"left out",
         names +
             text::printed(": %d columns are too few; --wide prints all", text::report_width())});
  }
  std::string throttled;
  for (const lab::Row& row : run.rows) {
    if (was_throttled(row)) throttled += (throttled.empty() ? "" : ", ") + row.name;
  }
  if (!throttled.empty()) {
    entries.push_back(
        {"throttled", throttled + ": the GPU lowered its clock; --explain says why, and how far"});
  }
  if (any_row([](const lab::Row& row) {
        return row.variant && model::multiplies_bf16(*row.variant);
      })) {
    entries.push_back(
        {"bf16",
         "A and B are rounded to bf16 before the kernel and its clock start; also for cuBLAS "
         "bf16"});
  }
  if (!model::has_clock(run.gpu)) {
    entries.push_back(
        {"no clock", "the " + run.gpu.name + " only counts: it has no times and no ceilings"});
  }
  if (any_row([](const lab::Row& row) { return row.error && row.error->overflowed > 0; })) {
    entries.push_back(
        {"over", "ok, but some results are beyond the range of fp32: infinity or NaN"});
  }
  const bool has_idle_sms = any_row([&](const lab::Row& row) {
    const auto ceiling = lab::compiled_ceiling(run, row);
    return ceiling && ceiling->busy_share < 0.5;
  });
  if (has_idle_sms) {
    entries.push_back(
        {"few blocks", "most SMs are idle most of the time; a larger --size fills the GPU"});
  }
  if (any_row([&](const lab::Row& row) { return lab::bound_by(run, row).has_value(); })) {
    entries.push_back(
        {"bound by", "the busiest unit and the % of the time that it is busy. " + latency()});
  }
  if (any_row([&](const lab::Row& row) { return !row.time && lab::compiled_ceiling(run, row); })) {
    entries.push_back(
        {"ceiling",
         "not timed: the most that this GPU can reach; the unit named is then always busy"});
  }
  if (!run.gpu_present && is_recorded(run)) {
    entries.push_back({"recorded", "the speed on this GPU at this size, as recorded in results/"});
  }
  entries.push_back(
      {"loads", "as written: a float4 or a cp.async is one. GMEM, SMEM: global, shared memory"});
  entries.push_back(
      {"per request", text::printed(
                          "of a warp: %d-byte sectors of a GMEM load; bank conflicts in SMEM",
                          run.gpu.warp.sector_bytes)});
  if (any_row([](const lab::Row& row) { return row.time && row.time->partial; })) {
    entries.push_back({"~", "scaled up from the first rows of C"});
  }
  if (!run.program.empty()) {
    entries.push_back(
        {"launches",
         std::string("of the program; what the first one of each kernel did is counted") +
             (run.gpu_present ? "; the time is the median of all on the GPU, each between two "
                                "events, so it includes the overhead of a launch"
                              : "")});
    return entries;
  }
  entries.push_back(
      {"ok", "no result is farther from the fp64 reference than rounding can explain"});
  return entries;
}

}  // namespace

std::string short_legend(const lab::Run& run, const std::vector<std::string>& left_out) {
  constexpr int kMostLines = 6;
  const std::string more = text::labelled(
      "", 0, "--legend explains every column, --wide prints more, --explain has the reasons.");
  const auto lines = [](const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  };
  std::string text;
  for (const Entry& entry : entries_of(run, left_out)) {
    const std::string next = text::labelled(entry.term, kTerm, entry.words);
    if (lines(text) + lines(next) + lines(more) <= kMostLines) text += next;
  }
  return text + more;
}

void print_legend(std::FILE* out) {
  const Entry entries[] = {
      {"#, stage",
       "the stage's number and name. Rows without a number are yardsticks: the CPU and cuBLAS"},
      {"variant",
       "the tile sizes that ran: those that suit the GPU and the size, unless --variant names "
       "others (--wide)"},
      {"time",
       "the median of many launches in ms, each between two events, after unmeasured ones; "
       "--explain gives the spread. ~: scaled up from the first rows of C, because all of C would "
       "take too long"},
      {"TFLOP/s", "1e12 operations per second, 2*M*N*K of them in all"},
      {"bf16",
       "a variant that multiplies bf16 gets copies of A and B that are rounded before its clock "
       "starts, and so does cuBLAS bf16, which the table shows beside it on a GPU"},
      {"% of cuBLAS", "speed over that of cuBLAS fp32 in the same run"},
      {"times the", "stage before: its speed divided by that of the stage before (--wide)"},
      {"ceiling",
       "the TFLOP/s at which one unit of this GPU, the one named, would be busy all the "
       "time with the compiled kernel, at this size; --explain shows every unit. ≤: not "
       "timed, so this is the most that the GPU can reach. took: a time on this CPU"},
      {"recorded",
       "without this GPU: the speed that somebody recorded on one, at this size (results/)"},
      {"bound by",
       "the busiest unit, and the % of the time that it is busy, which is the measured "
       "speed over the ceiling. " +
           latency() + ": it counts work and no waiting"},
      {"units",
       "FMA: multiply-adds. issue: instructions. SMEM: wavefronts of shared memory. L1: "
       "128-byte lines. L2, DRAM: bytes. tensor: products of the tensor cores"},
      {"few blocks",
       "most SMs have nothing to do for most of the time; a stage with larger blocks "
       "has fewer of them. A larger --size fills the GPU"},
      {"loads/thread",
       "accesses as written, of the thread with the most: one float4 is one, one "
       "cp.async is one. GMEM: global memory. SMEM: shared memory"},
      {"loads/result", "the same, divided by the results of C that a thread computes (--wide)"},
      {"sectors",
       "of 32 bytes (16 on the paper GPU) that a request, one instruction of a warp, loads from "
       "GMEM"},
      {"ideal",
       "the fewest sectors that can hold the bytes that the request wants: 4 for 32 floats, "
       "16 for 32 float4, 1 where all lanes want the same float (--wide)"},
      {"conflicts",
       "bank conflicts: wavefronts of SMEM that a request takes beyond the fewest, "
       "loads and stores together"},
      {"products",
       "multiply-adds that an instruction of the tensor cores makes for a warp; an FFMA makes 32, "
       "one for each lane (--wide)"},
      {"sampled",
       "sectors and conflicts are of the traced blocks (corners, edges, middle); --trace "
       "all traces every block"},
      {"registers", "per thread, as the compiler allocates them (--wide)"},
      {"blocks", "that an SM holds at a time (--wide)"},
      {"occupancy", "warps that an SM holds, in % of those that it could hold"},
      {"error",
       "|C - other| / |other| (Frobenius): against an fp64 product on the CPU, and against "
       "cuBLAS fp32"},
      {"ok",
       "no element is farther from the fp64 reference than rounding can explain; FAIL: one "
       "is. over: ok, but some elements of C, or sums on the way to them, are beyond the "
       "range of fp32: they overflow to infinity or NaN, as in every BLAS"},
      {"colour",
       "in each row the count that differs most from the stage before, by its ratio: "
       "emphasis, and no more than the numbers say"},
      {"–", "not measured, or there is no such access"}};
  std::string text = "What the columns of the table mean:\n\n";
  for (const Entry& entry : entries) text += text::labelled(entry.term, kTerm + 1, entry.words);
  std::fputs(text.c_str(), out);
}

}  // namespace report
