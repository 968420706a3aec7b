#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "testing/fuzz.h"
#include "text/echoed.h"
#include "text/json.h"
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

TEST_CASE("any text has a short echo in valid UTF-8 that does not change when echoed again") {
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

TEST_CASE("a member of a JSON text is found after any other text") {
  const char* json = R"({"a":{"x":"}\",]{"},"b":[1, {"x":2}],"x":{"y":-1.5e3,"z":null}})";
  const JsonParts parts = json_parts(json);
  CHECK(parts.at("") == json);
  CHECK(parts.at("x.y") == "-1.5e3");
  CHECK(parts.at("x.z") == "null");
  CHECK(parts.at("b") == R"([1, {"x":2}])");
  CHECK(parts.at("a.x") == R"("}\",]{")");
  CHECK(!parts.contains("a.y"));
  CHECK(!parts.contains("b.x"));
}

TEST_CASE("a JSON string stands for the text that was quoted") {
  const std::string text = "a\"\\\n\x1f/ \u00e9 \u2026 \U0001f600";
  CHECK(json_text(json_string(text)) == text);
  CHECK(json_text(R"("\u00e9\t\/\ud83d\ude00\u2026")") == "\u00e9\t/\U0001f600\u2026");
  CHECK(json_text(R"("\ud83dx\ude00\ud83d\u0041")") == "\ufffdx\ufffd\ufffdA");
  CHECK(json_text("1.5") == "1.5");
}

TEST_CASE("the values of JSON stand at their paths, without what is null") {
  const JsonValues values = json_values(
      R"( {"a": [ {"b": 1.5e3, "c": null}, true ], "name": "x \"\\\u00e9\u20ac\n", "e": {}, "f": []} )");
  CHECK(values == JsonValues{{"a.0.b", "1.5e3"}, {"a.1", "true"}, {"name", "x \"\\é€\n"}});
}

TEST_CASE("what is not JSON is refused") {
  for (const char* bad : {"",       "{",     "[1,]",    "{\"a\" 1}",   "{\"a\": 1} 2",
                          "nul",    "\"a",   "\"\\x\"", "\"\\u12\"",   "1x",
                          "{1: 2}", "[1 2]", "01",      "1.",          ".5",
                          "-",      "+1",    "1e",      "inf",         "nan",
                          "nulls",  "True",  "\"\t\"",  "\"\\u00g0\"", R"({"a": 1, "a": 2})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(json_values(bad), std::invalid_argument);
  }
  CHECK_THROWS_AS(json_values(std::string(100'000, '[')), std::invalid_argument);
}

TEST_CASE("any text is written and read as the same JSON, and text that is not JSON is refused") {
  testing::Fuzz inputs(
      {R"({"a": [1, 2.5, {"b": "text"}], "c": null, "d": true})", R"(["\u00e9", "\n"])"},
      {"null", "true", "\\u0041", "[[", "]]", "{\"k\":"});
  testing::fuzz<std::invalid_argument>(
      [&] { return inputs.next(); }, [](const std::string& input) { json_values(input); });
  CHECK(json_values(json_string("\x01 é \" \\ end")).at("") == "\x01 é \" \\ end");
}

TEST_CASE("the numbers of bits are named in runs") {
  CHECK(numbers_of_bits(0) == "");
  CHECK(numbers_of_bits(1u << 5) == "5");
  CHECK(numbers_of_bits(0x0000000fu) == "0–3");
  CHECK(numbers_of_bits(0x80000003u) == "0, 1, 31");
  CHECK(numbers_of_bits(~0u) == "0–31");
}

}  // namespace text
