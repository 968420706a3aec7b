#include "lab/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/refusal.h"
#include "text/echoed.h"

namespace lab {

namespace {

static_assert(std::endian::native == std::endian::little, "x86-64 and aarch64 Linux are");

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw model::Refusal(text::echoed(path) + ": " + why);
}

// Reads the values in the order of the file: by rows, or by columns.
template <class Number>
void read_lines(const NpyFile& npy, Floats& values) {
  const auto& [rows_int, columns_int, number_bytes, by_columns, at_value] = npy.header;
  const std::size_t rows = rows_int, columns = columns_int;
  const std::size_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
  constexpr std::size_t kMostAtOnce = 1 << 16;
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < lines; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      if (j % kMostAtOnce == 0) {
        numbers.resize(std::min(length - j, kMostAtOnce));
        const std::size_t count = numbers.size();
        if (std::fread(numbers.data(), sizeof(Number), count, npy.file.get()) != count) {
          refuse(npy.path, "the file ends too early, or cannot be read; write it again");
        }
      }
      const Number number = numbers[j % kMostAtOnce];
      const float value = static_cast<float>(number);
      if (std::isinf(value) && std::isfinite(number)) {
        refuse(
            npy.path, "row " + std::to_string(by_columns ? j : i) + ", column " +
                          std::to_string(by_columns ? i : j) +
                          " is more than fp32 can hold; scale the matrix down");
      }
      values[by_columns ? j * columns + i : i * columns + j] = value;
    }
  }
}

}  // namespace

NpyFile open_npy(const std::string& path) {
  text::OpenedFile opened = text::open_file(path);
  if (!opened.file) refuse(path, opened.problem);
  std::string beginning(kMostNpyHeaderBytes, '\0');
  beginning.resize(std::fread(beginning.data(), 1, beginning.size(), opened.file.get()));
  const NpyHeader header = npy_header(path, beginning, opened.bytes);
  std::fseek(opened.file.get(), static_cast<long>(header.at_value), SEEK_SET);
  return {path, header, std::move(opened.file)};
}

Floats read_values(const NpyFile& npy) {
  Floats values(std::size_t(npy.header.rows) * npy.header.columns);
  const auto read = npy.header.number_bytes == 4 ? read_lines<float> : read_lines<double>;
  if (!values.empty()) read(npy, values);
  return values;
}

void check_writable(const std::string& path) {
  const std::string problem = text::problem_of_writing(path);
  if (!problem.empty()) refuse(path, problem);
}

void write_npy(const std::string& path, int rows, int columns, const float* values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  constexpr std::size_t kStartBytes = 10, kAlignment = 64;  // the values begin at a multiple of 64
  while ((kStartBytes + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  const std::string start = std::string("\x93NUMPY") + '\1' + '\0' +
                            static_cast<char>(header.size()) +
                            static_cast<char>(header.size() >> 8) + header;
  const std::size_t count = std::size_t(rows) * std::size_t(columns);
  const std::string_view bytes(reinterpret_cast<const char*>(values), count * sizeof(float));
  const std::string problem = text::write_file(path, {start, bytes});
  if (!problem.empty()) refuse(path, problem);
}

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The contents of the header, whether or not we can read such a file.
struct Dict {
  std::string type;  // "<f4"
  bool fortran_order;
  std::vector<std::uint64_t> shape;
};

// Reads the header: a Python dict, of which numpy.save writes only a small part. Nothing for
// another.
std::optional<Dict> dict_in(std::string_view text) {
  const auto accept = [&](std::string_view word) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    const bool is_there = text.starts_with(word);
    if (is_there) text.remove_prefix(word.size());
    return is_there;
  };
  const auto up_to = [&](std::size_t end) {
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(word.size());
    return std::string(word);
  };
  const auto quoted = [&]() -> std::optional<std::string> {
    const char* const quote = accept("'") ? "'" : accept("\"") ? "\"" : nullptr;
    const std::size_t end = quote == nullptr ? text.npos : text.find(quote);
    if (end == text.npos) return std::nullopt;
    std::string word = up_to(end);
    accept(quote);
    return word;
  };
  const auto shape = [&]() -> std::optional<std::vector<std::uint64_t>> {
    std::vector<std::uint64_t> sides;
    if (!accept("(")) return std::nullopt;
    while (!accept(")")) {
      const std::string digits = up_to(text.find_first_not_of("0123456789"));
      std::uint64_t side = 0;
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), side);
      if (parsed.ec != std::errc() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
      accept("L");  // NumPy under Python 2 wrote (3L, 4L)
      sides.push_back(side);
      if (!accept(",") && !text.starts_with(')')) return std::nullopt;
      accept("");
    }
    return sides;
  };

  std::optional<std::string> type;
  std::optional<bool> by_columns;
  std::optional<std::vector<std::uint64_t>> sides;
  if (!accept("{")) return std::nullopt;
  while (!accept("}")) {
    const std::optional<std::string> key = quoted();
    if (!accept(":")) return std::nullopt;
    if (key == "descr" && !type) {
      type = quoted();
    } else if (key == "fortran_order" && !by_columns) {
      by_columns = accept("True");
      if (!*by_columns && !accept("False")) return std::nullopt;
    } else if (key == "shape" && !sides) {
      sides = shape();
    } else {
      return std::nullopt;
    }
    if (!accept(",") && !text.starts_with('}')) return std::nullopt;
  }
  accept("");
  if (!text.empty() || !type || !by_columns || !sides) return std::nullopt;
  return Dict{*type, *by_columns, *sides};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t side : shape) text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text::echoed(text);
}

