// The logs of the lanes of a block, warp by warp: the order in which a warp executes what they
// hold, the sites that it reaches, and what its requests cost and add to the counts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/memory.h"
#include "simulator/trace/hooks.h"

namespace trace {

// What one thread did, by kind of traffic.

enum TrafficIndex {
  kGmemLoads,
  kGmemStores,
  kSmemLoads,
  kSmemStores,
  kAsyncGmem,
  kAsyncSmem,
  kTraffics
};

inline constexpr model::Traffic model::Counts::*kTraffic[kTraffics] = {
    &model::Counts::gmem_loads,  &model::Counts::gmem_stores, &model::Counts::smem_loads,
    &model::Counts::smem_stores, &model::Counts::async_gmem,  &model::Counts::async_smem};

// A cp.async is both a load from global memory and a store to shared memory.
inline constexpr std::pair<int, int> kCopies[] = {
    {kAsyncGmem, kGmemLoads}, {kAsyncSmem, kSmemStores}};

struct Tally {
  std::array<std::int64_t, kTraffics> accesses{}, bytes{};
  void add(int traffic, int access_bytes) {
    accesses[traffic] += 1;
    bytes[traffic] += access_bytes;
  }
  void add_copies() {
    for (const auto& [copies, both] : kCopies) {
      accesses[both] += accesses[copies];
      bytes[both] += bytes[copies];
    }
  }
  void add(const Tally& more) {
    for (int t = 0; t < kTraffics; ++t) {
      accesses[t] += more.accesses[t];
      bytes[t] += more.bytes[t];
    }
  }
};

// The function calls that lanes are in, identified by the places of the calls.

// A path is a number; 0 is outside of all traced functions.
class CallPaths {
 public:
  // The path of the function that is called at `call` in `path`.
  Token called(Token path, Token call);
  Token caller(Token path) const { return paths_[path].parent; }

  // A lane reached `place` in `path`. The first such place identifies the function.
  void came_to(Token path, Token place) {
    if (paths_[path].entry == 0) paths_[path].entry = place;
  }
  // Whether any lane was in the function with this code.
  bool has_entered(Token function, Token bytes) const;

  // The calls, outermost first, and then `place`.
  std::vector<std::uint32_t> places_of(Token path, Token place) const;
  // The same for the call that led to `path`.
  std::vector<std::uint32_t> places_of_call(Token path) const {
    return places_of(paths_[path].parent, paths_[path].call);
  }

  // When lanes have diverged, those at the lowest address in the code go first, so that they
  // reconverge after the branch.
  struct Position {
    Token path, place;
  };
  bool goes_before(Position a, Position b) const;

 private:
  struct Path {
    Token parent, call, depth;
    Token entry = 0;  // a place in the function
  };
  std::vector<Path> paths_{{0, 0, 0}};
};

// The order in which a warp executes what its lanes logged.

// Lanes with identical logs, which are followed together.
struct Party {
  std::uint32_t lanes;
  std::span<const Token> tokens;
  Token path;
  bool running;  // will log more
  std::size_t tokens_used = 0, addresses_used = 0;
  Tally tally{};
  bool finished() const { return tokens_used == tokens.size(); }
  Token next() const { return tokens[tokens_used]; }
};

class Merge {
 public:
  Merge(std::vector<Party>& parties, const CallPaths& paths) : parties_(parties), paths_(paths) {}

  // The parties that execute the warp's next instruction, which is the next() of each. Empty if all
  // are finished, or if a running party without logged tokens might be the next.
  std::span<Party* const> next();
  // Whether these parties also execute the following instruction because there are no others. Then
  // next() need not be called.
  bool stay_together() const { return parties_.size() == 1 && !together_[0]->finished(); }

 private:
  std::vector<Party>& parties_;
  const CallPaths& paths_;
  std::vector<Party*> together_;
};

class WarpLog {
 public:
  explicit WarpLog(model::WarpGeometry geometry) : geometry_(geometry) {}
  void begin_block(int threads);
  LaneLog& lane_of(int thread) {
    select(geometry_.warp_of(thread));
    return (*lanes_)[geometry_.lane_of(thread)].log;
  }

  // The lanes of `warp` that have logged anything or are in `running`, grouped by identical logs.
  std::vector<Party> parties(int warp, std::uint32_t running);

  // The addresses of the lanes of `together`, for the access `token`.
  model::WarpAccess gather(Token token, std::span<Party* const> together) const;

  // Removes what the parties of `warp` have used from the logs.
  void drop_used(int warp, std::span<const Party> parties);

  // For each thread of the block, its path when its warp was last folded.
  const std::vector<Token>& paths() const { return paths_; }
  // The last places of a thread that has left the kernel, without the one that all exits of a
  // function share.
  const std::vector<Token>& last_places(int thread) const { return last_places_[thread]; }

 private:
  static constexpr int kTokens = 1024;  // per lane, so that a warp's logs stay in the cache
  struct Lane {
    std::array<Token, kTokens> tokens;
    std::array<std::uintptr_t, 2 * kTokens> addresses;
    LaneLog log;
    Lane() { clear(); }
    void clear() { log = {tokens.data(), tokens.data() + kTokens, addresses.data()}; }
  };

  using Lanes = std::array<Lane, model::kWarpSize>;  // a warp may have fewer
  void select(int warp);

