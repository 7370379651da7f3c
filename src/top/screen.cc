#include "top/screen.h"

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr std::string_view kClear = "\x1b[0m\x1b[2J";

// Sets an ink from any other one.
std::string_view SetInk(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "\x1b[0m";
    case Ink::kDim:
      return "\x1b[0;2m";
    case Ink::kWarning:
      return "\x1b[0;33m";
    case Ink::kAlarm:
      return "\x1b[0;31;7m";
    case Ink::kIdle:
      return "\x1b[0;35m";
    case Ink::kProgress:
      return "\x1b[0;36m";
    case Ink::kSelected:
      return "\x1b[0;7m";
  }
  return "\x1b[0m";
}

}  // namespace

std::string Screen::Update(const Canvas& canvas, bool colour) {
  const Size size = canvas.size();
  std::string out;
  if (!shown_ || shown_->size != size || shown_->colour != colour) {
    shown_ = Shown{size, colour, std::vector<Cell>(size.columns * size.rows)};
    out += kClear;
  }
  Ink ink = Ink::kPlain;
  for (size_t row = 0; row < size.rows; ++row) {
    bool is_there = false;  // The cursor stands at the next cell.
    for (size_t column = 0; column < size.columns; ++column) {
      Cell cell = canvas.at(row, column);
      cell.ink = colour ? cell.ink : Ink::kPlain;
      Cell& shown = shown_->cells[row * size.columns + column];
      if (cell == shown) {
        is_there = false;
        continue;
      }
      if (!is_there) {
        absl::StrAppendFormat(&out, "\x1b[%d;%dH", row + 1, column + 1);
      }
      if (cell.ink != ink) {
        out += SetInk(cell.ink);
        ink = cell.ink;
      }
      AppendUtf8(cell.letter, out);
      shown = cell;
      is_there = true;
    }
  }
  if (ink != Ink::kPlain) {
    out += SetInk(Ink::kPlain);
  }
  return out;
}

}  // namespace podgpu
