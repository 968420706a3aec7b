// The terminal as a screen of text and a source of keys, with termios and ECMA-48's sequences only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "step/key.h"

namespace step {

// Whether the program can draw on a terminal: input and output are one, and TERM is neither missing
// nor dumb.
bool at_terminal();

// Takes over the terminal, and restores it in the destructor, at exit(), and when a signal ends or
// stops the process. Only one may exist at a time.
class Terminal {
 public:
  Terminal();  // throws a Refusal if there is no terminal
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    int rows, columns;
  };
  Size size() const;  // 24 x 80 if the terminal does not report its size

  void draw(const std::vector<std::string>& lines);  // not larger than size()

  // Waits for a key. Returns nothing if the screen must be redrawn first, because the window's size
  // changed or the process was stopped. 'q' if the terminal is gone.
  std::optional<Key> read_key();

 private:
  std::optional<int> read_byte(int wait_ms);
  Key read_sequence();
};

}  // namespace step
