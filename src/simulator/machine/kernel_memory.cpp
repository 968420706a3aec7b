#include "simulator/machine/memory.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "simulator/cuda/ptx.h"
#include "simulator/cuda/vector_types.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/position.h"
#include "simulator/machine/worker.h"

// Every `extern __shared__ T name[]` of a kernel is bound to this
// (src/simulator/trace/keep_symbols.sh). Its size is the maximum of any GPU, 227 KB, in pages of
// its own. It is aligned as such an array may ask.
inline constexpr int kDynamicSharedBytes = 228 * 1024;
alignas(65536) __thread char simt_dynamic_shared[kDynamicSharedBytes];

extern "C" char __executable_start, end;  // from the linker

// Of the tracer: every function that it compiles calls it.
extern "C" [[gnu::weak]] void __sanitizer_cov_trace_pc();

namespace machine {

namespace {

// Calls visit(the executable, segment, its address) for each segment.
template <class Visit>
void for_each_segment(Visit visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* each) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          (*static_cast<Visit*>(each))(*info, segment, info->dlpi_addr + segment.p_vaddr);
        }
        return 1;  // the executable comes first; the libraries do not matter
      },
      &visit);
}

struct Symbols {
  std::vector<char> file;
  std::span<const Elf64_Sym> table;
  const char* names = nullptr;
  std::uintptr_t loaded_at = 0;

  std::string_view name(const Elf64_Sym& symbol) const { return names + symbol.st_name; }
};

// The program's own symbol table. Because the file is our own, its offsets are trusted.
Symbols read_symbols() {
  Symbols symbols;
  const char* const path = "/proc/self/exe";
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return symbols;
  symbols.file.resize(bytes);
  std::ifstream(path, std::ios::binary)
      .read(symbols.file.data(), static_cast<std::streamsize>(bytes));
  if (symbols.file.size() < sizeof(Elf64_Ehdr)) return symbols;
  const char* file = symbols.file.data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file);
  const std::span<const Elf64_Shdr> sections(
      reinterpret_cast<const Elf64_Shdr*>(file + header->e_shoff), header->e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    symbols.table = {
        reinterpret_cast<const Elf64_Sym*>(file + section.sh_offset),
        section.sh_size / sizeof(Elf64_Sym)};
    symbols.names = file + sections[section.sh_link].sh_offset;
  }
  for_each_segment([&](const auto& executable, const auto&, std::uintptr_t) {
    symbols.loaded_at = executable.dlpi_addr;
  });
  return symbols;
}

const Symbols& symbols() {
  static const Symbols read = read_symbols();
  return read;
}

int type_of(const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info);
}

// The functions and objects that have a size, by their addresses.
const std::vector<const Elf64_Sym*>& things() {
  static const std::vector<const Elf64_Sym*> all = [] {
    std::vector<const Elf64_Sym*> found;
    for (const Elf64_Sym& symbol : symbols().table) {
      const bool is_one = type_of(symbol) == STT_FUNC || type_of(symbol) == STT_OBJECT;
      if (is_one && symbol.st_size > 0) found.push_back(&symbol);
    }
    std::ranges::stable_sort(found, {}, &Elf64_Sym::st_value);
    return found;
  }();
  return all;
}

// The one that begins there; null if there is none.
const Elf64_Sym* thing_at(std::uintptr_t address) {
  const std::uintptr_t value = address - symbols().loaded_at;
  const auto found = std::ranges::lower_bound(things(), value, {}, &Elf64_Sym::st_value);
  return found != things().end() && (*found)->st_value == value ? *found : nullptr;
}
const Elf64_Sym* function_at(const void* address) {
  const Elf64_Sym* const thing = thing_at(reinterpret_cast<std::uintptr_t>(address));
  return thing != nullptr && type_of(*thing) == STT_FUNC ? thing : nullptr;
}

}  // namespace

