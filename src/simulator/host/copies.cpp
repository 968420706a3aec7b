#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"
#include "simulator/host/memory.h"
#include "simulator/host/stream.h"
#include "simulator/machine/memory.h"
#include "text/numbers.h"

namespace host {
namespace {

std::string in_bytes(std::size_t bytes) {
  return text::grouped(static_cast<long long>(bytes)) + (bytes == 1 ? " byte" : " bytes");
}

// Whether one side of a copy, "the destination" or "the source", is valid; if not, leaves a note.
cudaError_t check(
    const Call& call, const std::string& side, const void* pointer, const Rows& rows, bool for_gpu,
    bool for_host, std::size_t known_bytes) {
  if (pointer == nullptr) return call.fails(cudaErrorInvalidValue, side + " is a null pointer");
  if (rows.width > rows.pitch) {
    return call.fails(
        cudaErrorInvalidPitchValue, side + "'s rows are " + in_bytes(rows.pitch) +
                                        " apart, and each is " + in_bytes(rows.width) + " wide");
  }
  const Pointed place = place_of(pointer);
  const std::string named = place.name.empty() ? side : side + ", " + place.name + ",";
  if (place.freed) return call.hazard(cudaErrorInvalidValue, named + " was freed before");
  if (!place.for_gpu && !place.for_host) {
    return call.hazard(cudaErrorInvalidValue, side + " is in none of the GPU's arrays");
  }
  if (for_gpu && !place.for_gpu) {
    return call.fails(
        cudaErrorInvalidValue, named + " must be memory of the GPU, and is memory of the host");
  }
  if (for_host && !place.for_host) {
    return call.fails(
        cudaErrorInvalidValue, named + " must be memory of the host, and is memory of the GPU");
  }
  const std::size_t bytes = std::min(place.bytes, known_bytes);
  if (rows.bytes() > bytes) {
    return call.hazard(
        cudaErrorInvalidValue, named + " has " + in_bytes(bytes) +
                                   " from there on, and the call is for " + in_bytes(rows.bytes()));
  }
  return cudaSuccess;
}

// The memory that an operation of the GPU uses.
std::vector<machine::Touched> used(const void* memory, const Rows& rows, bool stores) {
  std::vector<machine::Touched> used;
  if (!place_of(memory).for_gpu) return used;
  for (std::size_t row = 0; row < rows.height; ++row) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) + row * rows.pitch;
    if (used.empty() || used.back().end != begin) used.push_back({begin, begin, stores});
    used.back().end = begin + rows.width;
  }
  return used;
}

Rows one_row(std::size_t bytes) {
  return {bytes, 1, bytes};
}

// What host code reads only after it has copied it, or has waited for the GPU.
bool is_of_gpu(const machine::DeviceArray& array) {
  return array.kind == machine::MemoryKind::device || array.kind == machine::MemoryKind::managed;
}

const char* const kNeverWritten =
    " were never written. A GPU leaves anything there; here it is a large number, so that a check "
    "of the results fails";

// Of a copy to or from a variable of the GPU, or between two.
cudaError_t check(
    const Call& call, const simt::Symbol& symbol, std::size_t bytes, std::size_t offset,
    cudaMemcpyKind kind, bool to) {
  if (kind != (to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) &&
      kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return call.fails(
        cudaErrorInvalidMemcpyDirection,
        std::string("the copy is not ") + (to ? "to" : "from") + " the GPU");
  }
  know_symbol(symbol.data, symbol.bytes);
  if (offset <= symbol.bytes && bytes <= symbol.bytes - offset) return cudaSuccess;
  return call.hazard(
      cudaErrorInvalidValue, "the variable has " + in_bytes(symbol.bytes) +
                                 ", and the call is for " + in_bytes(bytes) +
                                 (offset > 0 ? " after the first " + in_bytes(offset) : ""));
}

// Runs the work of an operation, which returns the memory that it has used.
template <class Work>
void operate(const Call& call, cudaStream_t stream, Work work) {
  in_stream(stream, [&] {
    Operation operation = begin_operation();
    operation.place = call.place();
    end_operation(operation, call.function(), work());
  });
}

}  // namespace

void note_unwritten(
    const machine::DeviceArray& array, const void* from, const Rows& rows, const std::string& how,
    const void* place) {
  const std::size_t element = std::max<std::size_t>(array.element, 1);
  const auto all = static_cast<long long>(rows.width * rows.height / element);
  long long unwritten = 0;
  const machine::OpenDeviceMemory open(array.data);
  for (std::size_t row = 0; row < rows.height; ++row) {
    const char* const begin = static_cast<const char*>(from) + row * rows.pitch;
    unwritten += static_cast<long long>(machine::unwritten_bytes(array, begin, rows.width));
  }
  unwritten /= static_cast<long long>(element);
  // Only the first copy of a call is told, and none when results are left out.
  const bool known = std::any_of(notes().begin(), notes().end(), [&](const Note& note) {
    return note.place == place && note.sentence.find(kNeverWritten) != std::string::npos;
  });
  if (unwritten == 0 || known || is_late()) return;
  const auto* const launches = machine::program_launches;
  note(
      text::grouped(unwritten) + " of " + text::grouped(all) +
          (array.element > 0 ? " elements of " : " bytes of ") + array.name + how + kNeverWritten,
      place, launches != nullptr && launches->any_refused());
}

