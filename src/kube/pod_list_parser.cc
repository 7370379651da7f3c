#include "kube/pod_list_parser.h"

#include <algorithm>

namespace podgpu {

bool PodListParser::IsOf(const Origin& origin) const {
  return list_ != nullptr && list_->connection == origin.connection &&
         list_->api_version == origin.api_version;
}

StatusOr<std::shared_ptr<const PodAllocations>> PodListParser::Parse(std::string message,
                                                                     const Origin& origin) {
  const bool has_last = message_ != nullptr;
  if (has_last && message == *message_ && IsOf(origin)) {
    return list_;
  }
  auto fresh = std::make_unique<const std::string>(std::move(message));
  const uint64_t parsed_before = parsed_pods_;
  const size_t pods_before = pods_.size();
  StatusOr<std::vector<Pod>> pods = TakePods(*fresh);
  pods_.clear();  // Their contents have moved.
  message_.reset();
  PODGPU_RETURN_IF_ERROR(pods.status());
  const bool has_same_pods =
      has_last && parsed_pods_ == parsed_before && pods->size() == pods_before;
  if (!has_same_pods || !IsOf(origin)) {
    PodAllocations list = Joined(*pods, origin);
    if (!IsOf(origin) || !list.ListsTheSame(*list_)) {
      list_ = std::make_shared<const PodAllocations>(std::move(list));
    }
  }
  if (fresh->size() <= kMostKeptBytes) {
    pods_ = *std::move(pods);
    message_ = std::move(fresh);
  }
  return list_;
}

// Both lists ascend, so one pass finds the pods of the last answer.
StatusOr<std::vector<PodListParser::Pod>> PodListParser::TakePods(std::string_view message) {
  PODGPU_ASSIGN_OR_RETURN(std::vector<std::string_view> found, SplitPods(message));
  std::ranges::sort(found);
  std::vector<Pod> pods;
  pods.reserve(found.size());
  auto known = pods_.begin();
  for (const std::string_view bytes : found) {
    while (known != pods_.end() && known->bytes < bytes) {
      ++known;
    }
    Pod& pod = pods.emplace_back();
    pod.bytes = bytes;
    if (known != pods_.end() && known->bytes == bytes) {
      pod.content = std::move(known->content);
      ++known;
    } else {
      ++parsed_pods_;
      PODGPU_RETURN_IF_ERROR(AppendPod(bytes, own_pod_, pod.content));
    }
  }
  return pods;
}

PodAllocations PodListParser::Joined(const std::vector<Pod>& pods, const Origin& origin) {
  PodAllocations list{.api_version = std::string(origin.api_version),
                      .pod_count = static_cast<uint32_t>(pods.size()),
                      .allocations = {},
                      .connection = origin.connection};
  for (const Pod& pod : pods) {
    list.allocations.insert(list.allocations.end(), pod.content.allocations.begin(),
                            pod.content.allocations.end());
    list.claimed.insert(list.claimed.end(), pod.content.claimed.begin(), pod.content.claimed.end());
    list.lists_own_pod = list.lists_own_pod || pod.content.lists_own_pod;
  }
  std::ranges::sort(list.allocations);
  std::ranges::sort(list.claimed);
  return list;
}

}  // namespace podgpu
