// Turns the bytes that a terminal sends into keys.
//
// A key may arrive in pieces, and Esc alone begins like an arrow key; so the caller says when no
// more bytes came for a moment (Flush).  Unknown sequences are no key.  One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

enum class Key : uint8_t {
  kText,  // A printable letter, in `KeyPress::letter`.
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kTab,
  kBackspace,
};

struct KeyPress {
  Key key = Key::kText;
  char letter = 0;  // ASCII.
  bool operator==(const KeyPress&) const = default;
};

class KeyDecoder {
 public:
  std::vector<KeyPress> Take(std::string_view bytes);
  // Returns Esc if it was pressed alone.
  std::vector<KeyPress> Flush();
  // Returns whether an incomplete key waits for more bytes.
  bool is_waiting() const { return !pending_.empty(); }

 private:
  std::string pending_;  // An incomplete sequence, at most kLongestSequence bytes.
};

}  // namespace podgpu
