// NCCL's functions, found when the program runs: it starts without the library.
#pragma once

#include <string>

#if __has_include(<nccl.h>)
#include <nccl.h>
#define GEMM_STEPS_HAS_NCCL 1
#endif

namespace cluster {

#ifdef GEMM_STEPS_HAS_NCCL
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
const Nccl& nccl();
#endif

}  // namespace cluster
