#include "try/main_call.h"

#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <vector>

namespace attempt {
namespace {

struct MainCall {
  jmp_buf before;
  int exit_code = 0;
  bool runs = false;
  pthread_t thread{};
};
MainCall call;

}  // namespace

int call_main(std::span<const std::string> words) {
  std::vector<std::string> copies(words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  call.thread = pthread_self();
  if (_setjmp(call.before) == 0) {
    call.runs = true;
    call.exit_code = simt_users_main(static_cast<int>(words.size()), arguments.data(), environ);
  }
  call.runs = false;
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
  return call.exit_code & 0xff;
}

void leave_main(int exit_code) {
  if (!call.runs || pthread_equal(call.thread, pthread_self()) == 0) return;
  call.exit_code = exit_code;
  _longjmp(call.before, 1);
}

}  // namespace attempt
