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

struct Execution;
struct Instruction;
using Run = void(Execution& thread);

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

// A thread in an asm statement.
struct Execution {
  Worker& worker;
  std::uint64_t* registers;  // the operands of the statement come first
  std::span<const simt::PtxOperand> operands;
  const void* place;  // of the running instruction, as a return address in the kernel
  const Instruction* now = nullptr;  // the running one
  std::size_t next = 0;              // the number of the instruction after it
  // The operands' variables belong to the tensor cores, which write them later.
  bool keeps_variables = false;

  std::size_t count() const { return now->line.operands.size(); }
  const Operand& operand(std::size_t i) const { return now->line.operands[i]; }
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
  void write(const Operand& operand, std::uint64_t value) {
    if (operand.kind == Operand::Kind::reg) registers[operand.reg] = value;
  }
  // Of operand i: its value, its value as an address, and the predicate q of p|q.
  std::uint64_t value(std::size_t i) const { return read(operand(i)); }
  std::uint32_t word(std::size_t i) const { return static_cast<std::uint32_t>(value(i)); }
  int number(std::size_t i) const { return static_cast<int>(value(i)); }
  std::uint64_t address(std::size_t i) const {
    std::uint64_t sum = operand(i).number;
    if (operand(i).reg >= 0) sum += registers[operand(i).reg];
    if (operand(i).offset >= 0) sum += registers[operand(i).offset];
    return sum;
  }
  void write_second(std::size_t i, bool value) {
    if (operand(i).second >= 0) registers[operand(i).second] = value;
  }
};
// What a row runs.
#define RUNS(...) [](Execution& thread [[maybe_unused]]) { __VA_ARGS__; }

// The modifiers of an instruction that were not taken yet. `names`: a|b is either of them.
class Modifiers {
 public:
  explicit Modifiers(const Line& line) : rest_(line.modifiers.begin(), line.modifiers.end()) {}
  bool empty() const { return rest_.empty(); }
  void clear() { rest_.clear(); }
  // Each removes the first modifier that has one of these names, or is a type, if there is one.
  bool take(std::string_view names) { return take_one_of(names) >= 0; }
  // The number of its name; -1 if there is none.
  int take_one_of(std::string_view names, std::string_view* taken = nullptr);
  bool take_type(Type& type);
  // What follows the prefix in the first modifier that begins with it.
  std::string_view take_with_prefix(std::string_view prefix);
  bool take_prefix(std::string_view prefix) { return take_with_prefix(prefix).data() != nullptr; }

 private:
  std::vector<std::string_view> rest_;
};

// For what a row does not say: takes all other modifiers and checks the operands. Returns whether
// it knows the instruction; then it has set `run`.
using Decode = bool(Instruction& instruction, Modifiers& modifiers);

// An instruction with its modifiers, which may stand in any order, and with its operands.
//
// `name`: a|b is one of two, and what ends in ? may be missing. The number of what begins with =
// goes into `mode`, with # into `option`: it counts from 0, or from 1 if it may be missing. Types,
// and roundings (as `mode`), ftz, sat and relu are remembered in any case. `operands`: d is
// written, s is read, a is an address, b a box in global memory, l a label. D and S are lists of 2
// to the power of `mode` registers. What follows a ? may be missing.
struct PtxRow {
  std::string_view name, operands;
  Run* run;
  Evaluate* evaluate = nullptr;  // in place of `run`
  Decode* decode = nullptr;      // in place of both, and of `operands`
};
constexpr PtxRow computes(std::string_view name, std::string_view operands, Evaluate* evaluate) {
  return {name, operands, nullptr, evaluate};
}
constexpr PtxRow decoded(std::string_view name, Decode* decode) {
  return {name, "", nullptr, nullptr, decode};
}

// Takes all, and has no effect here.
bool decode_hint(Instruction& instruction, Modifiers& modifiers);

// The files of this folder, one for each kind of instruction.
std::span<const PtxRow> arithmetic();
std::span<const PtxRow> conversions();
std::span<const PtxRow> control();
std::span<const PtxRow> memory_accesses();
std::span<const PtxRow> async_copies();
std::span<const PtxRow> barriers();
std::span<const PtxRow> matrices();
std::span<const PtxRow> warpgroups();

// Sets `run`; false if the instruction is not known.
bool find_meaning(Instruction& instruction);

bool is_output(const Operand& operand);
bool is_input(const Operand& operand);
// The operands that a vector lists; a register stands for a list of one.
std::span<const Operand> listed(const Operand& operand);
bool is_list(const Operand& operand, std::size_t count, bool (*fits)(const Operand&));

// Sets `run` to one that evaluates: reads the operands after the first as `type`, and writes it.
void compute(Instruction& instruction, Evaluate* evaluate);

// A number as the instruction reads it, and the bits of a result, which it limits and rounds.
double number_in(const Instruction& instruction, Type type, std::uint64_t bits);
std::uint64_t rounded(const Instruction& instruction, Type type, double value);
// A value that was rounded to a double, so that rounding it again, to fewer digits, is as good as
// rounding once: its last bit is set if a `rest` was lost. Boldo and Melquiond, "Emulation of FMA
// and correctly rounded sums: proved algorithms using rounding to odd", 2008.
double odd(double value, double rest);
// The nearest number of an integer type.
__extension__ using Wide = __int128;
std::uint64_t clamped(Type type, Wide value);
Wide wide_value(Type type, std::uint64_t bits);

// How instructions name memory, and how their accesses become known to the observer of the block.

inline constexpr int kMostBytes = 16;  // of one access

enum Space : std::uint32_t { kGeneric, kShared };

// [register + offset]
bool is_address(const Operand& operand);

// Takes the state space, if there is one.
void take_space(Instruction& instruction, Modifiers& modifiers);
// Takes .volatile, .acquire.gpu and their like; `option` remembers it.
void take_order(Instruction& instruction, Modifiers& modifiers);
// A fence of that scope; and what the order of an access needs before it.
void fence(const Execution& thread, bool wide);
void begin_access(const Execution& thread);
// Takes .ca, .L2::128B and their like, which change no count. Returns whether one of them has an
// operand, a cache policy.
bool take_cache_hints(Modifiers& modifiers);

// The pointer that operand i, an address, means in the instruction's state space.
void* pointer_to(const Execution& thread, std::size_t i);
// The same for an address that must be in shared memory: it is generic unless the instruction has
// .shared.
void* pointer_in_shared(const Execution& thread, std::size_t i);
// Ends the block if the pointer should be to shared memory, and is not: the memory there might be
// the tracer's own.
void require_space(Execution& thread, const void* pointer);
// The same pointer as pointer_to(), after announcing the access, which the caller then makes.
void* accessed(Execution& thread, std::size_t i, int bytes, Access access);

}  // namespace machine::ptx
