// What a rewritten kernel<<<grid, block, shared_bytes, stream>>>(arguments...) calls
// (rewrite/launches.h).
#pragma once

#include <cstddef>
#include <type_traits>

#include "cuda/cpu.h"
#include "cuda/headers/cuda_runtime.h"

namespace simt {

// `call(arguments...)` calls the kernel in one thread.
template <class Call>
class Launched {
 public:
  explicit Launched(Call call) : call_(call) {}

  // A stream may also be given as 0.
  template <class Stream = std::nullptr_t>
  Launched& configured(
      dim3 grid, dim3 block, std::size_t shared_bytes = 0, Stream stream = nullptr) {
    grid_ = grid;
    block_ = block;
    shared_bytes_ = shared_bytes;
    if constexpr (std::is_convertible_v<Stream, cudaStream_t>) stream_ = stream;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments... arguments) {
    auto work = [call = call_, grid = grid_, block = block_, shared_bytes = shared_bytes_,
                 arguments...]() mutable {
      auto thread = [&] {
        call_begins();
        call(arguments...);
      };
      using Thread = decltype(thread);
      run_called(
          {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes,
          [](void* context) { (*static_cast<Thread*>(context))(); }, &thread);
    };
    in_stream(stream_, work);
  }

 private:
  Call call_;
  dim3 grid_, block_;
  std::size_t shared_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

// Whether an expression is a pointer, and no kernel's name. (The pack makes the expression depend
// on the call's arguments, so that it need not be valid.)
template <class... Arguments, class Kernel>
requires std::is_pointer_v<std::remove_reference_t<Kernel>>
void holds_pointer(Kernel&& kernel);

// In the traced copy, the traced kernel in place of the plain one, whose address the host took.
template <class... Arguments, class Kernel>
Kernel* in_this_copy(Kernel* kernel) {
  return copy_to_run(kernel);
}

template <class Call>
Launched<Call> launched(Call call) {
  return Launched<Call>(call);
}

}  // namespace simt
