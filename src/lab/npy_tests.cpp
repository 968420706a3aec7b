#include <doctest/doctest.h>

#include <cstring>
#include <ctime>
#include <filesystem>
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

// A .npy file in NumPy's layout, with any header.
std::string npy(const std::string& dict, const std::string& values) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += char(dict.size());
  bytes += char(dict.size() >> 8);
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

std::vector<float> read_npy(const std::string& path, int rows, int columns) {
  const NpyFile file = open_npy(path);
  CHECK(file.header.rows == rows);
  CHECK(file.header.columns == columns);
  const Floats values = read_values(file);
  return {values.begin(), values.end()};
}

// The refusal of these bytes without the file's name; "accepted" if they are read.
std::string refusal(const std::string& bytes) {
  const Folder folder;
  folder.write("X.npy", bytes);
  const std::string path = folder / "X.npy";
  try {
    read_values(open_npy(path));
  } catch (const model::Refusal& refusal) {
    const std::string what = refusal.what();
    CHECK(what.starts_with(path + ": "));
    return what.substr(path.size() + 2);
  }
  return "accepted";
}

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("a matrix that is written and read again has the same bits") {
  const Folder folder;
  const std::vector<float> values = {
      0.0f, -0.0f, 1e-45f, 3.4e38f, -std::numeric_limits<float>::infinity(), 0.1f};
  write_npy(folder / "X.npy", 2, 3, values.data());
  CHECK(bytes_of(read_npy(folder / "X.npy", 2, 3)) == bytes_of(values));
  write_npy(folder / "X.npy", 0, 5, nullptr);
  CHECK(read_npy(folder / "X.npy", 0, 5).empty());
}

TEST_CASE("the file is byte for byte what numpy.save writes") {
  const Folder folder;
  write_npy(folder / "X.npy", 2, 3, kValues.data());
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  CHECK(contents(folder / "X.npy") == npy(header, bytes_of(kValues)));
}

TEST_CASE("both types and both orders give the same matrix") {
  const std::vector<double> doubles(kValues.begin(), kValues.end());
  const std::vector<float> by_columns = {1, 4, 2, 5, 3, 6};
  const std::vector<double> doubles_by_columns(by_columns.begin(), by_columns.end());
  const Folder folder;
  for (const std::string& file :
       {npy(dict("<f4", "False", "(2, 3)"), bytes_of(kValues)),
        npy(dict("<f8", "False", "(2, 3)"), bytes_of(doubles)),
        npy(dict("<f4", "True", "(2, 3)"), bytes_of(by_columns)),
        npy(dict("<f8", "True", "(2, 3)"), bytes_of(doubles_by_columns)),
        npy("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", bytes_of(kValues))}) {
    folder.write("X.npy", file);
    CHECK(read_npy(folder / "X.npy", 2, 3) == kValues);
  }
}

TEST_CASE("a file that is cut off anywhere is refused") {
  const std::string whole = npy(dict("<f4", "False", "(2, 3)"), bytes_of(kValues));
  REQUIRE(refusal(whole) == "accepted");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refusal(whole.substr(0, bytes)) != "accepted");
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
  add("the start", npy(dict("<f4", "False", "(8, 8)"), values).substr(0, 30));
  for (const char* type : {"<i8", "", "<f4' "})
    add(type, npy(dict(type, "False", "(8, 8)"), values));
  for (const char* shape :
       {"(8, 8)", "(0, 8)", "(5,)", "()", "(1, 1, 1)", "(8, 8) x", "((8, 8), 8)", "[8, 8]", "(8 8)",
        "(,8)", "(8, 9)", "(2147483647, 2147483647)", "(4294967296, 4294967296)", "(0, 2147483648)",
        "(99999999999999999999999, 1)", "(-1, 3)", "(1.5, 3)"}) {
    add(shape, npy(dict("<f4", "False", shape), values));
  }
  for (const std::string header :
       {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1)}", "{}"}) {
    add(header, npy(header, values));
  }
  for (const char* end : {"}   \n", "} x\n", "}{}", ", 'x'}"}) {
    add(end,
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (8, 8)" + std::string(end), values));
  }
  add("Maybe", npy(dict("<f4", "Maybe", "(8, 8)"), values));
  std::string version_2 = npy(dict("<f4", "False", "(8, 8)"), values);
  version_2[6] = 2;
  add("version 2.0", version_2);
  for (const double value : {1e39, -1e300, HUGE_VAL, std::nan("")}) {
    for (const char* order : {"False", "True"}) {
      add(text::printed("float64 %g, %s", value, order),
          npy(dict("<f8", order, "(2, 3)"), bytes_of<double>({0, value, 0, 0, 0, 0})));
    }
  }
  testing::compare_with_golden("npy", {{"each with its advice", lines}});
}

TEST_CASE("shapes are compared before the values of a file of 8 GB are read") {
  const Folder folder;
  folder.write("A.npy", npy(dict("<f4", "False", "(1, 2000000000)"), ""));
  std::filesystem::resize_file(folder / "A.npy", std::uintmax_t{8'000'000'200});
  folder.write("B.npy", npy(dict("<f4", "False", "(2, 3)"), bytes_of(kValues)));
  Request request;
  for (const bool first : {true, false}) {
    request.a = folder / (first ? "A.npy" : "B.npy");
    request.b = folder / (first ? "B.npy" : "A.npy");
    const std::clock_t begun = std::clock();
    CHECK_THROWS_AS(load_problem(request, false), model::Refusal);
    CHECK((std::clock() - begun) / CLOCKS_PER_SEC < 1);
  }
  folder.write("C.npy", npy(dict("<f4", "False", "(3, 2)"), bytes_of(kValues)));
  request.a = folder / "B.npy";
  request.b = folder / "C.npy";
  request.c = folder / "A.npy";
  CHECK_THROWS_WITH_AS(
      load_problem(request, false),
      (request.c + " is 1 x 2000000000, but A times B is 2 x 2").c_str(), model::Refusal);
}

TEST_CASE("a path that cannot be read or written is refused before the work") {
  const Folder folder;
  const std::string file = folder / "X.npy";
  CHECK_THROWS_WITH_AS(
      open_npy(file), (file + ": no such file; check the name").c_str(), model::Refusal);
  folder.write("X.npy", "before");
  check_writable(file);
  CHECK(contents(file) == "before");
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {folder / "none/X.npy", "No such file or directory"},
           {file + "/Y.npy", "Not a directory"},
           {folder.path().string(), "it is a folder"},
           {"/dev/null", "it is a device or pipe"},
           {folder / std::string(300, 'x'), "File name too long"}}) {
    const std::string sentence = text::echoed(path) + ": cannot be written (" + why +
                                 "); give a file in a folder that you may write to";
    CHECK_THROWS_WITH_AS(check_writable(path), sentence.c_str(), model::Refusal);
    CHECK_THROWS_WITH_AS(write_npy(path, 1, 1, kValues.data()), sentence.c_str(), model::Refusal);
  }
}

TEST_CASE("any bytes are read as a complete .npy file or refused in one sentence") {
  std::vector<std::string> files;
  for (const char* type : {"<f4", "<f8"}) {
    for (const char* order : {"True", "False"}) {
      files.push_back(npy(dict(type, order, "(2, 3)"), std::string(48, '\0')));
    }
  }
  std::vector<std::string> words = testing::lines_of(
      "'descr'\n'shape'\n'fortran_order'\n(\n)\n(2, 3)\n((\n08\nTrue\n{\n}\n"
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
