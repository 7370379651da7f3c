// The lines of a metric page that speak of devices, taken apart so that pages of different times
// can be compared.
//
// A line is measured when it carries a sample of a device; the others are facts (states,
// identities, owners), which a fault may change.  The page's own numbers (podgpu_ticks_total and
// the like) are left out.  Test support; plain data.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace podgpu {

struct DeviceLines {
  std::set<std::string> measured;  // "family{gpu,instance,...} value", without who the device is.
  std::set<std::string> whole;     // Every line as it is, facts among them.
};

DeviceLines DeviceLinesOf(std::string_view page);

// The value of the line that begins with `series` and a blank, or "".
std::string NumberOf(std::string_view page, std::string_view series);

// The sum of all series of `family`.
double SumOf(std::string_view page, std::string_view family);

}  // namespace podgpu
