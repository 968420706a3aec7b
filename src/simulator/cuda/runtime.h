// The functions that CUDA's vocabulary needs from the machine that runs it. These functions are
// only declared here; machine/ defines them. (The namespace is simt, because namespace cuda is
// NVIDIA's own.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace simt {

struct Extent {
  unsigned x, y, z;
  std::int64_t volume() const { return std::int64_t{x} * y * z; }
};

// launch() calls this. It calls `thread(context)`, which calls `kernel`, once for every thread of
// the chosen blocks. `shared_bytes` is dynamic shared memory. The kernel's arguments are in the
// `context_bytes` bytes of the context, and the threads need no other memory of their caller.
void run_grid(
    const void* kernel, Extent grid, Extent block, int shared_bytes, void (*thread)(void*),
    void* context, std::size_t context_bytes);

// While this object exists, launches run all of their blocks, neither traced nor counted.
class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
};

// For host code: a word in memory from cudaMalloc.
unsigned word_at(const unsigned* address);

// A kernel of a rewritten file calls this first. So a launch, which knows only a call, learns which
// kernel is called.
void kernel_begins();

// It has __cluster_dims__. A cluster of several blocks does not run here, so its use is a fault.
void cluster_begins(unsigned x, unsigned y = 1, unsigned z = 1);
void use_cluster();

// A launch's thread calls this before it evaluates the call of the kernel.
void call_begins();

// While a launch of a whole program is traced, the traced copy of its kernel if `kernel` is the
// plain one; else `kernel`.
const void* traced_kernel(const void* kernel);

// A launch whose kernel is what `thread(context)` calls. `*references` gets a bit for each of the
// kernel's first 64 parameters: whether it is a reference.
void run_called(
    Extent grid, Extent block, std::size_t shared_bytes, void (*thread)(void*), void* context,
    std::uint64_t* references);

// A namespace's __device__, __constant__ or __managed__ variable.
enum class VariableKind { device, constant, managed };
struct DeviceVariable {
  template <class T>
  DeviceVariable(const char* name, const T* data, std::size_t bytes, VariableKind kind)
      : DeviceVariable(name, data, bytes, sizeof(std::remove_all_extents_t<T>), kind) {}
  DeviceVariable(
      const char* name, const volatile void* data, std::size_t bytes, std::size_t element,
      VariableKind kind);
};

// The next launch's kernel gets this pointer, to elements of so many bytes (0: unknown).
void know_elements(const volatile void* pointer, std::size_t bytes);
// The same for an argument that becomes a kernel's parameter of type P.
template <class P, class Argument>
void know_argument(Argument& argument) {
  using Element = std::remove_all_extents_t<std::remove_pointer_t<P>>;
  if constexpr (std::is_pointer_v<P> && std::is_object_v<Element> && requires {
                  sizeof(Element);
                }) {
    know_elements(static_cast<P>(argument), sizeof(Element));
  }
}

// The cudaError_t of the last launch, or call of a CUDA function, that failed. cudaGetLastError
// takes it: 0 is none.
void set_launch_error(int error);
int launch_error();

// The number of threads of the block that reached the barrier, and of their votes.
struct BlockVote {
  int threads, votes;
};
BlockVote block_barrier(bool vote = false);

// Each of these waits for the lanes of `mask` that have not left the kernel, including the caller's
// own.
void warp_barrier(std::uint32_t mask);
std::uint32_t warp_ballot(std::uint32_t mask, bool vote);
// The value of lane `source`; all bits are set if it has none. The caller used `width` to compute
// `source`.
std::uint64_t warp_shuffle(std::uint32_t mask, std::uint64_t value, int source, int width);

// The lanes that are at `place` at the moment when no lane of the warp can continue without them.
std::uint32_t warp_active(const void* place);

int lane();        // the lane of the running thread
int warp_lanes();  // the lanes of its warp, including those without a thread

void fence(bool wide);  // __threadfence and its variants; `wide`: not only for the block
void in_block();        // the scope of the thread's next atomic is its block
void let_others_run();  // __nanosleep
// In a traced kernel: the next load of these bytes is an __ldg.
void read_only_load(const void* pointer, std::size_t bytes);
// Waits for all threads of the launch. It is a fault if not all blocks run, or more than fit.
void grid_barrier();

}  // namespace simt
