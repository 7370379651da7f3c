#include "attribution/owner.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/status.h"

namespace podgpu {

std::string_view UnmatchedReasonName(UnmatchedReason reason) {
  static constexpr std::array<std::string_view, kUnmatchedReasonCount> kNames = {
      "unknown_id_form",  "unknown_device",    "nvml_missing",
      "unknown_mig_uuid", "no_resource_slice", "unclear_instance"};
  const auto index = static_cast<size_t>(reason);
  PODGPU_CHECK(index < kNames.size());
  return kNames[index];
}

const Owner* SoleOwner(const std::vector<Owner>& owners) {
  const auto same = [&](const Owner& owner) {
    const Owner& first = owners.front();
    return std::tie(owner.pod_namespace, owner.pod, owner.container, owner.pod_uid) ==
           std::tie(first.pod_namespace, first.pod, first.container, first.pod_uid);
  };
  return !owners.empty() && std::ranges::all_of(owners, same) ? &owners.front() : nullptr;
}

}  // namespace podgpu
