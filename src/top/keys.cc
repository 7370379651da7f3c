#include "top/keys.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace podgpu {
namespace {

constexpr char kEscapeByte = '\x1b';
constexpr size_t kLongestSequence = 32;  // No terminal sends longer ones for a key.

struct NamedSequence {
  std::string_view bytes;  // The bytes after Esc.
  Key key;
};

// The sequences of xterm and the Linux console (ctlseqs of XTerm 379, console_codes(4)), in both
// cursor modes.
constexpr NamedSequence kSequences[] = {
    {"[A", Key::kUp},      {"OA", Key::kUp},        {"[B", Key::kDown}, {"OB", Key::kDown},
    {"[5~", Key::kPageUp}, {"[6~", Key::kPageDown}, {"[H", Key::kHome}, {"OH", Key::kHome},
    {"[1~", Key::kHome},   {"[7~", Key::kHome},     {"[F", Key::kEnd},  {"OF", Key::kEnd},
    {"[4~", Key::kEnd},    {"[8~", Key::kEnd},
};

// Length of the sequence after Esc, or nothing while it is incomplete.
std::optional<size_t> SequenceLength(std::string_view bytes) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  if (bytes[0] == 'O') {
    return bytes.size() < 2 ? std::nullopt : std::optional<size_t>(2);
  }
  if (bytes[0] != '[') {
    return 0;
  }
  for (size_t i = 1; i < bytes.size(); ++i) {
    if (bytes[i] >= '@' && bytes[i] <= '~') {
      return i + 1;
    }
  }
  return bytes.size() >= kLongestSequence ? std::optional<size_t>(bytes.size()) : std::nullopt;
}

std::optional<KeyPress> KeyOfByte(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return KeyPress{Key::kEnter};
    case '\t':
      return KeyPress{Key::kTab};
    case '\b':
    case '\x7f':
      return KeyPress{Key::kBackspace};
    default:
      return byte >= ' ' && byte <= '~' ? std::optional(KeyPress{Key::kText, byte}) : std::nullopt;
  }
}

}  // namespace

std::vector<KeyPress> KeyDecoder::Take(std::string_view bytes) {
  pending_ += bytes;
  std::vector<KeyPress> keys;
  size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    if (rest[0] != kEscapeByte) {
      if (const auto key = KeyOfByte(rest[0])) {
        keys.push_back(*key);
      }
      ++at;
      continue;
    }
    const std::optional<size_t> length = SequenceLength(rest.substr(1));
    if (!length) {
      break;
    }
    const std::string_view sequence = rest.substr(1, *length);
    if (*length == 0) {
      keys.push_back({Key::kEscape});
    } else if (const auto* const row =
                   std::ranges::find(kSequences, sequence, &NamedSequence::bytes);
               row != std::end(kSequences)) {
      keys.push_back({row->key});
    }
    at += 1 + *length;
  }
  pending_.erase(0, at);
  return keys;
}

std::vector<KeyPress> KeyDecoder::Flush() {
  const bool is_escape = pending_.size() == 1;
  pending_.clear();
  return is_escape ? std::vector<KeyPress>{{Key::kEscape}} : std::vector<KeyPress>();
}

}  // namespace podgpu
