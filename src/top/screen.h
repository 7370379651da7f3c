// What the terminal shows, and the bytes that change it into the next frame.
//
// Plain ANSI: only cells that differ are written, so nothing flickers and a slow line stays usable.
// It writes nothing itself.  One thread.
#pragma once

#include <optional>
#include <string>

#include "top/canvas.h"

namespace podgpu {

class Screen {
 public:
  // Returns the bytes that make the terminal show `canvas`; all of it the first time, after Forget
  // and after a change of its size.
  std::string Update(const Canvas& canvas, bool colour);
  // Forgets what the terminal shows, so the next Update writes all of it.
  void Forget() { shown_.reset(); }

 private:
  struct Shown {
    Size size;
    bool colour = false;
    std::vector<Cell> cells;
  };
  std::optional<Shown> shown_;
};

}  // namespace podgpu
