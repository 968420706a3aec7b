#include "text/echoed.h"

#include <doctest/doctest.h>

#include <string>

#include "testing/fuzz.h"
#include "text/numbers.h"
#include "text/utf8.h"

namespace text {

TEST_CASE("plain text is repeated as it was typed") {
  CHECK(echoed("") == "");
  CHECK(echoed("A.npy") == "A.npy");
  CHECK(echoed("C:\\x \"y\" 'z'") == "C:\\x \"y\" 'z'");
  CHECK(echoed("Größe – 数") == "Größe – 数");
}

TEST_CASE("characters that act on a terminal, hide, or are not UTF-8 are shown as bytes") {
  CHECK(echoed("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(echoed(std::string_view("\0\x1b[31m\x7f", 7)) == "\\x00\\x1b[31m\\x7f");
  CHECK(
      echoed("\xc2\x9b"
             "31m") == "\\xc2\\x9b31m");  // a C1 control character
  CHECK(
      echoed("\xe2\x80\xae"
             "abc") ==
      "\\xe2\\x80\\xae"
      "abc");                                            // writes from right to left
  CHECK(echoed("a\xe2\x80\x8b") == "a\\xe2\\x80\\x8b");  // has no width
  CHECK(echoed("\xff\xc3") == "\\xff\\xc3");
  CHECK(echoed("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
}

TEST_CASE("source lines are shown whole, and nothing in them acts on a terminal") {
  CHECK(shown_lines("").empty());
  CHECK(
      shown_lines("a\r\n\tb // \x1b[2J\n\nc") ==
      std::vector<std::string>{"a", "    b // \\x1b[2J", "", "c"});
  CHECK(shown_lines(std::string(1000, 'x') + "\n")[0].size() == 1000);
}

TEST_CASE("a long text loses its middle, and keeps more of its beginning than of its end") {
  const std::string sixty(60, 'x');
  CHECK(echoed(sixty) == sixty);
  const std::string cut = echoed("begin" + std::string(10'000, '-') + "end");
  CHECK(display_width(cut) == 60);
  CHECK(cut.starts_with("begin---"));
  CHECK(cut.ends_with("---end"));
  CHECK(cut.find("…") != cut.npos);
  CHECK(echoed("0123456789", 5) == "012…9");
  CHECK(echoed("0123456\n", 5) == "012…");  // an escape is not split
}

TEST_CASE(
    "whatever was typed, its echo is short, valid UTF-8, and does not change when echoed again") {
  testing::Fuzz fuzz(
      {"--size 1024", "Größe – 数", "\x1b[31mred\x1b[0m", std::string(70, 'x')},
      {"\xe2\x80\xae", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xc2\x9b", "\n", "…"});
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    const std::string typed = fuzz.next();
    const std::string shown = echoed(typed);
    bool is_utf8 = true;
    for (std::string_view rest = shown; !rest.empty() && is_utf8;) {
      is_utf8 = utf8_length(rest) > 0;
      rest.remove_prefix(utf8_length(rest));
    }
    if (!is_utf8 || display_width(shown) > kMostEchoed || echoed(shown) != shown) {
      FAIL_CHECK("input ", i, ": ", shown);
    }
  }
}

}  // namespace text
