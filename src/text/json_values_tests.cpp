#include "text/json_values.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "testing/fuzz.h"
#include "text/json.h"

namespace text {

TEST_CASE("the values of JSON stand at their paths, without what is null") {
  const JsonValues values = json_values(
      R"( {"a": [ {"b": 1.5e3, "c": null}, true ], "name": "x \"\\\u00e9\u20ac\n", "e": {}, "f": []} )");
  CHECK(values == JsonValues{{"a.0.b", "1.5e3"}, {"a.1", "true"}, {"name", "x \"\\é€\n"}});
}

TEST_CASE("what is not JSON is refused") {
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\" 1}", "{\"a\": 1} 2", "nul", "\"a", "\"\\x\"", "\"\\u12\"", "1x",
        "{1: 2}", "[1 2]"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(json_values(bad), std::invalid_argument);
  }
  CHECK_THROWS_AS(json_values(std::string(100'000, '[')), std::invalid_argument);
}

TEST_CASE("any text is written and read as the same JSON, and whatever is no JSON is refused") {
  testing::Fuzz inputs(
      {R"({"a": [1, 2.5, {"b": "text"}], "c": null, "d": true})", R"(["\u00e9", "\n"])"},
      {"null", "true", "\\u0041", "[[", "]]", "{\"k\":"});
  testing::fuzz<std::invalid_argument>(
      [&] { return inputs.next(); }, [](const std::string& input) { json_values(input); });
  CHECK(json_values(json_string("\x01 é \" \\ end")).at("") == "\x01 é \" \\ end");
}

}  // namespace text
