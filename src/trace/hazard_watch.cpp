#include "trace/hazard_watch.h"

#include <algorithm>

#include "model/warp_access.h"

namespace trace {

void HazardWatch::watch(std::size_t array, std::size_t bytes) {
  constexpr std::size_t kWordBytes = 4;
  if (arrays_.size() <= array) {
    arrays_.resize(array + 1);
    array_words_.resize(array + 1);
  }
  array_words_[array] = (bytes + kWordBytes - 1) / kWordBytes;
}

void HazardWatch::begin_block(std::int64_t block, int threads) {
  block_ = block;
  ++serial_;
  ++epoch_;
  reads_of_nothing_.clear();  // of a block that was abandoned
  copies_.assign(threads, {});
  warp_epochs_.assign(threads / model::kWarpSize + 1, 0);
}

template <class Visit>
void HazardWatch::for_each_word(std::size_t array, std::uint64_t byte, int bytes, Visit visit) {
  std::vector<Word>& words = arrays_[array];
  if (words.empty()) words.resize(array_words_[array]);
  const std::uint64_t last = std::min<std::uint64_t>((byte + bytes - 1) / 4, words.size() - 1);
  for (std::uint64_t word = byte / 4; word <= last; ++word) visit(words[word], word * 4);
}

bool HazardWatch::unordered(const Side& side, int thread) const {
  if (side.epoch != epoch_ || side.actor.thread == thread) return false;
  const int warp = thread / model::kWarpSize;
  return side.actor.thread / model::kWarpSize != warp || side.warp_epoch == warp_epochs_[warp];
}

void HazardWatch::load(std::size_t array, std::uint64_t byte, int bytes, Actor actor) {
  for_each_word(array, byte, bytes, [&](Word& word, std::uint64_t at) {
    if (word.pending_in == serial_) {
      report(model::HazardKind::copy_not_waited_for, word.write.actor, actor, array, at);
    } else if (unordered(word.write, actor.thread)) {
      report(model::HazardKind::race, word.write.actor, actor, array, at);
    } else if (word.initialized_in != serial_) {
      reads_of_nothing_.push_back(
          {model::HazardKind::uninitialized, actor, {0, kNone}, array, at, block_});
    }
    if (word.read.epoch == epoch_ && word.read.actor.thread != actor.thread) {
      word.other_read = word.read;
    }
    word.read = {epoch_, warp_epochs_[actor.thread / model::kWarpSize], actor};
  });
}

void HazardWatch::write(
    Word& word, std::size_t array, std::uint64_t byte, Actor actor, bool atomic) {
  for (const Side* side : {&word.write, &word.read, &word.other_read}) {
    if (unordered(*side, actor.thread) && !(atomic && side->atomic)) {
      report(model::HazardKind::race, side->actor, actor, array, byte);
      break;
    }
  }
  word.write = {epoch_, warp_epochs_[actor.thread / model::kWarpSize], actor, atomic};
}

void HazardWatch::atomic(std::size_t array, std::uint64_t byte, int bytes, Actor actor) {
  for_each_word(array, byte, bytes, [&](Word& word, std::uint64_t at) {
    write(word, array, at, actor, true);
    word.initialized_in = serial_;
  });
}

void HazardWatch::store(std::size_t array, std::uint64_t byte, int bytes, Actor actor) {
  for_each_word(array, byte, bytes, [&](Word& word, std::uint64_t at) {
    write(word, array, at, actor);
    word.initialized_in = serial_;
  });
}

void HazardWatch::copy(std::size_t array, std::uint64_t byte, int bytes, Actor actor) {
  for_each_word(array, byte, bytes, [&](Word& word, std::uint64_t at) {
    write(word, array, at, actor);
    word.pending_in = serial_;
  });
  copies_[actor.thread].issue({array, byte, bytes, actor});
}

void HazardWatch::commit(int thread) {
  copies_[thread].commit();
}

void HazardWatch::wait(int thread, std::uint64_t groups_in_flight) {
  copies_[thread].wait(groups_in_flight, [&](const Copy& copy) {
    for_each_word(copy.array, copy.byte, copy.bytes, [&](Word& word, std::uint64_t) {
      // From here on it is as if the thread had just stored it.
      word.pending_in = 0;
      word.initialized_in = serial_;
      word.write = {epoch_, warp_epochs_[thread / model::kWarpSize], copy.actor};
    });
  });
}

void HazardWatch::barrier() {
  for (const Found& read : reads_of_nothing_) {
    const Word& word = arrays_[read.array][read.byte / 4];
    // Where somebody wrote it in this epoch, that race is the hazard.
    if (word.write.epoch != epoch_) {
      report(read.kind, read.first, read.second, read.array, read.byte);
    }
  }
  reads_of_nothing_.clear();
  ++epoch_;
}

void HazardWatch::misaligned(std::size_t array, std::uint64_t byte, Actor actor) {
  report(model::HazardKind::misaligned, actor, {0, kNone}, array, byte);
}

void HazardWatch::report(
    model::HazardKind kind, Actor first, Actor second, std::size_t array, std::uint64_t byte) {
  const bool known = std::any_of(found_.begin(), found_.end(), [&](const Found& found) {
    return found.kind == kind && found.array == array && found.first.site == first.site &&
           found.second.site == second.site;
  });
  if (!known) found_.push_back({kind, first, second, array, byte, block_});
}

}  // namespace trace
