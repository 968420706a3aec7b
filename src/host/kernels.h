// What a program asks about its kernels, and sets.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace host {

// Registers per thread of the kernel with this name, if they are known. By default those recorded
// for the stages.
using FindRegisters = std::function<std::optional<int>(const std::string& kernel)>;
void set_find_registers(FindRegisters find);

// The most dynamic shared memory with which this kernel may be launched: 48 KB in all, unless
// cudaFuncSetAttribute has set more.
std::size_t most_dynamic_shared_bytes(const void* kernel);

}  // namespace host
