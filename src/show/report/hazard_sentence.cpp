#include "show/report/hazard_sentence.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "lab/run.h"
#include "text/numbers.h"

namespace report {

std::string place_in(std::int64_t number, std::array<unsigned, 3> of) {
  if (number < 0) return "";  // there is none
  const std::int64_t x = std::max(1u, of[0]), y = of[2] > 1 ? of[1] : number / x + 1;
  return "(" + std::to_string(number % x) + ", " + std::to_string(number / x % y) +
         (of[2] > 1 ? ", " + std::to_string(number / (x * y)) : "") + ")";
}

namespace {

using Words = std::map<std::string_view, std::string>;

// "1, 2 or 4".
std::string powers_of_two(std::int64_t last) {
  std::string text = "1";
  for (std::int64_t power = 2; power <= last; power *= 2) {
    text += (power == last ? " or " : ", ") + std::to_string(power);
  }
  return text;
}

#define REMEDY(name, text) text,
const char* const kRemedies[] = {
#include "model/hazards.inc"
};

// " on line 12", or " on line 3 of tools.cuh (called on line 12)": in a function that the kernel
// calls.
std::string on_line(const model::Hazard::Actor& actor) {
  const auto line = [](int number, const std::string& file) {
    return number == 0 ? ""
                       : text::printed("on line %d", number) + (file.empty() ? "" : " of " + file);
  };
  const std::string call = line(actor.line, actor.file);
  const std::string own = line(actor.helper_line, actor.helper_file);
  if (own.empty() || call.empty()) return own.empty() && call.empty() ? "" : " " + own + call;
  return " " + own + " (called " + call + ")";
}

// The words of model/hazards.inc.
Words words_for(const model::Hazard& hazard, const lab::Run& run) {
  // "thread (3, 0)", and "thread (3, 0) stores on line 254"
  const auto thread = [&](const model::Hazard::Actor& actor) {
    return "thread " + place_in(actor.thread, hazard.block_size);
  };
  const auto accesses = [](const model::Hazard::Actor& actor) {
    return actor.stores ? "stores" : "loads";
  };
  const auto action = [&](const model::Hazard::Actor& actor) {
    return thread(actor) + " " + accesses(actor) + on_line(actor);
  };
  const auto byte = static_cast<unsigned long long>(hazard.byte);
  const auto number = static_cast<std::int64_t>(hazard.byte / 4),
             N = std::int64_t{std::max(1, run.N)};
  const bool has_second = hazard.second.thread >= 0;
  return {
      {"block", "block " + place_in(hazard.block, hazard.grid)},
      {"other block",
       hazard.other_block < 0 ? "" : "block " + place_in(hazard.other_block, hazard.grid)},
      {"thread", thread(hazard.first)},
      {"other", thread(hazard.second)},
      {"other thread", has_second ? thread(hazard.second) : ""},
      {"first", action(hazard.first)},
      {"second", has_second ? action(hazard.second) : ""},
      {"accesses", accesses(hazard.first)},
      {"other accesses", accesses(hazard.second)},
      {"stores", hazard.first.stores ? "yes" : ""},
      {"other stores", hazard.second.stores ? "yes" : ""},
      {"on line", on_line(hazard.first)},
      {"on other line", on_line(hazard.second)},
      {"array", hazard.array},
      {"memory", hazard.array == "dynamic" ? "dynamic shared memory" : hazard.array},
      {"is shared", hazard.shared ? "yes" : ""},
      {"where", hazard.array + text::printed(" (byte %llu)", byte)},
      {"address", text::printed("0x%llx", byte)},
      {"row", std::to_string(number / N)},
      {"column", std::to_string(number % N)},
      {"others", hazard.extent > 1 ? text::grouped(hazard.extent - 1) : ""},
      {"index", std::to_string(hazard.index)},
      {"last index", std::to_string(hazard.extent - 1)},
      {"number", text::grouped(hazard.index)},
      {"extent", text::grouped(hazard.extent)},
      {"part", hazard.extent < 0 ? "yes" : ""},
      {"mask", text::printed("0x%08llx", static_cast<long long>(hazard.extent))},
      {"powers of two", powers_of_two(hazard.extent)},
      {"remedy", kRemedies[static_cast<int>(hazard.remedy)]},
      {"special remedy", hazard.remedy != model::Remedy::block_barrier ? "yes" : ""}};
}

// The text with its words, up to the end of the choice that it belongs to; `text` is what follows.
std::string filled(std::string_view& text, const Words& words) {
  const auto up_to = [&](char end) {
    const std::string_view found = text.substr(0, text.find(end));
    text.remove_prefix(found.size() + 1);
    return found;
  };
  std::string written;
  while (!text.empty() && text[0] != '|' && text[0] != ']') {
    const char first = text[0];
    text.remove_prefix(1);
    if (first == '{') {
      written += words.at(up_to('}'));
    } else if (first == '[') {
      const bool chosen = !words.at(up_to('?')).empty();
      const std::string yes = filled(text, words);
      const bool has_other = text.at(0) == '|';
      text.remove_prefix(1);
      const std::string no = has_other ? filled(text, words) : "";
      if (has_other) text.remove_prefix(1);
      written += chosen ? yes : no;
    } else {
      written += first;
    }
  }
  return written;
}

}  // namespace

std::string hazard_sentence(
    const model::Hazard& hazard, const lab::Run& run, const lab::Row& row,
    const std::optional<std::string>& remedy) {
  std::string_view words = model::entry_of(hazard.kind).sentence;
  const std::string kernel = lab::kernel_name(row);
  std::string sentence =
      (kernel.empty() ? "" : kernel + ", ") + filled(words, words_for(hazard, run));
  if (hazard.more > 0) {
    const std::string more = " (and " + text::grouped(hazard.more) + " more such pair";
    const std::size_t end = std::min(sentence.find("; "), sentence.size());
    sentence.insert(end, more + (hazard.more == 1 ? ")" : "s)"));
  }
  if (!remedy) return sentence;
  return sentence.substr(0, sentence.find("; ")) + (remedy->empty() ? "" : "; " + *remedy);
}

std::string hazard_place(const model::Hazard& hazard, const lab::Run& run) {
  std::string_view place = model::entry_of(hazard.kind).place;
  if (place.empty()) {
    place = "[array?in the part that reads or writes {array}|where a pointer is computed]";
  }
  return filled(place, words_for(hazard, run));
}

bool report_hazards(const char* program, const lab::Run& run, std::FILE* out) {
  bool any = false;
  for (const lab::Row& row : run.rows) {
    if (!row.counts) continue;
    for (const model::Hazard& hazard : row.counts->hazards) {
      const bool is_note = model::is_note(hazard.kind);
      std::fprintf(
          out, "%s: %s%s\n", program, is_note ? "note: " : "",
          hazard_sentence(hazard, run, row).c_str());
      any |= !is_note;
    }
  }
  return any;
}

}  // namespace report
