// The memory that a kernel's threads may access on one thread of the operating system, and what the
// executable's symbol table says about a kernel compiled for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/warp_access.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/grid.h"

namespace machine {

struct MemoryRange {
  std::uintptr_t begin;
  std::size_t bytes;
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

// An array whose accesses are counted under its name.
struct KernelArray {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
  bool shared;
  bool result = false;    // no two threads may write the same element
  bool watched = false;   // hazards are looked for in it: the result, and memory from cudaMalloc
  bool own_pages = true;  // nothing else lies in its pages, so that an audit may protect them
  // For a shared array of a separately compiled function that the kernel may call: the place of
  // that function. A thread that never entered the function must not access the array.
  CodePlace owner = 0, owner_bytes = 0;
  std::uint32_t shared_address = 0;  // of a shared array: see shared_address_of()
  std::size_t element = 0;           // bytes of one; 0: unknown
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
  bool holds(std::uintptr_t address, std::size_t access_bytes) const {
    return holds(address) && bytes - (address - begin) >= access_bytes;
  }
};

struct KernelMemory {
  std::vector<KernelArray> arrays;     // an address belongs to the first array that contains it
  std::vector<MemoryRange> uncounted;  // outside of the arrays, but may be read
  bool uncounted_may_be_stored_to;
  bool has_host_variables;  // which may not be accessed, although they lie in `uncounted`
  MemoryRange stacks;       // the stacks of all fibers: registers and local memory
  MemoryRange code;         // the kernel's own arrays
};

// The executable's thread-local variables of this thread of the operating system. They include the
// kernel's __shared__ arrays. Of the others a kernel sees only the built-ins, whose reads are not
// announced.
MemoryRange thread_locals();

// Dynamic shared memory of the blocks on this thread, which has the shared addresses from 0 on.
char* dynamic_shared_memory();

// threadIdx and the other built-in variables. On the GPU they are registers, but a read through a
// reference looks like a read of memory.
std::vector<MemoryRange> built_in_variables();

// All counted memory on this thread of the operating system: the matrices, memory from cudaMalloc,
// and the kernel's shared memory.
std::vector<KernelArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global);

// The program itself, with its constants and __device__ variables, and the kernel's arguments.
std::vector<MemoryRange> uncounted_memory(const void* arguments, std::size_t bytes);

// A hazard for an access of `bytes` (0: unknown) outside of all `arrays`, described by the memory
// that it reaches, else by the nearest array. If the type of the array's elements is not known,
// they are as wide as the access, but those of a vector of 16 bytes have 4. `places` as in
// Hazard::Actor.
model::Hazard out_of_bounds(
    std::span<const KernelArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor);

// Addresses in shared memory as the numbers of 32 bits that instructions take. Dynamic shared
// memory has the addresses from 0 on, as far as the launch has it. A kernel's own arrays follow.
// Like a GPU's, all have less than 18 bits, as many as a descriptor of wgmma has.

// Faults unless the pointer is into an array of shared memory, or just past its end.
std::uint32_t shared_address_of(const void* pointer, const void* place);

// An address that is in no array becomes a pointer past the end of the array before it.
char* pointer_to_shared(std::uint32_t address);
// The same for the block to which these arrays belong.
char* pointer_to_shared(std::uint32_t address, std::span<const KernelArray> arrays);

// The array that holds these bytes; null if there is none.
const KernelArray* array_with(
    std::span<const KernelArray> arrays, std::uintptr_t address, std::size_t bytes = 1);
// The same for those of the running block, if it is in shared memory.
const KernelArray* shared_array_at(const void* pointer, std::size_t bytes);

// Whether the pointer is into memory that contains arrays in shared memory.
bool is_shared_memory(const void* pointer);

// The memory that the program's host code gets from CUDA: the GPU's own (cudaMalloc), and memory
// that host and GPU share. On the CPU it is plain memory, counted as global memory under a name.
//
// All of it lies in one range of addresses that is reserved before main, with room around each
// array. So an access past an array's end meets no other memory, and any address is known to be
// the GPU's or not. As on a GPU, host code that accesses the GPU's own memory crashes: its pages
// are closed unless a kernel or a CUDA function runs.

enum class MemoryKind {
  device,     // of the GPU
  managed,    // of both
  pinned,     // of the host, and accessible to the GPU
  registered  // the same, but allocated by the program itself
};

struct DeviceArray {
  std::string name;
  char* data;
  std::size_t bytes;
  MemoryKind kind;
  std::size_t element = 0;  // bytes of what a kernel's pointer points to; 0: none has got one
  bool holds(const void* address) const { return offset_from(data, address) < bytes; }
};

// What words of the GPU's memory hold before the first write: a number that hardly any program
// stores, so that a kernel's read before the first write is seen. Host code may read it, too, and
// nobody sees whether it does. So it must fail every check that a program makes of its results:
// it is a large number as a float, a double, an integer, and two halves. (A NaN would pass the
// usual check, because fabs(NaN - right) > eps is false.) Squares of it are no infinity as floats.
inline constexpr std::uint32_t kUnwritten = 0x5bf55bedu;

// `bytes` bytes, more than 0, at a multiple of 4096. All words are kUnwritten. `argument` is the
// source text of the pointer argument, "(void**)&partial" or "&parts.A"; its last name becomes the
// array's, with the objects of which it is a member. Returns null if there is not enough memory.
void* allocate_array(std::size_t bytes, std::string_view argument, MemoryKind kind);

// `memory` is the program's own, and the GPU may access it until it is freed here. Returns whether
// no part of it was registered before.
bool register_array(void* memory, std::size_t bytes, std::string_view argument);

// Returns false if `memory` is not the start of an array of one of these kinds.
bool free_array(void* memory, MemoryKind kind, MemoryKind or_kind);

void free_all_arrays();

// Of bytes from there on, in an array, how many belong to elements that nobody has written.
std::size_t unwritten_bytes(const DeviceArray& array, const void* from, std::size_t bytes);

// All arrays that were not freed.
std::vector<DeviceArray> device_arrays();

// The array that contains this address.
std::optional<DeviceArray> array_at(const void* address);
// The array that contained it and was freed.
std::optional<DeviceArray> freed_array_at(const void* address);
// The nearest freed array, if the address is at most this many bytes from it.
std::optional<DeviceArray> freed_array_near(const void* address, std::uint64_t most);
// Whether the address is in the range reserved for arrays.
bool is_device_address(const void* address);
MemoryRange device_addresses();

// How much can be allocated in total, and how much is.
std::size_t most_device_bytes();
std::size_t device_bytes();

// While this object exists, host code can access the GPU's own memory: all of it, or the array that
// contains an address.
class OpenDeviceMemory {
 public:
  OpenDeviceMemory();
  explicit OpenDeviceMemory(const void* address);
  ~OpenDeviceMemory();
  OpenDeviceMemory(const OpenDeviceMemory&) = delete;
  OpenDeviceMemory& operator=(const OpenDeviceMemory&) = delete;

