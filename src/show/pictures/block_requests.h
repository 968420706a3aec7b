// What one block of a traced launch did, request by request: the data of the pictures.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"

namespace pictures {

// One instruction of one warp, on one array. A cp.async is two: what it writes, then what it reads.
struct RecordedRequest {
  int warp;   // in the block
  int epoch;  // barriers that the block has passed before
  int line;   // of the kernel's source; 0 where it is not known
  std::string array;
  bool shared;  // else global
  model::Direction direction;
  model::WarpAccess access;  // addresses relative to the array's start
  int pieces;                // sectors in global memory, wavefronts in shared memory
  int ideal;                 // the fewest that the same lanes, or bytes, could take
  int excess = 0;            // bank conflicts, or uncoalesced sectors
};

// One thread's request to an mbarrier, the copy engine or the tensor cores.
struct Action {
  model::RecordedAction recorded;
  std::size_t requests;  // of the block, that were made before
};

struct BlockRequests {
  int M, N, K;  // C (M x N) = A (M x K) * B (K x N), floats; arrays "A", "B", "C"
  int threads;  // of the block
  std::vector<RecordedRequest> requests;
  model::WarpGeometry warp{};
  std::vector<Action> actions = {};
  std::vector<model::RecordedArray> arrays = {};  // that the actions name
  bool by_columns[3] = {false, false, false};     // which of A, B and C are stored column by column
};

// What the block with that number did in `recording`, for a kernel that multiplies such matrices.
BlockRequests requests_of_block(
    const model::Recording& recording, std::int64_t number, int M, int N, int K);

// An element of A, B or C; matrix is 0 if it is not known.
struct MatrixElement {
  char matrix = 0;
  int row = 0, col = 0;
  auto operator<=>(const MatrixElement&) const = default;
};

// One lane's part of a request: the floats that it moves, at most four.
struct Moved {
  int thread;   // in the block
  int request;  // in BlockRequests::requests
  std::vector<MatrixElement> elements;
};

// Which elements every lane moved, request by request. A word of shared memory is assumed to hold
// what the thread that stored it had loaded from A and B before, in the same order: every kernel of
// the ladder copies its tiles like that, and cp.async names its source.
std::vector<Moved> elements_moved(const BlockRequests& block);

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

inline bool is_active(const model::WarpAccess& access, int lane) {
  return access.active >> lane & 1u;
}

// What decides the cost of one instruction of one warp on one array. Addresses are relative to the
// array's start.
struct WarpRequest {
  const model::WarpAccess& access;
  bool shared;  // else global
  model::Direction direction;
  int row_words = 0;  // of the array; 0 if it is not known
  // Of a cp.async: its other side. Both sides together decide what it costs.
  const model::WarpAccess* other = nullptr;
};
WarpRequest request_at(const BlockRequests& block, std::size_t request);

// How the rules of src/model split a request to global memory, and one to shared memory.
model::Sectors sectors_of(const WarpRequest& request);
model::Wavefronts wavefronts_of(const WarpRequest& request);

// 0 to 9, then a to v.
inline char lane_sign(int lane) {
  return static_cast<char>(lane < 10 ? '0' + lane : 'a' + lane - 10);
}

// '.' is no lane, '*' more than one.
inline char sign_of(std::uint32_t lanes) {
  return lanes == 0 ? '.' : std::has_single_bit(lanes) ? lane_sign(std::countr_zero(lanes)) : '*';
}

// The 4-byte words in a row of the __shared__ array `name` of `bytes` bytes: its last dimension, as
// declared between the lines `first` and `last` (from 1) of `source`. Names in it are looked up
// among the arguments of `kernel` ("tiled<16, 8>") for the template parameters above it, and among
// constants and macros that are whole numbers. `banks`, so that each bank appears once, if the
// array has one dimension or its declaration cannot be understood.
int declared_row_words(
    const std::vector<std::string>& source, int first, int last, const std::string& kernel,
    const std::string& name, std::size_t bytes, int banks = 32);

}  // namespace pictures
