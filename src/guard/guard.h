// Runs other people's code in a child process that can loop, crash, exit or eat memory.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace guard {

struct Guard {
  double limit_s;                 // of wall-clock time, for each watched() part
  std::string said_by;            // what sentences on stderr begin with
  std::string watched = "sgemm";  // what sentences call that code outside of its kernels
};

// What a run came to: the exit code, and a sentence for stderr where there is something to say.
struct Outcome {
  int exit_code;
  std::string complaint;
};
using Work = std::function<Outcome(std::FILE* report)>;

// Runs `work` in a child and returns the exit code: that of `work`, 1 where the code it watches
// failed in any way, 2 where a Refusal was thrown. `work` writes its report to the stream it is
// given; the report appears on stdout only if `work` came to its end. The child's own stdout is
// this process's stderr.
int run_guarded(const Guard& guard, const Work& work);

// How a child ended.
struct Ended {
  enum How { done, complained, refused, timed_out, died } how;
  int exit_code;         // as run_guarded returns it
  std::string report;    // nothing unless `work` came to its end
  std::string line;      // "my.cu:12", where it is known
  std::string sentence;  // why it did not, or the complaint of `work`
};

// The same for those who want to judge by themselves: prints nothing. What `work` reports comes
// through a pipe that the watched code knows nothing of.
Ended run_in_child(const Guard& guard, const Work& work);

// Within `work`: runs other people's code under the limit.
void watched(const std::function<void()>& code);

}  // namespace guard
