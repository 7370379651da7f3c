#include "kube/pod_resources.h"

#include <set>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/text.h"
#include "pod_resources_v1.pb.h"

namespace podgpu {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t kPodResourcesTag =
    WireFormatLite::MakeTag(v1::ListPodResourcesResponse::kPodResourcesFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

Status NoPodResources() { return absl::DataLossError("the answer is not a PodResources message"); }

// The kubelet lists a device once per NUMA node of its topology (kubernetes 1.20 and later).
void AppendContainer(const v1::PodResources& pod, const v1::ContainerResources& container,
                     std::vector<Allocation>& allocations) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const v1::ContainerDevices& devices : container.devices()) {
    for (const std::string& device_id : devices.device_ids()) {
      std::pair key(CleanUtf8(devices.resource_name()), CleanUtf8(device_id));
      if (seen.insert(key).second) {
        allocations.push_back({.pod_namespace = CleanUtf8(pod.namespace_()),
                               .pod = CleanUtf8(pod.name()),
                               .container = CleanUtf8(container.name()),
                               .resource = std::move(key.first),
                               .device_id = std::move(key.second)});
      }
    }
  }
}

// The CDI names of the devices are ignored: the kubelet repeats those of the previous devices
// (kubernetes 1.34).
void AppendClaims(const v1::PodResources& pod, const v1::ContainerResources& container,
                  std::vector<ClaimedDevice>& claimed) {
  std::set<ClaimedDevice> seen;
  for (const v1::DynamicResource& claim : container.dynamic_resources()) {
    for (const v1::ClaimResource& resource : claim.claim_resources()) {
      ClaimedDevice device{.pod_namespace = CleanUtf8(pod.namespace_()),
                           .pod = CleanUtf8(pod.name()),
                           .container = CleanUtf8(container.name()),
                           .claim_namespace = CleanUtf8(claim.claim_namespace()),
                           .claim = CleanUtf8(claim.claim_name()),
                           .driver = CleanUtf8(resource.driver_name()),
                           .pool = CleanUtf8(resource.pool_name()),
                           .device = CleanUtf8(resource.device_name())};
      if (seen.insert(device).second) {
        claimed.push_back(std::move(device));
      }
    }
  }
}

}  // namespace

StatusOr<std::vector<std::string_view>> SplitPods(std::string_view message) {
  if (message.size() > INT32_MAX) {
    return NoPodResources();
  }
  CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  std::vector<std::string_view> pods;
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != kPodResourcesTag) {
      if (!WireFormatLite::SkipField(&input, tag)) {
        return NoPodResources();
      }
      continue;
    }
    uint32_t length_bytes = 0;
    const void* bytes = nullptr;
    int left_bytes = 0;
    if (!input.ReadVarint32(&length_bytes) || length_bytes > message.size()) {
      return NoPodResources();
    }
    input.GetDirectBufferPointerInline(&bytes, &left_bytes);
    const int size = static_cast<int>(length_bytes);
    if (size > left_bytes || !input.Skip(size)) {
      return NoPodResources();
    }
    pods.emplace_back(static_cast<const char*>(bytes), length_bytes);
  }
  // A tag of 0 is the end of the message or an invalid tag.
  return input.ConsumedEntireMessage() ? StatusOr<std::vector<std::string_view>>(std::move(pods))
                                       : NoPodResources();
}

Status AppendPod(std::string_view pod_bytes, const OwnPod& own_pod, PodAllocations& answer) {
  v1::PodResources pod;
  if (!pod.ParseFromArray(pod_bytes.data(), static_cast<int>(pod_bytes.size()))) {
    return NoPodResources();
  }
  ++answer.pod_count;
  answer.lists_own_pod = answer.lists_own_pod || own_pod.Is(pod.namespace_(), pod.name());
  for (const v1::ContainerResources& container : pod.containers()) {
    AppendContainer(pod, container, answer.allocations);
    AppendClaims(pod, container, answer.claimed);
  }
  return absl::OkStatus();
}

StatusOr<PodAllocations> ParsePodResources(std::string_view message, const OwnPod& own_pod) {
  PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string_view> pods, SplitPods(message));
  PodAllocations answer{.api_version = "v1", .pod_count = 0, .allocations = {}};
  for (const std::string_view pod : pods) {
    PODGPU_RETURN_IF_ERROR(AppendPod(pod, own_pod, answer));
  }
  return answer;
}

}  // namespace podgpu
