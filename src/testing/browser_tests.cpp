#include "testing/browser.h"

#include <doctest/doctest.h>

#include "testing/program.h"

namespace testing {

TEST_CASE("the browser can be chosen by the environment") {
  const Variable chosen("GEMM_STEPS_BROWSER", "/nonexistent/browser");
  CHECK(find_browser() == "/nonexistent/browser");
  CHECK_THROWS_WITH_AS(Browser(), doctest::Contains("browser: it ended"), std::runtime_error);
}

TEST_CASE("a page in the browser answers, obeys keys, and its complaints are heard") {
  if (there_is_no_browser()) return;
  const Folder folder;
  folder.write(
      "page.html",
      "<!DOCTYPE html><title>t</title><input id=field><script>"
      "const keys = []; addEventListener('keydown', (e) => keys.push(e.key + e.shiftKey));"
      "</script>");
  folder.write(
      "noisy.html",
      "<!DOCTYPE html><title>t</title><script src=missing.js></script>"
      "<script>console.log('fine'); console.error('bad', 3); console.warn('odd'); "
      "nothing()</script>");
  Browser& browser = shared_browser();

  browser.open(folder / "page.html");
  CHECK(browser.complaints().empty());
  for (const char* script : {"missing.member", "("}) {
    CHECK_THROWS_AS(browser.evaluate(script), std::runtime_error);
  }
  for (const char* key : {"ArrowRight", "x", "Shift+Tab"}) browser.press(key);
  CHECK(browser.text("keys.join()") == "ArrowRightfalse,xfalse,Tabtrue");
  CHECK_THROWS_AS(browser.press("NoKey"), std::runtime_error);

  browser.open(folder / "noisy.html");
  const std::vector<std::string> complaints = browser.complaints();
  REQUIRE(complaints.size() == 4);
  CHECK(complaints[0].find("ERR_FILE_NOT_FOUND") != std::string::npos);
  CHECK(complaints[1] == "console.error: bad 3");
  CHECK(complaints[2] == "console.warning: odd");
  CHECK(complaints[3].find("nothing is not defined") != std::string::npos);
  browser.open(folder / "page.html");
  CHECK(browser.complaints().empty());
  CHECK_THROWS_AS(browser.open(folder / "missing.html"), std::runtime_error);
}

}  // namespace testing
