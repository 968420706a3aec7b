#include "report/profile.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "model/refusal.h"
#include "report/figures.h"
#include "report/numbers.h"

namespace {

// A counter of the GPU and the same count of the trace. The trace counts a cp.async (LDGSTS) among
// the global loads and the shared stores as well; the GPU counts it on its own.
struct Metric {
  const char* name;
  std::int64_t (*traced)(const Counts&);
  bool has_to_agree;  // not for shared memory, where the compiler may merge accesses as written
};

constexpr Metric kMetrics[] = {
    // LDG and LDGSTS (cp.async) together, as an H200 counts them; the latter once more below.
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
     [](const Counts& c) { return c.gmem_loads.requests; }, true},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
     [](const Counts& c) { return c.gmem_loads.pieces; }, true},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
     [](const Counts& c) { return c.gmem_stores.requests; }, true},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
     [](const Counts& c) { return c.gmem_stores.pieces; }, true},
    {"smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
     [](const Counts& c) { return c.async_gmem.requests; }, true},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
     [](const Counts& c) { return c.async_gmem.pieces; }, true},
    {"smsp__sass_inst_executed_op_shared_ld.sum",
     [](const Counts& c) { return c.smem_loads.requests; }, false},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     [](const Counts& c) { return c.smem_loads.pieces; }, false},
    {"smsp__sass_inst_executed_op_shared_st.sum",
     [](const Counts& c) { return c.smem_stores.requests - c.async_smem.requests; }, false},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     [](const Counts& c) { return c.smem_stores.pieces - c.async_smem.pieces; }, false},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
     [](const Counts& c) { return c.async_smem.pieces; }, false},
};

using Fields = std::vector<std::string>;

// The fields of one line of CSV. None where a quote is not closed.
std::optional<Fields> fields_of(const std::string& line) {
  Fields fields(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '"' && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += line[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(fields);
}

// A count as ncu prints it, "1,048,576" or "1048576.00"; none for "n/a" and the like.
std::optional<std::int64_t> count_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  constexpr double kLargest = 9e15;  // whole in a double
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= kLargest)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at; (at = text.find(from)) != std::string_view::npos;) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

// ncu writes "void tile<(int)32, (bool)1>(int, ...)" for what C++ spells "tile<32, true>".
std::string comparable(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string text = replaced(replaced(name, "(int)", ""), "(bool)", "");
  text = replaced(replaced(text, "true", "1"), "false", "0");
  text = text.substr(0, text.find('('));
  std::erase(text, ' ');
  return text;
}

// With ncu's --kernel-name-base function a name has no template arguments.
bool same_kernel(const std::string& from_ncu, const char* ours) {
  const std::string left = comparable(from_ncu), right = comparable(ours);
  return left == right || left == right.substr(0, right.find('<'));
}

struct Launch {
  std::string kernel;
  std::vector<std::optional<std::int64_t>> counts;  // one for each of kMetrics
};

// Column of `name` in the header; none where it is missing.
std::optional<std::size_t> column_of(const Fields& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

// ncu puts every field in quotes, which tells its lines from the program's own output and from
// ncu's messages (==PROF== ...). The line after the header names units and has no ID.
std::vector<Launch> read_launches(std::istream& csv) {
  Fields header;
  std::vector<Launch> launches;
  std::string line;
  for (int number = 1; std::getline(csv, line); ++number) {
    if (!line.starts_with('"')) continue;
    const std::optional<Fields> fields = fields_of(line);
    if (header.empty()) {
      if (fields && column_of(*fields, "Kernel Name") && column_of(*fields, "ID")) header = *fields;
      continue;
    }
    if (!fields || fields->size() != header.size()) {
      throw Refusal(
          printed("line %d of ncu's output is cut off or broken: its header has %zu columns "
                  "and the line has not; run ncu --csv --page raw again",
                  number, header.size()));
    }
    if ((*fields)[*column_of(header, "ID")].empty()) continue;
    Launch launch{(*fields)[*column_of(header, "Kernel Name")], {}};
    for (const Metric& metric : kMetrics) {
      const auto column = column_of(header, metric.name);
      launch.counts.push_back(column ? count_of((*fields)[*column]) : std::nullopt);
    }
    launches.push_back(launch);
  }
  if (header.empty()) {
    throw Refusal(
        "found no table of ncu's: no line starts with a quote and has the columns \"ID\" and "
        "\"Kernel Name\"; give the output of ncu --csv --page raw --metrics ...");
  }
  return launches;
}

// Prints a line a metric. Whether all that have to agree do.
bool compare_launch(std::FILE* out, const Launch& launch, const Counts& counts) {
  bool all_agree = true;
  for (std::size_t i = 0; i < std::size(kMetrics); ++i) {
    const Metric& metric = kMetrics[i];
    const std::int64_t traced = metric.traced(counts);
    const std::optional<std::int64_t>& from_ncu = launch.counts[i];
    const bool agrees = from_ncu == traced;
    all_agree = all_agree && (agrees || !metric.has_to_agree);
    const std::string_view name = metric.name;
    const std::string line = "  " + pad_right(name.substr(0, name.rfind(".sum")), 62) +
                             pad_left(from_ncu ? grouped(*from_ncu) : "missing", 12) +
                             pad_left(grouped(traced), 12) +
                             pad_left(from_ncu ? grouped(*from_ncu - traced) : "", 10) +
                             (agrees                ? " ="
                              : metric.has_to_agree ? " ≠"
                                                    : " c");
    std::fprintf(out, "%s\n", line.c_str());
  }
  return all_agree;
}

}  // namespace

std::string ncu_metrics() {
  std::string names;
  for (const Metric& metric : kMetrics) {
    if (!names.empty()) names += ',';
    names += metric.name;
  }
  return names;
}

bool print_profile(std::FILE* out, std::istream& ncu_csv, const Run& traced) {
  const std::vector<Launch> launches = read_launches(ncu_csv);
  bool all_agree = true;
  for (const Row& row : traced.rows) {
    if (!row.variant || !row.counts) continue;
    if (!is_total(*row.counts)) {
      throw Refusal(
          printed("stage %d is traced in %lld of its %lld blocks and ncu counts them all; "
                  "add --trace all",
                  row.number, static_cast<long long>(row.counts->blocks_traced),
                  static_cast<long long>(row.counts->blocks)));
    }
    const std::string title =
        printed("stage %d %s: ", row.number, row.name.c_str()) + kernel_name(row);
    std::fprintf(out, "%s\n", shortened(title, 100).c_str());
    std::vector<std::vector<std::optional<std::int64_t>>> seen;
    for (const Launch& launch : launches) {
      // A warm-up and its repetitions count the same; they are said once.
      const bool again = std::find(seen.begin(), seen.end(), launch.counts) != seen.end();
      if (again || !same_kernel(launch.kernel, kernel_name(row))) continue;
      seen.push_back(launch.counts);
      std::fprintf(out, "%s\n",
                   ("  " + pad_right("metric, the sum over the GPU", 62) + pad_left("ncu", 12) +
                    pad_left("traced", 12) + pad_left("ncu more", 10))
                       .c_str());
      all_agree = compare_launch(out, launch, *row.counts) && all_agree;
    }
    if (seen.empty()) {
      std::fprintf(out, "  ncu did not see this kernel  ≠\n");
      all_agree = false;
    }
  }
  std::fprintf(
      out,
      "=  equal\n"
      "≠  not equal, and should be\n"
      "c  not equal, and need not be: the trace counts shared memory as the source says it,\n"
      "   and the compiler may merge, drop or repeat such accesses\n");
  return all_agree;
}
