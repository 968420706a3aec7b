// Runs other people's code in a child process that can loop, crash, exit or eat memory.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

struct Guard {
  double limit_s;       // of wall-clock time, for each watched() part
  std::string said_by;  // what sentences on stderr begin with
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

// Within `work`: runs other people's code under the limit.
void watched(const std::function<void()>& code);
