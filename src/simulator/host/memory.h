// The kind of memory that a pointer of the program points to.
#pragma once

#include <cstddef>
#include <string>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"

namespace host {

struct Pointed {
  bool for_host, for_gpu;                            // who may access it
  std::string name;                                  // empty: unknown
  std::size_t bytes = static_cast<std::size_t>(-1);  // from the pointer to the end, if known
  bool freed = false;
};

Pointed place_of(const void* pointer);

// A __device__ or __constant__ variable is the GPU's. Host code that was given its address is
// remembered here.
void know_symbol(const void* data, std::size_t bytes);

// Memory that the program's host code has allocated, and freed.
void know_heap(const void* memory, std::size_t bytes);
void forget_heap(const void* memory);

// Why this pointer cannot be freed in this way.
std::string why_not_free(const void* pointer);

// The copies between host and GPU.

// Rows of `width` bytes, `pitch` bytes apart.
struct Rows {
  std::size_t width, height, pitch;
  bool empty() const { return width == 0 || height == 0; }
  std::size_t bytes() const { return (height - 1) * pitch + width; }
};

// Notes the elements in rows of the GPU's memory that nobody has written, and that the host gets by
// this call or may read: they fail its own check (machine::kUnwritten). It need not read them, so
// this is a note; but the run fails if a launch was refused whose results they may be.
void note_unwritten(
    const machine::DeviceArray& array, const void* from, const Rows& rows, const std::string& how,
    const void* place);
// The same for all of an array that host and GPU share, if a kernel has got it.
void note_unwritten(const machine::DeviceArray& array, const void* place);

// Copies the rows from memory in which they are `from_pitch` bytes apart. `call` notes wrong
// arguments.
cudaError_t copy(
    const Call& call, void* to, const Rows& rows, const void* from, std::size_t from_pitch,
    cudaMemcpyKind kind, cudaStream_t stream, simt::KnownBytes known = {});

// Sets the bytes of the rows.
cudaError_t set(const Call& call, void* to, int value, const Rows& rows, cudaStream_t stream);

// Boxes of slices, which are rows. Neither side is a texture's array.
cudaError_t copy_box(const Call& call, const cudaMemcpy3DParms& what, cudaStream_t stream);

}  // namespace host
