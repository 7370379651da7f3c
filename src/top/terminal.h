// The terminal that `podgpu top` draws on: raw keys, the alternate screen, no cursor; and back.
//
// However the program ends, the terminal is as it was: the destructor, and a handler for the
// signals of crashes, restore it.  SIGKILL alone cannot be caught.  One at a time, on the main
// thread.
#pragma once

#include <string>
#include <string_view>
#include <termios.h>

#include "base/status.h"
#include "top/canvas.h"

namespace podgpu {

class Terminal {
 public:
  // `input` and `output` are file descriptors of a terminal.
  Terminal(int input, int output) : input_(input), output_(output) {}
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { Leave(); }

  // Takes the terminal over.  kUnavailable if it has no settings.
  Status Enter();
  // Restores it.  May be followed by Enter.
  void Leave();

  Size ReadSize() const;
  // Writes all bytes; false when the terminal is gone.
  bool Write(std::string_view bytes) const;

 private:
  const int input_, output_;
  bool is_entered_ = false;
  termios before_{};
};

}  // namespace podgpu
