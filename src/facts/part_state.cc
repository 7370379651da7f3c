#include "facts/part_state.h"

#include <array>
#include <cstddef>

namespace podgpu {

std::string_view PartStateName(PartState state) {
  constexpr std::array<std::string_view, kPartStateCount> kNames = {
      "starting", "waiting", "ok", "degraded", "unresponsive", "recovering"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace podgpu
