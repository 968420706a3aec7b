#include "machine/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "machine/own_access.h"
#include "model/refusal.h"
#include "model/tensor_core.h"

namespace machine {
namespace {

constexpr std::uint64_t kMark = 0x70616d726f736e65;

static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

constexpr int kPieceBytes = 16;

// Calls visit(row, byte, place) for each 16 bytes of the box, from that byte of a row on; `place`
// is theirs, in bytes from the box's start in shared memory.
template <class Visit>
void for_each_piece(const TensorMap& map, std::uint32_t at, Visit visit) {
  for (int row = 0; row < map.box.rows; ++row) {
    for (int byte = 0; byte < map.row_bytes(); byte += kPieceBytes) {
      const std::uint32_t address = at + row * map.row_bytes() + byte;
      visit(row, byte, model::swizzled(address, map.swizzle) - at);
    }
  }
}

char* element(const TensorMap& map, std::int64_t row, std::int64_t column) {
  return map.matrix + row * static_cast<std::int64_t>(map.pitch_bytes) +
         column * map.element_bytes();
}

void require(bool holds, const std::string& rule) {
  if (!holds) throw model::Refusal("a tensor map cannot be made: " + rule);
}

}  // namespace

std::optional<TensorMap> contents_of(const CUtensorMap& map) {
  TensorMap contents;
  std::memcpy(&contents, &map, sizeof contents);
  if (contents.mark != kMark) return std::nullopt;
  return contents;
}

PartOfMatrix inside(const TensorMap& map, int x, int y) {
  const auto clamp = [](std::int64_t value, std::uint64_t most) {
    return std::clamp<std::int64_t>(value, 0, static_cast<std::int64_t>(most));
  };
  const std::int64_t top = clamp(y, map.rows), left = clamp(x, map.columns);
  const std::int64_t bottom = clamp(std::int64_t{y} + map.box.rows, map.rows);
  const std::int64_t right = clamp(std::int64_t{x} + map.box.columns, map.columns);
  const bool empty = top >= bottom || left >= right;
  if (empty) return {element(map, top, left), 0, 0, map.pitch_bytes, 0, 0};
  const auto bytes = [&](std::int64_t columns) {
    return static_cast<int>(columns) * map.element_bytes();
  };
  return {element(map, top, left), static_cast<int>(bottom - top),
          bytes(right - left),     map.pitch_bytes,
          bytes(left - x),         bytes(std::int64_t{x} + map.box.columns - right)};
}

void load_box(const TensorMap& map, int x, int y, std::uint32_t at, char* shared) {
  const OwnAccess own;
  const int bytes = map.element_bytes();
  for_each_piece(map, at, [&](int row, int byte, std::uint32_t place) {
    char piece[kPieceBytes] = {};
    const std::int64_t r = std::int64_t{y} + row;
    for (int i = 0; i < kPieceBytes; i += bytes) {
      const std::int64_t c = std::int64_t{x} + (byte + i) / bytes;
      const bool is_inside = r >= 0 && r < static_cast<std::int64_t>(map.rows) && c >= 0 &&
                             c < static_cast<std::int64_t>(map.columns);
      if (!is_inside) continue;
      std::memcpy(piece + i, element(map, r, c), bytes);
      if (map.element != TensorElement::tfloat32) continue;
      float value;
      std::memcpy(&value, piece + i, sizeof value);
      value = model::tf32_copied(value);
      std::memcpy(piece + i, &value, sizeof value);
    }
    std::memcpy(shared + place, piece, sizeof piece);
  });
}

std::vector<char> read_box(const TensorMap& map, std::uint32_t at, const char* shared) {
  const OwnAccess own;
  std::vector<char> rows(map.box_bytes());
  for_each_piece(map, at, [&](int row, int byte, std::uint32_t place) {
    std::memcpy(&rows[row * map.row_bytes() + byte], shared + place, kPieceBytes);
  });
  return rows;
}

void store_box(const TensorMap& map, int x, int y, std::span<const char> rows) {
  const OwnAccess own;
  const PartOfMatrix part = inside(map, x, y);
  const int top = std::max(0, -y), left = std::max(0, -x);
  for (int row = 0; row < part.rows; ++row) {
    std::memcpy(
        part.first + row * static_cast<std::int64_t>(part.pitch_bytes),
        &rows[(top + row) * map.row_bytes() + left * map.element_bytes()], part.row_bytes);
  }
}

}  // namespace machine

// The rules are those of cuTensorMapEncodeTiled in the CUDA driver's reference.
CUtensorMap tensor_map_2d(
    const void* matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t pitch_bytes,
    TensorBox box, model::Swizzle swizzle, TensorElement element) {
  using machine::require;
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32,
                          kMostPitch = std::uint64_t{1} << 40;
  constexpr int kMostOfBox = 256;
  const auto said = [](auto value) { return std::to_string(value); };
  const machine::TensorMap contents{machine::kMark, static_cast<char*>(const_cast<void*>(matrix)),
                                    rows,           columns,
                                    pitch_bytes,    box,
                                    swizzle,        element};
  const int row_bytes = contents.row_bytes();
  require(
      reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0,
      "the matrix must start at a multiple of 16 bytes");
  require(
      rows > 0 && columns > 0 && rows <= kMostElements && columns <= kMostElements,
      "a matrix of " + said(rows) + " x " + said(columns) + " elements; 1 to 2^32 are possible");
  require(
      pitch_bytes % 16 == 0 && pitch_bytes < kMostPitch,
      "rows " + said(pitch_bytes) + " bytes apart; it must be a multiple of 16 below 2^40");
  require(
      pitch_bytes >= columns * contents.element_bytes(),
      "rows " + said(pitch_bytes) + " bytes apart are shorter than " + said(columns) +
          (contents.element_bytes() == 4 ? " floats" : " bf16"));
  require(
      box.rows > 0 && box.columns > 0 && box.rows <= kMostOfBox && box.columns <= kMostOfBox,
      "a box of " + said(box.rows) + " x " + said(box.columns) + "; 1 to 256 are possible");
  require(
      row_bytes % 16 == 0,
      "a box whose rows have " + said(row_bytes) + " bytes; they must be a multiple of 16");
  require(
      swizzle == model::Swizzle::none || row_bytes == model::span_of(swizzle),
      "a box whose rows have " + said(row_bytes) + " bytes, with a swizzle of " +
          said(model::span_of(swizzle)) + "; on the CPU they must be equal");
  CUtensorMap map{};
  std::memcpy(&map, &contents, sizeof contents);
  return map;
}
