#include "try/guarded_kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include "model/refusal.h"
#include "simulator/programs.h"

extern "C" char __executable_start, etext;

namespace attempt {
namespace {

// "tiled, block (0, 0, 0), thread (3, 0, 0)", or "tiled" if no thread runs. A signal handler calls
// it, so it must not allocate.
void describe(char* words, std::size_t bytes) {
  const int length = std::snprintf(words, bytes, "%.255s", machine::kernel_name());
  if (!machine::in_kernel()) return;
  const uint3 b = machine::blockIdx, t = machine::threadIdx;
  std::snprintf(
      words + length, bytes - length, ", block (%u, %u, %u), thread (%u, %u, %u)", b.x, b.y, b.z,
      t.x, t.y, t.z);
}

std::optional<guard::Thrown> explain(const std::exception& thrown, bool watching) {
  if (const auto* fault = dynamic_cast<const machine::KernelFault*>(&thrown)) {
    return guard::Thrown{1, fault->what(), fault->place};
  }
  if (const auto* refusal = dynamic_cast<const model::Refusal*>(&thrown)) {
    return guard::Thrown{2, refusal->what()};
  }
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr && !watching) {
    return guard::Thrown{1, "there is not enough memory; choose a smaller --size"};
  }
  return std::nullopt;
}

// Whether `file`, as a debugger names it, is not the user's: the project's own source, the
// system's, or unknown. Students may have a folder called src, so the project's own folder is
// recognized by its path, or by its contents if an object was compiled in another copy of the
// project.
bool is_ours(const std::string& file) {
  static const std::filesystem::path own = std::filesystem::weakly_canonical(SOURCE_FOLDER);
  if (file.find("/src/try/samples/") != file.npos) return false;
  if (file.starts_with("??") || file.starts_with("/usr/") || file.starts_with("./") ||
      file.find("/../sysdeps/") != file.npos ||
      std::filesystem::weakly_canonical(file).string().starts_with(own.string() + "/")) {
    return true;
  }
  constexpr std::string_view kFolder = "/src/";
  const std::size_t at = file.rfind(kFolder);
  return at != file.npos && std::filesystem::exists(own / file.substr(at + kFolder.size()));
}

// Places are sent as their bytes in memory, because both sides are the same program.
std::string ask_for_lines(const trace::Places& places) {
  return guard::ask(
      {reinterpret_cast<const char*>(places.data()), places.size() * sizeof places[0]});
}
std::string tell_lines(const std::string& question) {
  trace::Places places(question.size() / sizeof places[0]);
  std::memcpy(places.data(), question.data(), places.size() * sizeof places[0]);
  return places.empty() ? "" : trace::addr2line(places);
}

// The texts of these files, for each spelling of their paths.
std::function<std::string(const std::string&)> texts_of(const std::vector<std::string>& files) {
  const std::filesystem::path here = std::filesystem::current_path();
  const auto whole = [=](const std::string& file) { return (here / file).lexically_normal(); };
  std::map<std::filesystem::path, std::string> texts;
  for (const std::string& file : files) texts[whole(file)] = trace::source_text(file);
  return [=](const std::string& file) {
    const auto known = texts.find(whole(file));
    return known != texts.end() ? known->second : "";
  };
}

}  // namespace

std::string line_of_user(const std::vector<const void*>& frames) {
  trace::Places places;
  for (const void* frame : frames) {
    const auto* call = static_cast<const char*>(frame) - 1;
    if (call < &__executable_start || call >= &etext) continue;  // in a library
    places.push_back(static_cast<std::uint32_t>(call - &__executable_start));
  }
  if (places.empty()) return "";
  const std::string here = std::filesystem::current_path().string() + "/";
  const auto& elsewhere = trace::addr2line_elsewhere;
  std::istringstream printed(elsewhere ? elsewhere(places) : trace::addr2line(places));
  for (std::string line; std::getline(printed, line);) {
    line.resize(std::min(line.find(" (discriminator"), line.size()));
    const std::size_t colon = line.rfind(':');
    if (colon == line.npos) continue;  // the address, before its lines
    if (is_ours(line.substr(0, colon)) || line.ends_with(":?") || line.ends_with(":0")) continue;
    return line.starts_with(here) ? line.substr(here.size()) : line;
  }
  return "";
}

guard::Guard kernel_guard(double limit_s, const std::string& said_by, const std::string& name) {
  // As many as the largest GPU holds, for launches whose blocks wait for one another.
  constexpr std::size_t kMostThreads = 160 * 2048;
  machine::reserve_stack_addresses(kMostThreads * machine::kStackBytes);
  return {
      limit_s,
      said_by,
      {.name = name,
       .is_inside = machine::in_kernel,
       .describe = describe,
       .describe_address = machine::describe_device_address,
       .thread_to_ask = machine::runner_of_first_block,
       .call_inside = machine::call_at_end_of_turn,
       .begin = [] { trace::addr2line_elsewhere = ask_for_lines; },
       .explain = explain,
       .line_of = line_of_user,
       .answer = tell_lines}};
}

void lock_kernels_child(std::size_t fresh_threads, const std::vector<std::string>& sources) {
  machine::function_name(nullptr);  // reads the program's symbol table, once
  trace::source_text_elsewhere = texts_of(sources);
  guard::lock(fresh_threads);
}

namespace {

struct MainCall {
  jmp_buf before;
  int exit_code = 0;
  bool runs = false;
  pthread_t thread{};
  int callers_folder = -1;
};
MainCall call;

int open_folder(const char* path) {
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// A folder that cannot be entered is not; then main fails to open its files, and says so.
void enter(int folder) {
  if (folder >= 0) static_cast<void>(fchdir(folder) == 0);
}

}  // namespace

int call_main(const std::string& file, const std::vector<std::string>& arguments) {
  std::vector<std::string> copies{file};
  copies.insert(copies.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& copy : copies) words.push_back(copy.data());
  words.push_back(nullptr);
  call.thread = pthread_self();
  call.callers_folder = open_folder(".");
  const int files_folder =
      open_folder(std::filesystem::path(file).parent_path().append(".").c_str());
  enter(files_folder);
  if (_setjmp(call.before) == 0) {
    call.runs = true;
    call.exit_code = simt_users_main(static_cast<int>(copies.size()), words.data(), environ);
  }
  call.runs = false;
  enter(call.callers_folder);
  for (const int folder : {files_folder, std::exchange(call.callers_folder, -1)}) {
    if (folder >= 0) close(folder);
  }
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
  return call.exit_code & 0xff;
}

OutsideMain::OutsideMain() : folder_(call.callers_folder >= 0 ? open_folder(".") : -1) {
  if (folder_ >= 0) enter(call.callers_folder);
}

OutsideMain::~OutsideMain() {
  enter(folder_);
  if (folder_ >= 0) close(folder_);
}

void leave_main(int exit_code) {
  if (!call.runs || pthread_equal(call.thread, pthread_self()) == 0) return;
  call.exit_code = exit_code;
  _longjmp(call.before, 1);
}

}  // namespace attempt
