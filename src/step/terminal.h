// The terminal as a screen of text and a source of keys: termios and ECMA-48's sequences, no more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "step/key.h"

namespace step {

// Whether whoever started this sits at a terminal that can be drawn on: input and output are one,
// and TERM is neither missing nor dumb.
bool at_terminal();

// Takes the terminal over while it lives, and gives it back as it was: when it ends, at exit(), and
// where a signal ends or stops the process. One at a time.
class Terminal {
 public:
  Terminal();  // throws a Refusal where there is no terminal
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    int rows, columns;
  };
  Size size() const;  // 24 x 80 where the terminal does not tell

  void draw(const std::vector<std::string>& lines);  // of no more than size()

  // Waits for a key. None where the screen has to be drawn again first, because the window changed
  // its size or the process was stopped. 'q' where the terminal is gone.
  std::optional<Key> read_key();

 private:
  std::optional<int> read_byte(int wait_ms);
  Key read_sequence();
};

}  // namespace step
