#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace podgpu {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Returns the length of the valid UTF-8 sequence at the start of `text`, or 0.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2) || (first == 0xE0 && byte(1) < 0xA0) ||
        (first == 0xED && byte(1) > 0x9F)) {
      return 0;
    }
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3) || (first == 0xF0 && byte(1) < 0x90) ||
        (first == 0xF4 && byte(1) > 0x8F)) {
      return 0;
    }
    return 4;
  }
  return 0;
}

// Returns whether the byte is not a later byte of a UTF-8 sequence.
bool BeginsLetter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string_view FirstLetters(std::string_view text, size_t count) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (BeginsLetter(text[i]) && count-- == 0) {
      return text.substr(0, i);
    }
  }
  return text;
}

}  // namespace

std::string_view Trim(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::string Listed(std::span<const std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += text.empty() ? "" : ", ";
    text += part;
  }
  return text;
}

std::string ListedFirst(std::span<const std::string> parts, size_t most) {
  if (parts.size() <= most) {
    return Listed(parts);
  }
  return Listed(parts.first(most)) + " and " + std::to_string(parts.size() - most) + " more";
}

std::string NumberRanges(std::span<const uint32_t> numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    text += last == i ? "" : "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

size_t LetterCount(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, BeginsLetter));
}

std::vector<std::string> Wrapped(std::string_view text, size_t width, size_t hanging) {
  std::vector<std::string> lines;
  std::string line;
  bool is_begun = false;
  const auto room = [&] { return lines.empty() ? width : width - std::min(width - 1, hanging); };
  for (std::string_view word : Split(text, ' ')) {
    if (is_begun && LetterCount(line) + 1 + LetterCount(word) > room()) {
      lines.push_back(std::move(line));
      line.clear();
      is_begun = false;
    }
    for (; !is_begun && LetterCount(word) > room(); word.remove_prefix(lines.back().size())) {
      lines.emplace_back(FirstLetters(word, room()));
    }
    line += (is_begun ? " " : "") + std::string(word);
    is_begun = true;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || next != end) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::string_view> Nearest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  size_t best_distance = name.size() / 3 + 1;
  for (const std::string_view candidate : candidates) {
    const size_t gap = candidate.size() > name.size() ? candidate.size() - name.size()
                                                      : name.size() - candidate.size();
    if (gap >= best_distance) {
      continue;
    }
    if (const size_t distance = EditDistance(name, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string CleanUtf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      clean += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      clean += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongestBytes = 80;
  std::string quoted = "\"" + CleanUtf8(text.substr(0, kLongestBytes));
  std::ranges::replace_if(
      quoted, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, ' ');
  return quoted + (text.size() > kLongestBytes ? "...\"" : "\"");
}

}  // namespace podgpu