  const model::WarpGeometry geometry_;
  std::unique_ptr<Lanes> lanes_ = std::make_unique<Lanes>();  // those of warp_
  int warp_ = 0;
  // Logs of warps that let other warps run while some of their tokens could not be folded yet.
  std::map<int, std::unique_ptr<Lanes>> set_aside_;
  std::vector<Token> paths_;                     // by thread of the block
  std::vector<std::vector<Token>> last_places_;  // by thread of the block
};

// A site: one place in the kernel, reached by one path, that accesses one array.
struct Site {
  Token path, token;
  const machine::KernelArray* array;
  int traffic;
  std::uint32_t number;
  model::LineCounts counts;
  int recorded = -1;  // its number in the recording
};

class Sites {
 public:
  // Both must outlive this object.
  Sites(const std::vector<machine::KernelArray>& arrays, const CallPaths& paths)
      : arrays_(arrays), paths_(paths) {}

  // The site of that access; null if the address is not in an array.
  Site* find(Token path, Token token, std::uintptr_t address) {
    Site*& last = last_[(token >> kPlaceShift ^ path * 31) % last_.size()];
    if (last != nullptr && is_site(*last, path, token, address)) return last;
    Site* const found = find_or_make(path, token, address);
    return found == nullptr ? nullptr : last = found;
  }
  const Site& operator[](std::uint32_t number) const { return sites_[number]; }
  const std::deque<Site>& all() const { return sites_; }

  std::size_t array_of(const Site& site) const { return site.array - arrays_.data(); }
  std::vector<std::uint32_t> places_of(const Site& site) const {
    return paths_.places_of(site.path, place_of(site.token));
  }

 private:
  static bool is_site(const Site& site, Token path, Token token, std::uintptr_t address) {
    return site.path == path && site.token == token && site.array->holds(address);
  }
  Site* find_or_make(Token path, Token token, std::uintptr_t address);

  const std::vector<machine::KernelArray>& arrays_;
  const CallPaths& paths_;
  std::deque<Site> sites_;         // never move
  std::array<Site*, 256> last_{};  // by path and place
};

// Which words of shared memory a warp has accessed since the last barrier: a compiler may leave out
// a load of the same word, and may merge the loads of neighbouring ones.

class RepeatedWords {
 public:
  // Counts in `site.counts.merging`. The first lane's words stand for those of the warp. Accesses
  // to other memory are ignored.
  void request(Site& site, const model::WarpAccess& access, int warp);
  void barrier();

 private:
  // The words that were accessed, of four aligned ones: by a warp, and by its loads of one site.
  std::unordered_map<std::uint64_t, std::uint8_t> of_warps_, of_sites_;
};

// A cache of the costs of a warp's requests: the loops of a kernel repeat a few patterns of
// addresses.

struct RequestCost {
  int pieces, ideal, bank_conflicts, uncoalesced = 0, lines = 0;
  // As a load of 8 or 16 bytes per lane that begins with this one; 0: none does.
  int wavefronts_64 = 0, wavefronts_128 = 0;
};

class RequestCosts {
 public:
  RequestCosts() : remembered_(kRemembered) {}
  // The cost of a load or store; `traffic` is a TrafficIndex. Valid until the next call.
  const RequestCost& of(int traffic, const model::WarpAccess& access);

 private:
  static constexpr int kRemembered = 1024;
  struct RememberedRequest {
    std::uint32_t active;  // of one geometry only
    int bytes, matrices, traffic, alignment;
    std::array<std::uint64_t, model::kWarpSize> distances;
    bool operator==(const RememberedRequest&) const = default;
  };
  struct Remembered {
    RememberedRequest request{};
    RequestCost cost{};
  };
  std::vector<Remembered> remembered_;
};

class BlockCounts {
 public:
  explicit BlockCounts(model::WarpGeometry geometry) : geometry_(geometry) {}
  void begin_block(std::int64_t block, int threads);
  void end_block(bool is_cut);
  void barrier() {
    ++counts_.barriers;
    words_.barrier();
  }
  // One instruction of a warp: rows x columns sums of `depth` products.
  void mma(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    ++counts_.mmas;
    counts_.mma_products += rows * columns * depth;
  }

  // Counts a request at `site` by the lanes of `together`: all of them, except where a cp.async
  // fills with zeros. `other` is the other side of a cp.async; meanwhile so many bytes of the
  // warp's cp.async are in flight.
  void request(
      Site& site, const model::WarpAccess& access, const RequestCost& cost, int warp,
      std::span<Party* const> together, const model::WarpAccess* other,
      std::int64_t bytes_in_flight);
  // Counts one side of a box that the copy engine moves for `thread`: one request, of all its
  // bytes.
  void box(Site& site, const model::BoxCost& cost, int thread);
  // The copy of a box to shared memory starts; then so many bytes may be in flight.
  void box_starts(std::int64_t bytes) { counts_.box_bytes_in_flight += bytes; }
  // A box to load that is outside of its matrix.
  void box_outside(const model::BoxCost& cost);
  // Adds what the lanes of a party did together, when it is known.
  void add(int warp, const Party& party);

  // All counts except hazards.
  model::Counts result(const Sites& sites) const;

 private:
  // The requests of the running block, and what they took.
  struct Requests {
    std::int64_t requests = 0, pieces = 0;
    void add(int of_request) { ++requests, pieces += of_request; }
    std::optional<double> mean() const;
  };
  const model::WarpGeometry geometry_;
  model::Counts counts_;          // without what the sites count
  std::vector<Tally> threads_;    // for the block
  Requests sectors_, conflicts_;  // for the block: loads from global memory, all of shared memory
  RepeatedWords words_;           // of the first block
  std::int64_t block_ = 0;
};

}  // namespace trace
