// Small operations on text that several rooms need: trim, split, list, parse numbers, find the
// nearest name, break into lines, clean UTF-8.
//
// Pure functions; they allocate only what they return. They know no format: exposition/ does the
// escaping. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

// `text` without the bytes of `blanks` at both ends.
std::string_view Trim(std::string_view text, std::string_view blanks = " \t\r\n");

// Returns the parts of `text` between separators; one part, perhaps empty, when it has no
// separator.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Joins the parts with commas: "a, b, c".
std::string Listed(std::span<const std::string> parts);

// Joins the first `most` parts and the number of the others: "a, b and 3 more".
std::string ListedFirst(std::span<const std::string> parts, size_t most);

// Returns the numbers as ranges, for example "0-3,5"; `numbers` ascend.
std::string NumberRanges(std::span<const uint32_t> numbers);

// Returns the number of letters of UTF-8 text: its width on a terminal, for the letters of our
// texts.
size_t LetterCount(std::string_view text);

// Breaks `text` at spaces into lines of at most `width` letters, and of at most `width - hanging`
// after the first line, which the caller indents.  Cuts a word that is longer than a line.
std::vector<std::string> Wrapped(std::string_view text, size_t width, size_t hanging);

// Parses the whole of `text` as a decimal number, or returns nothing.
std::optional<uint64_t> ParseDecimal(std::string_view text);

// Returns the candidate with the smallest edit distance to `name`, if at most a third of the
// letters differ. For "nearest is ..." in messages.
std::optional<std::string_view> Nearest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// Returns `text` in quotation marks, fit for one line of a message: valid UTF-8 without control
// characters, cut after 80 bytes. For text from users and from other programs.
std::string Quoted(std::string_view text);

// Returns `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD. Strings from
// drivers and kubelets pass through it once, where they enter: one bad byte in a label would make a
// scraper refuse the whole page.
std::string CleanUtf8(std::string_view text);

// Returns the row of `table` with this name, or null.
template <typename Row>
const Row* FindName(std::span<const Row> table, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace podgpu
