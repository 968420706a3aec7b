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

// Calls visit(row, column, place) for the four floats of each 16 bytes of the box; `place` is
// theirs, in bytes from the box's start in shared memory.
template <class Visit>
void for_each_piece(const TensorMap& map, std::uint32_t at, Visit visit) {
  constexpr int kFloats = 4;
  for (int row = 0; row < map.box.rows; ++row) {
    for (int column = 0; column < map.box.columns; column += kFloats) {
      const std::uint32_t address = at + row * map.row_bytes() + column * 4;
      visit(row, column, model::swizzled(address, map.swizzle) - at);
    }
  }
}

char* element(const TensorMap& map, std::int64_t row, std::int64_t column) {
  return map.matrix + row * static_cast<std::int64_t>(map.pitch_bytes) + column * 4;
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
  return {
      element(map, top, left), empty ? 0 : static_cast<int>(bottom - top),
      empty ? 0 : static_cast<int>(right - left) * 4, map.pitch_bytes};
}

void load_box(const TensorMap& map, int x, int y, std::uint32_t at, char* shared) {
  const OwnAccess own;
  for_each_piece(map, at, [&](int row, int column, std::uint32_t place) {
    float piece[4] = {};
    const std::int64_t r = std::int64_t{y} + row;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t c = std::int64_t{x} + column + i;
      const bool is_inside = r >= 0 && r < static_cast<std::int64_t>(map.rows) && c >= 0 &&
                             c < static_cast<std::int64_t>(map.columns);
      if (!is_inside) continue;
      std::memcpy(&piece[i], element(map, r, c), 4);
      if (map.element == TensorElement::tfloat32) piece[i] = model::tf32_copied(piece[i]);
    }
    std::memcpy(shared + place, piece, sizeof piece);
  });
}

std::vector<float> read_box(const TensorMap& map, std::uint32_t at, const char* shared) {
  const OwnAccess own;
  std::vector<float> rows(map.box_bytes() / 4);
  for_each_piece(map, at, [&](int row, int column, std::uint32_t place) {
    std::memcpy(&rows[row * map.box.columns + column], shared + place, 16);
  });
  return rows;
}

void store_box(const TensorMap& map, int x, int y, std::span<const float> rows) {
  const OwnAccess own;
  const PartOfMatrix part = inside(map, x, y);
  const int top = std::max(0, -y), left = std::max(0, -x);
  for (int row = 0; row < part.rows; ++row) {
    std::memcpy(
        part.first + row * static_cast<std::int64_t>(part.pitch_bytes),
        &rows[(top + row) * map.box.columns + left], part.row_bytes);
  }
}

}  // namespace machine

// The rules are those of cuTensorMapEncodeTiled in the CUDA driver's reference.
CUtensorMap tensor_map_2d(
    const float* matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t pitch_bytes,
    TensorBox box, model::Swizzle swizzle, TensorElement element) {
  using machine::require;
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32,
                          kMostPitch = std::uint64_t{1} << 40;
  constexpr int kMostOfBox = 256;
  const auto said = [](auto value) { return std::to_string(value); };
  const int row_bytes = box.columns * 4;
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
      pitch_bytes >= columns * 4,
      "rows " + said(pitch_bytes) + " bytes apart are shorter than " + said(columns) + " floats");
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
  const machine::TensorMap contents{
      machine::kMark, reinterpret_cast<char*>(const_cast<float*>(matrix)),
      rows,           columns,
      pitch_bytes,    box,
      swizzle,        element};
  CUtensorMap map{};
  std::memcpy(&map, &contents, sizeof contents);
  return map;
}
