// Inline PTX: the syntax of a text, as far as it may stand in an asm statement; and an instruction
// as it runs: its meaning was looked up once, from its name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/cuda/ptx.h"
#include "simulator/machine/observer.h"

namespace machine {
class Worker;
}

namespace machine::ptx {

// The types that PTX instructions are named for.

enum class Base : std::uint8_t { bits, unsigned_, signed_, real, bf16, tf32, predicate };

struct Type {
  Base base = Base::bits;
  std::uint8_t bits = 0;    // of one element
  std::uint8_t packed = 1;  // 2: f16x2, bf16x2

  int bytes() const { return bits * packed / 8; }
  bool is_real() const { return base == Base::real || base == Base::bf16 || base == Base::tf32; }
  bool operator==(const Type&) const = default;
};

// "u32", "f16x2", "pred"; nothing if it is not a type that is known here.
std::optional<Type> type_named(std::string_view name);

// The value's bits of an integer type, extended to 64 bits by its sign.
inline std::int64_t signed_value(Type type, std::uint64_t bits) {
  const int unused = 64 - type.bits;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
inline std::uint64_t unsigned_value(Type type, std::uint64_t bits) {
  return type.bits == 64 ? bits : bits & ((std::uint64_t{1} << type.bits) - 1);
}

struct Operand {
  enum class Kind : std::uint8_t {
    none,     // `_`
    reg,      // a register, perhaps a predicate
    integer,  // a number
    real,     // a number with a fraction, or 0f3f800000
    special,  // %laneid
    address,  // [register + offset]
    vector,   // {a, b}
    symbol    // a label: `number` is the line after it; or a name that is not known
  } kind = Kind::none;
  bool negated = false;      // !p
  bool predicate = false;    // a register that was declared as one
  std::int16_t reg = -1;     // of an address: its base
  std::int16_t offset = -1;  // of an address: a register that is added
  std::int16_t second = -1;  // of p|q: q
  std::uint64_t number = 0;  // a real number as a double; of an address: added; a SpecialRegister
  std::string name = {};     // of a symbol that is not known
  std::vector<Operand> parts = {};  // of a vector; of an address: coordinates after a comma
};

// An instruction: opcode.modifier.modifier operands.
struct Line {
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "global", "L2::128B", "v4", "f32"
  std::vector<Operand> operands;
  std::int16_t predicate = -1;
  bool unless = false;  // @!p

  std::string name() const;  // "ld.global.L2::128B.v4.f32"
};

struct Syntax {
  std::vector<Line> lines;
  int registers = 0;  // the operands of the asm statement come first
};

// `names` are those of the statement's operands; empty: without a name. Throws a Refusal.
Syntax parse(std::string_view text, std::span<const std::string_view> names);

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
  const void*& place;  // of the running instruction, as a return address in the kernel
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
std::span<const PtxRow> of_memory();
std::span<const PtxRow> of_threads();
std::span<const PtxRow> matrices();

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
// What the order of an access needs before it.
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

// The text of an asm statement with the meaning of its instructions.
struct Program {
  std::vector<Instruction> instructions;
  std::size_t accesses = 0;   // the number of those that access memory
  std::size_t registers = 0;  // the operands of the statement come first
};

// An instruction that is not known becomes one that is a fault. Throws a Refusal if the text cannot
// be read.
Program compile(std::string_view text, std::span<const std::string_view> names);

// Runs an asm statement for the thread that comes to it.
// `place` is the statement's return address in the kernel. It is a fault if the text cannot be read
// or an instruction that the thread comes to is not known.
void run_statement(const char* text, std::span<const simt::PtxOperand> operands, const void* place);

}  // namespace machine::ptx