 private:
  const bool all_ = false;
  const char* only_ = nullptr;
  bool opened_in_use_ = false;
};

// Whether the host, too, may access an address in memory that the machine can close to it: managed
// or pinned memory. `any` such memory exists.
bool is_shared_with_host(const void* address);
bool any_shared_with_host();

// Bytes that unfinished work uses, so that host code must not store to them, nor load what the work
// stores. `by` is its name. From now on, a forbidden access of host code is a fault.
struct InUse {
  Touched touched;
  std::string by;
};
void close_to_host(std::vector<InUse> in_use);
// For the handler of a fault of host code. Whether the access is allowed: then its page is open
// until close_again().
bool open_for_host(const void* address, bool stores);
void close_again();

// Writes what is at an address that host code cannot access: "d_A, which is in the GPU's memory;
// cudaMemcpy it to the host first"; nothing if it is not the GPU's. May be called from a signal
// handler.
void describe_device_address(const void* address, char* words, std::size_t bytes);

// Accesses of a kernel that the operating system stops with SIGSEGV or SIGBUS.

// From this call until another handler is set, such an access ends its block (Worker::crash). Any
// other fault is the program's own or that of host code, and goes to the previous handler.
void watch_for_access_errors();

// The fault may be a fiber's stack overflow, so the handler has its own stack: one for each thread
// of the operating system that runs blocks.
class HandlerStack {
 public:
  HandlerStack() = default;
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;
  ~HandlerStack();
  // Gives the calling thread a stack, unless it has one.
  void provide();

 private:
  std::unique_ptr<char[]> memory_;
};

// A program may call CUDA from several threads. Its calls and launches run one at a time.

// While this object exists, no other thread of the host is in a call. A kernel's thread holds
// nothing, and neither does a copy.
class HostLock {
 public:
  HostLock();
  HostLock(const HostLock&) noexcept : held_(false) {}
  HostLock& operator=(const HostLock&) = delete;
  ~HostLock();

 private:
  bool held_;
};

// A __shared__ array of a kernel's file. (Dynamic shared memory is not included.)
struct SharedArray {
  std::string name;
  std::size_t offset;  // in the thread-local block of a thread of the operating system
  std::size_t bytes;
  const void* function = nullptr;  // that declares it; null: none, or it was inlined at every call
  std::size_t function_bytes = 0;
  bool reached = false;  // by the kernel: the array is its own, or of a function that it can call
};

// What a function's code refers to: places that it calls or takes the address of, and thread-local
// variables.
struct References {
  std::vector<std::uintptr_t> places, locals;
};
References references_in(std::span<const unsigned char> code);

// The arrays of the file of the function at `kernel`; none if the executable was stripped.
const std::vector<SharedArray>& shared_arrays(const void* kernel);

// The bytes of those that the kernel reaches: what nvcc gives it.
std::size_t static_shared_bytes(const void* kernel);

// The name of the function at `address` in C++ syntax, without its parameters ("tiled<16>"); "a
// kernel" if the executable was stripped.
std::string function_name(const void* address);

// The same for a function's name in a symbol table: "_Z5tiledILi16EEvPf" is "tiled<16>".
std::string function_name_of(const std::string& mangled);

// The types of its parameters in C++ syntax: "float*", "int"; nothing if they are not known, as for
// extern "C".
std::optional<std::vector<std::string>> function_parameters(const void* address);

// The beginning of the function that contains the instruction at `address`; null if there is none.
const void* function_containing(const void* address);

// A program contains two copies of a user's file, the traced one at lower
// addresses. The traced copy's function
// of the same name as the plain copy's at `address`; null if there is none.
const void* traced_twin(const void* address);

// Its size in bytes; 0 if the executable was stripped.
std::size_t function_bytes(const void* address);

// A variable of the program's host code: an array of a file or class, or a static one of a host's
// function. Files whose kernels are traced are rewritten, so that device variables are known by
// their linkage. Constants are none, because nvcc has copies of them for kernels.
struct HostVariable {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
};
// The one that contains this address; null if there is none.
const HostVariable* host_variable_at(std::uintptr_t address);

}  // namespace machine
