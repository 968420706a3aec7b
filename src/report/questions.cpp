#include "report/questions.h"

#include <stdexcept>
#include <vector>

#include "lab/run.h"
#include "report/predicted.h"
#include "text/numbers.h"

namespace report {

namespace {

std::vector<model::Named> names_of(const lab::Run& run, const lab::Row& row) {
  std::vector<model::Named> names = formula_names(run, row);
  if (row.variant) names.push_back({"pipeline", static_cast<double>(row.variant->pipeline)});
  if (row.counts) {
    names.push_back({"sectors", lab::pieces_per_request(row.counts->gmem_loads)});
    names.push_back({"wavefronts", lab::pieces_per_request(row.counts->smem_loads)});
    names.push_back(
        {"conflicts",
         static_cast<double>(
             row.counts->smem_loads.bank_conflicts + row.counts->smem_stores.bank_conflicts)});
  }
  if (row.occupancy) {
    const model::Occupancy& o = *row.occupancy;
    names.push_back({"blocks_per_sm", static_cast<double>(o.blocks_per_sm)});
    names.push_back({"warps_per_sm", static_cast<double>(o.blocks_per_sm * o.warps_per_block)});
  }
  return names;
}

std::optional<double> evaluated(const char* formula, const std::vector<model::Named>& names) {
  try {
    return model::evaluate(formula, names);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<model::Question> questions_of(const lab::Run& run, const lab::Row& row) {
  if (!row.stage || !row.variant) return {};
  const model::Contrast* const contrast = row.variant->contrast;
  std::vector<model::Question> asked = contrast ? contrast->questions : row.stage->questions;
  if (run.gpu.warp != model::kGpuWarp) {
    std::erase_if(asked, [](const model::Question& question) { return question.of_32_lanes; });
  }
  return asked;
}

std::optional<double> value_of(
    const model::Question& question, const lab::Run& run, const lab::Row& row) {
  return evaluated(question.answer, names_of(run, row));
}

std::string answer_of(const model::Question& question, const lab::Run& run, const lab::Row& row) {
  const std::vector<model::Named> names = names_of(run, row);
  const std::optional<double> value = evaluated(question.answer, names);
  if (!value) return "";
  const std::string result = text::exact(*value), numbers = with_numbers(question.answer, names);
  std::string text = std::string(question.answer);
  if (numbers != text) text += " = " + numbers;
  if (result != numbers && result != text) text += " = " + result;
  return text + " " + question.unit;
}

}  // namespace report
