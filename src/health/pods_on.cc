#include "health/pods_on.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr size_t kPodsNamed = 3;

}  // namespace

std::string PodsOn(const TickFacts& facts, const GpuSet& gpus) {
  if (facts.grid == nullptr || facts.owners == nullptr || !facts.owners_are_known) {
    return "not known";
  }
  const Topology& topology = facts.grid->topology();
  const auto& by_entity = facts.owners->by_entity;
  std::vector<std::string> pods;
  for (size_t i = 0; i < std::min(topology.entities.size(), by_entity.size()); ++i) {
    const uint16_t gpu = topology.entities[i].gpu;
    for (const Owner& owner : by_entity[i]) {
      std::string pod = owner.pod_namespace + "/" + owner.pod;
      if (gpu < kMaxJudgedGpus && gpus[gpu] && std::ranges::count(pods, pod) == 0) {
        pods.push_back(std::move(pod));
      }
    }
  }
  std::string named;
  for (size_t i = 0; i < std::min(pods.size(), kPodsNamed); ++i) {
    absl::StrAppendFormat(&named, "%s%s", named.empty() ? "" : ",", pods[i]);
  }
  if (pods.size() > kPodsNamed) {
    absl::StrAppendFormat(&named, " and %d more", pods.size() - kPodsNamed);
  }
  return named.empty() ? "none" : named;
}

}  // namespace podgpu
