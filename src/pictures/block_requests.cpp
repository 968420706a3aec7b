#include "pictures/block_requests.h"

#include <algorithm>
#include <deque>
#include <functional>

namespace pictures {

namespace {

constexpr int kBanks = 32;

int words_of(const model::WarpAccess& access) {
  return std::max(access.bytes, 4) / 4;
}

// Gives each lane's words to the first turn that `has_room` for them, or to one more.
void serve(
    std::vector<Wavefront>& turns, const model::WarpAccess& access, std::uint32_t lanes, int group,
    const std::function<bool(const Wavefront&, int lane)>& has_room) {
  const std::size_t first = turns.size();
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    if (!(lanes >> lane & 1u)) continue;
    std::size_t turn = first;
    while (turn < turns.size() && !has_room(turns[turn], lane)) ++turn;
    if (turn == turns.size()) turns.push_back({group, {}});
    for (int w = 0; w < words_of(access); ++w) {
      const std::uint64_t word = access.address[lane] / 4 + w;
      turns[turn].banks[word % kBanks].lanes |= 1u << lane;
      turns[turn].banks[word % kBanks].word = word;
    }
  }
}

bool equal_in_pairs(const model::WarpAccess& access, int distance) {
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    const int other = lane ^ distance;
    if (is_active(access, lane) && is_active(access, other) &&
        access.address[lane] != access.address[other]) {
      return false;
    }
  }
  return true;
}

std::uint32_t group_of_lanes(int group, int lanes_a_group) {
  return (~0u >> (model::kWarpSize - lanes_a_group)) << group * lanes_a_group;
}

}  // namespace

Story story_of(const model::Recording& recording, std::int64_t block, int M, int N, int K) {
  const auto& [x, y, z] = recording.block;
  Story story{M, N, K, static_cast<int>(x * y * z), {}, {}};
  for (const model::RecordedEvent& event : recording.events) {
    if (event.kind != model::RecordedEvent::Kind::request || event.block != block) continue;
    const model::RecordedSite& site = recording.sites[event.site];
    const model::RecordedArray& array = recording.arrays[site.array];
    story.requests.push_back(
        {event.warp, event.epoch, site.line, array.name, array.shared, site.direction, event.access,
         event.pieces, event.ideal});
  }
  return story;
}

Element element_at(const Story& story, char matrix, std::uint64_t address) {
  if (matrix >= 'A' && matrix <= 'C' && story.by_columns[matrix - 'A']) {
    const int rows = std::max(matrix == 'B' ? story.K : story.M, 1);
    return {matrix, static_cast<int>(address / 4 % rows), static_cast<int>(address / 4 / rows)};
  }
  const int columns = std::max(matrix == 'A' ? story.K : story.N, 1);
  return {matrix, static_cast<int>(address / 4 / columns), static_cast<int>(address / 4 % columns)};
}

std::vector<Moved> elements_moved(const Story& story) {
  std::vector<Moved> all;
  std::map<std::pair<std::string, std::uint64_t>, Element> shared;  // by array and word
  std::vector<std::deque<Element>> loaded(story.threads);           // and not stored yet
  for (std::size_t r = 0; r < story.requests.size(); ++r) {
    const Request& request = story.requests[r];
    // What a copy writes is known with the request behind it, which reads.
    if (request.shared && request.direction == model::Direction::copy) continue;
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      const int thread = request.warp * model::kWarpSize + lane;
      if (!is_active(request.access, lane) || thread >= story.threads) continue;
      Moved moved{thread, static_cast<int>(r), {}};
      for (int w = 0; w < words_of(request.access); ++w) {
        const std::uint64_t address = request.access.address[lane] + 4 * w;
        Element element;
        if (!request.shared) {
          element = element_at(story, request.array[0], address);
          if (request.direction == model::Direction::load) loaded[thread].push_back(element);
          if (request.direction == model::Direction::copy && r > 0) {
            const Request& to = story.requests[r - 1];
            shared[{to.array, to.access.address[lane] / 4 + w}] = element;
          }
        } else if (request.direction == model::Direction::store) {
          if (!loaded[thread].empty()) {
            element = loaded[thread].front();
            loaded[thread].pop_front();
          }
          shared[{request.array, address / 4}] = element;
        } else if (const auto known = shared.find({request.array, address / 4});
                   known != shared.end()) {
          element = known->second;
        }
        moved.elements.push_back(element);
      }
      all.push_back(std::move(moved));
    }
  }
  return all;
}

