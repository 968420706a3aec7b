#include "simulator/host/call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/compiled_kernel.h"
#include "model/gpus.h"
#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/cuda/headers/helper_timer.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"

namespace host {
namespace {

std::vector<Note> kept;

}  // namespace

Call::Call(const char* function, const void* place) : function_(function), place_(place) {
  if (!machine::in_kernel()) return;
  machine::fault(std::string("it calls ") + function + ", which is for the host", place);
}

cudaError_t Call::fails(cudaError_t error, const std::string& why) const {
  set_last_error(error);
  note(why);
  return error;
}

cudaError_t Call::hazard(cudaError_t error, const std::string& why) const {
  set_last_error(error);
  note(why, true);
  return error;
}

void Call::note(const std::string& sentence, bool is_hazard) const {
  host::note(std::string(function_) + ": " + sentence, place_, is_hazard);
}

const std::vector<Note>& notes() {
  return kept;
}

void forget_notes() {
  kept.clear();
}

void note(const std::string& sentence, const void* place, bool is_hazard, const void* other) {
  constexpr std::size_t kMost = 100;
  const bool known = std::any_of(kept.begin(), kept.end(), [&](const Note& old) {
    return old.sentence == sentence && old.place == place;
  });
  if (!known && kept.size() < kMost) kept.push_back({sentence, place, is_hazard, other});
}

bool is_late() {
  return machine::program_launches != nullptr && machine::program_launches->is_late();
}

void note_lateness() {
  if (is_late()) machine::program_launches->note_lateness();
}

void set_last_error(cudaError_t error) {
  simt::set_launch_error(error);
}

}  // namespace host

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, number, words) \
  case name:                            \
    return #name;
#include "simulator/cuda/errors.inc"
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, number, words) \
  case name:                            \
    return words;
#include "simulator/cuda/errors.inc"
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const host::Call call;
  const int error = simt::launch_error();
  simt::set_launch_error(cudaSuccess);
  return static_cast<cudaError_t>(error);
}

cudaError_t cudaPeekAtLastError() {
  const host::Call call;
  return static_cast<cudaError_t>(simt::launch_error());
}

void simt::note_host_time() {
  host::note(
      "A stop watch of the program measured this computer, which runs and traces the kernels, and "
      "not a GPU.");
}

namespace host {
namespace {

// Calls of kernels whose types are hidden behind void*, by the calling conventions of x86-64
// (System V) and aarch64: integers and pointers, and floating-point numbers, each have registers of
// their own, and further integers lie on the stack in units of 8 bytes.

#if defined(__x86_64__)
constexpr int kIntegerRegisters = 6;
#else
constexpr int kIntegerRegisters = 8;
#endif
constexpr int kMostIntegers = kIntegerRegisters + simt::UntypedCall::kOnStack;

template <class T>
long long integer_at(const void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof value);
  return static_cast<long long>(value);
}

std::optional<long long> integer_of(const std::string& type, const void* argument) {
  if (type.find_first_of("*&") != type.npos) return integer_at<long long>(argument);
#define SIMT_INTEGER(T) \
  if (type == #T) return integer_at<T>(argument);
  SIMT_INTEGER(bool)
  SIMT_INTEGER(char)
  SIMT_INTEGER(signed char)
  SIMT_INTEGER(unsigned char)
  SIMT_INTEGER(short)
  SIMT_INTEGER(unsigned short)
  SIMT_INTEGER(int)
  SIMT_INTEGER(unsigned int)
  SIMT_INTEGER(long)
  SIMT_INTEGER(unsigned long)
  SIMT_INTEGER(long long)
  SIMT_INTEGER(unsigned long long)
#undef SIMT_INTEGER
  return std::nullopt;
}

// The register's contents. A float takes its lower half.
std::optional<double> float_of(const std::string& type, const void* argument) {
  double contents = 0;
  if (type != "float" && type != "double") return std::nullopt;
  std::memcpy(&contents, argument, type == "float" ? sizeof(float) : sizeof(double));
  return contents;
}

template <std::size_t>
using Integer = long long;
template <std::size_t>
using Float = double;

template <std::size_t... I, std::size_t... F>
void run(
    const simt::UntypedCall& of, const void* kernel, std::index_sequence<I...>,
    std::index_sequence<F...>) {
  // A kernel ignores values that it does not expect.
  using Function = void(Integer<I>..., Float<F>...);
  reinterpret_cast<Function*>(const_cast<void*>(kernel))(of.integers[I]..., of.floats[F]...);
}

}  // namespace
}  // namespace host

cudaError_t simt::prepare(UntypedCall* call, const void* kernel, void** arguments) {
  const host::Call made("cudaLaunchKernel");
  *call = {kernel, {}, {}};
  const auto refuse = [&](const std::string& why) {
    return made.fails(
        cudaErrorInvalidDeviceFunction, why + "; pass the kernel itself, without a cast to void*");
  };
  const auto parameters = machine::function_parameters(kernel);
  if (!parameters) return refuse("the types of the kernel's arguments are not known");
  int integers = 0, floats = 0;
  for (const std::string& type : *parameters) {
    const void* const argument = *arguments++;
    if (type.ends_with('*')) know_elements(*static_cast<void* const*>(argument), 0);
    if (const auto number = host::float_of(type, argument); number && floats < call->kRegisters) {
      call->floats[floats++] = *number;
    } else if (const auto word = host::integer_of(type, argument);
               word && integers < host::kMostIntegers) {
      call->integers[integers++] = *word;
    } else {
      return refuse("an argument of type " + type + " cannot be passed this way here");
    }
  }
  return cudaSuccess;
}

