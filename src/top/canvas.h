// A rectangle of cells that a frame of `podgpu top` is drawn on, before the terminal sees it.
//
// Drawing never leaves the rectangle, and never takes a control character or a letter of unknown
// width from outside text: it becomes "?".  So a name in a cluster cannot send an escape sequence
// to a terminal.  Without UTF-8, marks and plots become ASCII here, once for all frames.  One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

// The terminal's own colours, by meaning.  The words on the screen say the same without colour.
enum class Ink : uint8_t {
  kPlain,
  kDim,       // Under 1 %, or no longer current.
  kWarning,   // Yellow: degraded, throttled, close to slowdown.
  kAlarm,     // Red, reversed: lost, unresponsive.
  kIdle,      // Magenta.
  kProgress,  // Cyan: recovering.
  kSelected,  // Reversed.
};

struct Cell {
  char32_t letter = U' ';
  Ink ink = Ink::kPlain;
  bool operator==(const Cell&) const = default;
};

struct Size {
  size_t columns = 80, rows = 24;
  bool operator==(const Size&) const = default;
};

// The rows [row, row + rows) of a canvas.
struct PaneArea {
  size_t row = 0, rows = 0;
};

class Canvas {
 public:
  // With `ascii`, every letter becomes an ASCII one.
  explicit Canvas(Size size, bool ascii = false)
      : size_(size), ascii_(ascii), cells_(size.columns * size.rows) {}

  const Size& size() const { return size_; }
  const Cell& at(size_t row, size_t column) const { return cells_[row * size_.columns + column]; }

  // Draws UTF-8 from `column` on and returns the column after it.
  size_t Put(size_t row, size_t column, std::string_view text, Ink ink = Ink::kPlain);
  // Draws in `width` columns, cut with "…" if it is longer.
  void PutLeft(size_t row, size_t column, size_t width, std::string_view text,
               Ink ink = Ink::kPlain);
  void PutRight(size_t row, size_t column, size_t width, std::string_view text,
                Ink ink = Ink::kPlain);
  // Changes the ink of a row.
  void Paint(size_t row, Ink ink);

  // The rows as text, each with a newline and without blanks at its end.
  std::string Text() const;

 private:
  const Size size_;
  const bool ascii_;
  std::vector<Cell> cells_;  // rows x columns, row-major.
};

// Returns `text` as a canvas shows it: without control characters and letters of unknown width.
std::string Shown(std::string_view text);
// The same in at most `width` columns, with "…" at the end if it is cut.
std::string CutTo(std::string_view text, size_t width);
// Number of columns that `text` takes on a canvas.
size_t WidthOf(std::string_view text);

// Appends `letter` in UTF-8.
void AppendUtf8(char32_t letter, std::string& out);

}  // namespace podgpu
