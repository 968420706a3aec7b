#include "machine/launch_limits.h"

#include <string>

#include "machine/position.h"
#include "machine/runners.h"

namespace machine {

namespace {

// Of cudaError_t.
constexpr int kInvalidValue = 1, kInvalidConfiguration = 9;

}  // namespace

void require_launchable(const model::Gpu& gpu, const Launch& launch) {
  const Extent grid = launch.grid, block = launch.block;
  const int static_bytes = launch.static_shared_bytes, dynamic_bytes = launch.dynamic_shared_bytes;
  const auto refuse = [](const std::string& why, int error = kInvalidConfiguration) {
    throw LaunchRefusal(std::string(kernel_name()) + ": " + why, error);
  };
  // These limits are the same for every GPU of the table.
  constexpr int kStaticSharedBytes = 48 * 1024;
  if (grid.volume() == 0 || block.volume() == 0) {
    refuse("a launch of " + text_of(grid) + " blocks of " + text_of(block) + " threads is empty");
  }
  if (block.volume() > kMostThreadsInBlock || block.x > 1024 || block.y > 1024 || block.z > 64) {
    refuse(
        "a block of " + text_of(block) + " threads is more than a GPU accepts: at most " +
        "1024 x 1024 x 64, and 1024 in all");
  }
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    refuse(
        "a grid of " + text_of(grid) + " blocks is more than a GPU accepts: at most " +
        "2147483647 x 65535 x 65535");
  }
  if (static_bytes > kStaticSharedBytes) {
    refuse(
        "the kernel's __shared__ arrays take " + std::to_string(static_bytes) +
        " bytes; nvcc allows " + std::to_string(kStaticSharedBytes) +
        ", and more only as dynamic shared memory");
  }
  const int most = gpu.smem_bytes_per_block;
  if (dynamic_bytes < 0 || dynamic_bytes > most - static_bytes) {
    refuse(
        "a block with " + std::to_string(static_bytes) + " + " + std::to_string(dynamic_bytes) +
            " bytes of shared memory (static + dynamic) is " + "more than the " + gpu.name +
            " takes: at most " + std::to_string(most),
        kInvalidValue);
  }
}

}  // namespace machine
