// The lines about devices on a metric page, in parts, so pages of different times can be compared.
//
// A line is measured when it carries a device's sample; the other lines are facts (states,
// identities, owners), which a fault may change.  Counters of the program itself
// (podgpu_ticks_total and the like) are left out.  Test support; plain data.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace podgpu {

struct DeviceLines {
  std::set<std::string> measured;  // "family{gpu,instance,...} value", without identity labels.
  std::set<std::string> whole;     // Every line unchanged, including facts.
};

DeviceLines DeviceLinesOf(std::string_view page);

// Returns the value of the line that begins with `series` and a blank; empty when there is none.
std::string NumberOf(std::string_view page, std::string_view series);

// Returns the sum of all series of `family`.
double SumOf(std::string_view page, std::string_view family);

}  // namespace podgpu
