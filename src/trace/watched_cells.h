// The last accesses to each byte of an array that a later access may race with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "trace/thread_order.h"

namespace trace {

enum class How : std::uint64_t { plain, atomic, is_volatile };

// The lanes of one warp that made the same access at the same moment.
struct Together {
  std::uint64_t key = 0;  // moment, warp, How
  std::uint32_t lanes = 0, site = 0;

  static constexpr int kHowBits = 2, kWarpBits = 10;
  static std::uint64_t key_of(ThreadOrder::Moment moment, int warp, How how) {
    return (moment << kWarpBits | std::uint64_t(warp)) << kHowBits |
           static_cast<std::uint64_t>(how);
  }
  ThreadOrder::Moment moment() const { return key >> (kHowBits + kWarpBits); }
  int warp() const { return static_cast<int>(key >> kHowBits & ((1u << kWarpBits) - 1)); }
  How how() const { return static_cast<How>(key & 3u); }
};

// Four bytes, or one byte if the word was accessed in parts. `more` is used only for a third group
// of `loads` or for atomics.
struct Cell {
  std::uint64_t stored = 0;  // moment and thread of the last plain store, or moment and agent
  std::uint32_t store_site = 0;
  std::uint32_t initialized_in = 0;  // serial number of the block
  std::array<Together, 2> loads{};
  std::uint32_t pending_in = 0;         // serial number of the block, while a cp.async is in flight
  std::uint32_t more = 0, more_in = 0;  // index in WatchedCells::more(), valid in that block
  std::uint32_t split = 0, split_in = 0;  // index of the bytes' cells, valid in that block

  // For a word that was split: whether any of its bytes is initialized, because nobody stores the
  // padding of a struct.
  bool is_initialized(std::uint32_t serial) const { return initialized_in == serial; }

  static constexpr int kThreadBits = 11;
  static constexpr int kFirstAgent = 1 << 10;  // a block has no more threads
  ThreadOrder::Moment store_moment() const { return stored >> kThreadBits; }
  int store_thread() const { return static_cast<int>(stored & ((1u << kThreadBits) - 1)); }
  bool is_stored_by_agent() const { return store_thread() >= kFirstAgent; }
};

// What does not fit into a cell. This is rare.
struct MoreOfCell {
  std::vector<Together> loads, atomics;
  // The last read by each agent (src/trace/thread_order.h) since the last store.
  struct AgentRead {
    ThreadOrder::Moment action;
    int agent;
    std::uint32_t site;
  };
  std::vector<AgentRead> agent_reads;
};

// The cells of all arrays, for one block at a time. Cells are created when the block first touches
// their part of an array, because a block touches little of global memory.
class WatchedCells {
 public:
  void watch(std::size_t array, std::size_t bytes, bool stays);
  bool is_watched(std::size_t array) const {
    return array < arrays_.size() && !arrays_[array].pages.empty();
  }
  void begin_block();
  std::uint32_t serial() const { return serial_; }

  // Calls visit(cell, byte, word) for each cell of these bytes; `word` is the cell itself, or the
  // cell that was split.
  template <class Visit>
  void for_each(std::size_t array, std::uint64_t byte, int bytes, Visit visit) {
    const std::uint64_t end = std::min<std::uint64_t>(byte + bytes, arrays_[array].bytes);
    while (byte < end) {
      Cell& word = cell_of(arrays_[array], byte / 4);
      const bool whole = byte % 4 == 0 && end - byte >= 4;
      if (whole && word.split_in != serial_) {
        visit(word, byte, word);
        byte += 4;
      } else {
        if (word.split_in != serial_) split(word);
        std::array<Cell, 4>& parts = split_[word.split];
        const std::uint64_t word_end = std::min(end, byte / 4 * 4 + 4);
        for (; byte < word_end; ++byte) visit(parts[byte % 4], byte, word);
      }
    }
  }

  const Cell& at(std::size_t array, std::uint64_t byte) {
    const Cell& word = cell_of(arrays_[array], byte / 4);
    return word.split_in == serial_ ? split_[word.split][byte % 4] : word;
  }

  // more() finds the part that does not fit into a cell; make_more() creates it.
  const MoreOfCell* more(const Cell& cell) const {
    return cell.more_in == serial_ ? &more_[cell.more] : nullptr;
  }
  MoreOfCell& make_more(Cell& cell);

 private:
  static constexpr std::size_t kPageWords = 64;
  using Page = std::array<Cell, kPageWords>;
  struct Array {
    std::vector<Page*> pages;
    std::size_t bytes = 0;
    bool stays = false;  // its cells are kept from block to block
  };

  Cell& cell_of(Array& array, std::uint64_t word) {
    Page*& page = array.pages[word / kPageWords];
    if (page == nullptr) page = new_page(array, page);
    return (*page)[word % kPageWords];
  }
  Page* new_page(const Array& array, Page*& place);
  void split(Cell& word);

  std::vector<Array> arrays_;
  std::deque<Page> pages_;  // all pages
  std::vector<Page*> free_;
  std::vector<Page**> in_use_;  // used by this block
  std::deque<std::array<Cell, 4>> split_;
  std::deque<MoreOfCell> more_;
  std::uint32_t serial_ = 0;
};

}  // namespace trace
