#include "lab/npy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>

#include "lab/memory.h"
#include "model/refusal.h"

namespace lab {

namespace {

static_assert(std::endian::native == std::endian::little, "x86-64 and aarch64 Linux are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint32_t kMostHeaderBytes = 65535;  // what version 1 can say; a matrix takes 118

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct Header {
  std::string type;  // "<f4"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads the header: a Python dict, of which NumPy writes a small part of the syntax only.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  Header parse() {
    Header header;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.type = quoted();
        has_type = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        refuse("has the unknown key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape) {
      refuse("does not give descr, fortran_order and shape");
    }
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw model::Refusal(
        path_ + ": the .npy header " + why + "; write the file anew with numpy.save");
  }

  bool accept(char wanted) {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    if (text_.empty() || text_[0] != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse(std::string("is damaged: a ") + wanted + " is missing");
  }

  std::string quoted() {
    if (accept('[')) refuse("describes records, not numbers");
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote);
    if (end == text_.npos) refuse("is damaged: a quotation mark is missing");
    const std::string word(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    const auto is_printable = [](unsigned char letter) { return letter >= ' ' && letter < 127; };
    if (!std::all_of(word.begin(), word.end(), is_printable)) refuse("is damaged");
    return word;
  }

  bool boolean() {
    accept(' ');  // skips blanks
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    refuse("is damaged: fortran_order is neither True nor False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sides;
    expect('(');
    while (!accept(')')) {
      std::uint64_t side = 0;
      const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), side);
      if (parsed.ec != std::errc()) refuse("is damaged: a side of the shape is not a whole number");
      text_.remove_prefix(parsed.ptr - text_.data());
      accept('L');  // NumPy under Python 2 wrote (3L, 4L)
      sides.push_back(side);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sides;
  }

  const std::string& path_;
  std::string_view text_;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t side : shape) text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

void read_bytes(const std::string& path, std::FILE* file, void* to, std::size_t bytes) {
  if (std::fread(to, 1, bytes, file) != bytes) {
    throw model::Refusal(path + ": the file ends too early, or cannot be read; write it anew");
  }
}

struct Opened {
  File file;            // at the first byte of the header
  std::uint64_t bytes;  // from there to the end of the file
  std::uint32_t header_bytes;
};

Opened open_npy(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw model::Refusal(path + ": no such file; check the name");
  if (!std::filesystem::is_regular_file(status)) {  // a pipe would wait for ever
    throw model::Refusal(path + ": not a regular file; give a .npy file, as numpy.save writes it");
  }
  const std::uint64_t size = std::filesystem::file_size(path, error);
  File file(std::fopen(path.c_str(), "rb"));
  if (error || !file) {
    throw model::Refusal(
        path + ": cannot be opened (" + std::strerror(errno) + "); check its permissions");
  }
  unsigned char start[12] = {};  // magic, two bytes of version, 2 or 4 bytes of header length
  const std::size_t got = std::fread(start, 1, sizeof start, file.get());
  if (got < kMagic.size() || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    throw model::Refusal(path + ": not a .npy file; write one with numpy.save");
  }
  const int version = start[6];
  const std::uint64_t start_bytes = version == 1 ? 10 : 12;
  if (got >= 8 && (version < 1 || version > 3)) {
    throw model::Refusal(
        path + ": version " + std::to_string(version) +
        " of the .npy format; write version 1, 2 or 3");
  }
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, start + 8, start_bytes - 8);
  if (size < start_bytes || header_bytes > size - start_bytes) {
    throw model::Refusal(path + ": the file ends within its header; write it anew");
  }
  if (header_bytes > kMostHeaderBytes) {
    throw model::Refusal(
        path + ": a header of " + std::to_string(header_bytes) +
        " bytes is no matrix's; write the file anew with numpy.save");
  }
  std::fseek(file.get(), static_cast<long>(start_bytes), SEEK_SET);
  return {std::move(file), size - start_bytes, header_bytes};
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

// Reads the values line by line as they stand in the file: by rows, or by columns.
template <class Number>
void read_values(
    const std::string& path, std::FILE* file, bool swapped, bool by_columns, Matrix& matrix) {
  const std::size_t rows = matrix.rows, columns = matrix.columns;
  const std::size_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
  std::vector<unsigned char> line(length * sizeof(Number));
  for (std::size_t i = 0; i < lines; ++i) {
    read_bytes(path, file, line.data(), line.size());
    for (std::size_t j = 0; j < length; ++j) {
      const Number number = from_bytes<Number>(line.data() + j * sizeof(Number), swapped);
      const float value = static_cast<float>(number);
      if (std::isinf(value) && std::isfinite(number)) {
        throw model::Refusal(
            path + ": row " + std::to_string(by_columns ? j : i) + ", column " +
            std::to_string(by_columns ? i : j) +
            " is more than fp32 can hold; scale the matrix down");
      }
      matrix.values[by_columns ? j * columns + i : i * columns + j] = value;
    }
  }
}

// The file that write_npy fills before it gets its name: in the same folder, so that renaming it is
// one step.
struct Partial {
  std::string path;  // where it is to end, with links followed
  std::string partial_path;
  File file;
};

[[noreturn]] void refuse_to_write(const std::string& path, const std::string& why) {
  throw model::Refusal(
      path + ": cannot be written (" + why + "); give a file in a folder that you may write to");
}

Partial create_partial(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  Partial partial;
  partial.path = path;
  if (std::filesystem::exists(status)) {
    if (std::filesystem::is_directory(status)) refuse_to_write(path, "it is a folder");
    if (!std::filesystem::is_regular_file(status)) refuse_to_write(path, "it is a device or pipe");
    if (access(path.c_str(), W_OK) != 0) refuse_to_write(path, std::strerror(errno));
    partial.path = std::filesystem::canonical(path, error).string();
  }
  partial.partial_path = partial.path + "." + std::to_string(getpid()) + ".partial";
  const int descriptor =
      open(partial.partial_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_to_write(path, std::strerror(errno));
  partial.file.reset(fdopen(descriptor, "wb"));
  return partial;
}

}  // namespace

Matrix read_npy(const std::string& path) {
  Opened npy = open_npy(path);
  std::string text(npy.header_bytes, '\0');
  read_bytes(path, npy.file.get(), text.data(), text.size());
  const Header header = HeaderParser(path, text).parse();

  const bool swapped = header.type.starts_with('>');
  const std::string_view type = std::string_view(header.type).substr(header.type.empty() ? 0 : 1);
  if ((!swapped && !header.type.starts_with('<')) || (type != "f4" && type != "f8")) {
    throw model::Refusal(
        path + ": holds numbers of type '" + header.type +
        "'; save float32 or float64, for example numpy.save(name, x.astype('f4'))");
  }
  if (header.shape.size() != 2) {
    const std::string sides = header.shape.empty() ? "" : " (" + shape_text(header.shape) + ")";
    throw model::Refusal(
        path + ": has " + std::to_string(header.shape.size()) + " dimension" +
        (header.shape.size() == 1 ? "" : "s") + sides +
        ", and a matrix has 2; save x.reshape(rows, columns)");
  }
  const std::uint64_t most = std::numeric_limits<int>::max();
  const std::uint64_t number_bytes = type == "f4" ? 4 : 8;
  const std::uint64_t rows = header.shape[0], columns = header.shape[1];
  if (rows > most || columns > most) {
    throw model::Refusal(
        path + ": is " + shape_text(header.shape) + ", and a side has at most " +
        std::to_string(most) + " elements; save a smaller matrix");
  }
  const std::uint64_t stored = (npy.bytes - npy.header_bytes) / number_bytes;
  if (rows * columns > stored) {
    throw model::Refusal(
        path + ": is " + shape_text(header.shape) + " by its header, and has only " +
        std::to_string(stored) + " numbers; write the file anew");
  }
  require_memory(4.0 * double(rows) * double(columns), available_memory(), path, "its values");

  Matrix matrix{static_cast<int>(rows), static_cast<int>(columns), {}};
  matrix.values.resize(rows * columns);
  const auto read = number_bytes == 4 ? read_values<float> : read_values<double>;
  if (rows * columns > 0) read(path, npy.file.get(), swapped, header.fortran_order, matrix);
  return matrix;
}

void check_writable(const std::string& path) {
  unlink(create_partial(path).partial_path.c_str());
}

void write_npy(const std::string& path, int rows, int columns, const float* values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  constexpr std::size_t kStartBytes = 10, kAlignment = 64;  // the values begin at a multiple of 64
  while ((kStartBytes + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  const std::string start = std::string(kMagic) + '\1' + '\0' + static_cast<char>(header.size()) +
                            static_cast<char>(header.size() >> 8) + header;
  const std::size_t count = std::size_t(rows) * std::size_t(columns);

  Partial partial = create_partial(path);
  std::FILE* file = partial.file.release();
  bool written = std::fwrite(start.data(), 1, start.size(), file) == start.size() &&
                 (count == 0 || std::fwrite(values, sizeof(float), count, file) == count);
  int why = errno;
  if (std::fclose(file) != 0 && written) {
    written = false;
    why = errno;
  }
  if (written && std::rename(partial.partial_path.c_str(), partial.path.c_str()) != 0) {
    written = false;
    why = errno;
  }
  if (!written) {
    unlink(partial.partial_path.c_str());
    refuse_to_write(path, std::strerror(why));
  }
}

}  // namespace lab
