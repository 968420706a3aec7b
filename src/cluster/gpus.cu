#include "cluster/devices.h"

#include <cublasXt.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <string>
#include <type_traits>
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

#if __has_include(<nccl.h>)

// NCCL's functions, found when the program runs: it starts without the library.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) init_rank = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  std::string why_not;  // a sentence, if it is not there
};

const Nccl& nccl() {
  static const Nccl found = [] {
    Nccl functions;
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      functions.why_not =
          "libnccl.so.2 is not found; install libnccl2, or add its folder to LD_LIBRARY_PATH";
      return functions;
    }
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) {
        functions.why_not = std::string("libnccl.so.2 lacks ") + name + "; install a newer one";
      }
    };
    find(functions.get_unique_id, "ncclGetUniqueId");
    find(functions.init_rank, "ncclCommInitRank");
    find(functions.destroy, "ncclCommDestroy");
    find(functions.abort, "ncclCommAbort");
    find(functions.get_async_error, "ncclCommGetAsyncError");
    find(functions.group_start, "ncclGroupStart");
    find(functions.group_end, "ncclGroupEnd");
    find(functions.send, "ncclSend");
    find(functions.receive, "ncclRecv");
    find(functions.error_string, "ncclGetErrorString");
    return functions;
  }();
  return found;
}

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw model::Refusal(std::string("NCCL: ") + nccl().error_string(result));
}

// The GPUs of the grid, joined by NCCL.
class Communicator {
 public:
  // All devices. Those `here` join, which have the GPUs with these numbers in this machine.
  Communicator(Processes& processes, const std::vector<int>& here, const std::vector<int>& ordinals)
      : comms_(ordinals.size()) {
    ncclUniqueId id{};
    if (processes.is_first()) check(nccl().get_unique_id(&id));
    processes.share(&id, sizeof id);
    check(nccl().group_start());
    for (const int device : here) {
      check(cudaSetDevice(ordinals[device]), device);
      check(nccl().init_rank(&comms_[device], static_cast<int>(ordinals.size()), id, device));
    }
    check(nccl().group_end());
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // If an exception destroys it, its work in progress is aborted.
  ~Communicator() {
    for (const ncclComm_t comm : comms_) {
      if (comm == nullptr) continue;
      std::uncaught_exceptions() > 0 ? nccl().abort(comm) : nccl().destroy(comm);
    }
  }

  // In the streams of the devices, all at the same time.
  void transfer(const std::vector<Transfer>& transfers, const std::vector<cudaStream_t>& streams) {
    check(nccl().group_start());
    for (const auto& [from, to, source, target, count] : transfers) {
      const auto floats = static_cast<std::size_t>(count);
      if (source != nullptr) {
        check(nccl().send(source, floats, ncclFloat, to, comms_[from], streams[from]));
      }
      if (target != nullptr) {
        check(nccl().receive(target, floats, ncclFloat, from, comms_[to], streams[to]));
      }
    }
    check(nccl().group_end());
  }

  // Throws a Refusal if a transfer has failed, here or elsewhere.
  void check_errors() const {
    for (const ncclComm_t comm : comms_) {
      if (comm == nullptr) continue;
      ncclResult_t error = ncclSuccess;
      check(nccl().get_async_error(comm, &error));
      check(error);
    }
  }

 private:
  std::vector<ncclComm_t> comms_;  // of each device here; null for all others
};

#else

struct {
  std::string why_not =
      "this program was built without nccl.h; install libnccl-dev and build it again";
} const kNoNccl;
const auto& nccl() {
  return kNoNccl;
}
struct Communicator {
  Communicator(Processes&, const std::vector<int>&, const std::vector<int>&) {
    throw model::Refusal(nccl().why_not);
  }
  void transfer(const std::vector<Transfer>&, const std::vector<cudaStream_t>&) {}
  void check_errors() const {}
};

#endif

class Gpus : public Devices {
 public:
  Gpus(DeviceGrid grid, Processes& processes, std::function<model::Kernel> gemm, bool panels_travel)
      : Devices(grid.devices(), processes),
        gemm_(std::move(gemm)),
        ordinals_(grid.devices()),
        arrive_(grid.devices()),
        leave_(grid.devices()),
        events_(grid.devices()),
        marks_(grid.devices()) {
    for (const int device : here()) {
      ordinals_[device] = processes.size() == 1 ? device : processes.rank_on_machine();
      use(device);
      // A transfer is a kernel, too. Its blocks have priority over those of a multiplication.
      int least = 0, first = 0;
      check(cudaDeviceGetStreamPriorityRange(&least, &first), device);
      for (cudaStream_t* const stream : {&arrive_[device], &leave_[device]}) {
        check(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, first), device);
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
      cudaStreamDestroy(arrive_[device]);
      cudaStreamDestroy(leave_[device]);
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
    communicator_->transfer(transfers, arrive_);
  }

  void free_memory() override {
    for (float* const memory : memories_) cudaFree(memory);
    memories_.clear();
  }

 private:
  void use(int device) { check(cudaSetDevice(ordinals_[device]), device); }

  // The kernels of the ladder are launched without a stream.
  cudaStream_t stream(int device, Lane lane) const {
    return lane == Lane::arrive ? arrive_[device] : lane == Lane::leave ? leave_[device] : nullptr;
  }

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
  std::vector<cudaStream_t> arrive_, leave_;
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
