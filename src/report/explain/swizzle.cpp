#include <cstdint>
#include <string>
#include <vector>

#include "model/warp_access.h"
#include "report/explain/sections.h"
#include "report/explain/words.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr int kChunks = 8;  // of 16 bytes, in the 32 banks

int place_of(const model::RowSwizzle& swizzle, int row, int chunk) {
  return chunk ^ row % swizzle.keys;
}

bool is_read(const model::RowSwizzle& swizzle, int chunk) {
  for (const int read : swizzle.chunks) {
    if (read == chunk) return true;
  }
  return false;
}

// The turns of the lanes that read together, if each chunk lies where `place` says.
template <class Place>
int wavefronts(const model::RowSwizzle& swizzle, Place place) {
  constexpr int kBytes = 16;
  model::WarpAccess access{.active = 0, .bytes = kBytes, .address = {}};
  int lane = 0;
  for (const int chunk : swizzle.chunks) {
    for (int row = 0; row < swizzle.rows; ++row, ++lane) {
      access.active |= 1u << lane;
      access.address[lane] = std::uint64_t(row * kChunks + place(row, chunk)) * kBytes;
    }
  }
  return model::shared_load(access).wavefronts;
}

std::string turns(int wavefronts) {
  return text::printed("%d wavefront%s", wavefronts, wavefronts == 1 ? "" : "s");
}

// Which chunk lies in which banks, with those in brackets that are read together.
std::string map(const model::RowSwizzle& swizzle) {
  const auto as_written = [](int, int chunk) { return chunk; };
  const auto swizzled = [&](int row, int chunk) { return place_of(swizzle, row, chunk); };
  const auto cells = [&](int row, const auto& place) {
    std::string text;
    for (int at = 0; at < kChunks; ++at) {
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (place(row, chunk) != at) continue;
        text += text::printed(is_read(swizzle, chunk) ? "[%d] " : " %d  ", chunk);
      }
    }
    return text;
  };
  std::string text = text::printed(
      "  %-8s%-36s%s\n", "", ("as it is: " + turns(wavefronts(swizzle, as_written))).c_str(),
      ("swizzled: " + turns(wavefronts(swizzle, swizzled))).c_str());
  std::string banks;
  for (int at = 0; at < kChunks; ++at) banks += text::printed("%2d  ", 4 * at);
  text += text::printed("  %-7s%s    %s\n", "bank", banks.c_str(), banks.c_str());
  for (int row = 0; row < swizzle.rows; ++row) {
    text += text::printed(
        "  row %-3d%s    %s\n", row, cells(row, as_written).c_str(), cells(row, swizzled).c_str());
  }
  return text;
}

// The steps along K of the lane that reads the first chunk of one row.
std::string walk(const model::RowSwizzle& swizzle) {
  constexpr int kRow = 3;
  const int first = place_of(swizzle, kRow, swizzle.chunks[0]);
  std::string places = std::to_string(first), bytes;
  for (const int step : swizzle.walk) {
    places += text::printed(", %d", first ^ step);
    bytes += text::printed("%s%d", bytes.empty() ? "" : ", ", 16 * step);
  }
  return fact(
      "walk", text::printed(
                  "in row %d from step to step along K: place %s. That is the first address XOR %s "
                  "bytes: the row's key stays in it, so nothing is computed anew.",
                  kRow, places.c_str(), bytes.c_str()));
}

}  // namespace

std::string swizzles_of(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  if (row.variant->contrast) return "";
  std::string text, rules;
  for (const model::RowSwizzle& swizzle : row.stage->swizzles) {
    const std::string rule =
        std::string("row r of ") + swizzle.tile + " at c ^ r % " + std::to_string(swizzle.keys);
    rules += text::printed(
        "%sc ^ r %% %d in %s's%s", rules.empty() ? "" : ", ", swizzle.keys, swizzle.tile,
        rules.empty() ? " row r" : "");
    text += heading("The swizzle: chunk c of 16 bytes lies in " + rule, style);
    text += map(swizzle);
    text += fact("[in brackets]", std::string("what ") + swizzle.read_by + " reads at a time");
    if (!swizzle.walk.empty()) text += walk(swizzle);
  }
  if (!whole || rules.empty()) return text;
  return fact("swizzle", "chunk c at " + rules + "; --section tiles draws it");
}

}  // namespace report
