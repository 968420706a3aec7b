#include "report/questions.h"

#include <stdexcept>

#include "lab/rates.h"
#include "report/predicted.h"
#include "text/numbers.h"

namespace report {

std::string answer_of(const model::Question& question, const lab::Run& run, const lab::Row& row) {
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
  double value = 0;
  try {
    value = model::evaluate(question.answer, names);
  } catch (const std::invalid_argument&) {
    return "";
  }
  const std::string result = text::exact(value), numbers = with_numbers(question.answer, names);
  std::string text = std::string(question.answer);
  if (numbers != text) text += " = " + numbers;
  if (result != numbers && result != text) text += " = " + result;
  return text + " " + question.unit;
}

}  // namespace report
