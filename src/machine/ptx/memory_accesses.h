// How instructions name memory, and how their accesses become known to the observer of the block.
#pragma once

#include "machine/observer.h"
#include "machine/ptx/instruction.h"

namespace machine::ptx {

inline constexpr int kMostBytes = 16;  // of one access

enum Space : std::uint32_t { kGeneric, kShared };

// [register + offset]
bool is_address(const Operand& operand);

// Takes the state space, if there is one.
void take_space(Instruction& instruction, Modifiers& modifiers);
// Takes .volatile, .acquire.gpu and their like; `option` remembers it. A fence takes only the
// scope, one of these, of which the first are of a block. Returns whether it was there.
void take_order(Instruction& instruction, Modifiers& modifiers);
bool take_scope(
    Instruction& instruction, Modifiers& modifiers, std::initializer_list<std::string_view> names);
// A fence of that scope; and what the order of an access needs before it.
void fence(const Execution& thread, bool wide);
void begin_access(const Execution& thread, const Instruction& instruction);
// Takes .ca, .L2::128B and their like, which change no count. Returns whether one of them has an
// operand, a cache policy.
bool take_cache_hints(Modifiers& modifiers);

// What the address stands for in the instruction's state space.
void* pointer_to(const Execution& thread, const Instruction& instruction, const Operand& address);
// Ends the block if the pointer should be to shared memory, and is not: what is there might be the
// tracer's own.
void require_space(Execution& thread, const Instruction& instruction, const void* pointer);
// What the address stands for, after announcing the access, which the caller then makes.
void* accessed(
    Execution& thread, const Instruction& instruction, const Operand& address, int bytes,
    Access access);

}  // namespace machine::ptx
