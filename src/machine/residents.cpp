#include "machine/residents.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "machine/runners.h"
#include "machine/waiting.h"
#include "model/refusal.h"

namespace machine {
namespace {

// One per thread of the operating system. The first keeps its stacks from launch to launch.
thread_local std::vector<std::unique_ptr<Resident>> all;

template <class Visit>
void for_each_shared(const KernelMemory& memory, Visit visit) {
  for (const KernelArray& array : memory.arrays) {
    if (array.shared) visit(reinterpret_cast<char*>(array.begin), array.bytes);
  }
}

}  // namespace

Resident* Residents::take() {
  if (!free_.empty()) {
    Resident* const resident = free_.back();
    free_.pop_back();
    return resident;
  }
  if (prepared_.size() == all.size()) all.push_back(std::make_unique<Resident>());
  Resident* const resident = all[prepared_.size()].get();
  source_.prepare(*resident);
  prepared_.push_back(resident);
  return resident;
}

// All blocks use the same addresses for shared memory.
void Residents::bring_in(Resident& resident) {
  if (in_shared_memory_ == &resident) return;
  if (in_shared_memory_ != nullptr) {
    std::vector<char>& kept = in_shared_memory_->shared;
    kept.clear();
    for_each_shared(in_shared_memory_->worker.memory(), [&](const char* bytes, std::size_t count) {
      kept.insert(kept.end(), bytes, bytes + count);
    });
  }
  std::size_t done = 0;
  for_each_shared(resident.worker.memory(), [&](char* bytes, std::size_t count) {
    if (!resident.shared.empty()) std::memcpy(bytes, resident.shared.data() + done, count);
    done += count;
  });
  resident.shared.clear();
  in_shared_memory_ = &resident;
}

// Whether the block has ended or been abandoned.
bool Residents::go_on(Resident& resident) {
  bring_in(resident);
  const std::int64_t block = resident.worker.block();
  runs_block(number_, block);
  bool has_ended = true;
  try {
    has_ended = resident.worker.go_on();
    if (has_ended) source_.ended();
  } catch (const Abandoned& abandoned) {
    source_.abandoned(abandoned);
  } catch (...) {
    source_.failed(block);
  }
  runs_block(number_, -1);
  if (has_ended) {
    in_shared_memory_ = nullptr;
    free_.push_back(&resident);
  }
  return has_ended;
}

bool Residents::begin_next() {
  Resident* resident = nullptr;
  try {
    resident = take();
  } catch (const model::Refusal&) {
    if (waiting_.empty()) throw;
    return false;  // not enough memory for another block
  }
  const std::optional<std::int64_t> block = source_.next(!waiting_.empty());
  if (!block) {
    free_.push_back(resident);
    return false;
  }
  resident->worker.begin_block(*block);
  if (!go_on(*resident)) waiting_.push_back(resident);
  return true;
}

void Residents::run() {
  constexpr int kBegunInARow = 8;
  try {
    int begun = 0;
    while (!source_.is_over()) {
      const unsigned most = waits_for_all() ? kMostTogether : kMostResidents;
      const bool may_begin = waiting_.size() < most && begun < kBegunInARow;
      if (may_begin && begin_next()) {
        ++begun;
        continue;
      }
      begun = 0;
      if (waiting_.empty() && !may_begin) continue;
      if (waiting_.empty()) break;
      const std::size_t count = waiting_.size();
      std::erase_if(
          waiting_, [&](Resident* resident) { return !source_.is_over() && go_on(*resident); });
      if (waiting_.size() == count) std::this_thread::yield();
    }
  } catch (...) {
    source_.failed(-1);
  }
  for (Resident* resident : waiting_) resident->worker.forget_threads();
  for (Resident* resident : prepared_) {
    resident->worker.set_observer(nullptr);
    if (resident->observer != nullptr) source_.observed(*resident->observer);
    resident->observer.reset();
  }
  if (all.size() > 1) all.resize(1);
}

}  // namespace machine