// Instructions are not decoded: on x86-64 an offset follows the first bytes of a call, a jump
// or a lea, and the prefix of thread-local memory. Elsewhere only calls are found.
References references_in(std::span<const unsigned char> code) {
  References found;
  const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
  [[maybe_unused]] const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  [[maybe_unused]] const MemoryRange locals = thread_locals();
  [[maybe_unused]] std::size_t prefix = code.size(), after_local = 0;
  for (std::size_t i = 2; i + 4 <= code.size(); ++i) {
    std::int32_t offset = 0;
    std::memcpy(&offset, &code[i], sizeof offset);
#ifdef __x86_64__
    if (code[i - 2] == 0x64) prefix = i;
    const bool calls = (code[i - 1] | 1) == 0xe9;
    const bool takes_address = code[i - 2] == 0x8d && (code[i - 1] & 0xc7) == 0x05;
    // (A call soon after the prefix is none of thread-local memory.)
    if (calls || takes_address) {
      found.places.push_back(begin + i + 4 + offset);
    } else if (i >= after_local && i - prefix < 16 && locals.holds(thread + offset)) {
      found.locals.push_back(thread + offset);
      after_local = i + sizeof offset;  // the rest of these bytes is no other variable's offset
    }
#else
    const bool calls = i % 4 == 0 && (static_cast<std::uint32_t>(offset) >> 26) == 0x25;
    if (calls) found.places.push_back(begin + i + (offset << 6 >> 4));
#endif
  }
  return found;
}

namespace {

// Marks the arrays that the kernel can use. nvcc gives a kernel the static shared memory of every
// function that it can call, and refuses a kernel with too much of it before anything runs: so the
// calls count that its code has, also those through a table of pointers, and not those of one run.
void mark_reached(std::vector<SharedArray>& arrays, const void* kernel) {
  const auto hook = reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc);
  const std::uintptr_t locals = thread_locals().begin;
  std::set<std::uintptr_t> reached;
  for (std::vector places{reinterpret_cast<std::uintptr_t>(kernel)}; !places.empty();) {
    const std::uintptr_t begin = places.back();
    places.pop_back();
    const Elf64_Sym* const symbol = thing_at(begin);
    // Bytes that only look like an instruction lead into the middle of a function or a table.
    if (symbol == nullptr || !reached.insert(begin).second) continue;
    if (type_of(*symbol) == STT_OBJECT) {
      constexpr std::uint64_t kMostBytes = 4096;  // of a table
      const std::span pointers(
          reinterpret_cast<const std::uintptr_t*>(begin),
          std::min(symbol->st_size, kMostBytes) / sizeof(std::uintptr_t));
      std::ranges::copy_if(pointers, std::back_inserter(places), [&](std::uintptr_t pointer) {
        return function_at(reinterpret_cast<const void*>(pointer)) != nullptr;
      });
      continue;
    }
    const auto* const code = reinterpret_cast<const unsigned char*>(begin);
    const References references = references_in({code, symbol->st_size});
    // The tracer's own functions are no part of a kernel.
    if (std::ranges::find(references.places, hook) == references.places.end()) continue;
    places.insert(places.end(), references.places.begin(), references.places.end());
    for (SharedArray& array : arrays) {
      const auto is_in_array = [&](std::uintptr_t local) {
        return local - (locals + array.offset) < array.bytes;
      };
      if (array.function != nullptr ? array.function == code
                                    : std::ranges::any_of(references.locals, is_in_array))
        array.reached = true;
    }
  }
}

// Of a file, whose symbols these are.
std::vector<SharedArray> read_arrays(const Elf64_Sym* begin, const Elf64_Sym* end) {
  std::vector<SharedArray> arrays;
  // Key: the name after _Z. That of an extern "C" function is within others "3run".
  std::unordered_map<std::string, const Elf64_Sym*> functions;
  for (auto symbol = begin; symbol != end; ++symbol) {
    const std::string_view name = symbols().name(*symbol);
    if (type_of(*symbol) != STT_FUNC) continue;
    const bool is_mangled = name.starts_with("_Z");
    functions
        [is_mangled ? std::string(name.substr(2))
                    : std::to_string(name.size()) + std::string(name)] = &*symbol;
  }
  for (auto symbol = begin; symbol != end; ++symbol) {
    if (type_of(*symbol) != STT_TLS) continue;
    SharedArray array{std::string(symbols().name(*symbol)), symbol->st_value, symbol->st_size};
    // The Itanium C++ ABI names a static variable "As" of a function like this: _ZZ <function> E
    // 2As.
    const std::string_view local = symbols().name(*symbol);
    for (std::size_t e = local.size(); local.starts_with("_ZZ") && e-- > 3;) {
      const auto found = functions.find(std::string(local.substr(3, e - 3)));
      if (local[e] != 'E' || found == functions.end()) continue;
      std::string_view name = local.substr(e + 1);
      std::size_t length = 0;
      std::from_chars(name.begin(), name.end(), length);
      name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
      array.name = name.substr(0, length);
      array.function = reinterpret_cast<const void*>(found->second->st_value + symbols().loaded_at);
      array.function_bytes = found->second->st_size;
      break;
    }
    arrays.push_back(array);
  }
  return arrays;
}

