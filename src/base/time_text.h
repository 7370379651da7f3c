// Moments and durations as people and other programs read them.  Moments are in UTC.
//
// Pure functions; they allocate only the text that they return.  Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace podgpu {

// Returns for example "2026-11-24T12:00:00Z"; `unix_s` counts from 1970.
std::string Rfc3339(int64_t unix_s);

// Returns for example "14:03:22"; `unix_ms` counts from 1970, `utc_offset_s` is for another time
// zone.
std::string TimeOfDay(int64_t unix_ms, int64_t utc_offset_s = 0);

// A duration with its two largest units: "15s", "2m15s", "2h14m", "3d4h".  A negative one is "0s".
std::string SpanText(int64_t ms);

}  // namespace podgpu
