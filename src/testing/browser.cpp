#include "testing/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "text/json.h"

namespace testing {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{300};  // machines that run tests may be busy
constexpr std::chrono::seconds kGoodbye{5};

[[noreturn]] void fail(const std::string& sentence) {
  throw std::runtime_error("browser: " + sentence);
}

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string address_of(const std::string& path_or_url) {
  if (path_or_url.find(':') != std::string::npos) return path_or_url;
  const std::size_t fragment = path_or_url.find('#');
  const std::string file = std::filesystem::absolute(path_or_url.substr(0, fragment));
  std::string address = "file://";
  for (const char c : file) address += c == '%' ? "%25" : c == '?' ? "%3F" : std::string(1, c);
  return fragment == std::string::npos ? address : address + path_or_url.substr(fragment);
}

std::string decoded_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) break;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

// A key by the names of the UI Events standard, and by Windows' number, which Chromium asks for.
struct Key {
  std::string key, code, text;
  int number;
  int modifiers = 0;  // Alt 1, Control 2, Shift 8
};

Key key_of(std::string name) {
  int modifiers = 0;
  const auto held = [&](std::string_view modifier, int bit) {
    if (!name.starts_with(modifier) || name.size() == modifier.size()) return;
    name.erase(0, modifier.size());
    modifiers |= bit;
  };
  held("Alt+", 1), held("Control+", 2), held("Shift+", 8);

  static const Key kNamed[] = {
      {"Enter", "Enter", "\r", 13},
      {" ", "Space", " ", 32},
      {"Tab", "Tab", "", 9},
      {"Escape", "Escape", "", 27},
      {"Backspace", "Backspace", "", 8},
      {"Delete", "Delete", "", 46},
      {"ArrowLeft", "ArrowLeft", "", 37},
      {"ArrowUp", "ArrowUp", "", 38},
      {"ArrowRight", "ArrowRight", "", 39},
      {"ArrowDown", "ArrowDown", "", 40},
      {"Home", "Home", "", 36},
      {"End", "End", "", 35},
      {"PageUp", "PageUp", "", 33},
      {"PageDown", "PageDown", "", 34}};
  for (Key key : kNamed) {
    key.modifiers = modifiers;
    if (key.key == name) return key;
  }
  if (name.size() != 1) fail("there is no key " + name);
  const char c = name[0];
  const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
  if (upper) modifiers |= 8;
  const char letter = static_cast<char>(lower ? c - 'a' + 'A' : c);
  std::string code = lower || upper         ? std::string("Key") + letter
                     : c >= '0' && c <= '9' ? std::string("Digit") + c
                                            : "";
  return {name, code, name, code.empty() ? 0 : letter, modifiers};
}

// In the child: becomes the browser, with the socket as file descriptors 3 and 4.
[[noreturn]] void become(char* const* arguments, int socket, int log, int nothing, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  const int copy = fcntl(socket, F_DUPFD, 10), log_copy = fcntl(log, F_DUPFD, 10);
  dup2(nothing, 0), dup2(log_copy, 1), dup2(log_copy, 2);
  dup2(copy, 3), dup2(copy, 4);
  close(copy), close(log_copy);
  execv(arguments[0], arguments);
  _exit(127);
}

std::string at(const text::JsonValues& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "" : found->second;
}

// The first of them that is not empty.
std::string first_of(const text::JsonValues& values, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (std::string text = at(values, path); !text.empty()) return text;
  }
  return "";
}

std::string described(const text::JsonValues& event) {
  const std::string method = at(event, "method");
  if (method == "Runtime.exceptionThrown") {
    return "exception: " + first_of(
                               event, {"params.exceptionDetails.exception.description",
                                       "params.exceptionDetails.text"});
  }
  if (method == "Log.entryAdded") {
    const std::string level = at(event, "params.entry.level");
    if (level != "error" && level != "warning") return "";
    return level + ": " + at(event, "params.entry.text") + " " + at(event, "params.entry.url");
  }
  if (method == "Runtime.consoleAPICalled") {
    const std::string type = at(event, "params.type");
    if (type != "error" && type != "warning" && type != "assert") return "";
    std::string text = "console." + type + ":";
    for (int i = 0;; ++i) {
      const std::string argument = "params.args." + std::to_string(i) + ".";
      if (!event.contains(argument + "type")) return text;
      const bool has_value = event.contains(argument + "value");
      text += " " + at(event, argument + (has_value ? "value" : "description"));
    }
  }
  return "";
}

}  // namespace

