#include "host/call.h"

#include <algorithm>

#include "cuda/headers/cuda_runtime_api.h"
#include "cuda/headers/helper_timer.h"
#include "cuda/runtime.h"
#include "machine/fault.h"
#include "machine/program.h"
#include "machine/runners.h"

namespace host {
namespace {

std::vector<Note> kept;

}  // namespace

Call::Call(const char* function, const void* place) : function_(function), place_(place) {
  if (!machine::in_kernel()) return;
  machine::fault(std::string("it calls ") + function + ", which is for the host", place);
}

cudaError_t Call::fails(cudaError_t error, const std::string& why) const {
  set_last_error(error);
  note(why);
  return error;
}

cudaError_t Call::hazard(cudaError_t error, const std::string& why) const {
  set_last_error(error);
  note(why, true);
  return error;
}

void Call::note(const std::string& sentence, bool is_hazard) const {
  host::note(std::string(function_) + ": " + sentence, place_, is_hazard);
}

const std::vector<Note>& notes() {
  return kept;
}

void forget_notes() {
  kept.clear();
}

void note(const std::string& sentence, const void* place, bool is_hazard, const void* other) {
  constexpr std::size_t kMost = 100;
  const bool known = std::any_of(kept.begin(), kept.end(), [&](const Note& old) {
    return old.sentence == sentence && old.place == place;
  });
  if (!known && kept.size() < kMost) kept.push_back({sentence, place, is_hazard, other});
}

bool is_late() {
  return machine::program_launches != nullptr && machine::program_launches->is_late();
}

void note_lateness() {
  if (is_late()) machine::program_launches->note_lateness();
}

void set_last_error(cudaError_t error) {
  simt::set_launch_error(error);
}

}  // namespace host

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, number, words) \
  case name:                            \
    return #name;
#include "cuda/errors.inc"
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, number, words) \
  case name:                            \
    return words;
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const host::Call call;
  const int error = simt::launch_error();
  simt::set_launch_error(cudaSuccess);
  return static_cast<cudaError_t>(error);
}

cudaError_t cudaPeekAtLastError() {
  const host::Call call;
  return static_cast<cudaError_t>(simt::launch_error());
}

void simt::note_host_time() {
  host::note(
      "A stop watch of the program measured this computer, which runs and traces the kernels, and "
      "not a GPU.");
}
