// What the executable's symbol table tells about a kernel compiled for the CPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace machine {

// A function's own __shared__ array. (Dynamic shared memory is not among them.)
struct SharedArray {
  std::string name;
  std::size_t offset;  // in the thread-local block of the OS thread
  std::size_t bytes;
  const void* function =
      nullptr;  // that declares it; null where it was inlined wherever it is called
  std::size_t function_bytes = 0;
};

// The arrays that the function at `kernel` declares; none where the executable was stripped.
const std::vector<SharedArray>& shared_arrays(const void* kernel);

// Those of all other functions of the file that `kernel` is in, which it may or may not call.
const std::vector<SharedArray>& other_shared_arrays(const void* kernel);

// The function at `address` as C++ spells it, without its parameters ("tiled<16>"); "a kernel"
// where the executable was stripped.
std::string function_name(const void* address);

// Its size in bytes; 0 where the executable was stripped.
std::size_t function_bytes(const void* address);

}  // namespace machine
