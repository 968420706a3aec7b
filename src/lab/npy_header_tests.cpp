#include "lab/npy_header.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/refusal.h"
#include "testing/fuzz.h"

namespace lab {

namespace {

std::string file(int version, const std::string& dict, std::size_t bytes_of_values) {
  std::string text =
      std::string("\x93NUMPY") + char(version) + '\0' + char(dict.size()) + char(dict.size() >> 8);
  if (version > 1) text += std::string(2, '\0');
  return text + dict + std::string(bytes_of_values, '\0');
}

std::vector<std::string> valid_files() {
  std::vector<std::string> files;
  for (const int version : {1, 2, 3}) {
    for (const std::string type : {"<f4", ">f4", "<f8", ">f8"}) {
      for (const std::string order : {"True", "False"}) {
        files.push_back(file(
            version,
            "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (2, 3), }   \n",
            48));
      }
    }
  }
  files.push_back(file(1, "{\"shape\":(2L,3L),'fortran_order':False,'descr':'<f4'}", 24));
  return files;
}

}  // namespace

TEST_CASE("any bytes are read as a complete .npy file or refused in one sentence") {
  testing::Fuzz fuzz(
      valid_files(), {"'descr'",
                      "'shape'",
                      "'fortran_order'",
                      "(",
                      ")",
                      "(2, 3)",
                      "((",
                      "08",
                      "L",
                      "True",
                      "{",
                      "}",
                      "99999999999999999999",
                      "4294967296",
                      "2147483647",
                      "-1",
                      "'<f4'",
                      "[('x', '<f4')]",
                      ", ",
                      ": ",
                      "\x93NUMPY",
                      "\xff\xff",
                      "\x1b[31m",
                      "\n"});
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
