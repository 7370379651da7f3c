#include "process/pod_numbers.h"

#include <algorithm>

namespace podgpu {

PodNumber PodNumbers::NumberOf(std::string_view uid, Instant now) {
  if (uid.empty()) {
    return kNoPod;
  }
  const auto it = numbers_.find(uid);
  if (it != numbers_.end()) {
    Use(it->second, now);
    return it->second;
  }
  const PodNumber pod{++last_};
  numbers_.emplace(uid, pod);
  entries_[pod] = {.uid = std::string(uid), .used_at = now};
  return pod;
}

std::string_view PodNumbers::UidOf(PodNumber pod) const {
  const auto it = entries_.find(pod);
  return it == entries_.end() ? std::string_view() : it->second.uid;
}

void PodNumbers::Use(PodNumber pod, Instant at) {
  if (const auto it = entries_.find(pod); it != entries_.end()) {
    it->second.used_at = std::max(it->second.used_at, at);
  }
}

void PodNumbers::Forget(Instant now, Duration after, std::vector<PodNumber>& forgotten) {
  std::erase_if(entries_, [&](const auto& entry) {
    const Instant used_at = entry.second.used_at;
    if (used_at >= now || now - used_at < after) {
      return false;
    }
    numbers_.erase(entry.second.uid);
    forgotten.push_back(entry.first);
    return true;
  });
}

}  // namespace podgpu
