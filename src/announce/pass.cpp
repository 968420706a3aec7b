#include "announce/pass.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "announce/instruction.h"

namespace announce {
namespace {

constexpr std::string_view kBuiltIns[] = {
    "threadIdx@", "blockIdx@", "blockDim@", "gridDim@", "warpSize@"};

bool is_built_in(std::string_view symbol) {
  return std::any_of(std::begin(kBuiltIns), std::end(kBuiltIns), [&](std::string_view name) {
    return symbol.starts_with(name);
  });
}

// A displacement is a symbol, a number, or both: "tile@tpoff+16".
struct Displacement {
  std::string symbol;
  long number = 0;
};

Displacement displacement_in(std::string_view text) {
  Displacement displacement;
  const std::size_t sign = text.find_last_of("+-");
  const bool only_number = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  std::string_view number = only_number ? text : sign == text.npos ? "" : text.substr(sign);
  displacement.symbol = text.substr(0, text.size() - number.size());
  if (number.starts_with('+')) number.remove_prefix(1);
  std::from_chars(number.data(), number.data() + number.size(), displacement.number);
  return displacement;
}

// The address that an operand means, valid while its registers keep their values.
struct Place {
  std::string around;  // everything except the number
  long begin;
};

// Follows the assembly of each function, instruction by instruction.
class Pass {
 public:
  explicit Pass(std::string_view assembly) {
    for (std::size_t begin = 0; begin < assembly.size();) {
      const std::size_t end = std::min(assembly.find('\n', begin), assembly.size());
      lines_.push_back(assembly.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  std::string run() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      if (const auto instruction = instruction_in(lines_[at_])) {
        follow(*instruction);
      } else if (is_label(lines_[at_])) {
        forget();
        if (lines_[at_].starts_with(".LFB")) has_frame_ = false;
      }
      text_ += lines_[at_];
      text_ += '\n';
    }
    // Without this pass, traced code would be counted wrongly, so src/trace/keep_symbols.sh looks
    // for this symbol.
    text_ += "\t.set\tsimt_accesses_are_announced, 1\n";
    return std::move(text_);
  }

 private:
  // What the compiler announced for the next statement.
  struct Announced {
    bool stores;
    int bytes;  // how many of them were not seen yet
    int all;
    std::optional<Place> seen;  // the place of the first of them
  };

  static bool is_label(std::string_view line) {
    return !line.empty() && line[0] != '\t' && line[0] != ' ' && line.ends_with(':');
  }

  void forget() {
    announced_.clear();
    built_ins_.clear();
    merged_.clear();
  }

  Place place_of(const Operand& operand) const {
    const Displacement displacement = displacement_in(operand.displacement);
    Place place{operand.thread_local_segment ? "%fs:" : "", displacement.number};
    place.around += displacement.symbol;
    for (const std::string& reg : {operand.base, operand.index}) {
      const auto times = times_written_.find(reg);
      place.around += "," + reg;
      if (times != times_written_.end()) place.around += "'" + std::to_string(times->second);
    }
    place.around += "*" + operand.scale;
    return place;
  }

  // Memory that a kernel does not share, or that is not counted.
  bool is_private(const Operand& operand) const {
    if (operand.base == "%rsp" || operand.base == "%rip") return true;
    if (operand.base == "%rbp" && has_frame_) return true;
    const bool has_register = !operand.base.empty() || !operand.index.empty();
    if (!operand.thread_local_segment) return !has_register;  // static data
    if (built_ins_.contains(operand.base) || is_built_in(operand.displacement)) return true;
    // %fs:0 is the base of thread-local data, %fs:40 the stack protector's canary.
    return !has_register && displacement_in(operand.displacement).symbol.empty();
  }

  // "movl $24, %esi" comes right before the call that announces 24 bytes.
  void hear(std::string_view function) {
    std::string_view rest = function.substr(0, function.find('@'));
    rest.remove_prefix(std::string_view("__tsan_").size());
    for (const std::string_view word : {"unaligned_", "volatile_"}) {
      if (rest.starts_with(word)) rest.remove_prefix(word.size());
    }
    if (consumes_) announced_.clear();
    consumes_ = false;
    const bool loads = rest.starts_with("read"), stores = rest.starts_with("write");
    if (rest.starts_with("vptr_")) {
      announced_.push_back({rest.ends_with("update"), 8, 8, {}});
    } else if (loads || stores) {
      rest.remove_prefix(loads ? 4 : 5);
      int bytes = last_immediate_;
      if (rest != "_range") std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
      announced_.push_back({stores, bytes, bytes, {}});
    } else {
      announced_.clear();  // a function's entry or exit, or an atomic
    }
  }

  // Whether the compiler has announced this access, or an access of the same statement that
  // contains it.
  bool is_announced(bool stores, int bytes, const Place& place) {
    for (Announced& said : announced_) {
      if (said.stores != stores) continue;
      const bool again = said.seen && said.seen->around == place.around &&
                         place.begin >= said.seen->begin &&
                         place.begin + bytes <= said.seen->begin + said.all;
      if (!again && said.bytes < bytes) continue;
      if (!said.seen) said.seen = place;
      said.bytes = std::max(0, said.bytes - bytes);
      consumes_ = true;
      return true;
    }
    return false;
  }

  void follow(const Instruction& instruction) {
    if (instruction.name == "call") {
      const std::string target = instruction.operands.empty() ? "" : instruction.operands[0].text;
      if (target.starts_with("__tsan_")) return hear(target);
      forget();
    } else if (instruction.name.starts_with('j') || instruction.name == "ret") {
      forget();
    }
    if (const auto strings = string_access_of(instruction)) {
      follow(*strings);
    } else if (const auto access = access_of(instruction)) {
      if (!is_private(*access->operand)) follow(*access);
    }
    note_written(instruction);
    note_values(instruction);
  }

  void follow(const StringAccess& access) {
    const auto silent = [&](bool stores) {
      // Marks everything that was announced for it as seen, whatever its length.
      const auto said = std::find_if(announced_.begin(), announced_.end(), [&](const auto& one) {
        return one.stores == stores && !one.seen;
      });
      if (said == announced_.end()) return true;
      said->seen = Place{};
      consumes_ = true;
      return false;
    };
    const auto announce_at = [&](const char* pointer, bool stores) {
      announce(
          std::string("\tmovq\t") + pointer + ", %rdi\n",
          {!stores, stores, access.repeated, 16, access.unit_bytes});
    };
    if (access.loads && silent(false)) announce_at("%rsi", false);
    if (silent(true)) announce_at("%rdi", true);
  }

  void follow(const Access& access) {
    const Place place = place_of(*access.operand);
    const auto silent = [&](bool stores) {
      return !merged_.contains({at_, stores}) && !is_announced(stores, access.bytes, place);
    };
    const bool loads = access.loads && silent(false), stores = access.stores && silent(true);
    if (!loads && !stores) return;
    Announcement announcement{loads, stores, false, 16, access.bytes};
    if (loads != stores && access.bytes > 0) merge(place, announcement);
    announce(address_in_rdi(*access.operand), announcement);
  }

  // A class is moved piece by piece. The pieces that directly follow the one at `place` are
  // announced together with it.
  //
  // The assembly does not tell how the class is aligned. A class of 8 or 16 bytes is taken for a
  // class of doubles if one of its parts is moved as a double, else for a class of floats. Types
  // with a larger alignment, such as float4, announce their own copies (cuda/vector_types.h).
  void merge(const Place& place, Announcement& announcement) {
    const bool rest_is_announced =
        std::any_of(announced_.begin(), announced_.end(), [&](const Announced& said) {
          return said.stores == announcement.stores && said.bytes > 0;
        });
    if (rest_is_announced) return;
    const std::map<std::string, int> written_before = times_written_;
    bool has_doubles = false;
    long end = place.begin;
    for (std::size_t i = at_; i < lines_.size() && !is_label(lines_[i]); ++i) {
      const auto instruction = instruction_in(lines_[i]);
      if (!instruction) continue;
      if (instruction->name == "call" || instruction->name.starts_with('j')) break;
      const auto access = access_of(*instruction);
      if (access && access->stores == announcement.stores && access->loads != access->stores) {
        const Place next = place_of(*access->operand);
        if (next.around == place.around && next.begin == end) {
          end += access->bytes;
          has_doubles |= instruction->name == "movsd";
          merged_.insert({i, announcement.stores});
        }
      }
      note_written(*instruction);
    }
    times_written_ = written_before;
    announcement.bytes = static_cast<int>(end - place.begin);
    const bool is_small = announcement.bytes == 8 || announcement.bytes == 16;
    announcement.widest = !is_small ? 16 : has_doubles ? 8 : 4;
  }

  static std::string address_in_rdi(const Operand& operand) {
    const bool has_register = !operand.base.empty() || !operand.index.empty();
    std::string inside = operand.base;
    if (!operand.index.empty()) inside += "," + operand.index + "," + operand.scale;
    if (inside.ends_with(',')) inside.pop_back();
    if (!operand.thread_local_segment) {
      return "\tleaq\t" + operand.displacement + "(" + inside + "), %rdi\n";
    }
    if (!has_register)
      return "\tmovq\t%fs:0, %rdi\n\tleaq\t" + operand.displacement + "(%rdi), %rdi\n";
    return "\tleaq\t" + operand.displacement + "(" + inside + "), %rdi\n\taddq\t%fs:0, %rdi\n";
  }

  // After this, every register and flag has its old value. There is no red zone (-mno-red-zone).
  void announce(const std::string& address, const Announcement& announcement) {
    text_ += "\tpushfq\n\tpushq\t%rdi\n" + address + "\tpushq\t$" +
             std::to_string(announcement.packed()) +
             "\n\tcall\tsimt_announce@PLT\n\tleaq\t8(%rsp), %rsp\n\tpopq\t%rdi\n\tpopfq\n";
  }

  void note_written(const Instruction& instruction) {
    for (const std::string& reg : written_by(instruction)) ++times_written_[reg];
  }

  // Records what the pass must know about the values in registers.
  void note_values(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    for (const std::string& reg : written_by(instruction)) {
      built_ins_.erase(reg);
      if (reg == "%rbp") has_frame_ = operands.front().text == "%rsp";
    }
    if (operands.size() != 2) return;
    if (operands[0].displacement.ends_with("@gottpoff") && is_built_in(operands[0].displacement) &&
        instruction.name == "movq") {
      built_ins_.insert(operands[1].text);
    }
    if (operands[0].text.starts_with('$') && operands[1].text.ends_with("si")) {
      const std::string_view number = std::string_view(operands[0].text).substr(1);
      std::from_chars(number.data(), number.data() + number.size(), last_immediate_);
    }
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::string text_;

  bool has_frame_ = false;  // %rbp is the frame of the function
  int last_immediate_ = 0;  // the last constant that was moved to %rsi
  std::vector<Announced> announced_;
  bool consumes_ = false;                          // the announced statement has begun
  std::set<std::pair<std::size_t, bool>> merged_;  // lines announced with an earlier one
  std::set<std::string> built_ins_;                // registers that hold the address of threadIdx
  std::map<std::string, int> times_written_;
};

}  // namespace

std::string announced(std::string_view assembly) {
  return Pass(assembly).run();
}

}  // namespace announce
