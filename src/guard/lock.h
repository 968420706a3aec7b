// The lock of a child: a filter in the operating system's kernel that lets the child compute, talk
// to its parent and end, and nothing else.
#pragma once

#include <optional>
#include <string>

namespace guard {

// Locks this process with all its threads, permanently; `to_parent` stays usable. After this, no
// thread can be created, no file opened, and no page made executable. A refused call raises SIGSYS.
// Returns the reason if the system does not support the lock.
std::optional<std::string> lock_system_calls(int to_parent);

// A refused system call in words: "system call 41, socket".
struct SystemCall {
  int number;
  bool foreign;  // made through another architecture's interface, for example int 0x80
};
std::string name_of(const SystemCall& call);

// Whether `architecture`, as a filter sees it (AUDIT_ARCH_...), differs from this program's.
bool is_foreign(unsigned architecture);

}  // namespace guard