std::string find_browser() {
  if (const char* named = std::getenv("GEMM_STEPS_BROWSER")) return named;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    const std::string file = in_path(name);
    if (!file.empty()) return file;
  }
  return "";
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
  const int log = ::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::vector<std::string> words = words_of(
      "--headless --remote-debugging-pipe --disable-gpu --enable-precise-memory-info "
      "--no-first-run --disable-breakpad --disable-crash-reporter --disable-extensions "
      "--disable-sync --mute-audio --disable-background-networking --disable-component-update "
      "--disable-dev-shm-usage --disable-features=BackForwardCache "
      "--force-device-scale-factor=1 about:blank");
  words.insert(words.begin(), {executable, "--user-data-dir=" + folder_ / "profile"});
  if (geteuid() == 0) words.push_back("--no-sandbox");  // which root cannot have
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  owner_ = getpid();
  process_ = fork();
  if (process_ == 0) become(arguments.data(), ends[1], log, nothing, owner_);
  close(ends[1]), close(log), close(nothing);
  if (process_ < 0) fail(std::string("cannot start a process: ") + std::strerror(errno));

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
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
  if (process_ <= 0) return;
  // Without its pipe the browser ends by itself, with all of its processes.
  for (const Time deadline = Clock::now() + kGoodbye; Clock::now() < deadline;) {
    if (waitpid(process_, nullptr, WNOHANG) != 0) {
      process_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(-process_, SIGKILL);
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void Browser::open(const std::string& path_or_url, int width, int height) {
  command(
      "Emulation.setDeviceMetricsOverride", "{\"width\":" + std::to_string(width) +
                                                ",\"height\":" + std::to_string(height) +
                                                R"(,"deviceScaleFactor":1,"mobile":false})");
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
    throw std::runtime_error(first_of(
        text::json_values(reply), {"exceptionDetails.exception.description",
                                   "exceptionDetails.exception.value", "exceptionDetails.text"}));
  }
  const auto value = parts.find("result.value");
  return value == parts.end() ? "null" : std::string(value->second);
}

std::string Browser::text(const std::string& js) {
  return text::json_text(evaluate(js));
}

void Browser::press(const std::string& name) {
  const Key key = key_of(name);
  const std::string rest = R"(,"key":)" + text::json_string(key.key) + R"(,"code":)" +
                           text::json_string(key.code) + R"(,"windowsVirtualKeyCode":)" +
                           std::to_string(key.number) + R"(,"modifiers":)" +
                           std::to_string(key.modifiers);
  const bool writes = !key.text.empty() && (key.modifiers & 3) == 0;
  command(
      "Input.dispatchKeyEvent",
      (writes ? R"({"type":"keyDown","text":)" + text::json_string(key.text)
              : std::string(R"({"type":"rawKeyDown")")) +
          rest + "}");
  command("Input.dispatchKeyEvent", R"({"type":"keyUp")" + rest + "}");
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
      std::string(R"({"media":")") + (print ? "print" : "") +
          R"(","features":[{"name":"prefers-color-scheme","value":")" + (dark ? "dark" : "light") +
          R"("},{"name":"prefers-reduced-motion","value":")" +
          (reduced_motion ? "reduce" : "no-preference") + R"("}]})");
}

void Browser::screenshot(const std::string& png_file, bool whole_page) {
  std::string parameters = R"({"format":"png")";
  if (whole_page) {
    const text::JsonValues metrics = text::json_values(command("Page.getLayoutMetrics"));
    const auto size = [&](const char* side) {
      return at(metrics, std::string("cssContentSize.") + side);
    };
    parameters += R"(,"captureBeyondViewport":true,"clip":{"x":0,"y":0,"scale":1,"width":)" +
                  size("width") + R"(,"height":)" + size("height") + "}";
  }
  std::ofstream file(png_file, std::ios::binary);
  file << decoded_base64(result_of("Page.captureScreenshot", parameters + "}", "data"));
  if (!file.flush()) fail("cannot write " + png_file);
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
  const char* at = message.c_str();
  for (std::size_t left = message.size() + 1; left > 0;) {
    const ssize_t sent = ::send(pipe_, at, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail("it ended" + last_words());
    at += sent;
    left -= static_cast<std::size_t>(sent);
  }
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