// The text of the header, and the position of the first value.
struct HeaderText {
  std::string_view text;
  std::size_t end;
};

HeaderText header_text(
    const std::string& name, std::string_view beginning, std::uint64_t file_bytes) {
  if (!beginning.starts_with(kMagic)) refuse(name, "not a .npy file; write one with numpy.save");
  const auto byte = [&](std::size_t at) -> unsigned {
    return at < beginning.size() ? static_cast<unsigned char>(beginning[at]) : 0;
  };
  const unsigned major = byte(6), minor = byte(7);
  if (file_bytes >= 8 && (major < 1 || major > 3 || minor != 0)) {
    refuse(
        name, "version " + std::to_string(major) + "." + std::to_string(minor) +
                  " of the .npy format; write version 1.0, 2.0 or 3.0");
  }
  // Magic, two bytes of version, two or four bytes of header length.
  const std::size_t start = major == 1 ? 10 : 12;
  std::uint64_t bytes = 0;
  for (std::size_t at = start; at-- > 8;) bytes = bytes << 8 | byte(at);
  if (file_bytes < start || bytes > file_bytes - start) {
    refuse(name, "the file ends within its header; write it again");
  }
  if (start + bytes > beginning.size()) {
    refuse(
        name, "a header of " + std::to_string(bytes) +
                  " bytes is too long for a matrix; write the file again with numpy.save");
  }
  return {beginning.substr(start, bytes), start + bytes};
}

}  // namespace

NpyHeader npy_header(
    const std::string& name, std::string_view beginning, std::uint64_t file_bytes) {
  const HeaderText header = header_text(name, beginning, file_bytes);
  const std::optional<Dict> read = dict_in(header.text);
  if (!read) {
    refuse(
        name,
        "the .npy header is not one of a matrix as NumPy writes it; write the file again with "
        "numpy.save");
  }
  const Dict& dict = *read;
  if (dict.type != "<f4" && dict.type != "<f8") {
    refuse(
        name, "holds numbers of type '" + text::echoed(dict.type) +
                  "'; save float32 or float64, for example numpy.save(name, x.astype('f4'))");
  }
  if (dict.shape.size() != 2) {
    const std::string sides = dict.shape.empty() ? "" : " (" + shape_text(dict.shape) + ")";
    refuse(
        name, "has " + std::to_string(dict.shape.size()) + " dimension" +
                  (dict.shape.size() == 1 ? "" : "s") + sides +
                  ", and a matrix has 2; save x.reshape(rows, columns)");
  }
  const std::uint64_t most = std::numeric_limits<int>::max();
  const std::uint64_t rows = dict.shape[0], columns = dict.shape[1];
  if (rows > most || columns > most) {
    refuse(
        name, "is " + shape_text(dict.shape) + ", and a side has at most " + std::to_string(most) +
                  " elements; save a smaller matrix");
  }
  const int number_bytes = dict.type == "<f4" ? 4 : 8;
  const std::uint64_t stored = (file_bytes - header.end) / number_bytes;
  if (rows * columns > stored) {
    refuse(
        name, "is " + shape_text(dict.shape) + " by its header, and has only " +
                  std::to_string(stored) + " numbers; write the file again");
  }
  return {
      static_cast<int>(rows), static_cast<int>(columns), number_bytes, dict.fortran_order,
      header.end};
}

}  // namespace lab