void note_unwritten(const machine::DeviceArray& array, const void* place) {
  const bool is_shared =
      array.kind == machine::MemoryKind::managed || array.kind == machine::MemoryKind::pinned;
  if (!is_shared || array.element == 0) return;
  note_unwritten(array, array.data, one_row(array.bytes), ", which the host can read,", place);
}

cudaError_t copy(
    const Call& call, void* to, const Rows& rows, const void* from, std::size_t from_pitch,
    cudaMemcpyKind kind, cudaStream_t stream, simt::KnownBytes sizes) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return call.fails(cudaErrorInvalidMemcpyDirection, "there is no such direction of a copy");
  }
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (rows.empty()) return cudaSuccess;
  const bool to_gpu = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_gpu = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool known = kind != cudaMemcpyDefault;
  const Rows from_rows{rows.width, rows.height, from_pitch};
  cudaError_t error = check(call, "the destination", to, rows, to_gpu, known && !to_gpu, sizes.to);
  if (error == cudaSuccess) {
    error = check(call, "the source", from, from_rows, from_gpu, known && !from_gpu, sizes.from);
  }
  if (error != cudaSuccess) return error;
  // Memory of the host that is not pinned goes through a buffer, for which the call waits.
  const bool host_waits_for_it = !call.is_async() || !place_of(to).for_gpu;
  operate(call, stream, [&] {
    const machine::OpenDeviceMemory open_to(to), open_from(from);
    for (std::size_t row = 0; row < rows.height; ++row) {
      std::memmove(
          static_cast<char*>(to) + row * rows.pitch,
          static_cast<const char*>(from) + row * from_pitch, rows.width);
    }
    const auto source = machine::array_at(from), result = machine::array_at(to);
    if (source && is_of_gpu(*source) && !(result && is_of_gpu(*result))) {
      note_unwritten(*source, from, from_rows, ", copied here,", call.place());
    }
    std::vector<machine::Touched> touched = used(to, rows, true);
    for (const machine::Touched& range : used(from, from_rows, false)) touched.push_back(range);
    return touched;
  });
  if (host_waits_for_it) host_waits(stream);
  return cudaSuccess;
}

cudaError_t set(const Call& call, void* to, int value, const Rows& rows, cudaStream_t stream) {
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (rows.empty()) return cudaSuccess;
  const cudaError_t error = check(call, "the destination", to, rows, true, false, -1);
  if (error != cudaSuccess) return error;
  operate(call, stream, [&] {
    const machine::OpenDeviceMemory open(to);
    for (std::size_t row = 0; row < rows.height; ++row) {
      std::memset(static_cast<char*>(to) + row * rows.pitch, value, rows.width);
    }
    return used(to, rows, true);
  });
  return cudaSuccess;
}

}  // namespace host

using namespace host;

cudaError_t simt::copy(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, KnownBytes known) {
  return host::copy(Call("cudaMemcpy"), to, one_row(bytes), from, bytes, kind, nullptr, known);
}

cudaError_t simt::copy_async(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
    KnownBytes known) {
  return host::copy(Call("cudaMemcpyAsync"), to, one_row(bytes), from, bytes, kind, stream, known);
}

cudaError_t cudaMemcpyPeer(
    void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  const Call call;
  if (to_device != 0 || from_device != 0) {
    return call.fails(cudaErrorInvalidDevice, "there is one GPU here, with the number 0");
  }
  return copy(call, to, one_row(bytes), from, bytes, cudaMemcpyDeviceToDevice, nullptr);
}

cudaError_t cudaMemcpy2D(
    void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind kind) {
  return copy(Call(), to, {width, height, to_pitch}, from, from_pitch, kind, nullptr);
}

cudaError_t cudaMemcpy2DAsync(
    void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(Call(), to, {width, height, to_pitch}, from, from_pitch, kind, stream);
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return set(Call(), to, value, one_row(bytes), nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return set(Call(), to, value, one_row(bytes), stream);
}

cudaError_t cudaMemset2D(
    void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return set(Call(), to, value, {width, height, pitch}, nullptr);
}

cudaError_t simt::copy_to_symbol(
    Symbol symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream) {
  const Call call("cudaMemcpyToSymbol");
  const cudaError_t error = check(call, symbol, bytes, offset, kind, true);
  if (error != cudaSuccess) return error;
  return host::copy(
      call, static_cast<char*>(symbol.data) + offset, one_row(bytes), from, bytes, kind, stream);
}

cudaError_t simt::copy_from_symbol(
    void* to, Symbol symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream) {
  const Call call("cudaMemcpyFromSymbol");
  const cudaError_t error = check(call, symbol, bytes, offset, kind, false);
  if (error != cudaSuccess) return error;
  return host::copy(
      call, to, one_row(bytes), static_cast<char*>(symbol.data) + offset, bytes, kind, stream);
}

cudaError_t simt::address_of_symbol(void** pointer, Symbol symbol) {
  const Call call("cudaGetSymbolAddress");
  know_symbol(symbol.data, symbol.bytes);
  return call.gives(pointer, symbol.data);
}

namespace host {
namespace {

// Copies of boxes. A slice of a box is rows; the slices of pitched memory lie `ysize` rows apart.

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

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return set_box(Call(), to, value, extent, nullptr);
}
