#include "try/guarded_kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>
#include <vector>

namespace attempt {
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

int call_main(std::span<const std::string> words) {
  std::vector<std::string> copies(words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  call.thread = pthread_self();
  call.callers_folder = open_folder(".");
  const int files_folder =
      open_folder(std::filesystem::path(words[0]).parent_path().append(".").c_str());
  enter(files_folder);
  if (_setjmp(call.before) == 0) {
    call.runs = true;
    call.exit_code = simt_users_main(static_cast<int>(words.size()), arguments.data(), environ);
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
