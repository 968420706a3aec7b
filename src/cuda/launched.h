// What a rewritten kernel<<<grid, block, shared_bytes, stream>>>(arguments...) calls
// (rewrite/launches.h).
#pragma once

#include <cstddef>
#include <type_traits>

#include "cuda/cpu.h"

namespace simt {

// `call(arguments...)` calls the kernel in one thread.
template <class Call>
class Launched {
 public:
  explicit Launched(Call call) : call_(call) {}

  // Streams run in the order in which they are used.
  template <class Stream = std::nullptr_t>
  Launched& configured(
      dim3 grid, dim3 block, std::size_t shared_bytes = 0, Stream /*stream*/ = nullptr) {
    grid_ = grid;
    block_ = block;
    shared_bytes_ = shared_bytes;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments... arguments) {
    auto thread = [&] {
      call_begins();
      call_(arguments...);
    };
    using Thread = decltype(thread);
    run_called(
        {grid_.x, grid_.y, grid_.z}, {block_.x, block_.y, block_.z}, shared_bytes_,
        [](void* context) { (*static_cast<Thread*>(context))(); }, &thread);
  }

 private:
  Call call_;
  dim3 grid_, block_;
  std::size_t shared_bytes_ = 0;
};

// Whether an expression is a pointer, and no kernel's name. (The pack makes the expression depend
// on the call's arguments, so that it need not be valid.)
template <class... Arguments, class Kernel>
requires std::is_pointer_v<std::remove_reference_t<Kernel>>
void holds_pointer(Kernel&& kernel);

// In the traced copy, the traced kernel in place of the plain one, whose address the host took.
template <class... Arguments, class Kernel>
Kernel* in_this_copy(Kernel* kernel) {
  const void* found = traced_kernel(reinterpret_cast<const void*>(kernel));
  return reinterpret_cast<Kernel*>(const_cast<void*>(found));
}

template <class Call>
Launched<Call> launched(Call call) {
  return Launched<Call>(call);
}

}  // namespace simt
