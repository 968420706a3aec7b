// Several GPUs without nvcc: there are none.
#include "cluster/devices.h"

namespace cluster {

int count_gpus() {
  return 0;
}
std::string why_no_nccl() {
  return {};
}
std::unique_ptr<Devices> gpus(DeviceGrid, Processes&, std::function<model::Kernel>, bool) {
  return nullptr;
}
std::shared_ptr<void> pinned(void*, std::size_t) {
  return nullptr;
}
std::function<model::Kernel> cublas_xt(int) {
  return nullptr;
}

}  // namespace cluster
