// What the compiler made of each kernel: registers, spills and static shared memory, recorded.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace model {

struct KernelRecord {
  std::string_view kernel;  // as C++ spells it: "thread_tiling_2d<128, 128, 8, 8, 8>"
  int compute_capability;   // 86 is cc 8.6; 90 was compiled for sm_90a
  int registers;            // of a thread
  int spill_bytes;          // a thread stores to local memory because registers ran out
  int static_smem_bytes;    // of a block
};

// Every record of src/model/registers.inc, which src/model/record_registers.sh writes.
std::span<const KernelRecord> kernel_records();

// The record of `kernel` (compared without spaces) for the highest recorded compute capability up
// to `compute_capability`; none for a kernel that is not recorded, or only for newer GPUs.
std::optional<KernelRecord> find_kernel_record(std::string_view kernel, int compute_capability);

}  // namespace model
