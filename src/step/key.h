// Keys, as a terminal or a script gives them.
#pragma once

namespace step {

// A character as it is typed, or one of these.
using Key = int;
enum SpecialKey : Key {
  kBackspaceKey = 8,
  kEnterKey = 13,
  kEscapeKey = 27,
  kUpKey = 0x110000,  // beyond Unicode
  kDownKey,
  kLeftKey,
  kRightKey,
  kPageUpKey,
  kPageDownKey,
  kHomeKey,
  kEndKey
};

}  // namespace step
