#include "grade/kernel_names.h"

#include <map>
#include <set>

namespace grade {

namespace {

using Names = std::set<std::string_view>;

constexpr const char* kNoAllocating =
    "there is no allocating in a kernel; use __shared__ or a local array";
constexpr const char* kNoExceptions = "there are no exceptions in a kernel";

const Names kTypes = {"auto",     "bool",      "char",    "short",   "int",      "long",
                      "unsigned", "signed",    "float",   "double",  "size_t",   "int8_t",
                      "int16_t",  "int32_t",   "int64_t", "uint8_t", "uint16_t", "uint32_t",
                      "uint64_t", "ptrdiff_t", "uint",    "uchar",   "ushort",   "float2",
                      "float3",   "float4",    "int2",    "int3",    "int4",     "uint2",
                      "uint3",    "uint4",     "double2", "dim3"};

}  // namespace

const char* why_refused(std::string_view name) {
  static const std::map<std::string_view, const char*> kRefused = {
      {"asm", "inline PTX cannot be traced; write it in CUDA C++"},
      {"static",
       "a static variable would be one for all threads; use __shared__, a local one, or static "
       "constexpr"},
      {"thread_local", "write __shared__, or a local variable"},
      {"extern", "nothing from outside may be declared here"},
      {"virtual", "a kernel has no virtual functions"},
      {"namespace", "a kernel needs no namespace"},
      {"std", "the C++ library is not for kernels; min, max, fmaf and the like are there"},
      {"simt", "the tracer's own functions are not for kernels"},
      {"new", kNoAllocating},
      {"delete", kNoAllocating},
      {"alloca", kNoAllocating},
      {"throw", kNoExceptions},
      {"try", kNoExceptions},
      {"catch", kNoExceptions},
      {"typeid", "there is no typeid in a kernel"},
      {"launch", "a kernel launches no kernel here"},
      {"volatile", "volatile hides what the compiler would do; leave it out"},
      {"goto", "write a loop"}};
  // How CUDA's threads hand each other values in other ways than a load and a store.
  for (const char* begin :
       {"__shfl", "__ballot", "__any", "__all", "__match", "__reduce", "__activemask",
        "__syncthreads_", "atomicA", "atomicS", "atomicE", "atomicM", "atomicI", "atomicD",
        "atomicC", "atomicO", "atomicX"}) {
    if (!name.starts_with(begin)) continue;
    return "shuffles, votes and atomics hand values from thread to thread past what the targets "
           "count; use __shared__ and barriers";
  }
  const auto found = kRefused.find(name);
  return found == kRefused.end() ? nullptr : found->second;
}

bool is_cuda(std::string_view name) {
  static const Names kNames = {
      "__shared__",
      "__restrict__",
      "__restrict",
      "__align__",
      "__forceinline__",
      "__syncthreads",
      "__syncwarp",
      "__pipeline_memcpy_async",
      "__ldg",
      "__ldca",
      "__ldcg",
      "__ldcs",
      "__stcg",
      "__stcs",
      "__popc",
      "__ffs",
      "__clz",
      "__mul24",
      "__umulhi",
      "__fmaf_rn",
      "__fadd_rn",
      "__fsub_rn",
      "__fmul_rn",
      "__fdividef",
      "__saturatef",
      "__float_as_int",
      "__int_as_float",
      "__float_as_uint",
      "__uint_as_float",
      "__pipeline_commit",
      "__pipeline_wait_prior",
      "__device__",
      "__host__"};
  return kNames.contains(name);
}

bool may_be_called(std::string_view name) {
  static const Names kNames = {
      "if",          "else",        "for",         "while",       "do",
      "switch",      "case",        "return",      "sizeof",      "alignof",
      "alignas",     "decltype",    "constexpr",   "consteval",   "mutable",
      "noexcept",    "operator",    "and",         "or",          "not",
      "xor",         "bitand",      "bitor",       "compl",       "static_assert",
      "min",         "max",         "abs",         "fma",         "fmaf",
      "fmax",        "fmaxf",       "fmin",        "fminf",       "fabs",
      "fabsf",       "make_float2", "make_float3", "make_float4", "make_int2",
      "make_int3",   "make_int4",   "make_uint2",  "make_uint3",  "make_uint4",
      "make_double2"};
  return kNames.contains(name) || kTypes.contains(name) || is_cuda(name);
}

std::span<const std::string_view> instructions() {
  static constexpr std::string_view kNames[] = {"ldmatrix_x4", "mma_m16n8k8_tf32", "cvt_rna_tf32"};
  return kNames;
}

bool is_type(std::string_view name) {
  return kTypes.contains(name);
}

bool is_standard_type(std::string_view name) {
  return name == "size_t" ||
         (name.ends_with("_t") &&
          (name.starts_with("int") || name.starts_with("uint") || name.starts_with("ptrdiff")));
}

bool is_harmless_attribute(std::string_view name) {
  static const Names kNames = {"maybe_unused", "likely", "unlikely", "fallthrough", "nodiscard"};
  return kNames.contains(name);
}

}  // namespace grade
