#include "lab/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>
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

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The contents of the header, whether or not we can read such a file.
struct Dict {
  std::string type;  // "<f4"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads the header: a Python dict. NumPy writes only a small part of Python's syntax.
class DictParser {
 public:
  DictParser(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  Dict parse() {
    Dict dict;
    std::set<std::string> given;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        dict.type = quoted();
      } else if (key == "fortran_order") {
        dict.fortran_order = boolean();
      } else if (key == "shape") {
        dict.shape = tuple();
      } else {
        fail("has the unknown key '" + text::echoed(key) + "'");
      }
      if (!given.insert(key).second) fail("gives " + key + " twice");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) fail("goes on after its closing brace: " + text::echoed(text_, 20));
    if (given.size() != 3) fail("does not give descr, fortran_order and shape");
    return dict;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    refuse(name_, "the .npy header " + why + "; write the file again with numpy.save");
  }

  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
  }

  bool accept(char wanted) {
    skip_blanks();
    if (text_.empty() || text_[0] != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(std::string("is damaged: a ") + wanted + " is missing");
  }

  std::string quoted() {
    if (accept('[')) fail("describes records, not numbers");
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote);
    if (end == text_.npos) fail("is damaged: a quotation mark is missing");
    const std::string word(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return word;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    fail("is damaged: fortran_order is neither True nor False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sides;
    expect('(');
    while (!accept(')')) {
      std::uint64_t side = 0;
      const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), side);
      if (parsed.ec != std::errc()) fail("is damaged: a side of the shape is not a whole number");
      const std::string_view digits = text_.substr(0, parsed.ptr - text_.data());
      if (digits.size() > 1 && digits[0] == '0') {
        fail("is damaged: " + text::echoed(digits, 20) + ", a side of the shape, begins with a 0");
      }
      text_.remove_prefix(digits.size());
      accept('L');  // NumPy under Python 2 wrote (3L, 4L)
      sides.push_back(side);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sides;
  }

  const std::string& name_;
  std::string_view text_;
};

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
  const Dict dict = DictParser(name, header.text).parse();
  const bool swapped = dict.type.starts_with('>');
  const std::string_view type = std::string_view(dict.type).substr(dict.type.empty() ? 0 : 1);
  if ((!swapped && !dict.type.starts_with('<')) || (type != "f4" && type != "f8")) {
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
  const int number_bytes = type == "f4" ? 4 : 8;
  const std::uint64_t stored = (file_bytes - header.end) / number_bytes;
  if (rows * columns > stored) {
    refuse(
        name, "is " + shape_text(dict.shape) + " by its header, and has only " +
                  std::to_string(stored) + " numbers; write the file again");
  }
  return {static_cast<int>(rows), static_cast<int>(columns),
          number_bytes,           swapped,
          dict.fortran_order,     header.end};
}

}  // namespace lab
