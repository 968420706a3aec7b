#include "testing/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "text/json.h"
#include "text/numbers.h"

namespace testing {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{300};  // machines that run tests may be busy

[[noreturn]] void fail(const std::string& sentence) {
  throw std::runtime_error("browser: " + sentence);
}

std::string address_of(const std::string& path_or_url) {
  if (path_or_url.find(':') != std::string::npos) return path_or_url;
  const std::size_t fragment = path_or_url.find('#');
  const std::string file = std::filesystem::absolute(path_or_url.substr(0, fragment));
  std::string address = "file://";
  for (const char c : file) address += c == '%' ? "%25" : c == '?' ? "%3F" : std::string(1, c);
  return fragment == std::string::npos ? address : address + path_or_url.substr(fragment);
}

std::string at(const text::JsonValues& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "" : found->second;
}

// The message of an exception that a script threw, or the exception itself.
std::string thrown(const text::JsonValues& values, const std::string& details) {
  for (const char* path : {"exception.description", "exception.value", "text"}) {
    if (std::string text = at(values, details + path); !text.empty()) return text;
  }
  return "";
}

// A message of the page, as a complaint if it is one.
std::string described(const text::JsonValues& event) {
  const std::string method = at(event, "method");
  if (method == "Runtime.exceptionThrown") {
    return "exception: " + thrown(event, "params.exceptionDetails.");
  }
  const std::string kind = at(event, "params.entry.level") + at(event, "params.type");
  if (kind != "error" && kind != "warning" && kind != "assert") return "";
  if (method == "Log.entryAdded") {
    return kind + ": " + at(event, "params.entry.text") + " " + at(event, "params.entry.url");
  }
  if (method != "Runtime.consoleAPICalled") return "";
  std::string text = "console." + kind + ":";
  for (int i = 0;; ++i) {
    const std::string argument = "params.args." + std::to_string(i) + ".";
    if (!event.contains(argument + "type")) return text;
    const bool has_value = event.contains(argument + "value");
    text += " " + at(event, argument + (has_value ? "value" : "description"));
  }
}

}  // namespace

std::string find_browser() {
  if (const char* named = std::getenv("GEMM_STEPS_BROWSER")) return named;
  const std::string found = run("command -v chromium chromium-browser google-chrome").out;
  return found.substr(0, found.find('\n'));
}

Browser::Browser(const std::string& executable) {
  if (executable.empty()) fail("there is none");
  try {
    start(executable);
  } catch (...) {
    stop();
    throw;
  }
}

Browser::~Browser() {
  stop();
}

void Browser::start(const std::string& executable) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(std::string("no socket: ") + std::strerror(errno));
  }
  pipe_ = ends[0];
  const std::string socket = std::to_string(ends[1]);
  const std::string command_line =
      "exec '" + executable + "' --user-data-dir='" + folder_ / "profile" +
      "' --headless --remote-debugging-pipe --disable-gpu --enable-precise-memory-info "
      "--no-first-run --disable-breakpad --disable-crash-reporter --disable-extensions "
      "--disable-sync --mute-audio --disable-background-networking --disable-component-update "
      "--disable-dev-shm-usage --disable-features=BackForwardCache --force-device-scale-factor=1 " +
      (geteuid() == 0 ? "--no-sandbox " : "") +  // root cannot have a sandbox
      "about:blank </dev/null >'" + folder_ / "log" + "' 2>&1 3<&" + socket + " 4>&" + socket;
  const pid_t tests = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != tests) _exit(127);
    setpgid(0, 0);
    fcntl(ends[1], F_SETFD, 0);  // stays open in the browser
    execl("/bin/bash", "bash", "-c", command_line.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  if (process_ < 0) fail(std::string("cannot start a process: ") + std::strerror(errno));
  setpgid(process_, process_);
  owner_ = tests;

  const std::string target =
      result_of("Target.createTarget", R"({"url":"about:blank"})", "targetId");
  session_ = result_of(
      "Target.attachToTarget", R"({"flatten":true,"targetId":)" + text::json_string(target) + "}",
      "sessionId");
  for (const char* domain : {"Page", "Runtime", "Log"}) command(domain + std::string(".enable"));
  command("Page.setLifecycleEventsEnabled", R"({"enabled":true})");
  command("Emulation.setFocusEmulationEnabled", R"({"enabled":true})");
}

void Browser::stop() {
  if (owner_ != getpid()) return;  // a child process has a copy of this object
  close(pipe_);
  kill(-process_, SIGKILL);  // with all of its processes
  waitpid(process_, nullptr, 0);
  owner_ = -1;
}

void Browser::open(const std::string& path_or_url, int width, int height) {
  command(
      "Emulation.setDeviceMetricsOverride",
      text::printed(
          R"({"width":%d,"height":%d,"deviceScaleFactor":1,"mobile":false})", width, height));
  // Another fragment of the same page would not load it anew.
  for (const std::string& address : {std::string("about:blank"), address_of(path_or_url)}) {
    complaints_.clear();
    const text::JsonValues navigation =
        text::json_values(command("Page.navigate", "{\"url\":" + text::json_string(address) + "}"));
    const std::string error = at(navigation, "errorText");
    if (!error.empty()) fail("cannot open " + address + ": " + error);
    const std::string load = at(navigation, "loaderId");
    const Time deadline = Clock::now() + kPatience;
    while (loaded_ != load) note(receive(deadline, "the page " + address));
  }
}