std::vector<SharedArray> arrays_for(const void* kernel) {
  const std::span<const Elf64_Sym> table = symbols().table;
  const Elf64_Sym* const function = function_at(kernel);
  if (function == nullptr) return {};
  // The program contains two copies of every kernel. The symbols of an object follow its file's
  // name.
  const auto is_file = [](const Elf64_Sym& symbol) { return type_of(symbol) == STT_FILE; };
  const Elf64_Sym* const end = std::find_if(function, table.data() + table.size(), is_file);
  const Elf64_Sym* begin = function;
  while (begin != table.data() && !is_file(begin[-1])) --begin;
  static std::map<const Elf64_Sym*, std::vector<SharedArray>> of_files;
  const auto [known, is_new] = of_files.try_emplace(begin);
  if (is_new) known->second = read_arrays(begin, end);
  std::vector<SharedArray> arrays = known->second;
  for (SharedArray& array : arrays) array.reached = array.function == kernel;
  if (!std::ranges::all_of(arrays, &SharedArray::reached)) mark_reached(arrays, kernel);
  return arrays;
}

// "tiled<16>(float*, int)"
std::string demangled(const std::string& mangled) {
  char* readable = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr);
  std::string name = readable != nullptr ? readable : mangled;
  std::free(readable);
  for (const std::string_view unnamed : {"(anonymous namespace)::", "<unnamed>::"}) {
    for (std::size_t at; (at = name.find(unnamed)) != name.npos;) name.erase(at, unnamed.size());
  }
  // A namespace without a name that holds a device variable (rewrite/rewritten.h)
  constexpr std::string_view kNamed = "simt_unnamed_";
  for (std::size_t at; (at = name.find(kNamed)) != name.npos;) {
    name.erase(at, std::min(name.find("::", at), name.size() - 2) + 2 - at);
  }
  // The name of a template begins with its return type.
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

// The same; "a kernel" if the executable was stripped.
std::string whole_name(const void* address) {
  const auto function = function_at(address);
  if (function == nullptr) return "a kernel";
  return demangled(std::string(symbols().name(*function)));
}

// Where a whole name's parameters begin: the first (...) outside of <>.
std::size_t end_of_name(const std::string& name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' && depth == 0) return i;
    depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
  }
  return name.size();
}

// The program's memory that host code may change, and the part of it that is constant after the
// program was loaded.
struct Writable {
  MemoryRange all{}, constant{};
};
Writable writable_memory() {
  Writable found;
  for_each_segment([&](const auto&, const auto& segment, std::uintptr_t begin) {
    const MemoryRange range{begin, segment.p_memsz};
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) found.all = range;
    if (segment.p_type == PT_GNU_RELRO) found.constant = range;
  });
  return found;
}

std::vector<HostVariable> read_host_variables() {
  std::vector<HostVariable> variables;
  const Writable memory = writable_memory();
  // A function's static variable exists in both copies of a file. Kernels use the traced copy's,
  // which comes first, and host code the other. (An sgemm is the traced copy's host code.)
  std::unordered_map<std::string_view, std::pair<int, std::uintptr_t>> of_functions;
  const auto is_of_function = [](std::string_view name) {
    return name.starts_with("_ZZ") && !name.starts_with("_ZZ5sgemm");
  };
  for (const bool only_counts : {true, false}) {
    for (const Elf64_Sym* thing : things()) {
      const Elf64_Sym& symbol = *thing;
      const std::uintptr_t begin = symbol.st_value + symbols().loaded_at;
      // A file's own variables are local (trace/keep_symbols.sh), except the device's.
      const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
      if (type_of(symbol) != STT_OBJECT || !is_local) continue;
      if (!memory.all.holds(begin) || memory.constant.holds(begin)) continue;
      const std::string_view name = symbols().name(symbol);
      if (is_of_function(name)) {
        auto& [copies, last] = of_functions[name];
        if (only_counts) {
          ++copies;
          last = std::max(last, begin);
          continue;
        }
        if (copies < 2 || begin != last) continue;
      }
      if (!only_counts) variables.push_back({std::string(name), begin, symbol.st_size});
    }
  }
  return variables;
}

}  // namespace

