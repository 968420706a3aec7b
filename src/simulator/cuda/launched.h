// What a rewritten kernel<<<grid, block, shared_bytes, stream>>>(arguments...) calls
// (rewrite/rewritten.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/headers/cuda_runtime.h"

namespace simt {

// An argument of a class. As with nvcc, a kernel that takes it by reference gets the host's object,
// and any other what it is at the launch: its bytes, because an object that only converts to the
// parameter's type is not copied, and its destructor may free what the kernel uses.
template <class T>
struct Argument {
  explicit Argument(T& of) : original(&of) { __builtin_memcpy(bytes, &of, sizeof(T)); }
  alignas(T) unsigned char bytes[sizeof(T)];
  T* original;
};
template <class T>
requires std::is_class_v<T> Argument<T> argument(T& original) {
  return Argument<T>(original);
}
template <class T>
requires(!std::is_class_v<T>) T argument(T value) {
  return value;
}

template <class T>
T& passed(T& argument, bool) {
  return argument;
}
template <class T>
auto& passed(Argument<T>& argument, bool by_reference) {
  using Copy = std::remove_const_t<T>;
  return by_reference ? const_cast<Copy&>(*argument.original)
                      : *reinterpret_cast<Copy*>(argument.bytes);
}

// Of the type of a kernel's parameter: what {a, b} as an argument means.
template <std::size_t number, class... Parameters>
std::tuple_element_t<number, std::tuple<Parameters...>> parameter_of(void (*)(Parameters...));

// `call(arguments...)` calls the kernel in one thread.
template <class Call>
class Launched {
 public:
  explicit Launched(Call call) : call_(call) {}

  // A stream may also be given as 0, or as an object that converts to one, and is not copied.
  template <class Stream = std::nullptr_t>
  Launched& configured(
      dim3 grid, dim3 block, std::size_t shared_bytes = 0, Stream&& stream = nullptr) {
    grid_ = grid;
    block_ = block;
    shared_bytes_ = shared_bytes;
    if constexpr (std::is_convertible_v<Stream, cudaStream_t>) stream_ = stream;
    return *this;
  }

  template <class... Arguments>
  [[gnu::always_inline]] void operator()(Arguments... arguments) {
    begin_in(stream_);
    (know_argument<Arguments>(arguments), ...);
    std::uint64_t references = 0;
    auto thread = [&] {
      call_begins();
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        call_(passed(arguments, (references >> I & 1) != 0)...);
      }
      (std::index_sequence_for<Arguments...>());
    };
    using Thread = decltype(thread);
    run_called(
        {grid_.x, grid_.y, grid_.z}, {block_.x, block_.y, block_.z}, shared_bytes_,
        [](void* context) { (*static_cast<Thread*>(context))(); }, &thread, &references);
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
