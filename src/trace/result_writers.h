// Which thread of a launch wrote which word of the result. Shared by all tracers of its blocks.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "machine/grid.h"

namespace trace {

class ResultWriters {
 public:
  // Starts with no word of the result matrices written.
  explicit ResultWriters(std::span<const machine::GlobalArray> matrices);

  // For each word: the thread of the launch that wrote it last, plus 1; 0: none.
  std::span<const std::uint64_t> words() const { return {words_.get(), count_}; }

  // Records `writer` for a word. Blocks run in parallel.
  void put(std::size_t word, std::uint64_t writer) {
    __atomic_store_n(&words_.get()[word], writer, __ATOMIC_RELAXED);
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t count_ = 0;
  std::unique_ptr<std::uint64_t, Free> words_;
};

}  // namespace trace
