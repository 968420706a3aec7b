// A browser without a window, driven as a user would: pages are opened and keys are pressed.
#pragma once

#include <doctest/doctest.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "testing/program.h"

namespace testing {

// The browser that the environment variable GEMM_STEPS_BROWSER names, else Chromium or Chrome from
// PATH; empty if there is none.
std::string find_browser();

// For a test that needs a browser: says so if there is none.
inline bool there_is_no_browser() {
  if (!find_browser().empty()) return false;
  MESSAGE("skipped: there is no browser; install chromium, or set GEMM_STEPS_BROWSER to its path");
  return true;
}

// Chromium speaks the DevTools protocol over a pipe: JSON, each message ended by a NUL. It ends
// with this object, and with the process of the tests. Every member that waits does so for a
// limited time. All throw std::runtime_error with a sentence for whatever goes wrong.
class Browser {
 public:
  explicit Browser(const std::string& executable = find_browser());
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Opens a file or an address, and returns when it is loaded. Sizes are in CSS pixels.
  void open(const std::string& path_or_url, int width = 1280, int height = 720);

  // The value of a JavaScript expression as JSON; "null" for undefined. A promise is awaited.
  // Throws the exception's text if the script throws.
  std::string evaluate(const std::string& js);
  // The value of an expression that is a string, without its quotes.
  std::string text(const std::string& js);

  // Presses and releases a key: a character, or a name such as "ArrowRight", "Enter" or "Tab";
  // "Shift+Tab" holds Shift down.
  void press(const std::string& key);

  // The page's complaints since it was opened: errors and warnings in the console, exceptions that
  // nobody caught, files that were not found.
  std::vector<std::string> complaints();

  // What the page's script holds, without garbage.
  double heap_mb();

  // The user's preferences, or paper.
  void media(bool dark, bool reduced_motion, bool print);

 private:
  using Time = std::chrono::steady_clock::time_point;

  void start(const std::string& executable);
  void stop();
  // Sends a command to the page, and returns the result.
  std::string command(const std::string& method, const std::string& parameters = "{}");
  // The text or number at that path of what it returns; empty if there is none.
  std::string result_of(
      const std::string& method, const std::string& parameters, const std::string& path);
  void send(const std::string& message);
  std::string receive(Time deadline, const std::string& waiting_for);
  void note(std::string_view message);
  std::string last_words() const;

  Folder folder_;  // the browser's profile, and what it printed
  pid_t process_ = -1, owner_ = -1;
  int pipe_ = -1;
  int last_id_ = 0;
  std::string session_;   // of the page
  std::string received_;  // not yet a whole message
  std::string loaded_;    // the number of the last load that is complete
  std::vector<std::string> complaints_;
};

// One browser for all tests of a process, because it takes a second to start.
Browser& shared_browser();

}  // namespace testing
