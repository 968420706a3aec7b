// Copies of boxes. A slice of a box is rows; the slices of pitched memory lie `ysize` rows apart.
#include <cstddef>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/copies.h"

namespace host {
namespace {

std::size_t slice_bytes(const cudaPitchedPtr& memory) {
  return memory.pitch * memory.ysize;
}

char* begin_of(const cudaPitchedPtr& memory, const cudaPos& at) {
  return static_cast<char*>(memory.ptr) + at.z * slice_bytes(memory) + at.y * memory.pitch + at.x;
}

cudaError_t set_box(
    const Call& call, const cudaPitchedPtr& to, int value, const cudaExtent& extent,
    cudaStream_t stream) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error =
        set(call, begin_of(to, {0, 0, z}), value, {extent.width, extent.height, to.pitch}, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t copy_box(const Call& call, const cudaMemcpy3DParms& what, cudaStream_t stream) {
  if (what.srcArray != nullptr || what.dstArray != nullptr) {
    return call.fails(cudaErrorNotSupported, "the arrays of textures are not traced");
  }
  for (std::size_t z = 0; z < what.extent.depth; ++z) {
    char* const to = begin_of(what.dstPtr, what.dstPos) + z * slice_bytes(what.dstPtr);
    const char* const from = begin_of(what.srcPtr, what.srcPos) + z * slice_bytes(what.srcPtr);
    const cudaError_t error = copy(
        call, to, {what.extent.width, what.extent.height, what.dstPtr.pitch}, from,
        what.srcPtr.pitch, what.kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace host

using namespace host;

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* what) {
  const Call call;
  if (what == nullptr) return call.fails(cudaErrorInvalidValue, "there is nothing to copy");
  return copy_box(call, *what, nullptr);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* what, cudaStream_t stream) {
  const Call call;
  if (what == nullptr) return call.fails(cudaErrorInvalidValue, "there is nothing to copy");
  return copy_box(call, *what, stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return set_box(Call(), to, value, extent, nullptr);
}

cudaError_t cudaMemset3DAsync(
    cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return set_box(Call(), to, value, extent, stream);
}
