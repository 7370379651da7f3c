// Parses values with the rules of Go's flag package, because dcgm-exporter's command line uses
// them.
//
// Integers with automatic base, booleans in Go's spellings, durations such as "1m30s". Each
// function parses the whole text or returns nothing. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace podgpu {

// strconv.ParseInt with base 0: decimal, 0x, 0o, 0b, a leading 0 for octal, a sign, underscores
// between digits after a base prefix.
std::optional<int64_t> ParseGoInt(std::string_view text);

// 1, t, T, true, TRUE, True, 0, f, F, false, FALSE, False.
std::optional<bool> ParseGoBool(std::string_view text);

// A sequence of decimal numbers with units h, m, s, ms, us, ns; "0" alone needs none.  Fractions
// are cut to nanoseconds.
std::optional<std::chrono::nanoseconds> ParseGoDuration(std::string_view text);

}  // namespace podgpu
