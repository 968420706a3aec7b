#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "lab/npy.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "testing/fuzz.h"
#include "testing/golden.h"
#include "testing/program.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace lab {

namespace {

using testing::Folder, testing::contents;

std::size_t files_in(const Folder& folder) {
  return std::distance(
      std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A .npy file in NumPy's layout, with any header.
std::string npy(int version, const std::string& dict, const std::string& values) {
  std::string bytes = std::string("\x93NUMPY") + char(version) + '\0';
  bytes += char(dict.size());
  bytes += char(dict.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + dict + values;
}

std::string dict(const std::string& type, const std::string& order, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes;
  for (const Number number : numbers) {
    std::string one(sizeof number, '\0');
    std::memcpy(one.data(), &number, sizeof number);
    bytes += one;
  }
  return bytes;
}

struct Matrix {
  int rows, columns;
  std::vector<float> values;
};

Matrix read_npy(const std::string& path) {
  const NpyFile file = open_npy(path);
  const Floats values = read_values(file);
  return {file.header.rows, file.header.columns, {values.begin(), values.end()}};
}

// The refusal of these bytes without the file's name; "accepted" if they are read.
std::string refusal(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder / "X.npy";
  put(path, bytes);
  try {
    read_npy(path);
  } catch (const model::Refusal& refusal) {
    const std::string what = refusal.what();
    CHECK(what.starts_with(path + ": "));
    return what.substr(path.size() + 2);
  }
  return "accepted";
}

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};
const std::string kNotNumPy =
    "the .npy header is not one of a matrix as NumPy writes it; write the file again with "
    "numpy.save";

}  // namespace

TEST_CASE("a matrix that is written and read again has the same bits") {
  const Folder folder;
  const std::vector<float> values = {
      0.0f, -0.0f, 1e-45f, 3.4e38f, -std::numeric_limits<float>::infinity(), 0.1f};
  write_npy(folder / "X.npy", 2, 3, values.data());
  const Matrix matrix = read_npy(folder / "X.npy");
  CHECK(matrix.rows == 2);
  CHECK(matrix.columns == 3);
  CHECK(bytes_of(matrix.values) == bytes_of(values));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a matrix without elements is written and read") {
  const Folder folder;
  write_npy(folder / "X.npy", 0, 5, nullptr);
  const Matrix matrix = read_npy(folder / "X.npy");
  CHECK(matrix.rows == 0);
  CHECK(matrix.columns == 5);
  CHECK(matrix.values.empty());
}

TEST_CASE("the file is byte for byte what numpy.save writes") {
  const Folder folder;
  write_npy(folder / "X.npy", 2, 3, kValues.data());
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  CHECK(contents(folder / "X.npy") == npy(1, header, bytes_of(kValues)));
}

TEST_CASE("every version, type and layout gives the same matrix") {
  const std::vector<double> doubles(kValues.begin(), kValues.end());
  const std::vector<float> by_columns = {1, 4, 2, 5, 3, 6};
  const std::vector<double> doubles_by_columns(by_columns.begin(), by_columns.end());
  const Folder folder;
  for (int version : {1, 2, 3}) {
    for (const std::string& file :
         {npy(version, dict("<f4", "False", "(2, 3)"), bytes_of(kValues)),
          npy(version, dict("<f8", "False", "(2, 3)"), bytes_of(doubles)),
          npy(version, dict("<f4", "True", "(2, 3)"), bytes_of(by_columns)),
          npy(version, dict("<f8", "True", "(2, 3)"), bytes_of(doubles_by_columns)),
          npy(version, "{\"shape\":(2L,3L),'fortran_order':False,'descr':'<f4'}",
              bytes_of(kValues))}) {
      put(folder / "X.npy", file);
      const Matrix matrix = read_npy(folder / "X.npy");
      CHECK(matrix.rows == 2);
      CHECK(matrix.columns == 3);
      CHECK(matrix.values == kValues);
    }
  }
}

TEST_CASE("a file that is cut off anywhere is refused") {
  const std::string whole = npy(1, dict("<f4", "False", "(2, 3)"), bytes_of(kValues));
  REQUIRE(refusal(whole) == "accepted");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refusal(whole.substr(0, bytes)) != "accepted");
  }
  CHECK(
      refusal(whole.substr(0, whole.size() - 1)) ==
      "is 2 x 3 by its header, and has only 5 numbers; write the file again");
  CHECK(refusal(whole.substr(0, 30)) == "the file ends within its header; write it again");
}

