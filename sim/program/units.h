// Numbers with units, as people write them on podgpu-sim's command line and in control.yaml.
//
// The units are those of scenarios: times with us, ms, s, min or h; power with W; a speed is two
// whole numbers.  Decimal fractions are converted exactly or refused, never rounded.  Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/run_writer.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// "12.345678s", "500ms", "2min"; empty when `text` is not a time, or finer than a microsecond.
std::optional<TimeUs> ParseTime(std::string_view text);

// "60/1", "1/10" or "60"; empty when a part is not a whole number from 1 to 1,000,000.
std::optional<Speed> ParseSpeed(std::string_view text);

// "12.345678s": seconds without trailing zeros.
std::string FormatTime(TimeUs t);

// An exact integer of any size.
std::string FormatInteger(Int128 number);

}  // namespace podgpu::sim
