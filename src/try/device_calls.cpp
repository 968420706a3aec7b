#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "simulator/programs.h"
#include "text/numbers.h"
#include "try/guarded_kernel.h"
#include "try/options.h"
#include "try/print.h"

namespace attempt {

bool print_notes() {
  if (const std::string why = why_not_compiled(); !why.empty()) {
    std::fprintf(stderr, "try: note: %s; so its registers are not known\n", why.c_str());
  }
  if (const auto [pieces, bytes, place] = machine::never_freed(); pieces > 0) {
    host::note(
        "kernels have allocated memory that none has freed: " +
            text::grouped(static_cast<long long>(bytes)) + " bytes in " +
            text::grouped(static_cast<long long>(pieces)) + (pieces == 1 ? " piece" : " pieces") +
            "; the heap of kernels has " +
            text::grouped(static_cast<long long>(machine::heap_bytes)),
        place);
  }
  std::set<std::string> printed;  // the copies of a file make the same calls
  bool any_hazard = false;
  for (const host::Note& note : host::notes()) {
    any_hazard |= note.is_hazard;
    const std::string line = note.place != nullptr ? line_of_user({note.place}) : "";
    const std::string other = note.other != nullptr ? line_of_user({note.other}) : "";
    const std::string text = line + (line.empty() ? "" : ": ") + note.sentence +
                             (other.empty() ? "" : "; the other is asked for at " + other);
    if (!printed.insert(text).second) continue;
    std::fprintf(stderr, "try: %s%s\n", note.is_hazard ? "" : "note: ", text.c_str());
  }
  return any_hazard;
}

bool name_threads = false;

namespace {

void refuse_in_kernel(const char* call, const char* instead, const void* place) {
  if (!machine::in_kernel()) return;
  machine::fault(std::string("it calls ") + call + ", which is not for kernels; " + instead, place);
}

// Whether the running kernel allocates and frees memory of its own.
bool allocates_in_kernel(const char* call, const void* place) {
  if (machine::in_kernel() && machine::kernels_may_allocate) return true;
  refuse_in_kernel(call, "let the host provide the memory", place);
  return false;
}

// What a function of the library has allocated for the host. If there was too little memory, this
// is said at once, because few programs check it.
void* known(const char* call, void* memory, std::size_t bytes) {
  if (memory == nullptr && bytes > 0) {
    std::fprintf(stderr, "try: note: %s: %zu bytes are more than there are here\n", call, bytes);
  }
  host::know_heap(memory, bytes);
  return memory;
}

}  // namespace

#define HERE __builtin_return_address(0)
}  // namespace attempt

using namespace attempt;

extern "C" {

int try_printf(const char* format, ...) {
  machine::keep_step();          // so that a warp's lines come together, as on a GPU
  const machine::OwnAccess own;  // to a text that %s names
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::vector<char> text(length < 0 ? 1 : length + 1);
  if (length >= 0) std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  flockfile(stdout);
  if (name_threads && machine::in_kernel()) {
    using machine::blockIdx, machine::threadIdx;
    std::printf(
        "[block %u,%u,%u thread %u,%u,%u] ", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
        threadIdx.y, threadIdx.z);
  }
  std::fwrite(text.data(), 1, text.size() - 1, stdout);
  funlockfile(stdout);
  return length;
}

void try_assert_fail(const char* condition, const char* file, unsigned line, const char*) {
  const std::string what = std::string("the assertion \"") + condition + "\" fails";
  if (machine::in_kernel()) machine::fault(what, HERE);
  std::fprintf(stderr, "%s:%u: %s\n", file, line, what.c_str());
  std::abort();
}

#define ALLOCATES(name, call, on_the_host)                                                \
  void* name(std::size_t bytes) {                                                         \
    if (allocates_in_kernel(call, HERE)) return machine::allocate_in_kernel(bytes, HERE); \
    return known(call, on_the_host, bytes);                                               \
  }
ALLOCATES(try_malloc, "malloc", std::malloc(bytes))
ALLOCATES(try_new, "new", operator new(bytes))
ALLOCATES(try_new_array, "new", operator new[](bytes))
#undef ALLOCATES
void* try_calloc(std::size_t count, std::size_t bytes) {
  refuse_in_kernel("calloc", "let the host provide the memory", HERE);
  return known("calloc", std::calloc(count, bytes), count * bytes);
}
void* try_realloc(void* memory, std::size_t bytes) {
  refuse_in_kernel("realloc", "let the host provide the memory", HERE);
  host::forget_heap(memory);
  return known("realloc", std::realloc(memory, bytes), bytes);
}
void* try_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  refuse_in_kernel("aligned_alloc", "let the host provide the memory", HERE);
  return known("aligned_alloc", std::aligned_alloc(alignment, bytes), bytes);
}
int try_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  refuse_in_kernel("posix_memalign", "let the host provide the memory", HERE);
  const int error = posix_memalign(memory, alignment, bytes);
  if (error == 0) known("posix_memalign", *memory, bytes);
  return error;
}
#define FREES(name, call, on_the_host, ...)                                            \
  void name(void* memory, ##__VA_ARGS__) {                                             \
    if (allocates_in_kernel(call, HERE)) return machine::free_in_kernel(memory, HERE); \
    host::forget_heap(memory);                                                         \
    on_the_host(memory);                                                               \
  }
FREES(try_free, "free", std::free)
FREES(try_delete, "delete", operator delete)
FREES(try_delete_sized, "delete", operator delete, std::size_t)
FREES(try_delete_array, "delete", operator delete[])
FREES(try_delete_array_sized, "delete", operator delete[], std::size_t)
#undef FREES
void try_exit(int code) {
  refuse_in_kernel("exit", "let the host end the program", HERE);
  leave_main(code);
  std::exit(code);
}
int try_rand() {
  refuse_in_kernel("rand", "draw the numbers on the host", HERE);
  return std::rand();
}
}
#undef HERE