TEST_CASE("a shape that the file cannot hold is refused before anything is allocated") {
  const auto with_shape = [](const std::string& shape) {
    return refusal(npy(1, dict("<f8", "False", shape), ""));
  };
  CHECK(
      with_shape("(2147483647, 2147483647)") ==
      "is 2147483647 x 2147483647 by its header, and has only 0 numbers; write the file again");
  CHECK(
      with_shape("(4294967296, 4294967296)") ==
      "is 4294967296 x 4294967296, and a side has at most 2147483647 elements; "
      "save a smaller matrix");
  CHECK(with_shape("(0, 2147483648)").find("a side has at most") != std::string::npos);
  for (const char* shape : {"(99999999999999999999999, 1)", "(-1, 3)", "(1.5, 3)"}) {
    CHECK(with_shape(shape) == kNotNumPy);
  }
}

TEST_CASE("files that are not matrices as NumPy writes them get the advice in the golden file") {
  std::string lines;
  const auto add = [&](const std::string& what, const std::string& bytes) {
    lines += what + ": " + refusal(bytes) + "\n";
  };
  const std::string values = bytes_of(std::vector<float>(64));
  add("nothing", "");
  add("text", "1,2,3\n4,5,6\n");
  for (const char* type : {"<i8", ""}) add(type, npy(1, dict(type, "False", "(8, 8)"), values));
  for (const char* shape :
       {"(8, 8)", "(0, 8)", "(5,)", "()", "(1, 1, 1)", "(08, 8)", "(8, 08)", "(00, 8)", "(8, 8) x",
        "((8, 8), 8)", "[8, 8]", "(8 8)", "(,8)"}) {
    add(shape, npy(1, dict("<f4", "False", shape), values));
  }
  for (const std::string header :
       {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1)}", "{}", "{'x': 1}"}) {
    add(header, npy(1, header, values));
  }
  for (const char* end :
       {"}   \n", "} x\n", "}{}", ", 'shape': (8, 8)}", ", 'descr': '<f4'}", "", " 'x'}"}) {
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 8)";
    add(end, npy(1, header + end, values));
  }
  add("Maybe", npy(1, dict("<f4", "Maybe", "(8, 8)"), values));
  std::string long_header = npy(2, dict("<f4", "False", "(1, 1)"), std::string(70000, ' '));
  long_header[10] = 1;  // 65536 bytes more
  add("a long header", long_header);
  for (const int version : {1, 2, 3, 4}) {
    std::string file = npy(version, dict("<f4", "False", "(8, 8)"), values);
    add("version", file);
    file[7] = 1;
    add("minor version 1", file);
  }
  for (const double value : {1e39, -1e300, HUGE_VAL, std::nan("")}) {
    for (const char* order : {"False", "True"}) {
      add(text::printed("float64 %g, %s", value, order),
          npy(1, dict("<f8", order, "(2, 3)"), bytes_of<double>({0, value, 0, 0, 0, 0})));
    }
  }
  testing::compare_with_golden("npy", {{"each with its advice", lines}});
}

TEST_CASE("shapes are compared before the values of a file of 8 GB are read") {
  const Folder folder;
  put(folder / "A.npy", npy(1, dict("<f4", "False", "(1, 2000000000)"), ""));
  std::filesystem::resize_file(folder / "A.npy", std::uintmax_t{8'000'000'200});
  put(folder / "B.npy", npy(1, dict("<f4", "False", "(2, 3)"), bytes_of(kValues)));
  Request request;
  for (const bool first : {true, false}) {
    request.a = folder / (first ? "A.npy" : "B.npy");
    request.b = folder / (first ? "B.npy" : "A.npy");
    const std::clock_t begun = std::clock();
    CHECK_THROWS_AS(load_problem(request, false), model::Refusal);
    CHECK((std::clock() - begun) / CLOCKS_PER_SEC < 1);
  }
  put(folder / "C.npy", npy(1, dict("<f4", "False", "(3, 2)"), bytes_of(kValues)));
  request.a = folder / "B.npy";
  request.b = folder / "C.npy";
  request.c = folder / "A.npy";
  CHECK_THROWS_WITH_AS(
      load_problem(request, false),
      (request.c + " is 1 x 2000000000, but A times B is 2 x 2").c_str(), model::Refusal);
}

TEST_CASE("only a regular file can be read") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(
      read_npy(folder / "none"), (folder / "none: no such file; check the name").c_str(),
      model::Refusal);
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    CHECK_THROWS_WITH_AS(
        open_npy(path),
        (path + ": a pipe or device, not a file; write its output to a file first").c_str(),
        model::Refusal);
  }
  const std::string here = folder.path().string();
  CHECK_THROWS_WITH_AS(
      open_npy(here), (here + ": a folder, not a file; check the name").c_str(), model::Refusal);
}

