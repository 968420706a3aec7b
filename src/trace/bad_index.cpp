#include "trace/bad_index.h"

#include <cctype>
#include <charconv>
#include <string_view>

#include "trace/source_lines.h"

namespace trace {
namespace {

// Data layouts shared by gcc and clang (gcc/ubsan.cc; compiler-rt/lib/ubsan/ubsan_value.h).
struct TypeDescriptor {
  std::uint16_t kind;
  std::uint16_t info;  // bit 0: signed
  char name[1];        // "'float [8][128]'", of any length
};
struct OutOfBoundsData {
  const char* file;
  std::uint32_t line, column;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

std::string_view line_of(std::string_view source, std::uint32_t line) {
  for (; line > 1 && !source.empty(); --line) {
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
  return source.substr(0, source.find('\n'));
}

// The name before the brackets that contain position `at`: "As" for "As[k][m]".
std::string_view name_before(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "";
  int depth = text[at] == '[' ? 1 : 0;
  std::size_t end = at + 1;
  while (end > 0) {
    const char c = text[end - 1];
    depth += (c == ']') - (c == '[');
    if (depth == 0 && c != '[' && c != ' ') break;
    --end;
  }
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::size_t begin = end;
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

}  // namespace

BadIndex bad_index(std::uintptr_t data, std::uintptr_t index) {
  const auto& bad = *reinterpret_cast<const OutOfBoundsData*>(data);
  std::string_view type = bad.array->name;
  if (type.starts_with('\'') && type.ends_with('\'')) type = type.substr(1, type.size() - 2);
  BadIndex result{"", static_cast<std::int64_t>(index), 0};
  if (const std::size_t bracket = type.find('['); bracket != type.npos) {
    std::from_chars(type.data() + bracket + 1, type.data() + type.size(), result.extent);
  }
  const std::string source = source_text(bad.file);
  const std::string_view name =
      bad.column > 0 ? name_before(line_of(source, bad.line), bad.column - 1) : "";
  result.array = name.empty() ? "an array " + std::string(type) : std::string(name);
  return result;
}

}  // namespace trace
