#include "show/report/facts.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "lab/run.h"
#include "show/report/quantities.h"
#include "show/report/words.h"
#include "text/json.h"
#include "text/numbers.h"

namespace report {

InFlight in_flight(const lab::Row& row, const model::LineCounts& line) {
  const auto threads = static_cast<double>(row.counts->threads_traced);
  const double warps =
      std::ceil(threads / static_cast<double>(row.counts->blocks_traced) / row.counts->warp.lanes);
  const double requests = static_cast<double>(std::max<std::int64_t>(line.requests, 1));
  return {
      static_cast<double>(line.in_flight_bytes) / requests * warps,
      static_cast<double>(line.in_flight_most) * warps};
}

std::vector<Fact> stage_facts(const lab::Run& run, const lab::Row& row) {
  const Known known(run, row);
  std::vector<Fact> of_row;
  for (const Quantity& fact : facts()) of_row.push_back({fact.path, fact.value(known)});
  return of_row;
}

std::vector<Fact> run_facts(const lab::Run& run) {
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  const bool is_real = model::has_clock(gpu);
  const lab::ProblemSize checked = run.checked.value_or(lab::ProblemSize{run.M, run.N, run.K});
  const auto or_null = [](const std::string& text) {
    return text.empty() ? FactValue() : FactValue(text);
  };
  const auto if_known = [](double rate) { return rate > 0 ? FactValue(rate) : FactValue(); };
  std::vector<Fact> facts{
      {"program", "gemm_steps"},
      {"schema", kSchema},
      {"command", run.command},
      {"date", run.date},
      {"host.cpu", or_null(run.cpu)},
      {"host.threads", run.threads},
      {"problem.M", run.M},
      {"problem.N", run.N},
      {"problem.K", run.K},
      {"problem.alpha", double{run.alpha}},
      {"problem.beta", double{run.beta}},
      {"problem.seed", run.seed},
      {"problem.data", lab::name_of(run.data)},
      {"problem.checked_M", checked.M},
      {"problem.checked_N", checked.N},
      {"problem.checked_K", checked.K}};
  if (!run.program.empty()) {
    const bool has_ended = !run.unended && !run.stopped;
    facts.insert(
        facts.end(), {{"ran.file", run.program},
                      {"ran.exit_code", has_ended ? FactValue(run.exit_code) : FactValue()},
                      {"ran.stopped_by_kernel", run.stopped}});
  }
  facts.insert(
      facts.end(),
      {{"gpu.name", gpu.name},
       {"gpu.present", run.gpu_present},
       {"gpu.driver", or_null(run.driver)},
       {"gpu.compute_capability", or_null(is_real ? text::printed("%d.%d", cc / 10, cc % 10) : "")},
       {"gpu.sms", gpu.sms},
       {"gpu.fp32_lanes_per_sm", gpu.fp32_lanes_per_sm},
       {"gpu.boost_ghz", if_known(gpu.boost_ghz)},
       {"gpu.dram_gb_per_s", if_known(gpu.dram_gb_per_s)},
       {"gpu.l1_bytes_per_sm_clock", if_known(is_real ? model::l1_bytes_per_clock(gpu) : 0)},
       {"gpu.l2_bytes_per_clock", if_known(gpu.l2_bytes_per_clock)},
       {"gpu.tf32_tflops", if_known(model::peak_tflops(gpu, model::Multiplier::wgmma_tf32))},
       {"gpu.bf16_tflops", if_known(model::peak_tflops(gpu, model::Multiplier::wgmma_bf16))},
       {"gpu.warp_lanes", gpu.warp.lanes},
       {"gpu.sector_bytes", gpu.warp.sector_bytes},
       {"gpu.line_bytes", gpu.warp.line_bytes},
       {"gpu.banks", gpu.warp.banks}});
  return facts;
}

namespace {

std::string json(const FactValue& value) {
  if (value.kind == FactValue::null) return "null";
  return value.kind == FactValue::text ? text::json_string(value.written) : value.written;
}

std::string object_on_one_line(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text += (text.empty() ? "{" : ", ") + text::json_string(fact.path) + ": " + json(fact.value);
  }
  return text + "}";
}

// A list with an item a line, as a member of an object of json_array().
FactValue json_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "\n        " : ",\n        ") + item;
  return FactValue::json("[" + text + "]");
}

// What --explain prints below the lines of the kernel: one object per line and array.
FactValue json_of_lines(
    const std::vector<model::LineCounts>& lines, const lab::Row& row, const model::Counts& counts) {
  std::vector<std::string> items;
  for (const model::LineCounts& line : lines) {
    std::vector<Fact> facts;
    if (line.line > 0) facts.push_back({"line", line.line});
    if (line.helper_line > 0) facts.push_back({"helper_line", line.helper_line});
    if (!line.helper_file.empty()) facts.push_back({"helper_file", line.helper_file});
    const double threads = static_cast<double>(counts.threads_traced);
    facts.insert(
        facts.end(),
        {{"array", line.array},
         {"space", line.shared ? "shared" : "global"},
         {"direction", lab::name_of(line.direction)},
         {"bytes_per_lane", line.bytes},
         {"executions_per_thread", static_cast<double>(line.executions) / threads},
         {"requests", line.requests},
         {line.shared ? "wavefronts" : "sectors", line.pieces},
         {line.shared ? "ideal_wavefronts" : "ideal_sectors", line.ideal_pieces},
         {"bank_conflicts", line.shared ? FactValue(line.bank_conflicts) : FactValue()},
         {"uncoalesced_sectors", line.shared ? FactValue() : FactValue(line.uncoalesced)}});
    if (line.shared && line.direction == model::Direction::load) {
      const InFlight bytes = in_flight(row, line);
      facts.push_back({"in_flight_bytes_per_block", bytes.mean_bytes});
      facts.push_back({"in_flight_most_bytes_per_block", bytes.most_bytes});
    }
    items.push_back(object_on_one_line(facts));
  }
  return json_list(items);
}

