// An instruction as it runs: its meaning was looked up once, from its name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/cuda/ptx.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/ptx/syntax.h"

namespace machine {
class Worker;
}

namespace machine::ptx {

// PTX's special registers, as %laneid.

// The number of that register, "%tid.x"; nothing if it is not known here.
std::optional<std::uint64_t> special_register(std::string_view name);

// Its value for the running thread.
std::uint64_t value_of_special(std::uint64_t number);

struct Instruction;

// A thread in an asm statement.
struct Execution {
  Worker& worker;
  std::uint64_t* registers;  // the operands of the statement come first
  std::span<const simt::PtxOperand> operands;
  const void* place;     // of the running instruction, as a return address in the kernel
  std::size_t next = 0;  // the number of the instruction after it
  // The operands' variables belong to the tensor cores, which write them later.
  bool keeps_variables = false;

  std::uint64_t read(const Operand& operand) const {
    if (operand.kind == Operand::Kind::reg) {
      const std::uint64_t value = registers[operand.reg];
      return operand.negated ? value == 0 : value;
    }
    return operand.kind == Operand::Kind::special ? value_of_special(operand.number)
                                                  : operand.number;
  }
  // The same with a real number's bits in that type.
  std::uint64_t read(const Operand& operand, Type type) const;
  bool is_true(const Operand& operand) const { return read(operand) != 0; }
  void write(const Operand& operand, std::uint64_t value) {
    if (operand.kind == Operand::Kind::reg) registers[operand.reg] = value;
  }
  // The base of an address and what is added to it.
  std::uint64_t address(const Operand& operand) const {
    std::uint64_t sum = operand.number;
    if (operand.reg >= 0) sum += registers[operand.reg];
    if (operand.offset >= 0) sum += registers[operand.offset];
    return sum;
  }
};

using Run = void(Execution& thread, const Instruction& instruction);

// The value of an instruction that only computes, from the values of its operands.
using Evaluate = std::uint64_t(const Instruction& instruction, std::span<const std::uint64_t>);

struct Instruction {
  Line line;
  Run* run = nullptr;
  // What a family finds in the name, for its own functions.
  Evaluate* evaluate = nullptr;
  Type type{}, from{};
  int count = 1;             // the elements of a vector; the number of matrices
  std::uint32_t mode = 0;    // an enumerator of the family
  std::uint32_t option = 0;  // likewise
  std::uint32_t space = 0;   // of the memory that it accesses
  std::size_t access = 0;    // how many instructions of the text before it access memory
  bool wide = true,
       releases = false;  // its scope is more than a cluster, one block here; its order
  bool saturates = false, flushes = false, relu = false;

  const Operand& operand(std::size_t i) const { return line.operands[i]; }
};

// The modifiers of an instruction that were not taken yet.
class Modifiers {
 public:
  explicit Modifiers(const Line& line);
  bool empty() const { return rest_.empty(); }
  // Each removes the modifier, if it is there; take_type the first that is a type.
  bool take(std::string_view name);
  bool take_first(std::string_view name);  // only if no other modifier is before it
  bool take_any(std::initializer_list<std::string_view> names);
  bool take_prefix(std::string_view prefix) { return take_with_prefix(prefix).data() != nullptr; }
  // What follows the prefix in the first modifier that begins with it.
  std::string_view take_with_prefix(std::string_view prefix);
  bool take_type(Type& type);
  // The number of the first of these names that is there; -1 if none is.
  int take_one_of(std::initializer_list<std::string_view> names);

 private:
  std::vector<std::string_view> rest_;
};

// The meaning of the instructions with one opcode. Returns whether it knows the instruction; then
// it has set `run`, and taken all modifiers.
using Decode = bool(Instruction& instruction, Modifiers& modifiers);
struct Family {
  std::string_view opcode;
  Decode* decode;
};

// The files of this folder, one for each kind of instruction.
std::span<const Family> arithmetic();
std::span<const Family> conversions();
std::span<const Family> control();
std::span<const Family> memory_accesses();
std::span<const Family> async_copies();
std::span<const Family> barriers();
std::span<const Family> matrices();
std::span<const Family> warpgroups();

// Whether there are that many operands, the first `outputs` of which can be written.
bool has_operands(const Instruction& instruction, std::size_t outputs, std::size_t inputs);
bool is_output(const Operand& operand);
bool is_input(const Operand& operand);

// Sets `run` to one that evaluates: reads the operands after the first as `type`, and writes it.
void compute(Instruction& instruction, Evaluate* evaluate);

// How instructions name memory, and how their accesses become known to the observer of the block.

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

// The pointer that the address means in the instruction's state space.
void* pointer_to(const Execution& thread, const Instruction& instruction, const Operand& address);
// Ends the block if the pointer should be to shared memory, and is not: the memory there might be
// the tracer's own.
void require_space(Execution& thread, const Instruction& instruction, const void* pointer);
// The same pointer, after announcing the access, which the caller then makes.
void* accessed(
    Execution& thread, const Instruction& instruction, const Operand& address, int bytes,
    Access access);

}  // namespace machine::ptx
