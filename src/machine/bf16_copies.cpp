#include "cuda/bf16_copies.h"

#include <string>

#include "machine/device_memory.h"
#include "model/refusal.h"
#include "model/tensor_core.h"

Bf16Matrix Bf16Copies::copy(
    const char* name, Memory& to, const float* matrix, int rows, int columns) {
  using machine::MemoryKind;
  const std::uint64_t pitch = pitch_bytes(columns);
  const std::size_t bytes = rows * pitch;
  if (bytes > to.bytes) {
    if (to.begin != nullptr) machine::free_array(to.begin, MemoryKind::device, MemoryKind::device);
    to = {static_cast<std::uint16_t*>(machine::allocate_array(bytes, name, MemoryKind::device))};
    if (to.begin == nullptr) {
      throw model::Refusal(std::string("there is no memory for ") + name + " in bf16");
    }
    to.bytes = bytes;
  }
  const machine::OpenDeviceMemory open(to.begin);
  for (int row = 0; row < rows; ++row) {
    std::uint16_t* const first = to.begin + row * (pitch / 2);
    for (int column = 0; column < columns; ++column) {
      first[column] =
          model::narrowed(matrix[std::size_t(row) * columns + column], model::kBfloat16);
    }
  }
  return {to.begin, pitch};
}
