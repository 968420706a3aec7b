#include "lab/npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

template <class Number>
Number from_bytes(const unsigned char* bytes, bool swapped) {
  unsigned char ordered[sizeof(Number)];
  std::memcpy(ordered, bytes, sizeof(Number));
  if (swapped) std::reverse(ordered, ordered + sizeof(Number));
  Number number;
  std::memcpy(&number, ordered, sizeof(Number));
  return number;
}

// Reads the values in the order of the file: by rows, or by columns.
template <class Number>
void read_lines(const NpyFile& npy, Floats& values) {
  const auto& [rows_int, columns_int, number_bytes, swapped, by_columns, at_value] = npy.header;
  const std::size_t rows = rows_int, columns = columns_int;
  const std::size_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
  constexpr std::size_t kMostAtOnce = 1 << 16;
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < lines; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      const std::size_t at = j % kMostAtOnce * sizeof(Number);
      if (at == 0) {
        bytes.resize(std::min(length - j, kMostAtOnce) * sizeof(Number));
        if (std::fread(bytes.data(), 1, bytes.size(), npy.file.get()) != bytes.size()) {
          refuse(npy.path, "the file ends too early, or cannot be read; write it again");
        }
      }
      const Number number = from_bytes<Number>(bytes.data() + at, swapped);
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

}  // namespace lab