const HostVariable* host_variable_at(std::uintptr_t address) {
  static const std::vector<HostVariable> variables = [] {
    std::vector<HostVariable> read = read_host_variables();
    for (HostVariable& variable : read) {
      // "main::data" is shown as "data".
      const std::string name = demangled(variable.name);
      variable.name = name.substr(name.rfind("::") == name.npos ? 0 : name.rfind("::") + 2);
    }
    return read;
  }();
  const auto next = std::upper_bound(
      variables.begin(), variables.end(), address,
      [](std::uintptr_t at, const HostVariable& variable) { return at < variable.begin; });
  if (next == variables.begin()) return nullptr;
  const HostVariable& before = *std::prev(next);
  return address - before.begin < before.bytes ? &before : nullptr;
}

std::string function_name(const void* address) {
  const std::string name = whole_name(address);
  return name.substr(0, end_of_name(name));
}

std::string function_name_of(const std::string& mangled) {
  const std::string name = demangled(mangled);
  return name.substr(0, end_of_name(name));
}

std::optional<std::vector<std::string>> function_parameters(const void* address) {
  const std::string name = whole_name(address);
  const std::size_t begin = end_of_name(name), end = name.rfind(')');
  if (begin == name.size() || end == name.npos) return std::nullopt;
  std::vector<std::string> types;
  int depth = 0;
  std::string type;
  for (const char c : name.substr(begin + 1, end - begin - 1)) {
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    if (c == ',' && depth == 0) {
      types.push_back(std::exchange(type, ""));
    } else if (c != ' ' || !type.empty()) {
      type += c;
    }
  }
  if (!type.empty() && type != "void") types.push_back(type);
  return types;
}

const void* function_containing(const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address) - symbols().loaded_at;
  for (const Elf64_Sym& symbol : symbols().table) {
    if (type_of(symbol) == STT_FUNC && value - symbol.st_value < symbol.st_size)
      return reinterpret_cast<const void*>(symbol.st_value + symbols().loaded_at);
  }
  return nullptr;
}

const void* traced_twin(const void* address) {
  const auto function = function_at(address);
  if (function == nullptr) return nullptr;
  const char* const name = symbols().names + function->st_name;
  // With several files there may be several functions of one name, at places in the same order.
  std::vector<std::uintptr_t> places;
  for (const Elf64_Sym* thing : things()) {
    if (type_of(*thing) == STT_FUNC && std::strcmp(symbols().names + thing->st_name, name) == 0)
      places.push_back(thing->st_value);
  }
  const std::size_t place = std::ranges::lower_bound(places, function->st_value) - places.begin();
  const std::size_t half = places.size() / 2;
  if (place < half || places.size() % 2 != 0) return nullptr;
  return reinterpret_cast<const void*>(places[place - half] + symbols().loaded_at);
}

std::size_t function_bytes(const void* address) {
  const auto function = function_at(address);
  return function == nullptr ? 0 : function->st_size;
}

const std::vector<SharedArray>& shared_arrays(const void* kernel) {
  static std::mutex lock;
  static std::unordered_map<const void*, std::vector<SharedArray>> known;
  const std::lock_guard guard(lock);
  const auto found = known.find(kernel);  // an entry stays where it is
  return found != known.end() ? found->second : known[kernel] = arrays_for(kernel);
}

std::size_t static_shared_bytes(const void* kernel) {
  std::size_t bytes = 0;
  for (const SharedArray& array : shared_arrays(kernel)) bytes += array.reached ? array.bytes : 0;
  return bytes;
}

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread int warpSize;

