#include "machine/ptx/instruction.h"

#include <algorithm>

namespace machine::ptx {

std::span<const Family> (*between_blocks)() = nullptr;

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

}  // namespace machine::ptx
