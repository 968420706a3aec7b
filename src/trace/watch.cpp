#include "trace/watch.h"

#include <algorithm>
#include <bit>

#include "machine/fiber.h"
#include "machine/lanes.h"
#include "trace/bad_index.h"

namespace trace {
namespace {

constexpr std::uint64_t kAtomically = ResultWriters::kAtomically;

int thread_of(int warp, int lane) {
  return warp * model::kWarpSize + lane;
}

}  // namespace

Watch::Watch(
    const machine::KernelMemory& memory, Sites& sites, const CallPaths& paths,
    ResultWriters* writers)
    : memory_(memory), sites_(sites), paths_(paths), writers_(writers) {
  for (std::size_t i = 0; i < memory.arrays.size(); ++i) {
    if (memory.arrays[i].shared) shared_.watch(i, memory.arrays[i].bytes);
  }
}

void Watch::begin_block(std::int64_t block, int threads) {
  block_ = block;
  block_threads_ = threads;
  fatal_ = false;
  shared_.begin_block(block, threads);
  shared_taken_ = shared_.found().size();
  others_taken_ = others_.size();
}

void Watch::request(const Site& site, model::WarpAccess access, int warp) {
  if (!looks()) return;
  std::uint32_t astray = 0;
  machine::for_each_lane(access.active, [&](int l) {
    astray |= std::uint32_t{!site.array->holds(access.address[l], access.bytes)} << l;
  });
  if (astray != 0) {
    model::WarpAccess others = access;
    others.active = astray;
    const bool stores =
        site.counts.direction != model::Direction::load && site.traffic != kAsyncGmem;
    stray(site.path, site.token, stores, others, warp);
    access.active &= ~astray;
  }

  std::uint64_t any_address_bit = 0;
  for (const std::uint64_t address : access.address) any_address_bit |= address;
  if (any_address_bit % access.bytes != 0) {
    machine::for_each_lane(access.active, [&](int l) {
      if (access.address[l] % access.bytes == 0) return;
      shared_.misaligned(
          sites_.array_of(site), access.address[l] - site.array->begin,
          {thread_of(warp, l), site.number});
      fatal_ = true;
    });
  }
  if (kind_of(site.token) == Kind::kAtomicLoad) return;  // its store says it all
  if (site.array->shared) {
    access_to_shared(site, access, warp);
  } else if (site.array->result && site.counts.direction == model::Direction::store) {
    store_to_result(site, access, warp);
  }
}

void Watch::access_to_shared(const Site& site, const model::WarpAccess& access, int warp) {
  const auto touch = kind_of(site.token) == Kind::kAtomicStore          ? &HazardWatch::atomic
                     : site.counts.direction == model::Direction::load  ? &HazardWatch::load
                     : site.counts.direction == model::Direction::store ? &HazardWatch::store
                                                                        : &HazardWatch::copy;
  const std::size_t array = sites_.array_of(site);
  machine::for_each_lane(access.active, [&](int l) {
    (shared_.*touch)(
        array, access.address[l] - site.array->begin, access.bytes,
        {thread_of(warp, l), site.number});
  });
}

void Watch::store_to_result(const Site& site, const model::WarpAccess& access, int warp) {
  const std::uint64_t atomically =
      kind_of(site.token) == Kind::kAtomicStore ? kAtomically : std::uint64_t{0};
  machine::for_each_lane(access.active, [&](int l) {
    const std::uint64_t byte = access.address[l] - site.array->begin;
    const std::uint64_t me = (block_ * block_threads_ + thread_of(warp, l) + 1) | atomically;
    for (std::uint64_t word = byte / 4; word <= (byte + access.bytes - 1) / 4; ++word) {
      const std::uint64_t before = writers_->exchange(word, me);
      const bool same_thread = (before | kAtomically) == (me | kAtomically);
      const bool both_atomic = (before & me & kAtomically) != 0;
      if (before == 0 || same_thread || both_atomic || race_on_result_known_) continue;
      race_on_result_known_ = true;
      const auto other = static_cast<std::int64_t>((before & ~kAtomically) - 1);
      model::Hazard hazard{
          model::HazardKind::race_on_result, site.array->name, word * 4, block_, {}, {}};
      hazard.first = {thread_of(warp, l), 0, true, sites_.places_of(site)};
      hazard.second = {other % block_threads_, 0, true, sites_.places_of(site)};
      hazard.other_block = other / block_threads_;
      others_.push_back(hazard);
    }
  });
}

void Watch::stray(Token path, Token token, bool stores, const model::WarpAccess& access, int warp) {
  if (!looks()) return;
  machine::for_each_lane(access.active, [&](int l) {
    if (fatal_) return;
    const std::uintptr_t address = access.address[l];
    const bool allowed = !stores || memory_.uncounted_may_be_stored_to;
    const bool uncounted =
        allowed && std::any_of(
                       memory_.uncounted.begin(), memory_.uncounted.end(),
                       [&](const machine::MemoryRange& range) { return range.holds(address); });
    if (uncounted) return;
    if (memory_.stacks.holds(address))
      return foreign_local(path, token, stores, address, thread_of(warp, l));
    const Site* site = sites_.find(path, token, address);
    if (site != nullptr && site->array->holds(address, access.bytes)) {
      model::WarpAccess lane = access;
      lane.active = 1u << l;
      return request(*site, lane, warp);
    }
    others_.push_back(machine::out_of_bounds(
        memory_.arrays, address, access.bytes, block_,
        {thread_of(warp, l), 0, stores, paths_.places_of(path, place_of(token))}));
    fatal_ = true;
  });
}

void Watch::foreign_local(
    Token path, Token token, bool stores, std::uintptr_t address, int thread) {
  const auto owner =
      static_cast<std::int64_t>((address - memory_.stacks.begin) / machine::kStackBytes);
  model::Hazard hazard{model::HazardKind::foreign_local, "", 0, block_, {}, {}};
  hazard.first = {thread, 0, stores, paths_.places_of(path, place_of(token))};
  if (owner != thread) hazard.second.thread = owner;
  others_.push_back(hazard);
  fatal_ = true;
}

void Watch::bad_index(
    const model::WarpAccess& type, const model::WarpAccess& index, Token path, Token token,
    int warp) {
  if (!looks()) return;
  const int l = std::countr_zero(type.active);
  const BadIndex bad = trace::bad_index(type.address[l], index.address[l]);
  model::Hazard hazard{model::HazardKind::index_out_of_range, bad.array, 0, block_, {}, {}};
  hazard.first = {thread_of(warp, l), 0, false, paths_.places_of(path, place_of(token))};
  hazard.index = bad.index;
  hazard.extent = bad.extent;
  others_.push_back(hazard);
  fatal_ = true;
}

void Watch::commit(int thread) {
  if (looks()) shared_.commit(thread);
}

void Watch::wait(int thread, std::uint64_t groups_in_flight) {
  if (looks()) shared_.wait(thread, groups_in_flight);
}

void Watch::warp_barrier(int warp) {
  if (looks()) shared_.warp_barrier(warp);
}

void Watch::barrier(std::span<const bool> left, const WarpLog& log) {
  if (!looks()) return;
  shared_.barrier();
  const std::vector<Token>& paths = log.paths();
  const auto waiting = std::find(left.begin(), left.end(), false) - left.begin();
  for (std::size_t t = 0; t < left.size(); ++t) {
    if (!left[t] && paths[t] == paths[waiting]) continue;
    model::Hazard hazard{model::HazardKind::barrier_divergence, "", 0, block_, {}, {}};
    hazard.first = {waiting, 0, false, paths_.places_of_call(paths[waiting])};
    hazard.second = {
        static_cast<std::int64_t>(t), 0, left[t],
        left[t] ? log.last_places(static_cast<int>(t)) : paths_.places_of_call(paths[t])};
    others_.push_back(hazard);
    fatal_ = true;
    return;
  }
}

std::vector<model::Hazard> Watch::found() const {
  std::vector<model::Hazard> all = others_;
  for (const HazardWatch::Found& found : shared_.found()) all.push_back(hazard_of(found));
  return all;
}

std::vector<model::Hazard> Watch::take_new() {
  std::vector<model::Hazard> taken;
  for (; shared_taken_ < shared_.found().size(); ++shared_taken_) {
    taken.push_back(hazard_of(shared_.found()[shared_taken_]));
  }
  taken.insert(taken.end(), others_.begin() + others_taken_, others_.end());
  others_taken_ = others_.size();
  return taken;
}

model::Hazard Watch::hazard_of(const HazardWatch::Found& found) const {
  return {
      found.kind,
      memory_.arrays[found.array].name,
      found.byte,
      found.block,
      actor_of(found.first),
      actor_of(found.second)};
}

model::Hazard::Actor Watch::actor_of(HazardWatch::Actor actor) const {
  if (actor.site == HazardWatch::kNone) return {};
  const Site& site = sites_[actor.site];
  return {actor.thread, 0, site.counts.direction != model::Direction::load, sites_.places_of(site)};
}

}  // namespace trace
