#include "cluster/devices.h"

#include <cublasXt.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "text/numbers.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace cluster {

namespace {

void check(cudaError_t error, int gpu) {
  if (error == cudaSuccess) return;
  throw model::Refusal("GPU " + std::to_string(gpu) + ": " + cudaGetErrorString(error));
}

void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw model::Refusal(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

// Of a device's lanes. Lane multiply has none: the ladder's kernels are launched without one.
using Streams = std::array<cudaStream_t, 3>;

#if __has_include(<nccl.h>)

// NCCL's functions, found when the program runs: it starts without the library.
struct Nccl {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  std::string why_not =  // a sentence, if it is not there
      library != nullptr
          ? ""
          : "libnccl.so.2 is not found; install libnccl2, or add its folder to LD_LIBRARY_PATH";
#define FUNCTION(name) decltype(&nccl##name) const name = find<decltype(&nccl##name)>("nccl" #name)
  FUNCTION(GetUniqueId);
  FUNCTION(CommInitRank);
  FUNCTION(CommDestroy);
  FUNCTION(CommAbort);
  FUNCTION(CommGetAsyncError);
  FUNCTION(GroupStart);
  FUNCTION(GroupEnd);
  FUNCTION(Send);
  FUNCTION(Recv);
  FUNCTION(GetErrorString);

  template <class Function>
  Function find(const char* name) {
    void* const found = library != nullptr ? dlsym(library, name) : nullptr;
    if (library != nullptr && found == nullptr) {
      why_not = std::string("libnccl.so.2 lacks ") + name + "; install a newer one";
    }
    return reinterpret_cast<Function>(found);
  }
};

const Nccl& nccl() {
  static const Nccl found;
  return found;
}

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw model::Refusal(std::string("NCCL: ") + nccl().GetErrorString(result));
}

// The GPUs of the grid, joined by NCCL.
class Communicator {
 public:
  // All devices. Those `here` join, which have the GPUs with these numbers in this machine.
  Communicator(Processes& processes, const std::vector<int>& here, const std::vector<int>& ordinals)
      : comms_(ordinals.size()) {
    ncclUniqueId id{};
    if (processes.is_first()) check(nccl().GetUniqueId(&id));
    processes.share(&id, sizeof id);
    check(nccl().GroupStart());
    for (const int device : here) {
      check(cudaSetDevice(ordinals[device]), device);
      check(nccl().CommInitRank(&comms_[device], static_cast<int>(ordinals.size()), id, device));
    }
    check(nccl().GroupEnd());
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // If an exception destroys it, its work in progress is aborted.
  ~Communicator() {
    for (const ncclComm_t comm : comms_) {
      if (comm == nullptr) continue;
      std::uncaught_exceptions() > 0 ? nccl().CommAbort(comm) : nccl().CommDestroy(comm);
    }
  }

  // In lane arrive of the devices, all at the same time.
  void transfer(const std::vector<Transfer>& transfers, const std::vector<Streams>& streams) {
    check(nccl().GroupStart());
    for (const auto& [from, to, source, target, count] : transfers) {
      const auto floats = static_cast<std::size_t>(count);
      if (source != nullptr) {
        check(nccl().Send(source, floats, ncclFloat, to, comms_[from], streams[from][0]));
      }
      if (target != nullptr) {
        check(nccl().Recv(target, floats, ncclFloat, from, comms_[to], streams[to][0]));
      }
    }
    check(nccl().GroupEnd());
  }

  // Throws a Refusal if a transfer has failed, here or elsewhere.
  void check_errors() const {
    for (const ncclComm_t comm : comms_) {
      if (comm == nullptr) continue;
      ncclResult_t error = ncclSuccess;
      check(nccl().CommGetAsyncError(comm, &error));
      check(error);
    }
  }

 private:
  std::vector<ncclComm_t> comms_;  // of each device here; null for all others
};

#else

struct Nccl {
  const char* why_not =
      "this program was built without nccl.h; install libnccl-dev and build it again";
};
Nccl nccl() {
  return {};
}
struct Communicator {
  Communicator(Processes&, const std::vector<int>&, const std::vector<int>&) {}
  void transfer(const std::vector<Transfer>&, const std::vector<Streams>&) {}
  void check_errors() const {}
};

#endif

class Gpus : public Devices {
 public:
  Gpus(DeviceGrid grid, Processes& processes, std::function<model::Kernel> gemm, bool panels_travel)
      : Devices(grid.devices(), &processes),
        gemm_(std::move(gemm)),
        ordinals_(grid.devices()),
        streams_(grid.devices()),
        events_(grid.devices()),
        marks_(grid.devices()) {
    for (const int device : here()) {
      ordinals_[device] = processes.size() == 1 ? device : processes.rank_on_machine();
      use(device);
      // A transfer is a kernel, too. Its blocks have priority over those of a multiplication.
      int least = 0, first = 0;
      check(cudaDeviceGetStreamPriorityRange(&least, &first), device);
      for (const Lane lane : {Lane::arrive, Lane::leave}) {
        check(
            cudaStreamCreateWithPriority(&stream(device, lane), cudaStreamNonBlocking, first),
            device);
      }
    }
    if (panels_travel) {
      communicator_ = std::make_unique<Communicator>(processes, here(), ordinals_);
    }
  }
  ~Gpus() override {
    communicator_.reset();
    for (const int device : here()) {
      cudaSetDevice(ordinals_[device]);
      for (const cudaEvent_t event : events_[device]) cudaEventDestroy(event);
      for (const Lane lane : {Lane::arrive, Lane::leave}) cudaStreamDestroy(stream(device, lane));
    }
    free_memory();
    cudaSetDevice(0);
  }

