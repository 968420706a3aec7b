#include "trace/watched_cells.h"

namespace trace {

void WatchedCells::watch(std::size_t array, std::size_t bytes, bool stays) {
  if (arrays_.size() <= array) arrays_.resize(array + 1);
  arrays_[array] = {std::vector<Page*>(bytes / 4 / kPageWords + 1, nullptr), bytes, stays};
}

void WatchedCells::begin_block() {
  ++serial_;
  for (Page** place : in_use_) {
    free_.push_back(*place);
    *place = nullptr;
  }
  in_use_.clear();
  split_.clear();
  more_.clear();
}

WatchedCells::Page* WatchedCells::new_page(const Array& array, Page*& place) {
  if (!array.stays) in_use_.push_back(&place);
  if (free_.empty()) return &pages_.emplace_back();
  Page* const page = free_.back();
  free_.pop_back();
  page->fill({});
  return page;
}

void WatchedCells::split(Cell& word) {
  std::array<Cell, 4>& parts = split_.emplace_back();
  parts.fill(word);
  if (const MoreOfCell* known = more(word)) {
    for (Cell& part : parts) {
      const MoreOfCell copy = *known;
      part.more_in = 0;
      make_more(part) = copy;
    }
  }
  word.split = static_cast<std::uint32_t>(split_.size() - 1);
  word.split_in = serial_;
}

MoreOfCell& WatchedCells::make_more(Cell& cell) {
  if (cell.more_in != serial_) {
    cell.more = static_cast<std::uint32_t>(more_.size());
    cell.more_in = serial_;
    more_.emplace_back();
  }
  return more_[cell.more];
}

}  // namespace trace
