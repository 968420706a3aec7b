#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "text/numbers.h"

namespace text {

TEST_CASE("numbers have separators, few digits and units") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(196608) == "196,608");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(exact(256) == "256");
  CHECK(exact(1.125) == "1.125");
  CHECK(exact(4096.5) == "4,096.5");
  CHECK(exact(-0.25) == "-0.25");
  CHECK(significant(0.02134) == "0.0213");
  CHECK(significant(9.999) == "10.0");
  CHECK(significant(2748.4) == "2,748");
  CHECK(significant(0) == "0");
  CHECK(brief(0) == "0");
  CHECK(brief(0.001) == "<0.01");
  CHECK(brief(9.996) == "10.0");
  CHECK(brief(98.64) == "98.6");
  CHECK(brief(123456) == "123,456");
  CHECK(scientific(1.23e-6) == "1e-6");
  CHECK(scientific(0) == "0");
  CHECK(scientific(std::nan("")) == "nan");
  CHECK(significant(999.6) == "1,000");
  CHECK(brief(-123456) == "-123,456");
  CHECK(brief(std::nan("")) == "nan");
}

TEST_CASE("a width counts characters, not bytes") {
  CHECK(display_width("–") == 1);
  CHECK(display_width("ceil × ≠") == 8);
  CHECK(pad_left("–", 3) == "  –");
  CHECK(pad_right("×", 3) == "×  ");
  CHECK(pad_left("long", 2) == "long");
  CHECK(shortened("shared-memory", 7) == "shared…");
  CHECK(shortened("×××", 3) == "×××");
  CHECK(shortened("×××", 2) == "×…");
}

TEST_CASE("a paragraph is broken between words, and inside a word only if necessary") {
  CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("abcdefgh", 3) == std::vector<std::string>{"abc", "def", "gh"});
  CHECK(wrapped("", 10) == std::vector<std::string>{""});
  CHECK(labelled("occ", 5, "warps") == "occ  warps\n");
}

}  // namespace text
