#include "attribution/owner.h"

#include <array>

#include "base/status.h"

namespace podgpu {

std::string_view UnmatchedReasonName(UnmatchedReason reason) {
  static constexpr std::array<std::string_view, kUnmatchedReasonCount> kNames = {
      "unknown_id_form", "unknown_device", "nvml_missing", "unknown_mig_uuid"};
  const auto index = static_cast<size_t>(reason);
  PODGPU_CHECK(index < kNames.size());
  return kNames[index];
}

}  // namespace podgpu
