#include "lab/npy.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace lab {

namespace {

static_assert(std::endian::native == std::endian::little, "x86-64 and aarch64 Linux are");

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw model::Refusal(text::echoed(path) + ": " + why);
}

// What is wrong with the file, and the one advice for all of it.
[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
  refuse(
      path, what +
                "; save two dimensions of float32 or float64, for example "
                "numpy.save(name, x.reshape(rows, columns).astype('f4'))");
}

// Reads the values in the order of the file: by rows, or by columns.
template <class Number>
void read_lines(const NpyFile& npy, Floats& values) {
  const std::size_t rows = npy.header.rows, columns = npy.header.columns;
  const bool by_columns = npy.header.by_columns;
  for (std::size_t i = 0; i < (by_columns ? columns : rows); ++i) {
    for (std::size_t j = 0; j < (by_columns ? rows : columns); ++j) {
      Number number;
      if (std::fread(&number, sizeof number, 1, npy.file.get()) != 1) {
        refuse_file(npy.path, "cannot be read to its end");
      }
      const std::size_t row = by_columns ? j : i, column = by_columns ? i : j;
      const float value = static_cast<float>(number);
      if (std::isinf(value) && std::isfinite(number)) {
        refuse(
            npy.path, text::printed(
                          "row %zu, column %zu is more than fp32 can hold; scale the matrix down",
                          row, column));
      }
      values[row * columns + column] = value;
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

NpyHeader npy_header(
    const std::string& name, std::string_view beginning, std::uint64_t file_bytes) {
  // The magic word and version 1.0, which numpy.save writes for every matrix.
  constexpr std::string_view kStart("\x93NUMPY\1\0", 8);
  if (!beginning.starts_with(kStart)) refuse_file(name, "not a .npy file of version 1.0");
  const auto byte = [&](std::size_t at) -> std::size_t {
    return at < beginning.size() ? static_cast<unsigned char>(beginning[at]) : 0;
  };
  const std::size_t at_value = kStart.size() + 2 + byte(8) + 256 * byte(9);
  if (file_bytes < at_value) refuse_file(name, "ends within its header");
  // The header is a Python dict, with its keys in this order.
  const std::string text(beginning.substr(0, at_value));
  char type[16] = "", order[6] = "", shape[64] = "";
  std::size_t read = 0;
  std::sscanf(
      text.c_str() + kStart.size() + 2,
      " { 'descr' : '%15[^']' , 'fortran_order' : %5[a-zA-Z] , 'shape' : ( %63[^)] )%zn", type,
      order, shape, &read);
  const bool by_columns = std::string_view(order) == "True";
  const bool known = read > 0 &&
                     text.find_first_not_of(", }\n", kStart.size() + 2 + read) == text.npos &&
                     (by_columns || std::string_view(order) == "False");
  if (!known) refuse_file(name, "its header is not that of a matrix");
  const int number_bytes = std::string_view(type) == "<f4" ? 4 : 8;
  if (number_bytes == 8 && std::string_view(type) != "<f8") {
    refuse_file(name, text::printed("its type is '%s'", text::echoed(type).c_str()));
  }
  std::uint64_t rows = 0, columns = 0;
  read = 0;
  std::sscanf(shape, "%10" SCNu64 " , %10" SCNu64 "%zn", &rows, &columns, &read);
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  const bool is_matrix =
      read > 0 && std::string_view(shape).find_first_not_of(", ", read) == text.npos;
  if (!is_matrix || rows > kMost || columns > kMost) {
    refuse_file(name, text::printed("its shape is (%s)", text::echoed(shape).c_str()));
  }
  const std::uint64_t stored = (file_bytes - at_value) / number_bytes;
  if (rows * columns > stored) {
    refuse_file(
        name, "has only " + std::to_string(stored) + " of the numbers of its shape, (" +
                  text::echoed(shape) + ")");
  }
  return {static_cast<int>(rows), static_cast<int>(columns), number_bytes, by_columns, at_value};
}

}  // namespace lab