namespace {

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

// Whether the program has memory at this address. The advice is the default, so it changes nothing;
// it fails where nothing is mapped.
bool is_mapped(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return madvise(reinterpret_cast<void*>(address / page * page), page, MADV_NORMAL) == 0;
}

bool is_in_program(std::uintptr_t address) {
  return address_of(&__executable_start) <= address && address < address_of(&end);
}

void give_shared_addresses(std::vector<KernelArray>& arrays) {
  // A bit of the address that is below the array's alignment is that of the pointer: a swizzle uses
  // the lowest ten, and code with two buffers may switch between them by a higher one.
  const auto bits_kept = [](const KernelArray& array) {
    const std::uint64_t lowest = array.begin & -array.begin;
    const std::uint64_t aligned = lowest > array.bytes ? std::bit_floor(array.bytes) : lowest;
    return static_cast<std::uint32_t>(aligned > 1024 ? aligned - 1 : 1023);
  };
  std::uint32_t end = 0;
  for (const bool is_dynamic : {true, false}) {
    for (KernelArray& array : arrays) {
      if (!array.shared || (array.begin == address_of(simt_dynamic_shared)) != is_dynamic) continue;
      array.shared_address =
          end + ((static_cast<std::uint32_t>(array.begin) - end) & bits_kept(array));
      end = array.shared_address + static_cast<std::uint32_t>(array.bytes);
    }
  }
}

}  // namespace

char* dynamic_shared_memory() {
  return simt_dynamic_shared;
}

MemoryRange thread_locals() {
  static __thread MemoryRange block;
  if (block.bytes > 0) return block;
  for_each_segment([](const auto& executable, const auto& segment, std::uintptr_t) {
    if (segment.p_type != PT_TLS) return;
    block = {address_of(executable.dlpi_tls_data), segment.p_memsz};
  });
  return block;
}

std::vector<MemoryRange> built_in_variables() {
  const auto range = [](const auto& variable) {
    return MemoryRange{address_of(&variable), sizeof variable};
  };
  return {range(threadIdx), range(blockIdx), range(blockDim), range(gridDim), range(warpSize)};
}

std::vector<KernelArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global) {
  std::vector<KernelArray> arrays;
  for (const GlobalArray& array : global) {
    arrays.push_back(
        {array.name, address_of(array.data), array.bytes, false, array.result, array.result});
  }
  for (const DeviceArray& array : device_arrays()) {
    arrays.push_back({array.name, address_of(array.data), array.bytes, false, false, true});
    arrays.back().own_pages = array.kind != MemoryKind::registered;
    arrays.back().element = array.element;
  }
  for (const DeviceVariable& variable : device_variables()) {
    if (variable.kind == simt::VariableKind::constant) continue;
    arrays.push_back(
        {variable.name, address_of(variable.data), variable.bytes, false, false, true});
    arrays.back().own_pages = false;
    arrays.back().element = variable.element;
  }
  const std::uintptr_t locals = thread_locals().begin;
  arrays.push_back(
      {"dynamic", address_of(simt_dynamic_shared), static_cast<std::size_t>(dynamic_bytes), true});
  for (const SharedArray& array : shared_arrays(kernel)) {
    arrays.push_back({array.name, locals + array.offset, array.bytes, true});
    if (array.function == nullptr || array.function == kernel) continue;
    arrays.back().owner = place_of_code(array.function);
    arrays.back().owner_bytes = static_cast<CodePlace>(array.function_bytes);
  }
  give_shared_addresses(arrays);
  return arrays;
}

std::vector<MemoryRange> uncounted_memory(const void* arguments, std::size_t bytes) {
  std::vector<MemoryRange> ranges;
  for_each_segment([&](const auto&, const auto& segment, std::uintptr_t begin) {
    if (segment.p_type == PT_LOAD) ranges.push_back({begin, segment.p_memsz});
  });
  ranges.push_back({address_of(arguments), bytes});
  return ranges;
}

