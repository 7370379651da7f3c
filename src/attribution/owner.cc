#include "attribution/owner.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/status.h"

namespace podgpu {
namespace {

auto ContainerOf(const Owner& owner) {
  return std::tie(owner.pod_namespace, owner.pod, owner.container, owner.pod_uid);
}

}  // namespace

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
    return ContainerOf(owner) == ContainerOf(owners.front());
  };
  return !owners.empty() && std::ranges::all_of(owners, same) ? &owners.front() : nullptr;
}

std::vector<const Owner*> OnePerContainer(std::vector<const Owner*> owners) {
  auto end = owners.begin();  // End of the owners that stay.
  for (const Owner* owner : owners) {
    if (std::none_of(owners.begin(), end, [&](const Owner* known) {
          return ContainerOf(*known) == ContainerOf(*owner);
        })) {
      *end++ = owner;
    }
  }
  owners.erase(end, owners.end());
  return owners;
}

std::vector<const Owner*> OnePerContainer(const std::vector<Owner>& owners) {
  std::vector<const Owner*> all;
  all.reserve(owners.size());
  for (const Owner& owner : owners) {
    all.push_back(&owner);
  }
  return OnePerContainer(all);
}

}  // namespace podgpu
