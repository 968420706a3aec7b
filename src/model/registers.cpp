#include "model/registers.h"

#include <algorithm>
#include <string>

namespace model {
namespace {

constexpr KernelRecord kRecords[] = {
#include "model/registers.inc"
};

std::string without_spaces(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

}  // namespace

std::span<const KernelRecord> kernel_records() {
  return kRecords;
}

std::optional<KernelRecord> find_kernel_record(std::string_view kernel, int compute_capability) {
  const std::string wanted = without_spaces(kernel);
  std::optional<KernelRecord> best;
  for (const KernelRecord& record : kRecords) {
    if (record.compute_capability > compute_capability) continue;
    if (best && record.compute_capability <= best->compute_capability) continue;
    if (without_spaces(record.kernel) == wanted) best = record;
  }
  return best;
}

}  // namespace model
