#include "top/canvas.h"

#include <algorithm>

namespace podgpu {
namespace {

constexpr char32_t kCut = U'…';
constexpr char32_t kLowestBar = U'▁', kFullBar = U'█', kThinnestBar = U'▏';

// Takes the first letter of `text`; an invalid byte is a letter of its own, U+FFFD.
char32_t TakeLetter(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t length = 1;
  char32_t letter = byte(0);
  if (letter >= 0xC2 && letter < 0xE0) {
    length = 2;
    letter &= 0x1F;
  } else if (letter >= 0xE0 && letter < 0xF0) {
    length = 3;
    letter &= 0x0F;
  } else if (letter >= 0xF0 && letter < 0xF5) {
    length = 4;
    letter &= 0x07;
  } else if (letter >= 0x80) {
    letter = U'\uFFFD';
  }
  if (length > text.size()) {
    text.remove_prefix(1);
    return U'\uFFFD';
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      text.remove_prefix(1);
      return U'\uFFFD';
    }
    letter = (letter << 6) | (byte(i) & 0x3F);
  }
  text.remove_prefix(length);
  return letter;
}

// Returns whether every terminal gives the letter one column.
bool IsOneColumn(char32_t letter) {
  constexpr char32_t kSoftHyphen = 0xAD;
  const bool is_latin = (letter >= U' ' && letter <= U'~') ||
                        (letter >= 0xA0 && letter <= 0x02FF && letter != kSoftHyphen);
  return is_latin || letter == kCut || (letter >= kLowestBar && letter <= kThinnestBar);
}

char32_t InAscii(char32_t letter) {
  constexpr std::u32string_view kLevels = U"..:-=+*#";
  if (letter >= kLowestBar && letter <= kFullBar) {
    return kLevels[letter - kLowestBar];
  }
  if (letter > kFullBar && letter <= kThinnestBar) {  // The bars from seven eighths down to one.
    return kLevels[kThinnestBar - letter];
  }
  if (letter == kCut) {
    return U'.';
  }
  return letter <= U'~' ? letter : U'?';
}

std::u32string Letters(std::string_view text) {
  std::u32string letters;
  while (!text.empty()) {
    const char32_t letter = TakeLetter(text);
    letters += IsOneColumn(letter) ? letter : U'?';
  }
  return letters;
}

std::string InUtf8(std::u32string_view letters) {
  std::string text;
  for (const char32_t letter : letters) {
    AppendUtf8(letter, text);
  }
  return text;
}

}  // namespace

std::string Shown(std::string_view text) { return InUtf8(Letters(text)); }

std::string CutTo(std::string_view text, size_t width) {
  std::u32string letters = Letters(text);
  if (letters.size() > width) {
    letters.resize(width);
    if (width > 0) {
      letters.back() = kCut;
    }
  }
  return InUtf8(letters);
}

size_t WidthOf(std::string_view text) { return Letters(text).size(); }

void AppendUtf8(char32_t letter, std::string& out) {
  const auto add = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (letter < 0x80) {
    add(letter);
  } else if (letter < 0x800) {
    add(0xC0 | (letter >> 6));
    add(0x80 | (letter & 0x3F));
  } else {
    add(0xE0 | (letter >> 12));
    add(0x80 | ((letter >> 6) & 0x3F));
    add(0x80 | (letter & 0x3F));
  }
}

size_t Canvas::Put(size_t row, size_t column, std::string_view text, Ink ink) {
  for (const char32_t letter : Letters(text)) {
    if (row < size_.rows && column < size_.columns) {
      cells_[row * size_.columns + column] = {ascii_ ? InAscii(letter) : letter, ink};
    }
    ++column;
  }
  return column;
}

void Canvas::PutLeft(size_t row, size_t column, size_t width, std::string_view text, Ink ink) {
  Put(row, column, CutTo(text, width), ink);
}

void Canvas::PutRight(size_t row, size_t column, size_t width, std::string_view text, Ink ink) {
  const std::string cut = CutTo(text, width);
  Put(row, column + width - WidthOf(cut), cut, ink);
}

void Canvas::Paint(size_t row, Ink ink) {
  for (size_t column = 0; row < size_.rows && column < size_.columns; ++column) {
    cells_[row * size_.columns + column].ink = ink;
  }
}

std::string Canvas::Text() const {
  std::string text;
  for (size_t row = 0; row < size_.rows; ++row) {
    std::string line;
    for (size_t column = 0; column < size_.columns; ++column) {
      AppendUtf8(at(row, column).letter, line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace podgpu
