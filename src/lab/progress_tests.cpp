#include "lab/progress.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "testing/environment.h"

namespace lab {

namespace {

// Both ends of a terminal: text that is written to `out` can be read back.
struct Terminal {
  const testing::Variable name{"TERM", "xterm"};
  int screen = posix_openpt(O_RDWR | O_NOCTTY);
  std::FILE* out = nullptr;

  Terminal() {
    REQUIRE(screen >= 0);
    REQUIRE(grantpt(screen) == 0);
    REQUIRE(unlockpt(screen) == 0);
    out = std::fopen(ptsname(screen), "w");
    REQUIRE(out != nullptr);
    fcntl(screen, F_SETFL, O_NONBLOCK);
    fcntl(fileno(out), F_SETFL, O_NONBLOCK);  // a full terminal must not block the test
  }
  ~Terminal() {
    std::fclose(out);
    close(screen);
  }

  // What has been written. The kernel may deliver it a moment later.
  std::string shown() const {
    constexpr int kPatienceMs = 200;
    std::string text;
    char part[4096];
    for (pollfd waiting{screen, POLLIN, 0}; poll(&waiting, 1, kPatienceMs) > 0;) {
      const ssize_t bytes = read(screen, part, sizeof part);
      if (bytes <= 0) break;
      text.append(part, bytes);
    }
    return text;
  }
};

constexpr auto kLongerThanTheInterval = std::chrono::milliseconds(120);

}  // namespace

TEST_CASE("a bar on a terminal shows the part that is done and erases itself at the end") {
  const Terminal terminal;
  {
    Progress bar("reference", 200, terminal.out);
    std::this_thread::sleep_for(kLongerThanTheInterval);
    bar.advance(50);
  }
  const std::string shown = terminal.shown();
  CHECK(shown.starts_with("\r\033[Kreference [#######.......................]  25 %, "));
  CHECK(shown.ends_with("\r\033[K"));
}

TEST_CASE("a bar is drawn rarely even if it is called often, and short work shows none") {
  const Terminal terminal;
  {
    Progress bar("short", 100000, terminal.out);
    for (int i = 0; i < 1000; ++i) bar.advance(1);
  }
  CHECK(terminal.shown().empty());
  {
    Progress bar("long", 100000, terminal.out);
    std::this_thread::sleep_for(kLongerThanTheInterval);
    for (int i = 0; i < 1000; ++i) bar.advance(1);
  }
  const std::string shown = terminal.shown();
  CHECK(shown.find("long") != std::string::npos);
  CHECK(shown.find("long") == shown.rfind("long"));
}

TEST_CASE("a bar counts the work of all threads") {
  const Terminal terminal;
  {
    Progress bar("threads", 4001, terminal.out);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) bar.advance(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    terminal.shown();
    std::this_thread::sleep_for(kLongerThanTheInterval);
    bar.advance(1);
  }
  CHECK(terminal.shown().find("100 %") != std::string::npos);
}

TEST_CASE("a bar on a file, or of no work, writes nothing") {
  std::FILE* file = std::tmpfile();
  const Terminal terminal;
  {
    Progress bar("file", 2, file);
    Progress empty("empty", 0, terminal.out);
    std::this_thread::sleep_for(kLongerThanTheInterval);
    bar.advance(1);
    empty.advance(1);
  }
  CHECK(std::ftell(file) == 0);
  CHECK(terminal.shown().empty());
  std::fclose(file);
}

}  // namespace lab
