// One warp's 32 logs, and how they become requests.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "model/counts.h"
#include "model/warp_access.h"
#include "trace/copies_in_flight.h"
#include "trace/hazard_watch.h"
#include "trace/recorder.h"
#include "trace/trace.h"

namespace trace {

// A token is one thing that a lane did, in 32 bits: the place in the code, the kind, log2 of the
// bytes.
using Token = std::uint32_t;
enum class Kind : Token {
  kStep,   // a basic block
  kEnter,  // a function, called from that place
  kExit,
  kWarpBarrier,
  kCommit,  // of the async copies so far to a group
  kWait,    // for all groups but so many
  kLoad,
  kStore,
  kAsyncCopy,
  kAtomicLoad,  // an atomic is both of these, and races with what is none
  kAtomicStore,
  kBadIndex  // past a dimension of an array
};

inline constexpr int kKindShift = 3, kPlaceShift = 7;
constexpr Token make_token(Token place, Kind kind, Token log2_bytes = 0) {
  return place << kPlaceShift | static_cast<Token>(kind) << kKindShift | log2_bytes;
}
constexpr Token place_of(Token token) {
  return token >> kPlaceShift;
}
constexpr Kind kind_of(Token token) {
  return static_cast<Kind>(token >> kKindShift & 15u);
}
constexpr int bytes_of(Token token) {
  return 1 << (token & 7u);
}

// What a lane did since its warp was last folded. The hooks write through these pointers.
struct LaneLog {
  Token* next_token = nullptr;
  Token* tokens_end = nullptr;
  // A load or store has one; an async copy two: from and to; a wait the number of groups; a bad
  // index two: what the compiler says of it, and the index.
  std::uintptr_t* next_address = nullptr;
};

// Memory whose accesses are counted under its name; without a name they are not.
struct TracedArray {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
  bool shared;
  bool result = false;  // no element of it may be written by two threads
  // Of a shared array of a function that the kernel may call, if it was compiled as one: the place
  // of that function. Who never came there has no business in the array.
  Token owner = 0, owner_bytes = 0;
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
  bool holds(std::uintptr_t address, std::size_t access_bytes) const {
    return holds(address) && bytes - (address - begin) >= access_bytes;
  }
};

// Memory that is none of the arrays and that a kernel may touch all the same, uncounted.
struct MemoryRange {
  std::uintptr_t begin;
  std::size_t bytes;
};

// Counts what the warps of one OS thread's blocks do, one warp at a time.
class WarpTracer {
 public:
  // `writers` has, for every word of the result array, the thread that wrote it plus 1, or 0; it is
  // shared by all tracers of a launch. Null: nothing is checked, only counted.
  WarpTracer(
      std::vector<TracedArray> arrays, std::vector<MemoryRange> uncounted, std::uint64_t* writers);

  // The marks that `writers` holds.
  static constexpr std::uint64_t kAtomically = std::uint64_t{1} << 63;

  // Records, from now on, what the blocks of `recorder` do into its last launch.
  void record(Recorder& recorder);

  void begin_block(std::int64_t block, int threads);
  LaneLog& log(int lane) { return lanes_[lane].log; }
  bool has_room(int lane) const {
    return lanes_[lane].log.next_token < lanes_[lane].log.tokens_end;
  }

  // Folds the logs of warp `warp`, as far as they determine the order of its instructions: a lane
  // in `running` has more to come, so nothing that might come after it is folded yet.
  void fold(int warp, std::uint32_t running);

  // All threads of the block are at a barrier, but for those that have left the kernel. Fatal where
  // it is not the same one for all.
  void barrier(std::span<const bool> left);
  void end_block();

  bool looks_for_hazards() const { return writers_ != nullptr; }
  // After that the block is to be abandoned: nothing more of it is folded.
  bool is_fatal() const { return fatal_; }

  // Everything counted so far.
  model::Counts result() const;

 private:
  static constexpr int kTokens = 1024;      // of a lane, so that a warp's logs stay in the cache
  static constexpr int kRemembered = 1024;  // requests whose cost is kept
  static constexpr int kSites = 256;        // places whose site is found at once
  static constexpr int kTraffics = 6;       // the Traffic members of Counts

  struct Tally {
    std::array<std::int64_t, kTraffics> accesses{}, bytes{};
    void add(int traffic, int access_bytes) {
      accesses[traffic] += 1;
      bytes[traffic] += access_bytes;
    }
    void add(const Tally& more) {
      for (int t = 0; t < kTraffics; ++t) {
        accesses[t] += more.accesses[t];
        bytes[t] += more.bytes[t];
      }
    }
  };
  struct Lane {
    LaneLog log;
    std::vector<Token> tokens;
    std::vector<std::uintptr_t> addresses;
    Tally tally;  // what it did apart from its party
  };
  // Lanes whose logs are the same, token for token: they are followed together.
  struct Party {
    std::uint32_t lanes;
    std::span<const Token> tokens;
    Token path;
    bool running;
    std::size_t tokens_used = 0, addresses_used = 0;
    Tally tally{};
    bool finished() const { return tokens_used == tokens.size(); }
    Token next() const { return tokens[tokens_used]; }
  };
  // An activation of a function, by the places of the calls that led to it.
  struct Path {
    Token parent, call, depth;
    Token entry = 0;  // a place in the function
  };
  struct Cost {
    int pieces, ideal, bank_conflicts, lines = 0;
    bool widenable = false;
    int wavefronts_64 = 0, wavefronts_128 = 0;
  };
  // One place in the kernel, reached by one path, that touches one array.
  struct Site {
    Token path, token;
    const TracedArray* array;
    int traffic;
    std::uint32_t number;
    model::LineCounts counts;
    int recorded = -1;  // its number in the recording
  };
  struct Request {
    std::uint32_t active;
    int bytes, traffic, alignment;
    std::array<std::uint64_t, model::kWarpSize> distances;
    bool operator==(const Request&) const = default;
  };
  struct Remembered {
    Request request{};
    Cost cost{};
  };

