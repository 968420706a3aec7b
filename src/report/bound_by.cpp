#include "report/bound_by.h"

#include "text/numbers.h"

namespace report {

std::string tflops_words(double tflops) {
  if (tflops >= 0.001) return text::significant(tflops);
  return tflops < 0.0001 ? "<0.0001" : text::printed("%.5f", tflops);
}

std::string bound_by_words(const lab::BoundBy& bound) {
  return (bound.latency ? "latency " : "") + std::string(model::kUnitNames[bound.unit]) +
         text::printed(" %d", bound.percent);
}

std::string ceiling_words(const model::Ceiling& ceiling) {
  return "≤ " + text::pad_left(tflops_words(ceiling.tflops), 5) + " " +
         std::string(model::kUnitNames[ceiling.bound_by]);
}

}  // namespace report
