#include "bench/openblas.h"

#include <dlfcn.h>

namespace bench {

namespace {

// As cblas.h declares them.
constexpr int kRowMajor = 101, kNotTransposed = 111;
using Sgemm = void(
    int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void(int);
using CoreName = const char*();

template <class Function>
Function* find(void* library, const char* name) {
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

}  // namespace

OpenBlas::OpenBlas(const std::string& library)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    why_not_ = "not installed (" + library + "); on Debian: apt install libopenblas0";
  } else if (
      !find<Sgemm>(library_, "cblas_sgemm") ||
      !find<SetThreads>(library_, "openblas_set_num_threads")) {
    why_not_ = library + " has no cblas_sgemm or cannot set its threads";
  }
}

OpenBlas::~OpenBlas() {
  if (library_) dlclose(library_);
}

std::string OpenBlas::kernels() const {
  CoreName* const name = find<CoreName>(library_, "openblas_get_corename");
  return name ? name() : "";
}

void OpenBlas::multiply(int threads, int size, const float* A, const float* B, float* C) const {
  find<SetThreads>(library_, "openblas_set_num_threads")(threads);
  find<Sgemm>(library_, "cblas_sgemm")(
      kRowMajor, kNotTransposed, kNotTransposed, size, size, size, 1, A, size, B, size, 0, C, size);
}

}  // namespace bench
