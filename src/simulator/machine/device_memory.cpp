#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

// Whole pages: pages are closed to host code, and an audit protects those of each array.
constexpr std::size_t kPage = 4096;
// An index of 32 bits cannot leave the range from either end of it.
constexpr std::size_t kMargin = std::size_t{8} << 30;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Addresses without memory. They are reserved before main, because the limits for a user's program
// count addresses (guard/child.cpp).
struct ReservedAddresses {
  char* begin = nullptr;
  std::size_t bytes = std::size_t{256} << 30;

  ReservedAddresses() {
    // Some systems give a process fewer addresses.
    for (; bytes > 4 * kMargin; bytes /= 2) {
      void* reserved =
          mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (reserved == MAP_FAILED) continue;
      begin = static_cast<char*>(reserved);
      return;
    }
    bytes = 0;
  }
  bool holds(const void* address) const { return offset_from(begin, address) < bytes; }
};
const ReservedAddresses range;

// Changed only by host code, between launches.
using Arrays = std::map<const char*, DeviceArray>;  // by their first address
Arrays arrays, freed;
std::size_t allocated = 0;
int opened = 0;

std::string last_name(std::string_view argument) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  std::size_t end = argument.size();
  while (end > 0 && !in_name(argument[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && in_name(argument[begin - 1])) --begin;
  while (begin < end && argument[begin] == '.') ++begin;  // behind a bracket
  return begin < end ? std::string(argument.substr(begin, end - begin)) : "memory";
}

const DeviceArray* holder(const Arrays& among, const void* address) {
  auto next = among.upper_bound(static_cast<const char*>(address));
  if (next == among.begin()) return nullptr;
  const DeviceArray& before = std::prev(next)->second;
  return before.holds(address) ? &before : nullptr;
}

// A place for an array with a gap before and after it; null if there is none. Goes round the range,
// so that the addresses of a freed array are used again as late as possible.
char* free_place(std::size_t bytes, std::size_t gap) {
  static char* from = range.begin + kMargin;
  char* const last = range.begin + range.bytes - kMargin;
  const std::size_t need = bytes + 2 * gap;
  for (const bool again : {false, true}) {
    if (again) from = range.begin + kMargin;
    auto next = arrays.lower_bound(from);
    while (static_cast<std::size_t>(last - from) >= need) {
      while (next != arrays.end() && !range.holds(next->first)) ++next;  // a registered array
      if (next == arrays.end() || static_cast<std::size_t>(next->first - from) >= need) {
        char* const place = from + gap;
        from = place + bytes;
        return place;
      }
      from = next->second.data + whole_pages(next->second.bytes);
      ++next;
    }
  }
  return nullptr;
}

char* free_place(std::size_t bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const std::size_t pages = whole_pages(bytes);
  char* const place = free_place(pages, std::clamp(pages, 16 * kMiB, 256 * kMiB));
  return place != nullptr ? place : free_place(pages, kMiB / 16);  // very many arrays
}

void protect(const DeviceArray& array, int how) {
  if (array.kind == MemoryKind::device) mprotect(array.data, whole_pages(array.bytes), how);
}

const DeviceVariable* managed_variable_at(const void* address) {
  for (const DeviceVariable& variable : device_variables()) {
    const bool holds = offset_from(variable.data, address) < variable.bytes;
    if (variable.kind == simt::VariableKind::managed && holds) return &variable;
  }
  return nullptr;
}

// Whole pages of memory that host and GPU share.
struct Pages {
  std::uintptr_t begin, end;
  bool stored;  // unfinished work stores to them; else it loads
  bool hold(std::uintptr_t address) const { return address - begin < end - begin; }
};
std::vector<InUse> in_use;
std::vector<Pages> busy_pages;

// The work that conflicts with such an access of the host.
const InUse* use_at(std::uintptr_t address, bool stores) {
  const InUse* found = nullptr;
  for (const InUse& one : in_use) {
    const bool holds = address - one.touched.begin < one.touched.end - one.touched.begin;
    if (holds && (stores || one.touched.stores)) found = &one;  // preferably one that stores
  }
  return found;
}

void protect_in_use(bool closed) {
  for (const Pages& pages : busy_pages) {
    const int how = !closed ? PROT_READ | PROT_WRITE : pages.stored ? PROT_NONE : PROT_READ;
    mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, how);
  }
}