TEST_CASE("a path that cannot be written is refused before the work, and no file is left") {
  const Folder folder;
  check_writable(folder / "X.npy");
  CHECK(files_in(folder) == 0);
  put(folder / "X.npy", "before");
  check_writable(folder / "X.npy");
  CHECK(contents(folder / "X.npy") == "before");

  const auto refused = [](const std::string& path, const std::string& why) {
    const std::string sentence = text::echoed(path) + ": cannot be written (" + why +
                                 "); give a file in a folder that you may write to";
    CHECK_THROWS_WITH_AS(check_writable(path), sentence.c_str(), model::Refusal);
    CHECK_THROWS_WITH_AS(write_npy(path, 1, 1, kValues.data()), sentence.c_str(), model::Refusal);
  };
  refused(folder / "none/X.npy", "No such file or directory");
  refused(folder / "X.npy/Y.npy", "Not a directory");
  refused(folder.path().string(), "it is a folder");
  refused("/dev/null", "it is a device or pipe");
  refused(folder / std::string(300, 'x'), "File name too long");
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::permissions(
        folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    refused(folder / "Z.npy", "Permission denied");
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  }
  CHECK(files_in(folder) == 1);
}

TEST_CASE("writing replaces the file that a link points to, and keeps the link") {
  const Folder folder;
  put(folder / "target.npy", "before");
  std::filesystem::create_symlink("target.npy", folder / "link.npy");
  write_npy(folder / "link.npy", 2, 3, kValues.data());
  CHECK(std::filesystem::is_symlink(folder / "link.npy"));
  CHECK(read_npy(folder / "target.npy").values == kValues);
}

TEST_CASE("a write that fails halfway leaves only the old file") {
  const Folder folder;
  put(folder / "X.npy", "before");
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_AS(write_npy(folder / "X.npy", 2, 3, kValues.data()), model::Refusal);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  CHECK(contents(folder / "X.npy") == "before");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("any bytes are read as a complete .npy file or refused in one sentence") {
  std::vector<std::string> files{
      npy(1, "{\"shape\":(2L,3L),'fortran_order':False,'descr':'<f4'}", std::string(24, '\0'))};
  for (const int version : {1, 2, 3}) {
    for (const char* type : {"<f4", "<f8"}) {
      for (const char* order : {"True", "False"}) {
        files.push_back(npy(version, dict(type, order, "(2, 3)"), std::string(48, '\0')));
      }
    }
  }
  std::vector<std::string> words = testing::lines_of(
      "'descr'\n'shape'\n'fortran_order'\n(\n)\n(2, 3)\n((\n08\nL\nTrue\n{\n}\n"
      "99999999999999999999\n4294967296\n2147483647\n-1\n'<f4'\n[('x', '<f4')]\n, \n: \n"
      "\x93NUMPY\n\xff\xff\n\x1b[31m");
  words.push_back("\n");
  testing::Fuzz fuzz(files, words);
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); },
      [&](const std::string& bytes) {
        // Only the first part of a file is read, and a truncated file is even shorter.
        const std::uint64_t more = fuzz.one_in(10) ? fuzz.upto(std::uint64_t{1} << 40) : 0;
        const std::uint64_t file_bytes = bytes.size() + more;
        const NpyHeader header = npy_header("X.npy", bytes, file_bytes);
        REQUIRE(header.rows >= 0);
        REQUIRE(header.columns >= 0);
        REQUIRE((header.number_bytes == 4 || header.number_bytes == 8));
        const double needed = double(header.rows) * header.columns * header.number_bytes;
        REQUIRE(double(header.at_value) + needed <= double(file_bytes));
      });
}

}  // namespace lab