void simt::UntypedCall::run() const {
  host::run(
      *this, traced_kernel(kernel), std::make_index_sequence<host::kMostIntegers>(),
      std::make_index_sequence<kRegisters>());
}

namespace host {
namespace {

std::map<const void*, std::size_t> opted_in;  // dynamic shared bytes, by kernel

std::optional<int> recorded_registers(const std::string& kernel) {
  const auto record = model::find_compiled_kernel(kernel, gpu().compute_capability);
  return record ? std::optional(record->registers) : std::nullopt;
}
FindRegisters find_registers = recorded_registers;

// 0 if the number is not known; then registers are not a limit.
int registers_of(const void* kernel) {
  return find_registers(machine::function_name(kernel)).value_or(0);
}

int blocks_per_sm(const void* kernel, int threads, std::size_t dynamic_bytes) {
  const std::size_t shared = machine::static_shared_bytes(kernel) + dynamic_bytes;
  if (shared > static_cast<std::size_t>(gpu().smem_bytes_per_block)) return 0;
  return model::occupancy(gpu(), {threads, registers_of(kernel), static_cast<int>(shared)})
      .blocks_per_sm;
}

cudaError_t active_blocks(
    const Call& call, int* blocks, const void* kernel, int threads, std::size_t dynamic_bytes) {
  if (blocks == nullptr || kernel == nullptr || threads <= 0) {
    return call.fails(
        cudaErrorInvalidValue, "there is no result, no kernel, or no thread in a block");
  }
  *blocks = blocks_per_sm(kernel, threads, dynamic_bytes);
  return cudaSuccess;
}

}  // namespace

void set_find_registers(FindRegisters find) {
  find_registers = std::move(find);
}

std::size_t most_dynamic_shared_bytes(const void* kernel) {
  const auto found = opted_in.find(kernel);
  if (found != opted_in.end()) return found->second;
  return kSharedBytesPerBlock -
         std::min<std::size_t>(kSharedBytesPerBlock, machine::static_shared_bytes(kernel));
}

}  // namespace host

using namespace host;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Call call;
  if (kernel == nullptr) return call.fails(cudaErrorInvalidDeviceFunction, "there is no kernel");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto most = static_cast<std::size_t>(gpu().smem_bytes_per_block);
  if (value < 0 || machine::static_shared_bytes(kernel) + value > most) {
    return call.fails(
        cudaErrorInvalidValue, std::to_string(value) +
                                   " bytes of dynamic shared memory, with the kernel's " +
                                   std::to_string(machine::static_shared_bytes(kernel)) +
                                   " of its own, are more than a block of the " + gpu().name +
                                   " can have: " + std::to_string(most));
  }
  opted_in[kernel] = value;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const Call call;
  if (attributes == nullptr || kernel == nullptr) {
    return call.fails(cudaErrorInvalidDeviceFunction, "there is no result, or no kernel");
  }
  *attributes = {};
  attributes->sharedSizeBytes = machine::static_shared_bytes(kernel);
  attributes->numRegs = registers_of(kernel);
  attributes->maxThreadsPerBlock = kThreadsPerBlock;
  for (int threads = kThreadsPerBlock; threads > 0; threads -= gpu().warp.lanes) {
    attributes->maxThreadsPerBlock = threads;
    const auto fits = model::occupancy(gpu(), {threads, attributes->numRegs, 0});
    if (fits.blocks_by_registers > 0) break;
  }
  attributes->ptxVersion = attributes->binaryVersion = gpu().compute_capability;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_shared_bytes(kernel));
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  if (attributes->numRegs == 0) {
    call.note("the kernel's registers are not known here; 0 stands for them");
  }
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes) {
  return active_blocks(Call(), blocks, kernel, threads, dynamic_shared_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes, unsigned) {
  return active_blocks(Call(), blocks, kernel, threads, dynamic_shared_bytes);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(
    std::size_t* bytes, const void* kernel, int blocks, int threads) {
  const Call call;
  const model::Gpu& of = gpu();
  if (bytes == nullptr || blocks <= 0 || blocks_per_sm(kernel, threads, 0) < blocks) {
    return call.fails(cudaErrorInvalidValue, "so many blocks do not fit on an SM");
  }
  const int share =
      of.smem_bytes_per_sm / blocks / of.smem_granularity_bytes * of.smem_granularity_bytes;
  const std::size_t most =
      std::min(share - of.smem_reserved_bytes_per_block, of.smem_bytes_per_block);
  *bytes = most - std::min(most, machine::static_shared_bytes(kernel));
  return cudaSuccess;
}

cudaError_t simt::best_block_size(
    int* grid, int* block, const void* kernel, int most_threads,
    std::size_t (*shared_bytes)(const void* context, int threads), const void* context) {
  const Call call("cudaOccupancyMaxPotentialBlockSize");
  if (grid == nullptr || block == nullptr || kernel == nullptr) {
    return call.fails(cudaErrorInvalidValue, "there is no result, or no kernel");
  }
  const int lanes = gpu().warp.lanes;
  const int most = most_threads > 0 ? std::min(most_threads, kThreadsPerBlock) : kThreadsPerBlock;
  int best = 0;
  // Of two sizes with the same number of threads on an SM, the larger.
  for (int threads = most; threads > 0; threads -= threads % lanes != 0 ? threads % lanes : lanes) {
    const int blocks = blocks_per_sm(kernel, threads, shared_bytes(context, threads));
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * gpu().sms;
  }
  if (best > 0) return cudaSuccess;
  return call.fails(cudaErrorInvalidConfiguration, "no block of the kernel fits on an SM");
}
