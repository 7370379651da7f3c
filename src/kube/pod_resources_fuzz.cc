// Feeds bytes to the parser of the kubelet's answer. Invariants: it agrees with the generated
// parser on which bytes are a message; there are never more allocations or claims than the bytes
// have room for; all strings are valid UTF-8; writing and parsing a result again gives the same
// result. The parser that remembers the last answer (pod_list_parser.h) gives the same content,
// also after another answer, and the same object while the answer stays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "kube/pod_list_parser.h"
#include "kube/pod_resources.h"
#include "pod_resources_v1.pb.h"

namespace {

bool IsClean(const std::string& text) { return podgpu::CleanUtf8(text) == text; }

// Writes one pod per allocation: the same list in its longest form.
std::string Write(const podgpu::PodAllocations& answer) {
  v1::ListPodResourcesResponse response;
  for (const podgpu::Allocation& allocation : answer.allocations) {
    v1::PodResources* pod = response.add_pod_resources();
    pod->set_namespace_(allocation.pod_namespace);
    pod->set_name(allocation.pod);
    v1::ContainerResources* container = pod->add_containers();
    container->set_name(allocation.container);
    v1::ContainerDevices* devices = container->add_devices();
    devices->set_resource_name(allocation.resource);
    devices->add_device_ids(allocation.device_id);
  }
  for (const podgpu::ClaimedDevice& claimed : answer.claimed) {
    v1::PodResources* pod = response.add_pod_resources();
    pod->set_namespace_(claimed.pod_namespace);
    pod->set_name(claimed.pod);
    v1::ContainerResources* container = pod->add_containers();
    container->set_name(claimed.container);
    v1::DynamicResource* claim = container->add_dynamic_resources();
    claim->set_claim_namespace(claimed.claim_namespace);
    claim->set_claim_name(claimed.claim);
    v1::ClaimResource* device = claim->add_claim_resources();
    device->set_driver_name(claimed.driver);
    device->set_pool_name(claimed.pool);
    device->set_device_name(claimed.device);
  }
  return response.SerializeAsString();
}

// `answer`: what ParsePodResources gives for `bytes`.
void CheckParserWithMemory(std::string_view bytes,
                           const podgpu::StatusOr<podgpu::PodAllocations>& answer) {
  const podgpu::PodListParser::Origin origin = {.api_version = "v1", .connection = 0};
  podgpu::PodListParser parser{podgpu::OwnPod{}};
  // The first half of the bytes may hold some of the pods.
  (void)parser.Parse(std::string(bytes.substr(0, bytes.size() / 2)), origin);
  const auto first = parser.Parse(std::string(bytes), origin);
  PODGPU_CHECK(first.ok() == answer.ok());
  if (!first.ok()) {
    PODGPU_CHECK(first.status().code() == absl::StatusCode::kDataLoss);
    return;
  }
  podgpu::PodAllocations sorted = *answer;
  std::ranges::sort(sorted.allocations);
  std::ranges::sort(sorted.claimed);
  PODGPU_CHECK(**first == sorted);
  PODGPU_CHECK(*parser.Parse(std::string(bytes), origin) == *first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const podgpu::StatusOr<podgpu::PodAllocations> answer = podgpu::ParsePodResources(bytes);
  CheckParserWithMemory(bytes, answer);
  v1::ListPodResourcesResponse whole;
  const bool is_message = whole.ParseFromArray(data, static_cast<int>(size));
  PODGPU_CHECK(answer.ok() || !is_message);
  if (!answer.ok()) {
    PODGPU_CHECK(answer.status().code() == absl::StatusCode::kDataLoss);
    return 0;
  }
  PODGPU_CHECK(!is_message ||
               answer->pod_count == static_cast<uint32_t>(whole.pod_resources_size()));
  // An id takes at least two bytes, and so does each message around it.
  PODGPU_CHECK(answer->allocations.size() <= size / 2);
  for (const podgpu::Allocation& allocation : answer->allocations) {
    PODGPU_CHECK(IsClean(allocation.pod_namespace) && IsClean(allocation.pod) &&
                 IsClean(allocation.container) && IsClean(allocation.resource) &&
                 IsClean(allocation.device_id));
  }
  PODGPU_CHECK(answer->claimed.size() <= size / 2);
  for (const podgpu::ClaimedDevice& claimed : answer->claimed) {
    PODGPU_CHECK(IsClean(claimed.claim_namespace) && IsClean(claimed.claim) &&
                 IsClean(claimed.driver) && IsClean(claimed.pool) && IsClean(claimed.device));
  }
  const podgpu::StatusOr<podgpu::PodAllocations> again = podgpu::ParsePodResources(Write(*answer));
  PODGPU_CHECK(again.ok() && again->allocations == answer->allocations &&
               again->claimed == answer->claimed);
  return 0;
}
