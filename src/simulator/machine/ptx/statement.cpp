#include <algorithm>
#include <bit>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/refusal.h"
#include "model/tensor_core.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/observer.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {

std::optional<Type> type_named(std::string_view name) {
  static const std::map<std::string_view, Type> types = {
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
  const auto known = types.find(name);
  return known == types.end() ? std::nullopt : std::optional(known->second);
}

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

void run_evaluate(Execution& thread) {
  const Instruction& instruction = *thread.now;
  std::array<std::uint64_t, 4> values{};
  const std::size_t count = thread.count() - 1;
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

int Modifiers::take_one_of(std::string_view names, std::string_view* taken) {
  const std::vector<std::string_view> known = split(names, '|');
  for (auto modifier = rest_.begin(); modifier != rest_.end(); ++modifier) {
    const auto found = std::find(known.begin(), known.end(), *modifier);
    // Types stand in their order.
    if (found == known.end() && type_named(known[0]) && type_named(*modifier)) return -1;
    if (found == known.end()) continue;
    if (taken != nullptr) *taken = *modifier;
    rest_.erase(modifier);
    return static_cast<int>(found - known.begin());
  }
  return -1;
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

bool is_output(const Operand& operand) {
  return operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::none;
}

bool is_input(const Operand& operand) {
  return operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::integer ||
         operand.kind == Operand::Kind::real || operand.kind == Operand::Kind::special;
}

std::span<const Operand> listed(const Operand& operand) {
  if (operand.kind == Operand::Kind::vector) return operand.parts;
  return {&operand, 1};
}

bool is_list(const Operand& operand, std::size_t count, bool (*fits)(const Operand&)) {
  const std::span<const Operand> parts = listed(operand);
  return parts.size() == count && std::all_of(parts.begin(), parts.end(), fits);
}

void compute(Instruction& instruction, Evaluate* evaluate) {
  if (instruction.from.bits == 0) instruction.from = instruction.type;
  instruction.evaluate = evaluate;
  instruction.run = run_evaluate;
}

namespace {

void run_unknown(Execution& thread) {
  std::string text = thread.now->line.name();
  for (const Operand& operand : thread.now->line.operands) {
    if (operand.kind == Operand::Kind::symbol && ~operand.number == 0) text += " " + operand.name;
  }
  fault(
      "it comes to the PTX instruction \"" + text +
          "\", which is not known on the CPU in this form",
      thread.place);
}

void remember(Instruction& i, std::string_view modifier) {
  using model::Toward;
  static const std::map<std::string_view, Toward> kRoundings = {
      {"rn", Toward::nearest}, {"rz", Toward::zero},     {"rp", Toward::above},
      {"rm", Toward::below},   {"rni", Toward::nearest}, {"rzi", Toward::zero},
      {"rpi", Toward::above},  {"rmi", Toward::below},   {"rna", Toward::nearest_away}};
  const auto rounding = kRoundings.find(modifier);
  if (rounding != kRoundings.end()) i.mode = static_cast<std::uint32_t>(rounding->second);
  if (const auto type = type_named(modifier)) {
    if (i.type.bits != 0 && i.from.bits == 0) i.from = *type;
    if (i.type.bits == 0) i.type = *type;
  }
  i.flushes |= modifier == "ftz";
  i.saturates |= modifier == "sat";
  i.relu |= modifier == "relu";
}

bool takes_name(const PtxRow& row, Instruction& i, Modifiers& modifiers) {
  const std::vector<std::string_view> words = split(row.name, ' ');
  for (std::size_t n = 1; n < words.size(); ++n) {
    std::string_view names = words[n], taken;
    const bool to_mode = names[0] == '=', to_option = names[0] == '#',
               optional = names.back() == '?';
    names.remove_prefix(to_mode || to_option ? 1 : 0);
    names.remove_suffix(optional ? 1 : 0);
    const int number = modifiers.take_one_of(names, &taken);
    if (number < 0 && !optional) return false;
    if (number >= 0) remember(i, taken);
    const auto counted = static_cast<std::uint32_t>(number + (optional ? 1 : 0));
    if (to_mode) i.mode = counted;
    if (to_option) i.option = counted;
  }
  return true;
}

bool fits(char letter, const Operand& operand, std::uint32_t mode) {
  if (letter == 'd') return is_output(operand);
  if (letter == 's') return is_input(operand);
  if (letter == 'a') return is_address(operand);
  if (letter == 'b') {
    return operand.kind == Operand::Kind::address && operand.name.empty() &&
           operand.parts.size() == 1 && is_list(operand.parts[0], mode + 1, is_input) &&
           operand.parts[0].kind == Operand::Kind::vector;
  }
  if (letter == 'l') return operand.kind == Operand::Kind::symbol && ~operand.number != 0;
  return is_list(operand, std::size_t{1} << mode, letter == 'D' ? is_output : is_input);
}

bool has_operands(const PtxRow& row, const Instruction& i) {
  std::size_t operand = 0;
  bool optional = false;
  for (const char letter : row.operands) {
    optional |= letter == '?';
    if (letter == '?' || (optional && operand == i.line.operands.size())) continue;
    if (operand == i.line.operands.size()) return false;
    if (!fits(letter, i.operand(operand++), i.mode)) return false;
  }
  return operand == i.line.operands.size();
}

bool is_meant(const PtxRow& row, Instruction& i) {
  Modifiers modifiers(i.line);
  if (!takes_name(row, i, modifiers)) return false;
  if (row.decode != nullptr) return row.decode(i, modifiers) && modifiers.empty();
  if (!modifiers.empty() || !has_operands(row, i)) return false;
  i.run = row.run;
  if (row.evaluate != nullptr) compute(i, row.evaluate);
  return true;
}

const std::vector<const PtxRow*>& rows_of(std::string_view opcode) {
  static std::map<std::string_view, std::vector<const PtxRow*>> all = [] {
    std::map<std::string_view, std::vector<const PtxRow*>> rows_of;
    for (const auto rows : {arithmetic, conversions, of_memory, of_threads, matrices}) {
      for (const PtxRow& row : rows()) {
        for (const std::string_view name : split(split(row.name, ' ')[0], '|')) {
          rows_of[name].push_back(&row);
        }
      }
    }
    return rows_of;
  }();
  static const std::vector<const PtxRow*> none;
  const auto found = all.find(opcode);
  return found == all.end() ? none : found->second;
}

}  // namespace

bool find_meaning(Instruction& instruction) {
  for (const PtxRow* row : rows_of(instruction.line.opcode)) {
    Instruction meant{.line = instruction.line};
    if (!is_meant(*row, meant)) continue;
    instruction = std::move(meant);
    return true;
  }
  return false;
}

Program compile(std::string_view text, std::span<const std::string_view> names) {
  Syntax syntax = parse(text, names);
  Program program;
  program.registers = static_cast<std::size_t>(syntax.registers);
  for (Line& line : syntax.lines) {
    Instruction instruction;
    instruction.line = std::move(line);
    if (!find_meaning(instruction)) instruction.run = run_unknown;
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
  const auto is_one_of = [&](std::string_view kinds) { return kinds.find(kind) != kinds.npos; };
  return kind == 'h' ? 2 : is_one_of("rf") ? 4 : is_one_of("ldn") ? 8 : 0;
}

// A program and what is wrong with its text; an empty sentence if it can be read.
struct CompiledText {
  std::vector<const char*> texts;  // of the constraints
  std::vector<Constraint> constraints;
  Program program;
  std::string refusal;
};

// Kept for good. The compiler keeps each text at one address, which is its name here, but two
// statements with one text may have different operands.
const CompiledText& known_for(const char* text, std::span<const simt::PtxOperand> operands) {
  thread_local std::unordered_map<const char*, std::list<CompiledText>> all;
  std::list<CompiledText>& alike = all[text];
  for (const CompiledText& known : alike) {
    if (std::ranges::equal(operands, known.texts, {}, &simt::PtxOperand::constraint)) return known;
  }
  CompiledText& known = alike.emplace_back();
  std::vector<std::string_view> names;
  for (const simt::PtxOperand& operand : operands) {
    known.texts.push_back(operand.constraint);
    known.constraints.push_back(parts_of(operand.constraint));
    names.push_back(known.constraints.back().name);
  }
  try {
    known.program = compile(text, names);
  } catch (const model::Refusal& refusal) {
    known.refusal = refusal.what();
  }
  return known;
}

std::string described(std::size_t number, const simt::PtxOperand& operand) {
  return "operand %" + std::to_string(number) + " of its inline PTX, with the constraint \"" +
         operand.constraint + "\", ";
}

// Whether the variable is a thread's local one, whose accesses are not counted.
bool is_local(const Worker& worker, const void* variable) {
  return worker.memory().stacks.holds(reinterpret_cast<std::uintptr_t>(variable));
}

std::uint64_t taken(const Execution& thread, std::size_t number, const Constraint& constraint) {
  const simt::PtxOperand& operand = thread.operands[number];
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
  const CompiledText& known = known_for(text, operands);
  if (!known.refusal.empty()) fault(known.refusal, place);
  const Program& program = known.program;
  Thread& running = worker.running();
  std::vector<char>& scratch = running.scratch;
  scratch.resize(std::max(scratch.size(), program.registers * sizeof(std::uint64_t)));
  running.place_in_ptx = place;
  Execution thread{
      worker, reinterpret_cast<std::uint64_t*>(scratch.data()), operands, running.place_in_ptx};
  for (std::size_t i = 0; i < operands.size(); ++i)
    thread.registers[i] = taken(thread, i, known.constraints[i]);

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
    thread.now = &instruction;
    instruction.run(thread);
  }
  thread.place = place;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!thread.keeps_variables) give(thread, i);
  }
  thread.place = nullptr;
}

}  // namespace machine::ptx

void simt::ptx(const char* text, std::initializer_list<PtxOperand> operands) {
  machine::ptx::run_statement(
      text, {operands.begin(), operands.size()}, __builtin_return_address(0));
}
