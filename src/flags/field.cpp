#include "flags/field.h"

#include <algorithm>
#include <limits>

#include "text/echoed.h"

namespace flags {

Set yes(bool Flags::*field) {
  return [=](Flags& flags, const Value&) { flags.*field = true; };
}

Set whole(std::optional<int> Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = whole_int(value); };
}

Set whole(std::uint64_t Flags::*field) {
  return [=](Flags& flags, const Value& value) {
    flags.*field = whole_number(value, std::numeric_limits<std::uint64_t>::max());
  };
}

Set count(std::optional<int> Flags::*field, int most) {
  return [=](Flags& flags, const Value& value) {
    flags.*field = whole_int(value);
    if (flags.*field == 0) refuse(value, "too few");
    if (flags.*field > most) refuse(value, "too many");
  };
}

Set real(float Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = real_number(value); };
}

Set file(std::string Flags::*field) {
  return [=](Flags& flags, const Value& value) { flags.*field = file_name(value); };
}

Set name(std::string Flags::*field, const char* empty) {
  return [=](Flags& flags, const Value& value) {
    if (value.text.empty()) refuse(value, empty);
    flags.*field = value.text;
  };
}

void set_reps(Flags& flags, const Value& value) {
  flags.reps = whole_int(value);
  if (flags.reps == 0) refuse(value, "nothing to time");
}

void set_ask(Flags& flags, const Value&) {
  flags.explain = flags.ask = true;
}

void set_sections(Flags& flags, const Value& value) {
  flags.explain = true;
  flags.sections.clear();
  for (std::size_t begin = 0; begin <= value.text.size();) {
    const std::size_t end = std::min(value.text.find(',', begin), value.text.size());
    flags.sections.push_back(value.text.substr(begin, end - begin));
    begin = end + 1;
    const auto known = report::explained_sections();
    if (std::find(known.begin(), known.end(), flags.sections.back()) != known.end()) continue;
    std::string all;
    for (const char* section : known) all += (all.empty() ? "" : ", ") + std::string(section);
    refuse(
        value,
        "there is no section \"" + text::echoed(flags.sections.back()) + "\", they are " + all);
  }
}

}  // namespace flags