Written written_by(const Story& story) {
  std::map<std::pair<int, int>, int> writers;  // by row and column
  for (const Request& request : story.requests) {
    if (request.shared || request.array != "C" || request.direction != model::Direction::store)
      continue;
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      if (!is_active(request.access, lane)) continue;
      const int thread = request.warp * model::kWarpSize + lane;
      for (int w = 0; w < words_of(request.access); ++w) {
        const Element e = element_at(story, 'C', request.access.address[lane] + 4 * w);
        const auto [at, first] = writers.try_emplace({e.row, e.col}, thread);
        if (!first && at->second != thread) at->second = Written::kSeveral;
      }
    }
  }
  Written written;
  if (writers.empty()) return written;
  int last_row = 0, last_col = 0;
  written.row = written.col = 1 << 30;
  for (const auto& [place, thread] : writers) {
    written.row = std::min(written.row, place.first);
    written.col = std::min(written.col, place.second);
    last_row = std::max(last_row, place.first);
    last_col = std::max(last_col, place.second);
  }
  constexpr int kMost = 1024;  // of rows and of columns: more can nobody look at
  written.rows = std::min(last_row - written.row + 1, kMost);
  written.cols = std::min(last_col - written.col + 1, kMost);
  written.thread.assign(written.rows, std::vector<int>(written.cols, Written::kNobody));
  for (const auto& [place, thread] : writers) {
    const int row = place.first - written.row, col = place.second - written.col;
    if (row < kMost && col < kMost) written.thread[row][col] = thread;
  }
  return written;
}

std::vector<Wavefront> wavefronts(const model::WarpAccess& access, model::Direction direction) {
  int lanes_a_group = model::kWarpSize / words_of(access);
  if (direction == model::Direction::load && lanes_a_group < model::kWarpSize &&
      (equal_in_pairs(access, 1) || equal_in_pairs(access, 2))) {
    lanes_a_group *= 2;
  }
  std::vector<Wavefront> turns;
  for (int group = 0; group < model::kWarpSize / lanes_a_group; ++group) {
    serve(
        turns, access, access.active & group_of_lanes(group, lanes_a_group), group,
        [&](const Wavefront& turn, int lane) {
          const std::uint64_t word = access.address[lane] / 4;
          const Wavefront::Bank& bank = turn.banks[word % kBanks];
          return bank.lanes == 0 || bank.word == word;
        });
  }
  return turns;
}

std::vector<Wavefront> copy_wavefronts(const model::WarpAccess& to, const model::WarpAccess& from) {
  std::vector<Wavefront> turns;
  if (to.bytes == 16) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> lanes_of;
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      if (!is_active(to, lane)) continue;
      lanes_of[{to.address[lane] / 128, from.address[lane] / 128}] |= 1u << lane;
    }
    for (const auto& [lines, lanes] : lanes_of) {
      const int group = static_cast<int>(turns.size());
      serve(turns, to, lanes, group, [](const Wavefront&, int) { return true; });
    }
    return turns;
  }
  const int lanes_a_group = model::kWarpSize / words_of(to);
  for (int group = 0; group < model::kWarpSize / lanes_a_group; ++group) {
    serve(
        turns, to, to.active & group_of_lanes(group, lanes_a_group), group,
        [&](const Wavefront& turn, int lane) {
          std::uint32_t others = 0;
          for (const Wavefront::Bank& bank : turn.banks) others |= bank.lanes;
          for (int other = 0; other < model::kWarpSize; ++other) {
            if (!(others >> other & 1u)) continue;
            if (to.address[other] / 4 % kBanks == to.address[lane] / 4 % kBanks ||
                from.address[other] / 4 % kBanks == from.address[lane] / 4 % kBanks) {
              return false;
            }
          }
          return true;
        });
  }
  return turns;
}

std::string lanes_text(std::uint32_t lanes) {
  std::string text;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    if (!(lanes >> lane & 1u)) continue;
    int last = lane;
    while (last + 1 < model::kWarpSize && lanes >> (last + 1) & 1u) ++last;
    if (last == lane + 1) last = lane;  // "2, 3" is shorter to read than a range of two
    text += (text.empty() ? "" : ", ") + std::to_string(lane);
    if (last > lane) text += "–" + std::to_string(last);
    lane = last;
  }
  return text;
}

}  // namespace pictures
