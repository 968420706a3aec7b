#include "cluster/communicators.h"

#include <string>

#include "cluster/devices.h"
#include "model/refusal.h"

#if __has_include(<nccl.h>)

#include <dlfcn.h>
#include <nccl.h>

#include <exception>
#include <type_traits>
#include <utility>

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
  decltype(&ncclBroadcast) broadcast = nullptr;
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
    find(functions.broadcast, "ncclBroadcast");
    find(functions.error_string, "ncclGetErrorString");
    return functions;
  }();
  return found;
}

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  throw model::Refusal(std::string("NCCL: ") + nccl().error_string(result));
}

// The communicator of each device here, of `groups` with `size` devices each; place_of(device) is
// its group and its position in the group. Null for other devices, and if each group has only one
// device.
template <class PlaceOf>
std::vector<ncclComm_t> join(
    int groups, int size, Processes& processes, const std::vector<int>& here,
    const std::vector<int>& ordinals, PlaceOf place_of) {
  std::vector<ncclComm_t> comms(std::size_t(groups) * size);
  if (size == 1) return comms;
  std::vector<ncclUniqueId> ids(groups);
  if (processes.is_first()) {
    for (ncclUniqueId& id : ids) check(nccl().get_unique_id(&id));
  }
  processes.share(ids.data(), static_cast<std::int64_t>(ids.size() * sizeof(ncclUniqueId)));
  check(nccl().group_start());
  for (const int device : here) {
    const auto [group, position] = place_of(device);
    if (cudaError_t error = cudaSetDevice(ordinals[device]); error != cudaSuccess) {
      throw model::Refusal(std::string("NCCL: ") + cudaGetErrorString(error));
    }
    check(nccl().init_rank(&comms[device], size, ids[group], position));
  }
  check(nccl().group_end());
  return comms;
}

}  // namespace

std::string why_no_nccl() {
  return nccl().why_not;
}

struct Communicators::Joined {
  std::vector<ncclComm_t> row, column;  // by device
};

Communicators::Communicators(
    Grid grid, Processes& processes, const std::vector<int>& here, const std::vector<int>& ordinals)
    : joined_(std::make_unique<Joined>()) {
  const auto [P, Q] = grid;
  joined_->row = join(P, Q, processes, here, ordinals, [Q = Q](int device) {
    return std::pair(device / Q, device % Q);
  });
  joined_->column = join(Q, P, processes, here, ordinals, [Q = Q](int device) {
    return std::pair(device % Q, device / Q);
  });
}

Communicators::~Communicators() {
  for (const auto* comms : {&joined_->row, &joined_->column}) {
    for (const ncclComm_t comm : *comms) {
      if (comm == nullptr) continue;
      std::uncaught_exceptions() > 0 ? nccl().abort(comm) : nccl().destroy(comm);
    }
  }
}

void Communicators::broadcast(
    const std::vector<Broadcast>& broadcasts, const std::vector<cudaStream_t>& streams) {
  check(nccl().group_start());
  for (const Broadcast& b : broadcasts) {
    for (std::size_t i = 0; i < b.devices.size(); ++i) {
      if (b.places[i] == nullptr) continue;
      const int device = b.devices[i];
      check(nccl().broadcast(
          b.places[i], b.places[i], static_cast<std::size_t>(b.floats), ncclFloat, b.owner,
          (b.along_row ? joined_->row : joined_->column)[device], streams[device]));
    }
  }
  check(nccl().group_end());
}

void Communicators::check_errors() const {
  for (const auto* comms : {&joined_->row, &joined_->column}) {
    for (const ncclComm_t comm : *comms) {
      if (comm == nullptr) continue;
      ncclResult_t error = ncclSuccess;
      check(nccl().get_async_error(comm, &error));
      check(error);
    }
  }
}

}  // namespace cluster

#else

namespace cluster {

std::string why_no_nccl() {
  return "this program was built without nccl.h; install libnccl-dev and build it again";
}

// Without NCCL there is never a communicator.
struct Communicators::Joined {};
Communicators::Communicators(Grid, Processes&, const std::vector<int>&, const std::vector<int>&) {
  throw model::Refusal(why_no_nccl());
}
Communicators::~Communicators() = default;
void Communicators::broadcast(const std::vector<Broadcast>&, const std::vector<cudaStream_t>&) {}
void Communicators::check_errors() const {}

}  // namespace cluster

#endif
