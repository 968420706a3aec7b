// Keys from a terminal or a script.
#pragma once

namespace step {

// A typed character, or one of these.
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
