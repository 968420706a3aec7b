#include "machine/ptx/special.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "cuda/runtime.h"
#include "machine/kernel_memory.h"
#include "machine/position.h"
#include "machine/worker.h"

namespace machine::ptx {
namespace {

std::uint64_t thread_in_block() {
  return threadIdx.x + std::uint64_t{blockDim.x} * (threadIdx.y + blockDim.y * threadIdx.z);
}
std::uint64_t threads_in_block() {
  return std::uint64_t{blockDim.x} * blockDim.y * blockDim.z;
}
std::uint64_t lane() {
  return static_cast<std::uint64_t>(running_worker->lane());
}
std::uint64_t warp_size() {
  return static_cast<std::uint64_t>(warpSize);
}
std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}
// The only block of its cluster.
std::uint64_t first_of_cluster() {
  return simt::use_cluster(), 0;
}
std::uint64_t one_of_cluster() {
  return simt::use_cluster(), 1;
}
std::uint64_t dynamic_bytes() {
  for (const KernelArray& array : running_worker->memory().arrays) {
    if (array.begin == reinterpret_cast<std::uintptr_t>(dynamic_shared_memory())) {
      return array.bytes;
    }
  }
  return 0;
}
std::uint64_t lower_lanes() {
  return (std::uint64_t{1} << lane()) - 1;
}
std::uint64_t all_lanes() {
  return (std::uint64_t{1} << warp_size()) - 1;
}

// A block is a cluster of its own, and runs on the multiprocessor 0.
struct Special {
  std::string_view name;
  std::uint64_t (*value)();
};
constexpr Special kSpecials[] = {
    {"%tid.x", [] { return std::uint64_t{threadIdx.x}; }},
    {"%tid.y", [] { return std::uint64_t{threadIdx.y}; }},
    {"%tid.z", [] { return std::uint64_t{threadIdx.z}; }},
    {"%ntid.x", [] { return std::uint64_t{blockDim.x}; }},
    {"%ntid.y", [] { return std::uint64_t{blockDim.y}; }},
    {"%ntid.z", [] { return std::uint64_t{blockDim.z}; }},
    {"%ctaid.x", [] { return std::uint64_t{blockIdx.x}; }},
    {"%ctaid.y", [] { return std::uint64_t{blockIdx.y}; }},
    {"%ctaid.z", [] { return std::uint64_t{blockIdx.z}; }},
    {"%nctaid.x", [] { return std::uint64_t{gridDim.x}; }},
    {"%nctaid.y", [] { return std::uint64_t{gridDim.y}; }},
    {"%nctaid.z", [] { return std::uint64_t{gridDim.z}; }},
    {"%clusterid.x", [] { return std::uint64_t{blockIdx.x}; }},
    {"%clusterid.y", [] { return std::uint64_t{blockIdx.y}; }},
    {"%clusterid.z", [] { return std::uint64_t{blockIdx.z}; }},
    {"%nclusterid.x", [] { return std::uint64_t{gridDim.x}; }},
    {"%nclusterid.y", [] { return std::uint64_t{gridDim.y}; }},
    {"%nclusterid.z", [] { return std::uint64_t{gridDim.z}; }},
    {"%cluster_ctaid.x", first_of_cluster},
    {"%cluster_ctaid.y", first_of_cluster},
    {"%cluster_ctaid.z", first_of_cluster},
    {"%cluster_nctaid.x", one_of_cluster},
    {"%cluster_nctaid.y", one_of_cluster},
    {"%cluster_nctaid.z", one_of_cluster},
    {"%cluster_ctarank", first_of_cluster},
    {"%cluster_nctarank", one_of_cluster},
    {"%is_explicit_cluster", [] { return std::uint64_t{0}; }},
    {"%laneid", lane},
    {"%warpid", [] { return thread_in_block() / warp_size(); }},
    {"%nwarpid", [] { return (threads_in_block() + warp_size() - 1) / warp_size(); }},
    {"%smid", [] { return std::uint64_t{0}; }},
    {"%nsmid", [] { return std::uint64_t{1}; }},
    {"%gridid", [] { return std::uint64_t{1}; }},
    {"%lanemask_eq", [] { return std::uint64_t{1} << lane(); }},
    {"%lanemask_lt", lower_lanes},
    {"%lanemask_le", [] { return lower_lanes() << 1 | 1; }},
    {"%lanemask_gt", [] { return all_lanes() & ~(lower_lanes() << 1 | 1); }},
    {"%lanemask_ge", [] { return all_lanes() & ~lower_lanes(); }},
    {"%clock", [] { return nanoseconds() & 0xffffffffu; }},
    {"%clock_hi", [] { return nanoseconds() >> 32; }},
    {"%clock64", nanoseconds},
    {"%globaltimer", nanoseconds},
    {"%globaltimer_lo", [] { return nanoseconds() & 0xffffffffu; }},
    {"%globaltimer_hi", [] { return nanoseconds() >> 32; }},
    {"%dynamic_smem_size", dynamic_bytes},
    {"WARP_SZ", warp_size}};

}  // namespace

std::optional<std::uint64_t> special_register(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kSpecials), std::end(kSpecials),
      [&](const Special& known) { return known.name == name; });
  if (found == std::end(kSpecials)) return std::nullopt;
  return static_cast<std::uint64_t>(found - std::begin(kSpecials));
}

std::uint64_t value_of_special(std::uint64_t number) {
  return kSpecials[number].value();
}

}  // namespace machine::ptx
