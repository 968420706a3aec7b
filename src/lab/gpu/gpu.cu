#include "lab/gpu/gpu.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "lab/gpu/sensors.h"
#include "model/refusal.h"
#include "simulator/cuda/aligned_copies.h"

namespace gpu {
namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess)
    throw model::Refusal(std::string("the GPU: ") + cudaGetErrorString(error));
}

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw model::Refusal(std::string("cuBLAS: ") + cublasGetStatusString(status));
  }
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

// Properties that the driver does not report come from the table, or are computed for a GPU that is
// not in it.
model::Gpu describe() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  std::string name = properties.name;
  for (const char* prefix : {"NVIDIA ", "GeForce ", "Tesla "}) {
    if (name.starts_with(prefix)) name.erase(0, std::string(prefix).size());
  }
  const model::Gpu* known = model::find_gpu(name);
  const int cc = properties.major * 10 + properties.minor;
  const bool has_half_the_lanes = cc / 10 == 7 || cc == 60 || cc == 80;
  const double gb_per_s =
      2e-6 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  return {
      .name = name,
      .compute_capability = cc,
      .sms = properties.multiProcessorCount,
      .fp32_lanes_per_sm = has_half_the_lanes ? 64 : 128,
      .boost_ghz = 1e-6 * attribute(cudaDevAttrClockRate),
      .dram_gb_per_s = known != nullptr ? known->dram_gb_per_s : gb_per_s,
      .smem_bytes_per_sm = static_cast<int>(properties.sharedMemPerMultiprocessor),
      .smem_bytes_per_block = static_cast<int>(properties.sharedMemPerBlockOptin),
      .smem_reserved_bytes_per_block = static_cast<int>(properties.reservedSharedMemPerBlock),
      .smem_granularity_bytes = cc < 80 ? 256 : 128,
      .threads_per_sm = properties.maxThreadsPerMultiProcessor,
      .blocks_per_sm = properties.maxBlocksPerMultiProcessor,
      .registers_per_sm = properties.regsPerMultiprocessor,
      .l2_bytes_per_clock = known != nullptr ? known->l2_bytes_per_clock : 0,
      .tf32_products_per_clock = known != nullptr ? known->tf32_products_per_clock : 0,
      .mma_share = known != nullptr ? known->mma_share : 1,
      .l2_mib = properties.l2CacheSize / 0x1p20};
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// "580.159.04", as nvidia-smi prints the driver version; "" if the kernel does not report it
// (WSL2).
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    const bool is_number = word.find_first_not_of("0123456789.") == word.npos;
    if (is_number && word.find('.') != word.npos) return word;
  }
  return "";
}

// One handle for the whole program, created at first use.
cublasHandle_t cublas() {
  static const cublasHandle_t handle = [] {
    cublasHandle_t created;
    check(cublasCreate(&created));
    return created;
  }();
  return handle;
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { check(cudaEventRecord(event_)); }
  double ms_since(const Event& start) const {
    check(cudaEventSynchronize(event_));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_;
};

double now_ms() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since_start).count();
}

// The GPU works while the host waits for it. These times are added up.
Busy& busy() {
  static Busy since_start;
  return since_start;
}

void wait_for(const std::function<void()>& work) {
  const double begin = now_ms();
  work();
  busy().add(begin, now_ms());
}

const Sensors& sensors() {
  static const Sensors of_device = [] {
    char id[32] = "";
    check(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    return Sensors(id);
  }();
  return of_device;
}

double time_once_ms(
    const std::function<void()>& launch, const std::function<void()>& then = [] {}) {
  Event start, stop;
  start.record();
  launch();
  stop.record();
  then();
  return stop.ms_since(start);
}

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

// An SM's cycles and the time, between two kernels that read them before and after a launch. All
// SMs have the same clock rate, and each counts its own cycles.
constexpr unsigned kMostSms = 1024;
struct Passed {
  unsigned long long cycles, ns;  // ns 0: nothing is known
};
__device__ Passed before_launch[kMostSms], in_launches;

__device__ Passed& before_on_this_sm() {
  unsigned sm;
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  return before_launch[sm % kMostSms];
}

__global__ void begin_counting() {
  before_on_this_sm() = {static_cast<unsigned long long>(clock64()), now_ns()};
}

__global__ void end_counting() {
  const unsigned long long cycles = clock64(), ns = now_ns();
  Passed& before = before_on_this_sm();
  const unsigned long long began = atomicExch(&before.ns, 0ull);
  if (began == 0) return;
  atomicAdd(&in_launches.cycles, cycles - before.cycles);
  atomicAdd(&in_launches.ns, ns - began);
}

// Times launches, each alone, and returns the SM's clock rate in these very launches. When tensor
// cores multiply, the power limit lowers it within a launch; NVML still reports the rate that is
// set. The cycles of a few microseconds before each launch count, too.
double times_and_mhz(std::vector<double>& times_ms, const std::function<void()>& launch) {
  const int sms = attribute(cudaDevAttrMultiProcessorCount);
  const std::vector<Passed> nothing(kMostSms);
  check(cudaMemcpyToSymbol(before_launch, nothing.data(), sizeof before_launch));
  Passed passed{};
  check(cudaMemcpyToSymbol(in_launches, &passed, sizeof passed));
  for (double& ms : times_ms) {
    begin_counting<<<sms, 1>>>();
    check(cudaDeviceSynchronize());  // the launch begins on an idle GPU
    ms = time_once_ms(launch, [&] { end_counting<<<sms, 1>>>(); });
  }
  check(cudaMemcpyFromSymbol(&passed, in_launches, sizeof passed));
  return 1e3 * static_cast<double>(passed.cycles) / static_cast<double>(passed.ns);
}

}  // namespace