// The lines of a user's loads from shared memory as nvcc compiled them; null if that is not known.
FactValue json_of_shared_loads(const lab::Row& row) {
  if (!row.shared_loads || !row.shared_loads->compiled) return {};
  std::vector<std::string> items;
  for (const model::CompiledLine& line : row.shared_loads->compiled->lines) {
    std::string arrays;
    for (const std::string& array : line.arrays) arrays += (arrays.empty() ? "" : ", ") + array;
    std::vector<Fact> facts;
    if (line.line > 0) facts.push_back({"line", line.line});
    if (line.helper_line > 0) facts.push_back({"helper_line", line.helper_line});
    facts.insert(
        facts.end(), {{"arrays", arrays},
                      {"requests", line.requests},
                      {"wavefronts", line.wavefronts},
                      {"compiled_requests", line.compiled_requests},
                      {"compiled_wavefronts", line.compiled_wavefronts},
                      {"lds_32", line.by_bytes[2]},
                      {"lds_64", line.by_bytes[3]},
                      {"lds_128", line.by_bytes[4]}});
    items.push_back(object_on_one_line(facts));
  }
  return json_list(items);
}

FactValue json_of_hazards(
    const lab::Run& run, const lab::Row& row, const model::Counts& counts, bool notes) {
  std::vector<std::string> items;
  for (const model::Hazard& hazard : counts.hazards) {
    if (model::is_note(hazard.kind) != notes) continue;
    items.push_back(text::json_string(hazard_sentence(hazard, run, row)));
  }
  return json_list(items);
}

// The members of an object, with an inner object for paths that share their first part.
std::string members(std::span<const Fact> facts, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < facts.size();) {
    if (i > 0) text += between;
    const std::size_t dot = facts[i].path.find('.');
    const std::string name = facts[i].path.substr(0, dot);
    if (dot == std::string::npos) {
      text += text::json_string(name) + ": " + json(facts[i++].value);
      continue;
    }
    std::vector<Fact> inner;
    for (; i < facts.size() && facts[i].path.starts_with(name + "."); ++i) {
      inner.push_back({facts[i].path.substr(dot + 1), facts[i].value});
    }
    text += text::json_string(name) + ": {" + members(inner, ", ") + "}";
  }
  return text;
}

}  // namespace

FactValue FactValue::json(std::string written) {
  FactValue value;
  value.kind = plain;
  value.written = std::move(written);
  return value;
}

std::string json_members(const std::vector<Fact>& facts) {
  return members(facts, ",\n  ");
}

std::string json_array(const std::string& name, const std::vector<std::vector<Fact>>& objects) {
  std::string text = "  " + text::json_string(name) + ": [";
  for (const std::vector<Fact>& facts : objects) {
    text += (&facts == objects.data() ? "\n    {\n      " : ",\n    {\n      ") +
            members(facts, ",\n      ") + "\n    }";
  }
  return text + (objects.empty() ? "]" : "\n  ]");
}

std::string json_text(const lab::Run& run) {
  std::vector<std::vector<Fact>> stages, yardsticks;
  for (const lab::Row& row : run.rows) {
    if (row.number >= 0) {
      stages.push_back(stage_facts(run, row));
      const model::Counts counts = row.counts.value_or(model::Counts{});
      stages.back().push_back({"lines", json_of_lines(counts.lines, row, counts)});
      stages.back().push_back({"arrays", json_of_lines(lab::by_array(counts), row, counts)});
      if (row.shared_loads) {
        stages.back().push_back({"shared_loads_as_compiled", json_of_shared_loads(row)});
      }
      stages.back().push_back({"hazards", json_of_hazards(run, row, counts, false)});
      stages.back().push_back({"notes", json_of_hazards(run, row, counts, true)});
    } else {
      // Only time and error.
      const std::vector<Fact> all = stage_facts(run, row);
      const auto first = std::ranges::find(all, "error.relative", &Fact::path),
                 last = std::ranges::find(all, "cublas_ratio", &Fact::path);
      yardsticks.push_back({{"name", row.name}});
      yardsticks.back().insert(yardsticks.back().end(), first, last + 1);
    }
  }
  return "{\n  " + members(run_facts(run), ",\n  ") + ",\n" + json_array("stages", stages) + ",\n" +
         json_array("yardsticks", yardsticks) + "\n}\n";
}

namespace {

// RFC 4180: a field with a comma, a quote or a line break is put in quotes, and its quotes are
// doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped = "\"";
  for (char c : text) {
    if (c == '"') escaped += '"';
    escaped += c;
  }
  return escaped + '"';
}

}  // namespace

std::string csv_values(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text += (&fact == facts.data() ? "" : ",") + field(fact.value.written);
  }
  return text + "\r\n";
}

std::string csv_names(const std::vector<Fact>& facts) {
  std::vector<Fact> names;
  for (const Fact& fact : facts) names.push_back({"", fact.path});
  return csv_values(names);
}

std::string csv_text(const lab::Run& run) {
  const std::vector<Fact> about_run = run_facts(run);
  const auto facts_of = [&](const lab::Row& row) {
    std::vector<Fact> facts = stage_facts(run, row);
    facts.insert(facts.end(), about_run.begin(), about_run.end());
    return facts;
  };
  std::string text = csv_names(facts_of(lab::Row{}));
  for (const lab::Row& row : run.rows) text += csv_values(facts_of(row));
  return text;
}

}  // namespace report