std::string Browser::evaluate(const std::string& js) {
  const std::string reply = command(
      "Runtime.evaluate",
      R"({"awaitPromise":true,"returnByValue":true,"userGesture":true,"expression":)" +
          text::json_string(js) + "}");
  const text::JsonParts parts = text::json_parts(reply);
  if (parts.contains("exceptionDetails")) {
    throw std::runtime_error(thrown(text::json_values(reply), "exceptionDetails."));
  }
  const auto value = parts.find("result.value");
  return value == parts.end() ? "null" : std::string(value->second);
}

std::string Browser::text(const std::string& js) {
  return text::json_text(evaluate(js));
}

void Browser::press(const std::string& name) {
  const bool shifts = name.starts_with("Shift+");
  const std::string key = name.substr(shifts ? 6 : 0);
  // The numbers that Windows gives to keys, which Chromium asks for.
  static const std::map<std::string, int> kNumbers = {
      {"Tab", 9},        {"Enter", 13},   {" ", 32},          {"End", 35},      {"Home", 36},
      {"ArrowLeft", 37}, {"ArrowUp", 38}, {"ArrowRight", 39}, {"ArrowDown", 40}};
  const auto named = kNumbers.find(key);
  if (named == kNumbers.end() && key.size() != 1) fail("there is no key " + key);
  const unsigned char letter = key[0];
  const int number = named != kNumbers.end() ? named->second
                     : std::isalnum(letter)  ? std::toupper(letter)
                                             : 0;
  const std::string text = key == "Enter" ? "\r" : key.size() == 1 ? key : "";
  for (const char* type : {text.empty() ? "rawKeyDown" : "keyDown", "keyUp"}) {
    const bool writes = type == std::string_view("keyDown");
    command(
        "Input.dispatchKeyEvent",
        text::printed(
            R"({"type":"%s","key":%s,"text":%s,"windowsVirtualKeyCode":%d,"modifiers":%d})", type,
            text::json_string(key).c_str(), text::json_string(writes ? text : "").c_str(), number,
            shifts || (key.size() == 1 && std::isupper(letter)) ? 8 : 0));
  }
}

std::vector<std::string> Browser::complaints() {
  evaluate("0");  // what the page reported before is received by then
  return complaints_;
}

double Browser::heap_mb() {
  command("HeapProfiler.collectGarbage");
  return std::stod(result_of("Runtime.getHeapUsage", "{}", "usedSize")) / 1e6;
}

void Browser::media(bool dark, bool reduced_motion, bool print) {
  command(
      "Emulation.setEmulatedMedia",
      text::printed(
          R"({"media":"%s","features":[{"name":"prefers-color-scheme","value":"%s"},)"
          R"({"name":"prefers-reduced-motion","value":"%s"}]})",
          print ? "print" : "", dark ? "dark" : "light",
          reduced_motion ? "reduce" : "no-preference"));
}

std::string Browser::command(const std::string& method, const std::string& parameters) {
  const std::string id = std::to_string(++last_id_);
  std::string message =
      "{\"id\":" + id + ",\"method\":" + text::json_string(method) + ",\"params\":" + parameters;
  if (!session_.empty()) message += ",\"sessionId\":" + text::json_string(session_);
  send(message + "}");
  const Time deadline = Clock::now() + kPatience;
  for (;;) {
    const std::string reply = receive(deadline, method);
    const text::JsonParts parts = text::json_parts(reply);
    if (const auto of = parts.find("id"); of == parts.end() || of->second != id) {
      note(reply);
      continue;
    }
    if (const auto error = parts.find("error.message"); error != parts.end()) {
      fail(method + ": " + text::json_text(error->second));
    }
    const auto result = parts.find("result");
    return result == parts.end() ? "{}" : std::string(result->second);
  }
}

std::string Browser::result_of(
    const std::string& method, const std::string& parameters, const std::string& path) {
  return at(text::json_values(command(method, parameters)), path);
}

void Browser::send(const std::string& message) {
  // With the NUL that ends it. No signal is raised if the browser is gone.
  const auto bytes = static_cast<ssize_t>(message.size() + 1);
  if (::send(pipe_, message.c_str(), bytes, MSG_NOSIGNAL) != bytes) fail("it ended" + last_words());
}

std::string Browser::receive(Time deadline, const std::string& waiting_for) {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = received_.find('\0', searched);
    if (end != std::string::npos) {
      const std::string message = received_.substr(0, end);
      received_.erase(0, end + 1);
      return message;
    }
    searched = received_.size();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{pipe_, POLLIN, 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      fail("no answer to " + waiting_for + " within " + std::to_string(kPatience.count()) + " s");
    }
    std::array<char, 65536> bytes;
    const ssize_t got = read(pipe_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("it ended during " + waiting_for + last_words());
    received_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

void Browser::note(std::string_view message) {
  const text::JsonValues event = text::json_values(message);
  if (at(event, "method") == "Page.lifecycleEvent") {
    if (at(event, "params.name") == "load") loaded_ = at(event, "params.loaderId");
    return;
  }
  const std::string complaint = described(event);
  if (!complaint.empty()) complaints_.push_back(complaint);
}

std::string Browser::last_words() const {
  constexpr std::size_t kMost = 600;
  const std::string log = contents(folder_ / "log");
  return ": " + log.substr(log.size() > kMost ? log.size() - kMost : 0);
}

Browser& shared_browser() {
  static Browser browser;
  return browser;
}

}  // namespace testing
