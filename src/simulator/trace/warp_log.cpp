#include "simulator/trace/warp_log.h"

#include <algorithm>
#include <utility>

#include "simulator/machine/fault.h"

namespace trace {

Token CallPaths::called(Token path, Token call) {
  for (Token p = path + 1; p < paths_.size(); ++p) {
    if (paths_[p].parent == path && paths_[p].call == call) return p;
  }
  paths_.push_back({path, call, paths_[path].depth + 1});
  return paths_.size() - 1;
}

bool CallPaths::has_entered(Token function, Token bytes) const {
  return std::any_of(paths_.begin(), paths_.end(), [&](const Path& path) {
    return path.entry - function < bytes;
  });
}

std::vector<std::uint32_t> CallPaths::places_of(Token path, Token place) const {
  std::vector<std::uint32_t> places{place};
  for (; path != 0; path = paths_[path].parent) {
    places.insert(places.begin(), paths_[path].call);
  }
  return places;
}

bool CallPaths::goes_before(Position a, Position b) const {
  // A lane inside a call is represented in the calling function by the place of that call.
  const auto caller = [this](Position p) -> Position {
    return {paths_[p.path].parent, paths_[p.path].call};
  };
  Position x = a, y = b;
  while (paths_[x.path].depth > paths_[y.path].depth) x = caller(x);
  while (paths_[y.path].depth > paths_[x.path].depth) y = caller(y);
  while (x.path != y.path) {
    x = caller(x);
    y = caller(y);
  }
  if (x.place != y.place) return x.place < y.place;
  return paths_[a.path].depth > paths_[b.path].depth;
}

std::span<Party* const> Merge::next() {
  together_.clear();
  const Party* first = nullptr;
  const auto position = [](const Party& party) {
    return CallPaths::Position{party.path, place_of(party.next())};
  };
  for (const Party& party : parties_) {
    if (!party.finished()) {
      if (first == nullptr || paths_.goes_before(position(party), position(*first))) first = &party;
    } else if (party.running) {
      return {};
    }
  }
  if (first == nullptr) return {};
  for (Party& party : parties_) {
    if (!party.finished() && party.path == first->path && party.next() == first->next()) {
      together_.push_back(&party);
    }
  }
  return together_;
}

namespace {

std::vector<Token> last_steps(const Party& party) {
  constexpr std::size_t kEnough = 6;
  std::vector<Token> steps;
  if (party.running) return steps;
  // After the kernel's exit come the exits of the functions that launch it.
  std::size_t end = 0;
  for (std::size_t i = party.tokens.size(); i-- > 0;) {
    const Kind kind = kind_of(party.tokens[i]);
    if (kind != Kind::kExit && kind != Kind::kStep) break;
    if (kind == Kind::kExit) end = i;
  }
  if (end == 0) return steps;
  for (std::size_t i = end - 1; i-- > 0 && steps.size() < kEnough;) {
    const Token token = party.tokens[i];
    if (kind_of(token) == Kind::kStep) steps.insert(steps.begin(), place_of(token));
  }
  return steps;
}

}  // namespace

std::unique_ptr<WarpLog::Lanes> WarpLog::empty_lanes() {
  auto lanes = std::make_unique<Lanes>();
  for (Lane& lane : *lanes) {
    lane.tokens.resize(kTokens);
    lane.addresses.resize(2 * kTokens);
    lane.log = {lane.tokens.data(), lane.tokens.data() + kTokens, lane.addresses.data()};
  }
  return lanes;
}

void WarpLog::select(int warp) {
  if (warp == warp_) return;
  const bool all_used = std::all_of(lanes_->begin(), lanes_->end(), [](const Lane& lane) {
    return lane.log.next_token == lane.tokens.data();
  });
  if (!all_used) set_aside_[warp_] = std::exchange(lanes_, nullptr);
  if (auto before = set_aside_.extract(warp)) lanes_ = std::move(before.mapped());
  if (lanes_ == nullptr) lanes_ = empty_lanes();
  warp_ = warp;
}

void WarpLog::begin_block(int threads) {
  set_aside_.clear();
  for (Lane& lane : *lanes_) {
    lane.log = {lane.tokens.data(), lane.tokens.data() + kTokens, lane.addresses.data()};
  }
  warp_ = 0;
  paths_.assign(threads, 0);
  last_places_.assign(threads, {});
}

std::vector<Party> WarpLog::parties(int warp, std::uint32_t running) {
  select(warp);
  std::vector<Party> all;
  for (int l = 0; l < geometry_.lanes; ++l) {
    const Lane& lane = (*lanes_)[l];
    const std::span<const Token> tokens(lane.tokens.data(), lane.log.next_token);
    const bool is_running = running >> l & 1u;
    if (tokens.empty() && !is_running) continue;
    const Token path = paths_[geometry_.thread_of(warp, l)];
    auto same = std::find_if(all.begin(), all.end(), [&](const Party& party) {
      return party.running == is_running && party.path == path &&
             std::equal(tokens.begin(), tokens.end(), party.tokens.begin(), party.tokens.end());
    });
    if (same == all.end()) {
      all.push_back({.lanes = 0, .tokens = tokens, .path = path, .running = is_running});
      same = all.end() - 1;
    }
    same->lanes |= 1u << l;
  }
  return all;
}

model::WarpAccess WarpLog::gather(Token token, std::span<Party* const> together) const {
  model::WarpAccess access{0, bytes_of(token), {}, geometry_};
  for (Party* party : together) {
    access.active |= party->lanes;
    const std::size_t index = party->addresses_used++;
    machine::for_each_lane(
        party->lanes, [&](int l) { access.address[l] = (*lanes_)[l].addresses[index]; });
  }
  return access;
}

void WarpLog::drop_used(int warp, std::span<const Party> parties) {
  for (const Party& party : parties) {
    const std::vector<Token> steps = last_steps(party);
    machine::for_each_lane(party.lanes, [&](int l) {
      const int thread = geometry_.thread_of(warp, l);
      paths_[thread] = party.path;
      if (!steps.empty()) last_places_[thread] = steps;
      Lane& lane = (*lanes_)[l];
      std::copy(lane.tokens.data() + party.tokens_used, lane.log.next_token, lane.tokens.data());
      std::copy(
          lane.addresses.data() + party.addresses_used, lane.log.next_address,
          lane.addresses.data());
      lane.log.next_token -= party.tokens_used;
      lane.log.next_address -= party.addresses_used;
    });
  }
}

}  // namespace trace
