// What one block of a traced launch did, request by request: the data of the pictures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"

namespace pictures {

// A recording of one block of a product, with its requests alone: `events` of an action counts
// those that were made before.
struct BlockRequests : model::Recording {
  int M, N, K;  // C (M x N) = A (M x K) * B (K x N), floats; arrays "A", "B", "C"
  bool by_columns[3] = {false, false, false};  // which of A, B and C are stored column by column
};

// What the block with that number did in `recording`, for a kernel that multiplies such matrices.
BlockRequests requests_of_block(
    model::Recording recording, std::int64_t number, int M, int N, int K);

// A word of an array, by its number; the array is -1 if it is not known.
struct ArrayWord {
  int array = -1;
  std::uint64_t word = 0;
};

// Which words of global memory the words of a block's shared memory hold. A word is assumed to hold
// what the thread that stored it had loaded before, in the same order: every kernel of the ladder
// copies its tiles like that. A cp.async and a box name their source.
class Contents {
 public:
  explicit Contents(const model::Recording& recording)
      : recording_(recording), held_(recording.arrays.size()), loaded_(recording.threads()) {}
  void follow(std::size_t at);  // an event
  // What that word holds now; a word of global memory holds itself.
  ArrayWord at(int array, std::uint64_t word) const;

 private:
  void follow_box(const model::RecordedAction& box);
  void hold(int array, std::uint64_t word, ArrayWord what);

  const model::Recording& recording_;
  std::vector<std::vector<ArrayWord>> held_;   // by array
  std::vector<std::deque<ArrayWord>> loaded_;  // by thread: what it has not stored yet
};

// An element of A, B or C; matrix is 0 if it is not known.
struct MatrixElement {
  char matrix = 0;
  int row = 0, col = 0;
  auto operator<=>(const MatrixElement&) const = default;
};

// One lane's part of a request: the floats that it moves, at most four.
struct Moved {
  int thread;   // in the block
  int request;  // in BlockRequests::events
  std::vector<MatrixElement> elements;
};

// Which elements every lane moved, request by request; of a cp.async both sides.
std::vector<Moved> elements_moved(const BlockRequests& block);

// The first of the costliest requests of each kind: waste_of(r) says how costly that request is,
// and kind_of(r) is nothing for one that does not count.
template <class KindOf, class WasteOf>
std::vector<std::size_t> costliest(const BlockRequests& block, KindOf kind_of, WasteOf waste_of) {
  std::vector<std::size_t> chosen;
  for (std::size_t r = 0; r < block.events.size(); ++r) {
    const auto kind = kind_of(r);
    const auto known = std::ranges::find(chosen, kind, kind_of);
    if (kind && known == chosen.end()) {
      chosen.push_back(r);
    } else if (kind && waste_of(r) > waste_of(*known)) {
      *known = r;
    }
  }
  return chosen;
}

// The element at `address` of `matrix`, for the product of `block`.
MatrixElement element_at(const BlockRequests& block, char matrix, std::uint64_t address);

// Which thread stores to which element of C, in the smallest rectangle with all of them.
struct Written {
  static constexpr int kNobody = -1, kSeveral = -2;
  int row = 0, col = 0;  // where it begins in C
  int rows = 0, cols = 0;
  std::vector<std::vector<int>> thread;  // [row][col]: of the block
};
Written written_by(const BlockRequests& block);

// The other side of a cp.async, which is the event beside it; null if the request is none, or if it
// only fills shared memory.
const model::RecordedEvent* other_side(const model::Recording& recording, std::size_t at);

// What decides the cost of a request.
struct WarpRequest {
  const model::WarpAccess& access;
  bool shared;  // else global
  model::Direction direction;
  int row_words = 0;  // of the array; 0 if it is not known
  // Of a cp.async: its other side. Both sides together decide what it costs.
  const model::WarpAccess* other = nullptr;
};
WarpRequest request_at(const model::Recording& recording, std::size_t at);

// "1 lane", "1,024 bytes"
std::string counted(std::uint64_t count, const std::string& what);

// "32 lanes store 4 B to As: 2 wavefronts, ideal 1 <- bank conflict", for an array of that name.
std::string request_text(
    const model::Recording& recording, std::size_t at, const std::string& array_name);

// How the rules of src/model split a request to global memory, and one to shared memory.
model::Sectors sectors_of(const WarpRequest& request);
model::Wavefronts wavefronts_of(const WarpRequest& request);

// The lanes that want another word of a bank of shared memory than others of their group.
std::uint32_t lanes_in_conflict(const WarpRequest& request);

// 0 to 9, then a to v.
inline char lane_sign(int lane) {
  return static_cast<char>(lane < 10 ? '0' + lane : 'a' + lane - 10);
}

// Which lane accesses which word, in text. For global memory: rows as long as L1's lines, with the
// fetched sectors between brackets. For shared memory: a row for each wavefront, with its banks
// side by side. '.' is no lane, '*' more than one.
struct PictureRow {
  std::string label, signs;
};
std::vector<PictureRow> rows_of(const WarpRequest& request);

// The first `most` sectors' lines or wavefronts, a line each, and how many more there are.
std::string picture_of(const WarpRequest& request, std::size_t most);

// The 4-byte words in a row of the __shared__ array `name` of `bytes` bytes: its last dimension, as
// declared between the lines `first` and `last` (from 1) of `source`. Names in it are looked up
// among the arguments of `kernel` ("tiled<16, 8>") for the template parameters above it, and among
// constants and macros that are whole numbers. `banks`, so that each bank appears once, if the
// array has one dimension or its declaration cannot be understood.
int declared_row_words(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel,
    const std::string& name, std::size_t bytes, int banks = 32);

}  // namespace pictures