model::Hazard out_of_bounds(
    std::span<const KernelArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor) {
  // An address farther away than a 32-bit index can reach is a stray pointer.
  constexpr std::uint64_t kNear = std::uint64_t{1} << 33;
  model::Hazard hazard{model::HazardKind::out_of_bounds, "", address, block, actor, {}};
  std::uint64_t nearest = kNear;
  const auto* const pointer = reinterpret_cast<const void*>(address);
  if (const HostVariable* variable = host_variable_at(address)) {
    hazard.kind = model::HazardKind::host_memory;
    hazard.array = variable->name;
    return hazard;
  }
  for (const KernelArray& array : arrays) {
    if (array.bytes == 0 || array.owner != 0) continue;
    const auto* const data = reinterpret_cast<const void*>(array.begin);
    if (is_device_address(data) && !is_device_address(pointer)) continue;
    // The host's heap often follows the program's variables.
    if (is_in_program(array.begin) && !is_in_program(address) && is_mapped(address)) continue;
    const std::uintptr_t end = array.begin + array.bytes;
    const std::uint64_t distance = address < array.begin   ? array.begin - address
                                   : address + bytes > end ? address + bytes - end
                                                           : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    hazard.array = array.name;
    hazard.shared = array.shared;
    hazard.byte = address - array.begin;
    const auto element = static_cast<std::int64_t>(
        array.element > 0         ? array.element
        : bytes == 0 || bytes > 8 ? 4
                                  : bytes);
    const auto byte = static_cast<std::int64_t>(hazard.byte);
    hazard.extent = static_cast<std::int64_t>(array.bytes) / element;
    // Rounded down: byte -1 is in element -1. A vector may begin inside of the array.
    hazard.index = byte < 0 ? (byte + 1) / element - 1 : std::max(byte / element, hazard.extent);
  }
  // Also for an index beyond the end of freed memory.
  if (const std::optional<DeviceArray> freed = freed_array_near(pointer, nearest)) {
    hazard.kind = model::HazardKind::freed_memory;
    hazard.array = freed->name;
    hazard.byte = address - address_of(freed->data);
    hazard.shared = false;
    hazard.extent = 0;
  } else if (hazard.array.empty() && !is_device_address(pointer) && is_mapped(address)) {
    hazard.kind = model::HazardKind::host_memory;
  }
  return hazard;
}

std::uint32_t shared_address_of(const void* pointer, const void* place) {
  std::optional<std::uint32_t> behind;
  for (const KernelArray& array : running_worker->memory().arrays) {
    const std::uintptr_t byte = address_of(pointer) - array.begin;
    if (!array.shared || byte > array.bytes) continue;
    const auto found = array.shared_address + static_cast<std::uint32_t>(byte);
    if (byte < array.bytes) return found;
    if (!behind) behind = found;
  }
  if (!behind) {
    fault("it takes the shared address of something that is not in shared memory", place);
  }
  return *behind;
}

char* pointer_to_shared(std::uint32_t address, std::span<const KernelArray> arrays) {
  std::uintptr_t begin = address_of(simt_dynamic_shared);
  std::uint32_t start = 0;
  for (const KernelArray& array : arrays) {
    const std::uint32_t at = array.shared_address;
    if (!array.shared || array.bytes == 0 || at > address || at < start) continue;
    begin = array.begin;
    start = at;
  }
  return reinterpret_cast<char*>(begin) + (address - start);
}

char* pointer_to_shared(std::uint32_t address) {
  return pointer_to_shared(address, running_worker->memory().arrays);
}

const KernelArray* array_with(
    std::span<const KernelArray> arrays, std::uintptr_t address, std::size_t bytes) {
  const auto found = std::ranges::find_if(
      arrays, [&](const KernelArray& array) { return array.holds(address, bytes); });
  return found == arrays.end() ? nullptr : &*found;
}

const KernelArray* shared_array_at(const void* pointer, std::size_t bytes) {
  const KernelArray* const array =
      array_with(running_worker->memory().arrays, address_of(pointer), bytes);
  return array != nullptr && array->shared ? array : nullptr;
}

}  // namespace machine

bool machine::is_shared_memory(const void* pointer) {
  return thread_locals().holds(address_of(pointer));
}

std::size_t __cvta_generic_to_shared(const void* pointer) {
  return machine::shared_address_of(pointer, machine::place_of_call(__builtin_return_address(0)));
}
void* __cvta_shared_to_generic(std::size_t address) {
  return machine::pointer_to_shared(static_cast<std::uint32_t>(address));
}
