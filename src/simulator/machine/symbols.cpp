#include "simulator/machine/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "simulator/machine/memory.h"

// Of the tracer: every function that it compiles calls it.
extern "C" [[gnu::weak]] void __sanitizer_cov_trace_pc();

namespace machine {
namespace {

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
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* address) {
        *static_cast<std::uintptr_t*>(address) = info->dlpi_addr;
        return 1;  // the executable comes first
      },
      &symbols.loaded_at);
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

// What a function's code refers to: places that it calls or takes the address of, and thread-local
// variables.
struct References {
  std::vector<std::uintptr_t> places, locals;
};

// Instructions are not decoded: on x86-64 an offset follows the first bytes of a call, a jump
// or a lea, and the prefix of thread-local memory. Elsewhere only calls are found.
References references_of(std::span<const unsigned char> code) {
  References found;
  const auto begin = reinterpret_cast<std::uintptr_t>(code.data());
  [[maybe_unused]] const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  [[maybe_unused]] std::size_t prefix = code.size();
  for (std::size_t i = 2; i + 4 <= code.size(); ++i) {
    std::int32_t offset = 0;
    std::memcpy(&offset, &code[i], sizeof offset);
#ifdef __x86_64__
    if (code[i - 2] == 0x64) prefix = i;
    const bool calls = (code[i - 1] | 1) == 0xe9;
    const bool takes_address = code[i - 2] == 0x8d && (code[i - 1] & 0xc7) == 0x05;
    // (A call soon after the prefix is none of thread-local memory.)
    if (calls || takes_address)
      found.places.push_back(begin + i + 4 + offset);
    else if (i - prefix < 16)
      found.locals.push_back(thread + offset);
#else
    const bool calls = i % 4 == 0 && (static_cast<std::uint32_t>(offset) >> 26) == 0x25;
    if (calls) found.places.push_back(begin + i + (offset << 6 >> 4));
#endif
  }
  return found;
}

// Marks the arrays that the kernel can use. nvcc gives a kernel the static shared memory of every
// function that it can call, and refuses a kernel with too much of it before anything runs: so the
// calls count that its code has, also those through a table of pointers, and not those of one run.
void mark_reached(std::vector<SharedArray>& arrays, const void* kernel) {
  const auto hook = reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc);
  const auto locals = reinterpret_cast<std::uintptr_t>(thread_locals().data());
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
    const References references = references_of({code, symbol->st_size});
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

struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};

// The program's memory that host code may change, and the part of it that is constant after the
// program was loaded.
struct Writable {
  AddressRange all, constant;
};
Writable writable_memory() {
  Writable found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        auto& ranges = *static_cast<Writable*>(into);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          const AddressRange range{begin, begin + segment.p_memsz};
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) ranges.all = range;
          if (segment.p_type == PT_GNU_RELRO) ranges.constant = range;
        }
        return 1;  // the executable comes first
      },
      &found);
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

}  // namespace machine
