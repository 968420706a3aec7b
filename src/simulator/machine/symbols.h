// What the executable's symbol table says about a kernel compiled for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace machine {

// A __shared__ array of a kernel's file. (Dynamic shared memory is not included.)
struct SharedArray {
  std::string name;
  std::size_t offset;  // in the thread-local block of a thread of the operating system
  std::size_t bytes;
  const void* function = nullptr;  // that declares it; null: none, or it was inlined at every call
  std::size_t function_bytes = 0;
  bool reached = false;  // by the kernel: the array is its own, or of a function that it can call
};

// The arrays of the file of the function at `kernel`; none if the executable was stripped.
const std::vector<SharedArray>& shared_arrays(const void* kernel);

// The bytes of those that the kernel reaches: what nvcc gives it.
std::size_t static_shared_bytes(const void* kernel);

// The name of the function at `address` in C++ syntax, without its parameters ("tiled<16>"); "a
// kernel" if the executable was stripped.
std::string function_name(const void* address);

// The same for a function's name in a symbol table: "_Z5tiledILi16EEvPf" is "tiled<16>".
std::string function_name_of(const std::string& mangled);

// The types of its parameters in C++ syntax: "float*", "int"; nothing if they are not known, as for
// extern "C".
std::optional<std::vector<std::string>> function_parameters(const void* address);

// The beginning of the function that contains the instruction at `address`; null if there is none.
const void* function_containing(const void* address);

// A program contains two copies of a user's file, the traced one at lower
// addresses. The traced copy's function
// of the same name as the plain copy's at `address`; null if there is none.
const void* traced_twin(const void* address);

// Its size in bytes; 0 if the executable was stripped.
std::size_t function_bytes(const void* address);

// A variable of the program's host code: an array of a file or class, or a static one of a host's
// function. Files whose kernels are traced are rewritten, so that device variables are known by
// their linkage. Constants are none, because nvcc has copies of them for kernels.
struct HostVariable {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
};
// The one that contains this address; null if there is none.
const HostVariable* host_variable_at(std::uintptr_t address);

}  // namespace machine
