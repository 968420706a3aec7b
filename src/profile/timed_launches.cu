// The clock of a whole program on the GPU: an event before and after each of its launches.
//
// The linker puts these functions in the place of the CUDA runtime's (--wrap, src/try/try.sh),
// so the program itself is compiled as it is. At its end it writes a line per kernel to the file
// that GEMM_STEPS_TIMES names: the kernel's name, a tab, and the milliseconds of each launch.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Timed {
  std::string kernel;
  cudaEvent_t begin, end;
};

std::vector<Timed>& pending() {
  static std::vector<Timed> launches;
  return launches;
}

std::map<std::string, std::vector<float>>& times_ms() {
  static std::map<std::string, std::vector<float>> times;
  return times;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return plain ? plain.get() : name;
}

#if CUDART_VERSION >= 13000
// For a kernel that a program launches by <<< >>>, since CUDA 13.
const char* name_of(cudaKernel_t kernel) {
  static const auto get_name = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    cudaGetDriverEntryPointByVersion(
        "cuKernelGetName", &function, 12030, cudaEnableDefault, &found);
    return reinterpret_cast<decltype(&cuKernelGetName)>(function);
  }();
  const char* name = "";
  if (get_name != nullptr) get_name(&name, reinterpret_cast<CUkernel>(kernel));
  return name;
}
#endif

// Before CUDA 12.3 the name is not available, and no kernel gets a time.
const char* name_of([[maybe_unused]] const void* kernel) {
  const char* name = "";
#if CUDART_VERSION >= 12030
  cudaFuncGetName(&name, kernel);
#endif
  return name;
}

void collect() {
  for (const Timed& launch : pending()) {
    float ms = 0;
    const bool is_known = cudaEventSynchronize(launch.end) == cudaSuccess &&
                          cudaEventElapsedTime(&ms, launch.begin, launch.end) == cudaSuccess;
    if (is_known) times_ms()[launch.kernel].push_back(ms);
    cudaEventDestroy(launch.begin);
    cudaEventDestroy(launch.end);
  }
  pending().clear();
}

void write_times() {
  collect();
  const char* const path = std::getenv("GEMM_STEPS_TIMES");
  std::FILE* const out = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (out == nullptr) return;
  for (const auto& [kernel, times] : times_ms()) {
    std::fprintf(out, "%s\t", kernel.c_str());
    for (const float ms : times) std::fprintf(out, " %.6f", ms);
    std::fputs("\n", out);
  }
  std::fclose(out);
}

// `launch` is the runtime's. A launch that a graph records does not run now, so it has no time.
template <class Kernel, class Launch>
cudaError_t timed(Kernel kernel, cudaStream_t stream, const Launch& launch) {
  constexpr std::size_t kMostPending = 1000;
  static const int at_the_end = (pending(), times_ms(), std::atexit(write_times));
  (void)at_the_end;
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &capturing);
  if (capturing != cudaStreamCaptureStatusNone) return launch();
  Timed timed{demangled(name_of(kernel)), nullptr, nullptr};
  cudaEventCreate(&timed.begin);
  cudaEventCreate(&timed.end);
  cudaEventRecord(timed.begin, stream);
  const cudaError_t result = launch();
  cudaEventRecord(timed.end, stream);
  pending().push_back(timed);
  if (pending().size() == kMostPending) collect();
  return result;
}

}  // namespace

extern "C" {

#if CUDART_VERSION >= 13000
cudaError_t __real___cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t bytes,
    cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t bytes,
    cudaStream_t stream) {
  return timed(kernel, stream, [&] {
    return __real___cudaLaunchKernel(kernel, grid, block, arguments, bytes, stream);
  });
}
#endif

cudaError_t __real_cudaLaunchKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t bytes,
    cudaStream_t stream) {
  return timed(kernel, stream, [&] {
    return __real_cudaLaunchKernel(kernel, grid, block, arguments, bytes, stream);
  });
}

cudaError_t __real_cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t bytes,
    cudaStream_t stream) {
  return timed(kernel, stream, [&] {
    return __real_cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes, stream);
  });
}

cudaError_t __real_cudaLaunchKernelExC(
    const cudaLaunchConfig_t* config, const void* kernel, void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(
    const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  return timed(kernel, config->stream, [&] {
    return __real_cudaLaunchKernelExC(config, kernel, arguments);
  });
}

// It destroys the events.
cudaError_t __real_cudaDeviceReset();
cudaError_t __wrap_cudaDeviceReset() {
  collect();
  return __real_cudaDeviceReset();
}

}  // extern "C"
