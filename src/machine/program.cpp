#include "machine/program.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cuda/runtime.h"
#include "machine/fault.h"
#include "machine/fiber.h"
#include "machine/host_lock.h"
#include "machine/observer.h"
#include "machine/position.h"
#include "machine/symbols.h"
#include "machine/worker.h"
#include "model/refusal.h"

namespace machine {

ProgramLaunches* program_launches = nullptr;
TracedKernel traced_kernel;

namespace {

// A fiber that goes only as far as the kernel's beginning. Launches come from one thread at a time.
struct Search {
  Stacks stack;
  Context caller;
  Fiber fiber;
  void (*thread)(void*) = nullptr;
  void* context = nullptr;
  const void* found = nullptr;
};
Search* search = nullptr;

void search_kernel() {
  search->thread(search->context);
  search->fiber.pause(search->caller);
}

void outside_kernel(bool outside) {
  if (running_worker == nullptr) return;
  if (BlockObserver* observer = running_worker->observer()) observer->outside_kernel(outside);
}

std::uint64_t references_of(const void* kernel) {
  static std::map<const void*, std::uint64_t> known;
  const auto [entry, is_new] = known.try_emplace(kernel, 0);
  if (is_new) {
    const auto types = function_parameters(kernel).value_or(std::vector<std::string>());
    for (std::size_t i = 0; i < types.size() && i < 64; ++i) {
      if (types[i].ends_with('&')) entry->second |= std::uint64_t{1} << i;
    }
  }
  return entry->second;
}

std::vector<DeviceVariable>& variables() {
  static std::vector<DeviceVariable> registered;
  return registered;
}

}  // namespace

const void* kernel_called_by(void (*thread)(void*), void* context) {
  static Search one;
  one.stack.reserve(1);
  one.thread = thread;
  one.context = context;
  one.found = nullptr;
  search = &one;
  one.fiber.forget();
  one.fiber.resume(one.caller, one.stack.of(0), search_kernel);
  search = nullptr;
  return one.found == nullptr ? nullptr : function_containing(one.found);
}

const std::vector<DeviceVariable>& device_variables() {
  return variables();
}

}  // namespace machine

namespace {
__thread unsigned cluster_blocks;  // of the kernel that runs
}  // namespace

void simt::cluster_begins(unsigned x, unsigned y, unsigned z) {
  cluster_blocks = x * y * z;
}

void simt::use_cluster() {
  if (cluster_blocks <= 1) return;
  machine::fault(
      "it uses its cluster of " + std::to_string(cluster_blocks) +
          " blocks; on the CPU a cluster has one block, so take __cluster_dims__ away",
      __builtin_return_address(0));
}

void simt::kernel_begins() {
  using machine::search;
  cluster_blocks = 1;
  if (search == nullptr) return machine::outside_kernel(false);
  search->found = __builtin_return_address(0);
  search->fiber.pause(search->caller);
}

void simt::call_begins() {
  machine::outside_kernel(true);
}

const void* simt::traced_kernel(const void* kernel) {
  return kernel == machine::traced_kernel.plain ? machine::traced_kernel.traced : kernel;
}

void simt::run_called(
    Extent grid, Extent block, std::size_t shared_bytes, void (*thread)(void*), void* context,
    std::uint64_t* references) {
  if (machine::in_kernel()) {
    machine::fault(
        "it launches a kernel: launches by kernels are not supported", __builtin_return_address(0));
  }
  const machine::HostLock lock;
  const void* kernel = machine::kernel_called_by(thread, context);
  if (kernel == nullptr) {
    throw model::Refusal(
        "a launch calls a function that is not __global__; only kernels can be launched");
  }
  *references = machine::references_of(kernel);
  // The arguments are read before the kernel begins.
  run_grid(kernel, grid, block, static_cast<int>(shared_bytes), thread, context, 0);
}

namespace {
int last_launch_error = 0;
}  // namespace

void simt::set_launch_error(int error) {
  last_launch_error = error;
}
int simt::launch_error() {
  return last_launch_error;
}

simt::DeviceVariable::DeviceVariable(
    const char* name, const volatile void* data, std::size_t bytes, VariableKind kind) {
  std::vector<machine::DeviceVariable>& known = machine::variables();
  const bool again = std::any_of(known.begin(), known.end(), [data](const auto& variable) {
    return variable.data == data;  // both copies of the file register it
  });
  if (!again) known.push_back({name, const_cast<const void*>(data), bytes, kind});
}