  std::vector<Party> parties(std::uint32_t running) const;
  // Steps through the logs in the order in which a warp executes them: of lanes that have parted
  // the ones at the lowest place in the code go first, so that they meet again behind the branch.
  void merge(std::vector<Party>& parties);
  bool before(const Party& a, const Party& b) const;
  void step(std::span<Party* const> together);
  Token called(Token path, Token call);

  model::WarpAccess gather(Token token, std::span<Party* const> together);
  void count_access(const model::WarpAccess& access, Token token, std::span<Party* const> together);
  void count_async_copy(
      model::WarpAccess from, const model::WarpAccess& to, Token token,
      std::span<Party* const> together);
  void count(
      Site& site, const model::WarpAccess& access, const Cost& cost,
      std::span<Party* const> together);
  void watch(const Site& site, model::WarpAccess access);
  // Of the lanes whose access does not lie in the array that the others' does.
  void watch_astray(Token path, Token token, bool stores, const model::WarpAccess& access);
  void watch_result(const Site& site, const model::WarpAccess& access);
  void follow(Kind kind, Token token, std::span<Party* const> together);
  model::Hazard hazard_of(const HazardWatch::Found& found) const;
  model::Hazard::Actor actor_of(HazardWatch::Actor actor) const;
  std::vector<std::uint32_t> places_of(const Site& site) const;
  std::vector<std::uint32_t> places_of(Token path, Token place) const;
  bool has_entered(Token function, Token bytes) const;
  void require_one_barrier(std::span<const bool> left);
  std::vector<Token> last_steps(const Party& party) const;
  void report_bad_index(
      const model::WarpAccess& type, const model::WarpAccess& index, Token path, Token token);
  int thread_of(int lane) const { return warp_ * model::kWarpSize + lane; }
  // All do nothing where the block is not recorded.
  void record_request(Site& site, const model::WarpAccess& access, const Cost& cost);
  void record_event(
      model::RecordedEvent::Kind kind, std::vector<std::uint32_t> places,
      const model::WarpAccess& lanes);
  void record_block_event(model::RecordedEvent::Kind kind);
  void record_hazards();

  // The site of that access; null where the address is in no array.
  Site* site_of(Token path, Token token, std::uintptr_t address);
  const Cost& cost_of(int traffic, const model::WarpAccess& access);
  static Cost compute_cost(int traffic, const model::WarpAccess& access);
  static void add_wider(const model::WarpAccess& access, Cost& cost);

  const std::vector<TracedArray> arrays_;
  const std::vector<MemoryRange> uncounted_;
  std::array<Lane, model::kWarpSize> lanes_;
  std::vector<Tally> threads_;                   // of the block
  std::vector<Token> thread_paths_;              // where each of them is, between two folds
  std::vector<std::vector<Token>> last_places_;  // of each of them that has left the kernel
  std::vector<Path> paths_{{0, 0, 0}};
  std::vector<Remembered> remembered_;
  std::deque<Site> sites_;                  // never move
  std::array<Site*, kSites> last_sites_{};  // by path and place
  model::Counts counts_;                    // but for what the sites tell
  std::int64_t block_ = 0;
  int warp_ = 0;
  HazardWatch hazards_;  // of shared memory; array numbers are those of arrays_
  CopiesInFlight in_flight_;
  std::uint64_t* const writers_;
  std::vector<model::Hazard> other_hazards_;
  bool race_on_result_known_ = false;
  bool fatal_ = false;

  const Recorder* recorder_ = nullptr;
  model::Recording* recording_ = nullptr;  // null while a block runs that is not recorded
  model::Recording* launch_ = nullptr;
  std::size_t hazards_recorded_ = 0, other_hazards_recorded_ = 0;
};

// An access of `bytes` that lies in none of `arrays`, told by the nearest of them. `places` as in
// Hazard::Actor.
model::Hazard out_of_bounds(
    std::span<const TracedArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor);

// Adds a hazard, or keeps the first of two that are the same but for the block.
void add(std::vector<model::Hazard>& hazards, const model::Hazard& more);

// Adds the counts of more blocks.
void add(model::Counts& to, const model::Counts& from);

// Adds `more` to the line that it is, or as one more.
void add(std::vector<model::LineCounts>& lines, const model::LineCounts& more);

}  // namespace trace