const Search& find() {
  static const Search search = []() -> Search {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) return {{}, cudaGetErrorString(error)};
    if (devices == 0) return {{}, "no CUDA-capable device is detected"};
    return {describe(), ""};
  }();
  return search;
}

std::string driver_and_runtime() {
  int driver = 0, runtime = 0, blas = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  check(cublasGetVersion(cublas(), &blas));
  return driver_version() + " (CUDA " + version_text(driver) + "), runtime " +
         version_text(runtime) + ", cuBLAS " + std::to_string(blas / 10000) + "." +
         std::to_string(blas / 100 % 100) + "." + std::to_string(blas % 100);
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

Matrix::Matrix(std::size_t floats) : bytes_(floats * sizeof(float)) {
  check(cudaMalloc(&data_, std::max<std::size_t>(bytes_, 1)));
}
Matrix::~Matrix() {
  cudaFree(data_);
}
void Matrix::upload(const float* from) {
  check(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice));
}
void Matrix::download(float* to) const {
  check(cudaMemcpy(to, data_, bytes_, cudaMemcpyDeviceToHost));
}

Resources resources(const void* kernel) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel));
  return {attributes.numRegs, static_cast<int>(attributes.sharedSizeBytes)};
}

void allow_shared_bytes(const void* kernel, int bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

Times time_ms(int repetitions, const std::function<void()>& launch) {
  const Sensors& of_device = sensors();  // NVML takes long to start
  double estimate_ms = 0;
  wait_for([&] {
    launch();
    estimate_ms = time_once_ms(launch);
  });
  if (repetitions == 0) {
    constexpr double kBudgetMs = 500;
    repetitions = static_cast<int>(std::clamp(kBudgetMs / estimate_ms, 5.0, 100.0));
  }
  Times times{std::vector<double>(repetitions), busy().before(now_ms()), {}};
  double mhz = 0;
  times.state = of_device.read_during([&] {
    wait_for([&] {
      if (repetitions == 1) {  // for a profiler, which would see the kernels that count
        times.ms[0] = time_once_ms(launch);
      } else {
        mhz = times_and_mhz(times.ms, launch);
      }
    });
  });
  if (times.state && mhz > 0) times.state->counted_mhz = mhz;
  return times;
}

void synchronize() {
  wait_for([] { check(cudaDeviceSynchronize()); });
}

void cublas_sgemm(
    bool tf32, int M, int N, int K, float alpha, const float* A, const float* B, float beta,
    float* C) {
  check(cublasSetMathMode(cublas(), tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
  // cuBLAS is column-major and sees these matrices as their transposes; C^T = B^T A^T.
  check(cublasSgemm(
      cublas(), CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, std::max(N, 1), A, std::max(K, 1),
      &beta, C, std::max(N, 1)));
}

void cublas_bf16(
    bool again, int M, int N, int K, float alpha, const float* A, const float* B, float beta,
    float* C) {
  static AlignedCopies copies;
  if (!again) copies.forget();
  if (M == 0 || N == 0) return;
  // Without any K, cuBLAS looks at neither.
  const AlignedCopies::Both both =
      K == 0 ? AlignedCopies::Both{} : copies.of(A, B, M, N, K, CopiedAs::bf16);
  const auto pitch = [](const AlignedMatrix& matrix) {
    return std::max(static_cast<int>(matrix.pitch_bytes / 2), 1);
  };
  check(cublasGemmEx(
      cublas(), CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, both.B.elements, CUDA_R_16BF,
      K == 0 ? N : pitch(both.B), both.A.elements, CUDA_R_16BF, pitch(both.A), &beta, C, CUDA_R_32F,
      N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace gpu
