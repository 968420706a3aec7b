#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_core.h"
#include "school/grade/case.h"
#include "school/grade/exercise.h"
#include "text/numbers.h"

namespace {

using model::MatrixDescriptor;

constexpr int kRows = 64, kStepBytes = 4 * 8;  // of a tile, and of what one wgmma multiplies

int row_bytes_of(const Shape& shape) {
  return shape.variant == 0 ? 128 : 64;
}

// The descriptor of a wgmma, and where what it describes should start.
struct Described {
  MatrixDescriptor got;
  std::uint64_t bits;
  std::uint32_t tile, start;  // the shared addresses of the tile, and of the part for this wgmma
  int step;                   // of the tile along K, counted in wgmma
};

// Those of one block, in order. The first ones of its warps, one after the other, are the same.
std::vector<Described> recorded(const grade::Case& c) {
  model::Recorder recorder{.blocks = {0}};
  grade::Case again = c;
  grade::run_recorded(again, recorder);
  std::vector<Described> all;
  if (recorder.launches.empty()) return all;
  const int row_bytes = row_bytes_of(c.shape), steps = row_bytes / kStepBytes;
  std::uint32_t ring = 0;  // its shared address, a multiple of 1024
  for (const model::RecordedAction& action : recorder.launches[0].actions) {
    if (action.kind != model::RecordedAction::Kind::multiply || action.thread != 0) continue;
    const MatrixDescriptor got = model::decoded(action.value);
    const int number = static_cast<int>(all.size());
    if (action.array >= 0 && action.to <= got.start) ring = got.start - std::uint32_t(action.to);
    const std::uint32_t tile = ring + number / steps % 2 * kRows * row_bytes;
    const int step = number % steps;
    all.push_back({got, action.value, tile, tile + step * kStepBytes, step});
  }
  return all;
}

model::Swizzle swizzle_of(const Shape& shape) {
  return shape.variant == 0 ? model::Swizzle::span_128 : model::Swizzle::span_64;
}

// A mistake in a field, and the first descriptor that has it.
enum class Mistake {
  none,
  empty,
  stride_in_leading,
  stride_of_row,
  stride_of_other_tile,
  stride,
  no_swizzle,
  swizzle_of_other_tile,
  swizzle,
  same_start,
  start_in_floats,
  start_in_bytes,
  start
};
struct Found {
  Mistake mistake = Mistake::none;
  Described where{};
};

Mistake mistake_in(const Described& d, const Shape& shape) {
  const auto bytes = static_cast<std::uint32_t>(row_bytes_of(shape));
  if (d.bits == 0) return Mistake::empty;
  if (d.got.stride != 8 * bytes) {
    return d.got.stride == 0 && d.got.leading == 8 * bytes ? Mistake::stride_in_leading
           : d.got.stride == bytes                         ? Mistake::stride_of_row
           : d.got.stride == 8 * (192 - bytes)             ? Mistake::stride_of_other_tile
                                                           : Mistake::stride;
  }
  if (d.got.swizzle != swizzle_of(shape)) {
    const bool other = d.got.swizzle == swizzle_of({0, 0, 0, 1 - shape.variant});
    return d.got.swizzle == model::Swizzle::none ? Mistake::no_swizzle
           : other                               ? Mistake::swizzle_of_other_tile
                                                 : Mistake::swizzle;
  }
  return d.got.start == d.start ? Mistake::none : Mistake::start;
}

// How the start moves within a tile, by its last descriptor. Its first is right.
Mistake mistake_in_steps(const Described& last) {
  const auto moved = static_cast<int>(last.got.start - last.tile);
  const int k = 8 * last.step;
  return moved == 0                           ? Mistake::same_start
         : moved == k / 16 * 16               ? Mistake::start_in_floats
         : moved == 16 * k || moved == 64 * k ? Mistake::start_in_bytes
                                              : Mistake::start;
}

// Of the reported case. Hints are tried one after the other on it, so it is computed once.
const Found& found_in(const grade::Case& c) {
  static const float* results = nullptr;
  static Found found;
  if (results == c.C.data()) return found;
  results = c.C.data();
  found = {};
  const std::vector<Described> all = recorded(c);
  const auto first = std::ranges::find_if(
      all, [&](const Described& d) { return mistake_in(d, c.shape) != Mistake::none; });
  if (first == all.end()) return found;
  found = {mistake_in(*first, c.shape), *first};
  const auto last = first + (row_bytes_of(c.shape) / kStepBytes - 1 - first->step);
  if (found.mistake == Mistake::start && first->step > 0 && last < all.end()) {
    found = {mistake_in_steps(*last), *last};
  }
  return found;
}

std::string told(const grade::Case& c) {
  const Described& d = found_in(c).where;
  const char* const swizzles[] = {"none", "in rows of 32 bytes", "of 64", "of 128"};
  return text::printed(
      "with BK %d and k %d the descriptor is 0x%016llx: start %d bytes after the tile's, stride %u "
      "bytes, swizzle %s",
      row_bytes_of(c.shape) / 4, 8 * d.step, static_cast<unsigned long long>(d.bits),
      static_cast<int>(d.got.start - d.tile), d.got.stride,
      swizzles[static_cast<int>(d.got.swizzle)]);
}

grade::Hint about(Mistake mistake, const char* text) {
  return {
      [mistake](const grade::Case& c) {
        const bool fails = !c.right() || model::has_hazard(*c.row.counts);
        return fails && found_in(c).mistake == mistake;
      },
      text, "", told};
}

constexpr const char* kUnits =
    "an address or a distance is in bytes, and the descriptor's fields are in units of 16 bytes: "
    "divide by 16, or shift right by 4, before you shift to the field's first bit";

// "... describes the shared addresses from 0 to 8192, which are not in one array ..."
std::optional<unsigned> bytes_described(const std::string& sentence) {
  const std::size_t from = sentence.find("addresses from "), to = sentence.find(" to ", from);
  if (from == sentence.npos || to == sentence.npos) return std::nullopt;
  return unsigned(std::stoul(sentence.substr(to + 4)) - std::stoul(sentence.substr(from + 15)));
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "describe a tile: C = A * B^T by wgmma, with the descriptor of B's tile",
    .product = {.B = grade::Order::transposed},
    .precision = model::kTf32,
    .variants =
        {{{"BM", 64}, {"BN", 64}, {"BK", 32}, {"ROW_BYTES", 128}, {"PLACES", 2}},
         {{"BM", 64}, {"BN", 64}, {"BK", 16}, {"ROW_BYTES", 64}, {"PLACES", 2}}},
    .shapes =
        [](grade::Random& random) {
          return random.and_large(
              {{64, 64, 32},
               {64, 64, 96},
               random.tiles(64, 64, 64),
               {64, 64, 16, 1},
               random.tiles(64, 64, 16 * random.between(3, 4), 1)},
              64, 64, 32);
        },
    // So few bits that nothing is lost in any product or sum.
    .element = [](float drawn, const Shape&, bool,
                  std::size_t) { return std::round(drawn * 0x1p6f) * 0x1p-6f; },
    .targets =
        {{"shared loads", "smem_loads", "0", false},
         {"shared bytes", "smem_bytes", "PLACES * (64*ROW_BYTES + 8)", false}},
    .hints =
        {about(
             Mistake::empty,
             "the descriptor is 0: it has three fields to fill, the start, the stride and the "
             "swizzle"),
         about(
             Mistake::stride_in_leading,
             "the stride is in the wrong field: bits 16 to 29 are not used with a swizzle. The "
             "distance from 8 rows to the next 8 begins at bit 32"),
         about(
             Mistake::stride_of_row,
             "the stride is the distance of neighbouring rows. The tensor cores know that 8 rows "
             "follow each other; they ask for the distance from 8 rows to the next 8"),
         about(
             Mistake::stride_of_other_tile,
             "one of the two kernels has the right stride, and the other has the same: it depends "
             "on the bytes of a row"),
         about(
             Mistake::stride,
             "the stride is wrong, in bits 32 to 45: how many bytes are 8 rows of this tile, and "
             "how many units of 16 bytes? A shift by 32 needs a number of 64 bits, such as "
             "std::uint64_t{1}"),
         about(
             Mistake::no_swizzle,
             "bits 62 and 63 are 0, so the tensor cores do not swizzle, and the copy engine did. "
             "A shift by 62 needs a number of 64 bits, such as std::uint64_t{1}"),
         about(
             Mistake::swizzle_of_other_tile,
             "one of the two kernels has the right swizzle, and the other has the same: its rows "
             "have another number of bytes"),
         about(
             Mistake::swizzle,
             "the swizzle in bits 62 and 63 is not the one of this tile. The numbers fall as the "
             "rows grow: 1 is for 128 bytes"),
         about(
             Mistake::same_start,
             "every wgmma of a tile multiplies its first 8 steps of k: the start must move with k"),
         about(
             Mistake::start_in_floats,
             "the start moves by too little: k counts floats, and a float has 4 bytes"),
         about(
             Mistake::start_in_bytes,
             "the start moves by too much: 8 steps of k are 32 bytes, which are two units of 16"),
         about(
             Mistake::start,
             "the start is wrong, in bits 0 to 13: the tile's shared address and the bytes from "
             "the row's start to step k, together, in units of 16 bytes")},
    .stops =
        {{[](const Shape& shape, const std::string& sentence) {
            const auto bytes = bytes_described(sentence);
            return bytes && int(*bytes) > kRows * row_bytes_of(shape);
          },
          kUnits},
         {[](const Shape&, const std::string& sentence) {
            return bytes_described(sentence).has_value();
          },
          "the descriptor leads outside of the ring: its start or its stride is wrong, or in bytes "
          "instead of units of 16"},
         {[](const Shape&, const std::string& sentence) {
            return sentence.find("base offset") != sentence.npos;
          },
          "there are ones in bits that belong to no field here, 49 to 51: keep each number within "
          "its field"},
         {[](const Shape&, const std::string& sentence) {
            return sentence.find("same wgmma instructions") != sentence.npos;
          },
          "all threads of a warpgroup must give the same descriptor: it describes the tile, and "
          "not what one thread needs"}},
};
