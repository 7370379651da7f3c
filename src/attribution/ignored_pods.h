// The pods that hold devices without using them, so they are no owners.
//
// This program's own pod holds a device where the container runtime gives GPUs only to pods that
// ask for one, or by a claim with adminAccess, which the kubelet does not report.  A scheduler of
// fractions (KAI) reserves a GPU with a pod of its own, and the pods that use the GPU hold no
// device.  Immutable; copies share the patterns; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kube/pod_resources.h"

namespace podgpu {

class PodPatterns {
 public:
  // Each pattern is "NAMESPACE/REGEX": the namespace exactly, and RE2's syntax for the whole name
  // of the pod.  kInvalidArgument quotes the first pattern that is none.
  static StatusOr<std::shared_ptr<const PodPatterns>> Compile(
      const std::vector<std::string>& patterns);
  ~PodPatterns();
  PodPatterns(const PodPatterns&) = delete;
  PodPatterns& operator=(const PodPatterns&) = delete;

  bool Match(std::string_view pod_namespace, std::string_view pod) const;

 private:
  struct Pattern;  // Hides RE2 from this header.
  explicit PodPatterns(std::vector<Pattern> patterns);
  std::vector<Pattern> patterns_;
};

struct IgnoredPods {
  OwnPod own;
  std::shared_ptr<const PodPatterns> named = nullptr;  // Null: none.

  bool Contain(std::string_view pod_namespace, std::string_view pod) const {
    return own.Is(pod_namespace, pod) || (named != nullptr && named->Match(pod_namespace, pod));
  }
};

}  // namespace podgpu
