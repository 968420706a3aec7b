#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "model/refusal.h"
#include "model/tensor_core.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/ptx/program.h"
#include "simulator/machine/ptx/syntax.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {

std::optional<Type> type_named(std::string_view name) {
  struct Named {
    std::string_view name;
    Type type;
  };
  static constexpr Named kTypes[] = {
      {"b8", {Base::bits, 8}},        {"b16", {Base::bits, 16}},
      {"b32", {Base::bits, 32}},      {"b64", {Base::bits, 64}},
      {"u8", {Base::unsigned_, 8}},   {"u16", {Base::unsigned_, 16}},
      {"u32", {Base::unsigned_, 32}}, {"u64", {Base::unsigned_, 64}},
      {"s8", {Base::signed_, 8}},     {"s16", {Base::signed_, 16}},
      {"s32", {Base::signed_, 32}},   {"s64", {Base::signed_, 64}},
      {"f16", {Base::real, 16}},      {"f16x2", {Base::real, 16, 2}},
      {"f32", {Base::real, 32}},      {"f64", {Base::real, 64}},
      {"bf16", {Base::bf16, 16}},     {"bf16x2", {Base::bf16, 16, 2}},
      {"tf32", {Base::tf32, 32}},     {"pred", {Base::predicate, 1}}};
  for (const Named& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

double real_value(Type type, std::uint64_t bits) {
  if (type.base == Base::bf16) return model::widened(bits & 0xffff, model::kBfloat16);
  if (type.bits == 16) return model::widened(bits & 0xffff, model::kFp16);
  if (type.bits == 32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

namespace {

void run_evaluate(Execution& thread, const Instruction& instruction) {
  constexpr std::size_t kMost = 4;
  std::array<std::uint64_t, kMost> values{};
  const std::size_t count = instruction.line.operands.size() - 1;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = thread.read(instruction.operand(i + 1), instruction.from);
  }
  thread.write(
      instruction.operand(0), instruction.evaluate(instruction, std::span(values).first(count)));
}

}  // namespace

std::uint64_t Execution::read(const Operand& operand, Type type) const {
  if (operand.kind != Operand::Kind::real || type.bits == 64) return read(operand);
  const auto value = static_cast<float>(std::bit_cast<double>(operand.number));
  return std::bit_cast<std::uint32_t>(value);
}

Modifiers::Modifiers(const Line& line) : rest_(line.modifiers.begin(), line.modifiers.end()) {}

bool Modifiers::take(std::string_view name) {
  const auto found = std::find(rest_.begin(), rest_.end(), name);
  if (found == rest_.end()) return false;
  rest_.erase(found);
  return true;
}

bool Modifiers::take_first(std::string_view name) {
  if (rest_.empty() || rest_[0] != name) return false;
  rest_.erase(rest_.begin());
  return true;
}

bool Modifiers::take_any(std::initializer_list<std::string_view> names) {
  return take_one_of(names) >= 0;
}

std::string_view Modifiers::take_with_prefix(std::string_view prefix) {
  const auto found = std::find_if(rest_.begin(), rest_.end(), [&](std::string_view modifier) {
    return modifier.starts_with(prefix);
  });
  if (found == rest_.end()) return {};
  const std::string_view taken = found->substr(prefix.size());
  rest_.erase(found);
  return taken;
}

bool Modifiers::take_type(Type& type) {
  for (auto modifier = rest_.begin(); modifier != rest_.end(); ++modifier) {
    const auto known = type_named(*modifier);
    if (!known) continue;
    type = *known;
    rest_.erase(modifier);
    return true;
  }
  return false;
}

int Modifiers::take_one_of(std::initializer_list<std::string_view> names) {
  int number = 0;
  for (const std::string_view name : names) {
    if (take(name)) return number;
    ++number;
  }
  return -1;
}

bool is_output(const Operand& operand) {
  return operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::none;
}

bool is_input(const Operand& operand) {
  return operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::integer ||
         operand.kind == Operand::Kind::real || operand.kind == Operand::Kind::special;
}

bool has_operands(const Instruction& instruction, std::size_t outputs, std::size_t inputs) {
  const std::vector<Operand>& all = instruction.line.operands;
  return all.size() == outputs + inputs &&
         std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(outputs), is_output) &&
         std::all_of(all.begin() + static_cast<std::ptrdiff_t>(outputs), all.end(), is_input);
}

void compute(Instruction& instruction, Evaluate* evaluate) {
  if (instruction.from.bits == 0) instruction.from = instruction.type;
  instruction.evaluate = evaluate;
  instruction.run = run_evaluate;
}

namespace {

void run_unknown(Execution& thread, const Instruction& instruction) {
  fault(
      "it comes to the PTX instruction \"" + instruction.line.name() +
          "\", which is not known on the CPU in this form",
      thread.place);
}

Decode* decoder_of(std::string_view opcode) {
  static const std::map<std::string_view, Decode*> known = [] {
    std::map<std::string_view, Decode*> all;
    for (const auto families :
         {arithmetic, conversions, control, memory_accesses, async_copies, barriers, matrices,
          warpgroups}) {
      for (const Family& family : families()) all[family.opcode] = family.decode;
    }
    return all;
  }();
  const auto found = known.find(opcode);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace

Program compile(std::string_view text, std::span<const std::string_view> names) {
  Syntax syntax = parse(text, names);
  Program program;
  program.registers = static_cast<std::size_t>(syntax.registers);
  program.names.assign(names.begin(), names.end());
  for (Line& line : syntax.lines) {
    Instruction instruction;
    instruction.line = std::move(line);
    Modifiers modifiers(instruction.line);
    Decode* const decode = decoder_of(instruction.line.opcode);
    if (decode == nullptr || !decode(instruction, modifiers) || !modifiers.empty()) {
      instruction.run = run_unknown;
    }
    instruction.access = program.accesses;
    const std::vector<Operand>& operands = instruction.line.operands;
    program.accesses += std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
      return operand.kind == Operand::Kind::address;
    });
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

namespace {

// "[name]=r", taken apart.
struct Constraint {
  std::string_view name;
  bool reads = true, writes = false;
  char kind = '\0';
};

Constraint parts_of(const char* text) {
  Constraint result;
  if (*text == '[') {
    const char* const end = std::strchr(text, ']');
    if (end == nullptr) return result;
    result.name = {text + 1, static_cast<std::size_t>(end - text - 1)};
    text = end + 1;
  }
  for (; *text != '\0'; ++text) {
    if (*text == '=' || *text == '+') {
      result.writes = true;
      result.reads = *text == '+';
    } else if (*text != '&' && *text != '%') {
      result.kind = *text;
    }
  }
  return result;
}

// The bytes of a register for that constraint; 0 if it is not known.
int bytes_of(char kind) {
  switch (kind) {
    case 'h':
      return 2;
    case 'r':
    case 'f':
      return 4;
    case 'l':
    case 'd':
    case 'n':
      return 8;
    default:
      return 0;
  }
}

// A program and what is wrong with its text; an empty sentence if it can be read.
struct Known {
  Program program;
  std::string refusal;
};

std::unique_ptr<Known> known_as(std::string_view text, std::span<const std::string_view> names) {
  auto known = std::make_unique<Known>();
  try {
    known->program = compile(text, names);
  } catch (const model::Refusal& refusal) {
    known->refusal = refusal.what();
  }
  return known;
}

bool has_names(const std::vector<std::string>& names, std::span<const simt::PtxOperand> operands) {
  if (names.size() != operands.size()) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (parts_of(operands[i].constraint).name != names[i]) return false;
  }
  return true;
}

// Kept for good.
const Known* find_or_compile(std::string text, std::span<const simt::PtxOperand> operands) {
  static std::mutex mutex;
  static std::multimap<std::string, std::unique_ptr<Known>, std::less<>> all;
  const std::lock_guard lock(mutex);
  const auto [begin, end] = all.equal_range(text);
  for (auto known = begin; known != end; ++known) {
    if (has_names(known->second->program.names, operands)) return known->second.get();
  }
  std::vector<std::string_view> names;
  for (const simt::PtxOperand& operand : operands) {
    names.push_back(parts_of(operand.constraint).name);
  }
  auto known = known_as(text, names);
  known->program.names.assign(names.begin(), names.end());
  return all.emplace(std::move(text), std::move(known))->second.get();
}

// The compiler keeps each text at one address, which is its name here: the programs that this
// thread of the operating system used last.
struct Remembered {
  const char* text;
  std::size_t operands;
  bool has_names;
  const Known* known;
};
constexpr std::size_t kRemembered = 256;
thread_local Remembered remembered[kRemembered];

const Known& known_for(const char* text, std::span<const simt::PtxOperand> operands) {
  const auto bits = reinterpret_cast<std::uintptr_t>(text);
  Remembered& slot = remembered[(bits ^ bits >> 8) % kRemembered];
  if (slot.text == text && slot.operands == operands.size() && !slot.has_names) return *slot.known;
  const Known* known = find_or_compile(text, operands);
  const std::vector<std::string>& names = known->program.names;
  const bool named =
      std::any_of(names.begin(), names.end(), [](const auto& name) { return !name.empty(); });
  slot = {text, operands.size(), named, known};
  return *known;
}

std::string described(std::size_t number, const simt::PtxOperand& operand) {
  return "operand %" + std::to_string(number) + " of its inline PTX, with the constraint \"" +
         operand.constraint + "\", ";
}

// Whether the variable is a thread's local one, whose accesses are not counted.
bool is_local(const Worker& worker, const void* variable) {
  return worker.memory().stacks.holds(reinterpret_cast<std::uintptr_t>(variable));
}

std::uint64_t taken(const Execution& thread, std::size_t number) {
  const simt::PtxOperand& operand = thread.operands[number];
  const Constraint constraint = parts_of(operand.constraint);
  const int bytes = bytes_of(constraint.kind);
  if (bytes == 0)
    fault(described(number, operand) + "is of a kind that is not known", thread.place);
  if (operand.bytes > bytes) {
    fault(
        described(number, operand) + "has " + std::to_string(operand.bytes) + " bytes; it takes " +
            std::to_string(bytes),
        thread.place);
  }
  std::uint64_t value = operand.value;
  if (constraint.writes) {
    // A result that no instruction writes has no value: a NaN.
    value = ~std::uint64_t{0};
    if (constraint.reads) {
      const auto size = static_cast<std::size_t>(operand.bytes);
      BlockObserver* const observer = thread.worker.observer();
      if (observer != nullptr && !is_local(thread.worker, operand.variable)) {
        observer->access(operand.variable, size, Access::load, thread.place);
      }
      const OwnAccess own;
      value = 0;
      std::memcpy(&value, operand.variable, size);
    }
  }
  if (bytes < 8) value &= (std::uint64_t{1} << bytes * 8) - 1;
  return value;
}

void give(const Execution& thread, std::size_t number) {
  const simt::PtxOperand& operand = thread.operands[number];
  if (operand.variable == nullptr) return;
  const auto size = static_cast<std::size_t>(operand.bytes);
  BlockObserver* const observer = thread.worker.observer();
  if (observer != nullptr && !is_local(thread.worker, operand.variable)) {
    observer->access(operand.variable, size, Access::store, thread.place);
  }
  const OwnAccess own;
  std::memcpy(operand.variable, &thread.registers[number], size);
}

bool is_blank(const char* text) {
  return text[std::strspn(text, " \t\r\n;")] == '\0';
}

// A statement's accesses have different places in the call that is the statement, in their order,
// so that lanes that skip one of them stay aligned. If there are many, the last ones share a place.
const void* place_of(std::size_t number, std::size_t count, const void* place) {
  constexpr std::size_t kBytes = 5;  // of a call, with the last one at the return address
  const std::size_t last = std::clamp<std::size_t>(count, 1, kBytes) - 1;
  return static_cast<const char*>(place) - (last - std::min(number, last));
}

}  // namespace

void run_statement(
    const char* text, std::span<const simt::PtxOperand> operands, const void* place) {
  if (is_blank(text)) return;
  if (running_worker == nullptr) {
    throw model::Refusal("the host's code has inline assembly, which is not translated");
  }
  Worker& worker = *running_worker;
  const Known& known = known_for(text, operands);
  if (!known.refusal.empty()) fault(known.refusal, place);
  const Program& program = known.program;
  std::vector<char>& scratch = worker.running().scratch;
  scratch.resize(std::max(scratch.size(), program.registers * sizeof(std::uint64_t)));
  Execution thread{worker, reinterpret_cast<std::uint64_t*>(scratch.data()), operands, place};
  for (std::size_t i = 0; i < operands.size(); ++i) thread.registers[i] = taken(thread, i);
  for (std::size_t i = operands.size(); i < program.registers; ++i) {
    thread.registers[i] = ~std::uint64_t{0};
  }
  const std::size_t count = program.instructions.size();
  while (thread.next < count) {
    const Instruction& instruction = program.instructions[thread.next];
    thread.place = place_of(instruction.access, program.accesses, place);
    ++thread.next;
    const Line& line = instruction.line;
    if (line.predicate >= 0 && (thread.registers[line.predicate] != 0) == line.unless) continue;
    instruction.run(thread, instruction);
  }
  thread.place = place;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!thread.keeps_variables) give(thread, i);
  }
}

}  // namespace machine::ptx

void simt::ptx(const char* text, std::initializer_list<PtxOperand> operands) {
  machine::ptx::run_statement(
      text, {operands.begin(), operands.size()}, __builtin_return_address(0));
}
