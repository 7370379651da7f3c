// Small operations on text that several rooms need: trimming, splitting, listing, numbers, nearest
// names, clean UTF-8.
//
// Pure functions; they allocate only what they return.  Nothing here knows a format: what must be
// escaped where is the business of exposition/.  Any thread.
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

// The parts of `text` between `separator`; one part, perhaps empty, when there is none.
std::vector<std::string_view> Split(std::string_view text, char separator);

// "a, b, c"
std::string Listed(std::span<const std::string> parts);

// The whole of `text` as a decimal number, or nothing.
std::optional<uint64_t> ParseDecimal(std::string_view text);

// The member of `candidates` with the smallest edit distance to `name`, if it is near enough to be
// a slip of the pen (at most a third of the letters differ).  For "nearest is ..." in messages.
std::optional<std::string_view> Nearest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// `text` in quotation marks, fit for one line of a message: valid UTF-8 without control characters,
// and cut after 80 bytes.  For what people and other programs wrote.
std::string Quoted(std::string_view text);

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.  Strings from drivers
// and kubelets pass through here once, where they enter: one bad byte in a label costs the reader
// the whole page.
std::string CleanUtf8(std::string_view text);

}  // namespace podgpu
