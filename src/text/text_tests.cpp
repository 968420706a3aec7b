#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "testing/fuzz.h"
#include "text/echoed.h"
#include "text/json.h"
#include "text/numbers.h"

namespace text {

// What a function writes for each of these numbers.
template <class Number>
std::string each(std::string (*written)(Number), const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) text += (text.empty() ? "" : " ") + written(number);
  return text;
}

TEST_CASE("numbers have separators, few digits and units") {
  const double nan = std::nan("");
  CHECK(each(grouped, {0, 999, 196608, -1234567}) == "0 999 196,608 -1,234,567");
  CHECK(each(exact, {256, 1.125, 4096.5, -0.25}) == "256 1.125 4,096.5 -0.25");
  CHECK(each(significant, {0.02134, 9.999, 2748.4, 0, 999.6}) == "0.0213 10.0 2,748 0 1,000");
  CHECK(
      each(brief, {0, 0.001, 9.996, 98.64, 123456, -123456, nan}) ==
      "0 <0.01 10.0 98.6 123,456 -123,456 nan");
  CHECK(each(scientific, {1.23e-6, 0, nan}) == "1e-6 0 nan");
  CHECK(each(numbers_of_bits, {0u, 1u << 5, 0xfu, 0x80000003u, ~0u}) == "5 0–3 0, 1, 31 0–31");
  CHECK(ranges_of({0, 1, 30, 31, 32, 33, 63}) == "0, 1, 30–33, 63");
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

TEST_CASE(
    "what acts on a terminal, hides, or is not UTF-8 is shown byte by byte, all else as typed") {
  const std::pair<std::string_view, const char*> rows[] = {
      {"", ""},
      {"C:\\x \"y\" 'z' Größe – 数\xf0\x9f\x98\x80", "C:\\x \"y\" 'z' Größe – 数\xf0\x9f\x98\x80"},
      {"a\nb\tc\rd", R"(a\nb\tc\rd)"},
      {{"\0\x1b[31m\x7f", 7}, R"(\x00\x1b[31m\x7f)"},
      {"\xc2\x9b"
       "2J",
       R"(\xc2\x9b2J)"},  // a C1 control character, the same as ESC [
      {"\xe2\x80\xae"
       "abc",
       R"(\xe2\x80\xaeabc)"},                 // writes from right to left
      {"a\xe2\x80\x8b", R"(a\xe2\x80\x8b)"},  // has no width
      {"\xff\xc3", R"(\xff\xc3)"},
      {"\xe2\x82", R"(\xe2\x82)"},
      {"\xc0\xaf\xed\xa0\x80", R"(\xc0\xaf\xed\xa0\x80)"},  // too long; half a pair
      {"\xff\xfe\xf4\x90\x80\x80", R"(\xff\xfe\xf4\x90\x80\x80)"}};
  for (const auto& [typed, shown] : rows) {
    CHECK(echoed(typed) == shown);
    CHECK(printable(typed) == shown);
  }
  CHECK(printable("a\tb\nc\n", true) == "a\\tb\nc\n");
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

}  // namespace text
