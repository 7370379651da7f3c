// Parses the kubelet's answers one after the other, each pod only when its bytes are new.
//
// The kubelet lists pods, and the devices of a container, in a random order (it walks maps of Go),
// so two answers of the same content seldom have the same bytes. The parser therefore sorts the
// pods of an answer by their bytes and compares them with those of the last answer. A steady node
// costs this comparison; only a container with several devices is parsed again when their order
// has changed. Keeps the last answer's bytes. Used on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kube/pod_resources.h"

namespace podgpu {

class PodListParser {
 public:
  // Answers above this size are parsed whole, and their bytes are not kept.
  static constexpr size_t kMostKeptBytes = size_t{1} << 20;

  // Facts about an answer that its bytes do not contain.
  struct Origin {
    std::string_view api_version;
    uint64_t connection = 0;
  };

  // `own_pod` is searched for in each answer.
  explicit PodListParser(OwnPod own_pod) : own_pod_(std::move(own_pod)) {}

  // Returns what `message` lists, sorted. Returns the object of the last call if only the order has
  // changed since, and the origin is the same. kDataLoss, as ParsePodResources.
  StatusOr<std::shared_ptr<const PodAllocations>> Parse(std::string message, const Origin& origin);

  // Number of pods that were parsed since the start.
  uint64_t parsed_pods() const { return parsed_pods_; }

 private:
  // A pod of the last answer.
  struct Pod {
    std::string_view bytes;  // Bytes of the pod, in `message_`.
    PodAllocations content;
  };

  bool IsOf(const Origin& origin) const;
  // Divides `message` into its pods, ascending by bytes, and parses those that are not in `pods_`.
  StatusOr<std::vector<Pod>> TakePods(std::string_view message);
  static PodAllocations Joined(const std::vector<Pod>& pods, const Origin& origin);

  const OwnPod own_pod_;
  std::unique_ptr<const std::string> message_;  // Null before the first answer that is kept.
  std::vector<Pod> pods_;
  std::shared_ptr<const PodAllocations> list_;
  uint64_t parsed_pods_ = 0;
};

}  // namespace podgpu
