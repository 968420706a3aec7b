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
std::unique_ptr<Devices> gpus(DeviceGrid, Processes&, std::function<model::Kernel>, bool) {
  refuse();
}
std::shared_ptr<void> pinned(void*, std::size_t) {
  refuse();
}
std::function<model::Kernel> cublas_xt(int) {
  refuse();
}

}  // namespace cluster
