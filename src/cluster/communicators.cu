#include "cluster/communicators.h"

#include <string>

#include "cluster/devices.h"
#include "model/refusal.h"

#if __has_include(<nccl.h>)

#include <dlfcn.h>
#include <nccl.h>

#include <exception>
#include <type_traits>

namespace cluster {

namespace {

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

}  // namespace

std::string why_no_nccl() {
  return nccl().why_not;
}

struct Communicator::Joined {
  std::vector<ncclComm_t> of;  // of each device here; null for all others
};

Communicator::Communicator(
    Processes& processes, const std::vector<int>& here, const std::vector<int>& ordinals)
    : joined_(std::make_unique<Joined>()) {
  joined_->of.resize(ordinals.size());
  ncclUniqueId id{};
  if (processes.is_first()) check(nccl().get_unique_id(&id));
  processes.share(&id, sizeof id);
  check(nccl().group_start());
  for (const int device : here) {
    if (cudaError_t error = cudaSetDevice(ordinals[device]); error != cudaSuccess) {
      throw model::Refusal(std::string("NCCL: ") + cudaGetErrorString(error));
    }
    check(nccl().init_rank(&joined_->of[device], static_cast<int>(ordinals.size()), id, device));
  }
  check(nccl().group_end());
}

Communicator::~Communicator() {
  for (const ncclComm_t comm : joined_->of) {
    if (comm == nullptr) continue;
    std::uncaught_exceptions() > 0 ? nccl().abort(comm) : nccl().destroy(comm);
  }
}

void Communicator::transfer(
    const std::vector<Transfer>& transfers, const std::vector<cudaStream_t>& streams) {
  check(nccl().group_start());
  for (const Transfer& t : transfers) {
    const auto floats = static_cast<std::size_t>(t.floats);
    if (t.source != nullptr) {
      check(nccl().send(t.source, floats, ncclFloat, t.to, joined_->of[t.from], streams[t.from]));
    }
    if (t.target != nullptr) {
      check(nccl().receive(t.target, floats, ncclFloat, t.from, joined_->of[t.to], streams[t.to]));
    }
  }
  check(nccl().group_end());
}

void Communicator::check_errors() const {
  for (const ncclComm_t comm : joined_->of) {
    if (comm == nullptr) continue;
    ncclResult_t error = ncclSuccess;
    check(nccl().get_async_error(comm, &error));
    check(error);
  }
}

}  // namespace cluster

#else

namespace cluster {

std::string why_no_nccl() {
  return "this program was built without nccl.h; install libnccl-dev and build it again";
}

// Without NCCL there is never a communicator.
struct Communicator::Joined {};
Communicator::Communicator(Processes&, const std::vector<int>&, const std::vector<int>&) {
  throw model::Refusal(why_no_nccl());
}
Communicator::~Communicator() = default;
void Communicator::transfer(const std::vector<Transfer>&, const std::vector<cudaStream_t>&) {}
void Communicator::check_errors() const {}

}  // namespace cluster

#endif