void forget_freed_in(const char* place, std::size_t bytes) {
  auto old = freed.lower_bound(place + bytes);
  while (old != freed.begin()) {
    --old;
    if (old->first + whole_pages(old->second.bytes) <= place) return;
    old = freed.erase(old);
  }
}

}  // namespace

void* allocate_array(std::size_t bytes, std::string_view argument, MemoryKind kind) {
  if (range.begin == nullptr || bytes > most_device_bytes() - device_bytes()) return nullptr;
  char* const place = free_place(bytes);
  if (place == nullptr) return nullptr;
  if (mprotect(place, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
  // When time is short, results are wrong anyway, and untouched pages cost nothing.
  const bool is_late = program_launches != nullptr && program_launches->is_late();
  if (!is_late) std::fill_n(reinterpret_cast<std::uint32_t*>(place), (bytes + 3) / 4, kUnwritten);
  forget_freed_in(place, whole_pages(bytes));
  const DeviceArray& array = arrays[place] = {last_name(argument), place, bytes, kind};
  allocated += whole_pages(bytes);
  if (opened == 0) protect(array, PROT_NONE);
  return place;
}

bool register_array(void* memory, std::size_t bytes, std::string_view argument) {
  auto* const data = static_cast<char*>(memory);
  const auto overlaps = [&](const auto& entry) {
    return entry.first < data + bytes && data < entry.first + entry.second.bytes;
  };
  if (std::any_of(arrays.begin(), arrays.end(), overlaps)) return false;
  arrays[data] = {last_name(argument), data, bytes, MemoryKind::registered};
  return true;
}

bool free_array(void* memory, MemoryKind kind, MemoryKind or_kind) {
  const auto found = arrays.find(static_cast<char*>(memory));
  if (found == arrays.end()) return false;
  const DeviceArray& array = found->second;
  if (array.kind != kind && array.kind != or_kind) return false;
  if (array.kind != MemoryKind::registered) {
    const std::size_t bytes = whole_pages(array.bytes);
    // The memory goes back, and the addresses stay reserved.
    mmap(
        array.data, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
        0);
    allocated -= bytes;
    freed.insert(*found);
  }
  arrays.erase(found);
  return true;
}

void free_all_arrays() {
  while (!arrays.empty()) {
    const DeviceArray& first = arrays.begin()->second;
    free_array(first.data, first.kind, first.kind);
  }
}

std::size_t unwritten_bytes(const DeviceArray& array, const void* from, std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(array.element, 4) % 4 == 0
                               ? std::max<std::size_t>(array.element, 4)
                               : 4;
  const auto begin = static_cast<std::size_t>(static_cast<const char*>(from) - array.data);
  std::size_t found = 0;
  for (std::size_t at = begin / step * step; at < begin + bytes; at += step) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(array.data + at);
    const bool is =
        std::all_of(words, words + step / 4, [](std::uint32_t word) { return word == kUnwritten; });
    if (is) found += std::min(at + step, begin + bytes) - std::max(at, begin);
  }
  return found;
}

std::vector<DeviceArray> device_arrays() {
  std::vector<DeviceArray> all;
  for (const auto& [data, array] : arrays) all.push_back(array);
  return all;
}

std::optional<DeviceArray> array_at(const void* address) {
  const DeviceArray* const found = holder(arrays, address);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::optional<DeviceArray> freed_array_at(const void* address) {
  const DeviceArray* const found = holder(freed, address);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::optional<DeviceArray> freed_array_near(const void* address, std::uint64_t most) {
  if (!range.holds(address)) return std::nullopt;
  std::optional<DeviceArray> nearest;
  const auto* const at = static_cast<const char*>(address);
  const auto consider = [&](const DeviceArray& array) {
    const char* const end = array.data + array.bytes;
    const auto distance = static_cast<std::uint64_t>(
        at < array.data ? array.data - at
        : at >= end     ? at - end
                        : 0);
    if (distance >= most) return;
    most = distance;
    nearest = array;
  };
  const auto next = freed.upper_bound(at);
  if (next != freed.end()) consider(next->second);
  if (next != freed.begin()) consider(std::prev(next)->second);
  return nearest;
}

MemoryRange device_addresses() {
  return {reinterpret_cast<std::uintptr_t>(range.begin), range.bytes};
}

bool is_device_address(const void* address) {
  return range.holds(address);
}

std::size_t most_device_bytes() {
  // A laptop has less memory than a GPU, and needs half of it for everything else.
  static const std::size_t most = std::min<std::size_t>(
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2,
      std::size_t{8} << 30);
  return most;
}

std::size_t device_bytes() {
  return allocated;
}

bool is_shared_with_host(const void* address) {
  if (const DeviceArray* const array = holder(arrays, address)) {
    return array->kind == MemoryKind::managed || array->kind == MemoryKind::pinned;
  }
  return managed_variable_at(address) != nullptr;
}

bool any_shared_with_host() {
  const std::vector<DeviceVariable>& variables = device_variables();
  return std::any_of(
             arrays.begin(), arrays.end(),
             [](const auto& entry) { return is_shared_with_host(entry.first); }) ||
         std::any_of(variables.begin(), variables.end(), [](const DeviceVariable& variable) {
           return managed_variable_at(variable.data) != nullptr;
         });
}

void close_to_host(std::vector<InUse> now) {
  if (in_use.empty() && now.empty()) return;
  watch_for_access_errors();
  if (opened == 0) protect_in_use(false);
  in_use = std::move(now);
  busy_pages.clear();
  // Pages with stores come last.
  std::sort(in_use.begin(), in_use.end(), [](const InUse& a, const InUse& b) {
    return std::pair(a.touched.stores, a.touched.begin) <
           std::pair(b.touched.stores, b.touched.begin);
  });
  for (const InUse& one : in_use) {
    const std::uintptr_t begin = one.touched.begin / kPage * kPage;
    const std::uintptr_t end = (one.touched.end + kPage - 1) / kPage * kPage;
    if (!busy_pages.empty() && busy_pages.back().stored == one.touched.stores &&
        begin <= busy_pages.back().end) {
      busy_pages.back().end = std::max(busy_pages.back().end, end);
    } else {
      busy_pages.push_back({begin, end, one.touched.stores});
    }
  }
  if (opened == 0) protect_in_use(true);
}

bool open_for_host(const void* address, bool stores) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const bool is_closed = std::any_of(
      busy_pages.begin(), busy_pages.end(), [&](const Pages& pages) { return pages.hold(at); });
  if (!is_closed || use_at(at, stores) != nullptr) return false;
  return mprotect(reinterpret_cast<void*>(at / kPage * kPage), kPage, PROT_READ | PROT_WRITE) == 0;
}

void close_again() {
  protect_in_use(true);
}

OpenDeviceMemory::OpenDeviceMemory() : all_(true) {
  if (++opened > 1) return;
  protect_in_use(false);
  for (const auto& [data, array] : arrays) protect(array, PROT_READ | PROT_WRITE);
}

OpenDeviceMemory::OpenDeviceMemory(const void* address) {
  const DeviceArray* const array = holder(arrays, address);
  if (opened > 0) return;
  opened_in_use_ = !in_use.empty();
  protect_in_use(false);
  if (array == nullptr) return;
  only_ = array->data;
  protect(*array, PROT_READ | PROT_WRITE);
}

OpenDeviceMemory::~OpenDeviceMemory() {
  if (only_ != nullptr) protect(arrays.at(only_), PROT_NONE);
  if (opened_in_use_) protect_in_use(true);
  if (!all_ || --opened > 0) return;
  protect_in_use(true);
  for (const auto& [data, array] : arrays) protect(array, PROT_NONE);
}

void describe_device_address(const void* address, char* words, std::size_t bytes) {
  words[0] = '\0';
  if (const InUse* const one = use_at(reinterpret_cast<std::uintptr_t>(address), true)) {
    const DeviceArray* const array = holder(arrays, address);
    const DeviceVariable* const variable = managed_variable_at(address);
    std::snprintf(
        words, bytes,
        "%s while %s may still be %s it; call cudaDeviceSynchronize() before the host uses it",
        array != nullptr      ? array->name.c_str()
        : variable != nullptr ? variable->name.c_str()
                              : "memory",
        one->by.c_str(), one->touched.stores ? "storing to" : "loading from");
    return;
  }
  if (!range.holds(address)) return;
  if (const DeviceArray* const array = holder(arrays, address)) {
    std::snprintf(
        words, bytes, "%s, which is in the GPU's memory; cudaMemcpy it to the host first",
        array->name.c_str());
  } else if (const DeviceArray* const old = holder(freed, address)) {
    std::snprintf(words, bytes, "%s, which was freed", old->name.c_str());
  }
}

namespace {

struct sigaction handlers_before[2];

// Sets the handler, unless it is set already.
void handle(
    int signal, void (*handler)(int, siginfo_t*, void*), int flags, struct sigaction& before) {
  struct sigaction current {};
  sigaction(signal, nullptr, &current);
  if (current.sa_sigaction == handler) return;
  before = current;
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigaction(signal, &action, nullptr);
}

#if defined(__x86_64__)
constexpr std::uint64_t kTrapFlag = 0x100;  // in RFLAGS
constexpr std::uint64_t kWriteFault = 2;    // in a page fault's error code
struct sigaction trap_before;

// Host code has accessed a page that is closed because of other bytes. It continues for one
// instruction.
bool steps_over(const void* address, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (!open_for_host(address, (registers[REG_ERR] & kWriteFault) != 0)) return false;
  registers[REG_EFL] |= kTrapFlag;
  return true;
}

void on_step(int signal, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if ((registers[REG_EFL] & kTrapFlag) == 0) {
    sigaction(signal, &trap_before, nullptr);
    return;
  }
  close_again();
  registers[REG_EFL] &= ~kTrapFlag;
}

void watch_for_steps() {
  handle(SIGTRAP, on_step, 0, trap_before);
}
#else
// The page stays open.
bool steps_over(const void* address, void*) {
  return open_for_host(address, true);
}
void watch_for_steps() {}
#endif

void on_access_error(int signal, siginfo_t* info, void* context) {
  if (running_worker == nullptr) {
    if (signal == SIGSEGV && steps_over(info->si_addr, context)) return;
    sigaction(signal, &handlers_before[signal == SIGBUS], nullptr);
    return;  // so it happens again
  }
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto instruction = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
  const auto caller = [&] { return *reinterpret_cast<void**>(registers.gregs[REG_RSP]); };
#else
  const auto instruction = static_cast<std::uintptr_t>(registers.pc);
  const auto caller = [&] { return reinterpret_cast<void*>(registers.regs[30]); };
#endif
  if (instruction == reinterpret_cast<std::uintptr_t>(info->si_addr)) {
    running_worker->fault(
        "it calls a function pointer that is null, or points to no code", caller());
  }
  // On x86 a misaligned vector access faults without reporting the address.
  const bool misaligned = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                          (signal == SIGBUS && info->si_code == BUS_ADRALN);
  if (misaligned) running_worker->crash({}, instruction);
  running_worker->crash(reinterpret_cast<std::uintptr_t>(info->si_addr), instruction);
}

}  // namespace

void watch_for_access_errors() {
  watch_for_steps();
  // The handler does not return, so nothing else restores the mask.
  for (const int signal : {SIGSEGV, SIGBUS}) {
    handle(signal, on_access_error, SA_NODEFER, handlers_before[signal == SIGBUS]);
  }
}

void HandlerStack::provide() {
  constexpr std::size_t kBytes = 64 * 1024;
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  memory_.reset(new char[kBytes]);
  stack.ss_sp = memory_.get();
  stack.ss_size = kBytes;
  stack.ss_flags = 0;
  sigaltstack(&stack, nullptr);
}

HandlerStack::~HandlerStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

namespace {

// A callback, or a thread that a launch has ended, may call again.
std::recursive_mutex one_at_a_time;

}  // namespace

HostLock::HostLock() : held_(!in_kernel()) {
  if (held_) one_at_a_time.lock();
}

HostLock::~HostLock() {
  if (held_) one_at_a_time.unlock();
}

}  // namespace machine

namespace machine {
namespace {

// Of the launch that this thread of the host is about to make.
thread_local std::vector<const void*> pointers;

}  // namespace

std::vector<const void*> take_pointers() {
  return std::exchange(pointers, {});
}

}  // namespace machine

void simt::know_elements(const volatile void* pointer, std::size_t bytes) {
  using namespace machine;
  const HostLock lock;
  pointers.push_back(const_cast<const void*>(pointer));
  const DeviceArray* const array = holder(arrays, pointers.back());
  if (array != nullptr && bytes > 0) arrays.at(array->data).element = bytes;
}
