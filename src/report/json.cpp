#include "report/json.h"

#include <span>

#include "lab/run.h"
#include "report/annotated.h"
#include "report/hazard_sentence.h"
#include "report/in_flight.h"
#include "text/json.h"
#include "text/numbers.h"

namespace report {

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

// What --explain writes under the lines of the kernel, one object a line and array.
FactValue json_of_lines(
    const std::vector<model::LineCounts>& lines, const lab::Row& row, const model::Counts& counts) {
  std::string text;
  for (const model::LineCounts& line : lines) {
    std::vector<Fact> facts;
    if (line.line > 0) facts.push_back({"line", line.line});
    if (line.helper_line > 0) facts.push_back({"helper_line", line.helper_line});
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
    text += (text.empty() ? "\n        " : ",\n        ") + object_on_one_line(facts);
  }
  return FactValue::json("[" + text + "]");
}

// The lines of a user's loads from shared memory as nvcc compiled them; null if that is not known.
FactValue json_of_shared_loads(const lab::Row& row) {
  if (!row.shared_loads || !row.shared_loads->compiled) return {};
  const auto or_null = [](const std::optional<std::int64_t>& count) {
    return count ? FactValue(*count) : FactValue();
  };
  std::string text;
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
                      {"compiled_requests", or_null(line.compiled_requests)},
                      {"compiled_wavefronts", or_null(line.compiled_wavefronts)},
                      {"lds_32", line.by_bytes[2]},
                      {"lds_64", line.by_bytes[3]},
                      {"lds_128", line.by_bytes[4]}});
    text += (text.empty() ? "\n        " : ",\n        ") + object_on_one_line(facts);
  }
  return FactValue::json("[" + text + "]");
}

FactValue json_of_hazards(
    const lab::Run& run, const lab::Row& row, const model::Counts& counts, bool notes) {
  std::string text;
  for (const model::Hazard& hazard : counts.hazards) {
    if (model::is_note(hazard.kind) != notes) continue;
    text += (text.empty() ? "\n        " : ",\n        ") +
            text::json_string(hazard_sentence(hazard, run, row));
  }
  return FactValue::json("[" + text + "]");
}

// The members of an object, and inner objects of those whose paths share a first part.
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
      yardsticks.push_back(yardstick_facts(run, row));
    }
  }
  return "{\n  " + members(run_facts(run), ",\n  ") + ",\n" + json_array("stages", stages) + ",\n" +
         json_array("yardsticks", yardsticks) + "\n}\n";
}

void print_json(std::FILE* out, const lab::Run& run) {
  std::fputs(json_text(run).c_str(), out);
}

}  // namespace report
