// A call of one of CUDA's host functions by the program, how it ended, and what the program's
// author should know about it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/gpus.h"
#include "simulator/cuda/headers/driver_types.h"
#include "simulator/machine/memory.h"

namespace host {

class Call {
 public:
  // The defaults are the caller's. A fault if a kernel makes the call.
  explicit Call(
      const char* function = __builtin_FUNCTION(), const void* place = __builtin_return_address(0));
  // Keeps the error for cudaGetLastError, and the reason as a note. Returns the error.
  cudaError_t fails(cudaError_t error, const std::string& why) const;
  // The same for a mistake that a GPU need not notice: it fails the run, as a kernel's hazard does.
  cudaError_t hazard(cudaError_t error, const std::string& why) const;
  // Stores a result, and fails if there is no place for it.
  template <class T>
  cudaError_t gives(T* result, std::type_identity_t<T> value) const {
    return makes(result, [&] { return std::move(value); });
  }
  // The same for a result that is made only if there is a place for it.
  template <class T, class Make>
  cudaError_t makes(T* result, Make make) const {
    if (result == nullptr) return fails(cudaErrorInvalidValue, "there is no result");
    *result = make();
    return cudaSuccess;
  }
  void note(const std::string& sentence, bool is_hazard = false) const;
  const char* function() const { return function_; }
  const void* place() const { return place_; }
  // Whether it returns before its work has ended.
  bool is_async() const { return std::string_view(function_).ends_with("Async"); }

 private:
  machine::HostLock lock_;
  const char* function_;
  const void* place_;
};

// A sentence for the end of the program's run: "cudaMemcpy: 400 bytes do not fit in d_A".
struct Note {
  std::string sentence;
  const void* place;  // return address of the call in the program; null: of several calls
  bool is_hazard = false;
  const void* other = nullptr;  // of another call that takes part
};
const std::vector<Note>& notes();
void forget_notes();

// Each sentence is kept once for each place.
void note(
    const std::string& sentence, const void* place = nullptr, bool is_hazard = false,
    const void* other = nullptr);

// Whether the program is short of time, so that a library's results are left out.
bool is_late();
void note_lateness();

// The next cudaGetLastError returns this. A launch that the GPU would refuse sets it.
void set_last_error(cudaError_t error);

// The GPU that the program sees: the one whose limits its launches must keep.

const model::Gpu& gpu();

// Shared memory of a block for which a kernel need not ask, on every GPU of the table.
inline constexpr int kSharedBytesPerBlock = 48 * 1024;
inline constexpr int kThreadsPerBlock = 1024;

// Properties of kernels that a program queries and sets.

// Registers per thread of the kernel with this name, if they are known. By default those recorded
// for the stages.
using FindRegisters = std::function<std::optional<int>(const std::string& kernel)>;
void set_find_registers(FindRegisters find);

// The most dynamic shared memory with which this kernel may be launched: 48 KB in all, unless
// cudaFuncSetAttribute has set more.
std::size_t most_dynamic_shared_bytes(const void* kernel);

}  // namespace host