  double free_bytes(int device) override {
    use(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), device);
    return static_cast<double>(free);
  }

  void multiply(
      int device, ProblemSize size, float alpha, const float* A, const float* B, float beta,
      float* C) override {
    use(device);
    if (size.M > 0 && size.N > 0) gemm_(size.M, size.N, size.K, alpha, A, B, beta, C);
  }

  void begin() override { marks_.assign(marks_.size(), 0); }

  Mark mark(int device, Lane lane) override {
    use(device);
    const int mark = marks_[device]++;
    if (mark == static_cast<int>(events_[device].size())) {
      check(cudaEventCreate(&events_[device].emplace_back()), device);
    }
    check(cudaEventRecord(events_[device][mark], stream(device, lane)), device);
    return mark;
  }

  void wait(int device, Lane lane, Mark mark) override {
    use(device);
    check(cudaStreamWaitEvent(stream(device, lane), events_[device][mark]), device);
  }

  void wait_here(int device, Mark mark) override {
    wait_until(device, [&] { return cudaEventQuery(events_[device][mark]); });
  }

  void finish() override {
    for (const int device : here()) {
      for (const Lane lane : {Lane::arrive, Lane::multiply, Lane::leave}) {
        wait_until(device, [&] { return cudaStreamQuery(stream(device, lane)); });
      }
    }
  }

  double ms_between(int device, Mark from, Mark to) override {
    use(device);
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events_[device][from], events_[device][to]), device);
    return ms;
  }

 protected:
  float* new_memory(int device, std::int64_t floats) override {
    use(device);
    const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
    if (error == cudaErrorMemoryAllocation) {
      throw model::Refusal(text::printed(
          "GPU %d has no memory for %.1f GB more, with %.1f GB free; choose smaller matrices, more "
          "GPUs or --resident host",
          device, 1e-9 * static_cast<double>(bytes), 1e-9 * free_bytes(device)));
    }
    check(error, device);
    memories_.push_back(static_cast<float*>(memory));
    return memories_.back();
  }

  void start_copy(int device, Lane lane, float* memory, const HostBlock& host) override {
    use(device);
    const bool arrives = lane == Lane::arrive;
    const std::size_t row = host.columns * sizeof(float), pitch = host.pitch * sizeof(float);
    check(
        cudaMemcpy2DAsync(
            arrives ? memory : host.first, arrives ? row : pitch, arrives ? host.first : memory,
            arrives ? pitch : row, row, host.rows,
            arrives ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream(device, lane)),
        device);
  }

  void start_transfers(const std::vector<Transfer>& transfers) override {
    communicator_->transfer(transfers, streams_);
  }

  void free_memory() override {
    for (float* const memory : memories_) cudaFree(memory);
    memories_.clear();
  }

 private:
  void use(int device) { check(cudaSetDevice(ordinals_[device]), device); }

  cudaStream_t& stream(int device, Lane lane) { return streams_[device][static_cast<int>(lane)]; }

  // Polls, so that an error of another device is noticed, too.
  template <class Query>
  void wait_until(int device, Query query) {
    constexpr int kSometimes = 1024;
    use(device);
    for (int polls = 1;; ++polls) {
      const cudaError_t state = query();
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) check(state, device);
      if (communicator_ && polls % kSometimes == 0) communicator_->check_errors();
    }
  }

  const std::function<model::Kernel> gemm_;
  std::vector<int> ordinals_;  // a device's GPU in this machine
  std::vector<Streams> streams_;
  std::vector<std::vector<cudaEvent_t>> events_;
  std::vector<int> marks_;
  std::vector<float*> memories_;
  std::unique_ptr<Communicator> communicator_;  // null: nothing travels
};

}  // namespace

int count_gpus() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

std::string why_no_nccl() {
  return nccl().why_not;
}

std::unique_ptr<Devices> gpus(
    DeviceGrid grid, Processes& processes, std::function<model::Kernel> gemm, bool panels_travel) {
  return std::make_unique<Gpus>(grid, processes, std::move(gemm), panels_travel);
}

std::shared_ptr<void> pinned(void* memory, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), 0);
  return {memory, [](void* registered) { cudaHostUnregister(registered); }};
}

std::function<model::Kernel> cublas_xt(int gpus) {
  constexpr int kBlock = 4096;
  std::vector<int> ordinals(gpus);
  for (int i = 0; i < gpus; ++i) ordinals[i] = i;
  cublasXtHandle_t created = nullptr;
  check(cublasXtCreate(&created));
  const std::shared_ptr<cublasXtContext> handle(created, [](cublasXtHandle_t of) {
    cublasXtDestroy(of);
    cudaSetDevice(0);
  });
  check(cublasXtDeviceSelect(created, gpus, ordinals.data()));
  check(cublasXtSetBlockDim(created, kBlock));
  return
      [handle](
          int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
        // cuBLAS is column-major and sees these matrices as their transposes; C^T = B^T A^T.
        check(cublasXtSgemm(
            handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, std::max(N, 1), A,
            std::max(K, 1), &beta, C, std::max(N, 1)));
      };
}

}  // namespace cluster
