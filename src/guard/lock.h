// The lock of a child: a filter in the kernel of the operating system, past which it can compute,
// talk to its parent and end, and nothing else.
#pragma once

#include <optional>
#include <string>

namespace guard {

// Locks this process with all of its threads, for good; `to_parent` stays open to it. No thread can
// be made after this, no file opened, no page be made executable. A call that is refused raises
// SIGSYS. Returns why the system grants no lock, where it does not.
std::optional<std::string> lock_system_calls(int to_parent);

// What a refused system call was: "system call 41, socket".
struct SystemCall {
  int number;
  bool foreign;  // made as a program for another architecture makes it, by int 0x80, say
};
std::string name_of(const SystemCall& call);

// Whether `architecture`, as a filter sees it (AUDIT_ARCH_...), is another one than this program's.
bool is_foreign(unsigned architecture);

}  // namespace guard
