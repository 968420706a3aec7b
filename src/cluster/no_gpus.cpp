// Several GPUs without nvcc: there are none.
#include "cluster/devices.h"
#include "lab/gpu/gpu.h"
#include "model/refusal.h"

namespace cluster {
namespace {

[[noreturn]] void refuse() {
  throw model::Refusal(gpu::find().why_not);
}

}  // namespace

int count_gpus() {
  return 0;
}
std::string why_no_nccl() {
  return gpu::find().why_not;
}
std::unique_ptr<Devices> gpus(Grid, Processes&, std::function<model::Kernel>, bool) {
  refuse();
}
Pinned::Pinned(void*, std::size_t) : memory_(nullptr) {
  refuse();
}
Pinned::~Pinned() = default;
CublasXt::CublasXt(int) {
  refuse();
}
CublasXt::~CublasXt() = default;
void CublasXt::multiply(Shape, float, const float*, const float*, float, float*) {
  refuse();
}

}  // namespace cluster
