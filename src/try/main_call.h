// The call of a user's main.
#pragma once

#include <span>
#include <string>

// The user's main, renamed in the plain copy (compile.sh); null if the file has none, or an sgemm.
extern "C" [[gnu::weak]] int simt_users_main(int argc, char** argv, char** environment);

namespace attempt {

// Calls main with these words, the first of which is its file, in the file's folder, where the
// program's data are. Returns its exit code, or that of exit(). Like exit(), this destroys nothing
// that lives on main's stack.
int call_main(std::span<const std::string> words);

// Ends main with this exit code, as exit() does; returns if main is not running on this thread.
void leave_main(int exit_code);

// While this object exists, the working folder is the one from which main was called.
class OutsideMain {
 public:
  OutsideMain();
  ~OutsideMain();
  OutsideMain(const OutsideMain&) = delete;
  OutsideMain& operator=(const OutsideMain&) = delete;

 private:
  const int folder_;  // of main; -1: none
};

}  // namespace attempt
