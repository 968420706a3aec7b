#include "text/printable.h"

#include <doctest/doctest.h>

namespace text {

TEST_CASE(
    "invalid UTF-8 and invisible characters are shown byte by byte; line breaks may be kept") {
  CHECK(printable("a\tb\nc") == R"(a\tb\nc)");
  CHECK(printable("a\tb\nc\n", true) == "a\\tb\nc\n");
  CHECK(
      printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(printable("\xc3") == R"(\xc3)");
  CHECK(printable("\xe2\x82") == R"(\xe2\x82)");
  CHECK(
      printable("\xc2\x9b"
                "2J") == R"(\xc2\x9b2J)");                                // the same as ESC [
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == R"(\xc0\xaf\xed\xa0\x80)");  // too long; half a pair
  CHECK(
      printable("\xe2\x80\xae"
                "live") == R"(\xe2\x80\xaelive)");  // right-to-left override
  CHECK(printable("\xff\xfe\xf4\x90\x80\x80") == R"(\xff\xfe\xf4\x90\x80\x80)");
}

}  // namespace text
