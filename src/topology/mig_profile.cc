#include "topology/mig_profile.h"

#include <algorithm>
#include <charconv>

namespace podgpu {

uint32_t ComputeSlicesOf(std::string_view profile) {
  uint32_t slices = 0;
  const size_t point = profile.find("g.");
  if (point != std::string_view::npos) {
    std::from_chars(profile.data(), profile.data() + point, slices);
  }
  return std::max<uint32_t>(slices, 1);
}

uint32_t ComputeSlicesOfBoard(std::string_view model) {
  const auto is = [&](std::string_view name) { return model.find(name) != std::string_view::npos; };
  return is("A30") || is("RTX PRO") ? 4 : 7;
}

}  // namespace podgpu
