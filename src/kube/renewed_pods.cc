#include "kube/renewed_pods.h"

namespace podgpu {

void RenewedPods::Take(const ApiObjects& pods, Instant now) {
  for (const auto& [name, pod] : pods) {
    const auto [known, is_new] = known_.try_emplace(name, Known{pod.uid, now});
    if (is_new || known->second.uid != pod.uid) {
      at_[name] = now;
    }
    known->second = {pod.uid, now};
  }
  std::erase_if(known_, [&](const auto& known) {
    return now - known.second.seen > kForgetsAfter && !pods.contains(known.first);
  });
  std::erase_if(at_, [&](const auto& renewed) { return !known_.contains(renewed.first); });
}

std::vector<std::string> RenewedSince(const RenewedAt& renewed, Instant asked_at) {
  std::vector<std::string> names;
  for (const auto& [name, at] : renewed) {
    if (at > asked_at) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace podgpu
