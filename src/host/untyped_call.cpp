// Calls of kernels whose types are hidden behind void*, by the calling conventions of x86-64
// (System V) and aarch64: integers and pointers, and floating-point numbers, each have registers of
// their own, and further integers lie on the stack in units of 8 bytes.
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/headers/cuda_runtime_api.h"
#include "cuda/runtime.h"
#include "host/call.h"
#include "machine/symbols.h"

namespace host {
namespace {

#if defined(__x86_64__)
constexpr int kIntegerRegisters = 6;
#else
constexpr int kIntegerRegisters = 8;
#endif
constexpr int kMostIntegers = kIntegerRegisters + simt::UntypedCall::kOnStack;

template <class T>
long long integer_at(const void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof value);
  return static_cast<long long>(value);
}

std::optional<long long> integer_of(const std::string& type, const void* argument) {
  if (type.find_first_of("*&") != type.npos) return integer_at<long long>(argument);
#define SIMT_INTEGER(T) \
  if (type == #T) return integer_at<T>(argument);
  SIMT_INTEGER(bool)
  SIMT_INTEGER(char)
  SIMT_INTEGER(signed char)
  SIMT_INTEGER(unsigned char)
  SIMT_INTEGER(short)
  SIMT_INTEGER(unsigned short)
  SIMT_INTEGER(int)
  SIMT_INTEGER(unsigned int)
  SIMT_INTEGER(long)
  SIMT_INTEGER(unsigned long)
  SIMT_INTEGER(long long)
  SIMT_INTEGER(unsigned long long)
#undef SIMT_INTEGER
  return std::nullopt;
}

// The register's contents. A float takes its lower half.
std::optional<double> float_of(const std::string& type, const void* argument) {
  double contents = 0;
  if (type != "float" && type != "double") return std::nullopt;
  std::memcpy(&contents, argument, type == "float" ? sizeof(float) : sizeof(double));
  return contents;
}

template <std::size_t>
using Integer = long long;
template <std::size_t>
using Float = double;

template <std::size_t... I, std::size_t... F>
void run(
    const simt::UntypedCall& of, const void* kernel, std::index_sequence<I...>,
    std::index_sequence<F...>) {
  // What a kernel does not expect, it ignores.
  using Function = void(Integer<I>..., Float<F>...);
  reinterpret_cast<Function*>(const_cast<void*>(kernel))(of.integers[I]..., of.floats[F]...);
}

}  // namespace
}  // namespace host

cudaError_t simt::prepare(UntypedCall* call, const void* kernel, void** arguments) {
  const host::Call made("cudaLaunchKernel");
  *call = {kernel, {}, {}};
  const auto refuse = [&](const std::string& why) {
    return made.fails(
        cudaErrorInvalidDeviceFunction, why + "; pass the kernel itself, without a cast to void*");
  };
  const auto parameters = machine::function_parameters(kernel);
  if (!parameters) return refuse("the types of the kernel's arguments are not known");
  int integers = 0, floats = 0;
  for (const std::string& type : *parameters) {
    const void* const argument = *arguments++;
    if (const auto number = host::float_of(type, argument); number && floats < call->kRegisters) {
      call->floats[floats++] = *number;
    } else if (const auto word = host::integer_of(type, argument);
               word && integers < host::kMostIntegers) {
      call->integers[integers++] = *word;
    } else {
      return refuse("an argument of type " + type + " cannot be passed this way here");
    }
  }
  return cudaSuccess;
}

void simt::UntypedCall::run() const {
  host::run(
      *this, traced_kernel(kernel), std::make_index_sequence<host::kMostIntegers>(),
      std::make_index_sequence<kRegisters>());
}
