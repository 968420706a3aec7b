#include "try/device_calls.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "simt/grid.h"
#include "simt/vector_types.h"

bool name_threads = false;

extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;

namespace {

void refuse_in_kernel(const char* call, const void* place) {
  if (!simt::in_kernel()) return;
  simt::fault(std::string("it calls ") + call +
                  ", which is not for kernels; let the host provide the memory",
              place);
}

}  // namespace

#define HERE __builtin_return_address(0)
extern "C" {

int try_printf(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  flockfile(stdout);
  if (name_threads && simt::in_kernel()) {
    std::printf("[block %u,%u,%u thread %u,%u,%u] ", blockIdx.x, blockIdx.y, blockIdx.z,
                threadIdx.x, threadIdx.y, threadIdx.z);
  }
  const int written = std::vprintf(format, arguments);
  funlockfile(stdout);
  va_end(arguments);
  return written;
}

void try_assert_fail(const char* condition, const char* file, unsigned line, const char*) {
  const std::string what = std::string("the assertion \"") + condition + "\" fails";
  if (simt::in_kernel()) simt::fault(what, HERE);
  std::fprintf(stderr, "%s:%u: %s\n", file, line, what.c_str());
  std::abort();
}

void* try_malloc(std::size_t bytes) {
  refuse_in_kernel("malloc", HERE);
  return std::malloc(bytes);
}
void* try_new(std::size_t bytes) {
  refuse_in_kernel("new", HERE);
  return operator new(bytes);
}
void* try_new_array(std::size_t bytes) {
  refuse_in_kernel("new", HERE);
  return operator new[](bytes);
}
}
#undef HERE
