// Feeds bytes to the readers of a container runtime's answers, as a list and as details.
// Invariants: an id can be part of a path; a label is short, valid UTF-8 without control
// characters; devices are listed once and are limited; matching them to devices never fails.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "attribution/runtime_containers.h"
#include "base/text.h"

namespace {

bool IsControl(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

void CheckList(std::string_view text) {
  const auto list = podgpu::ParseContainerList(text);
  if (!list.ok()) {
    return;
  }
  for (const podgpu::RuntimeContainer& container : *list) {
    PODGPU_CHECK(container.id.find_first_not_of("0123456789abcdef") == std::string::npos);
    PODGPU_CHECK(!container.name.empty());
    PODGPU_CHECK(container.name.size() <= podgpu::kLongestContainerName);
    PODGPU_CHECK(podgpu::CleanUtf8(container.name) == container.name);
    PODGPU_CHECK(std::ranges::none_of(container.name, &IsControl));
  }
}

void CheckDevices(std::string_view text) {
  const auto devices = podgpu::ParseContainerDevices(text);
  if (!devices.ok()) {
    return;
  }
  PODGPU_CHECK(devices->size() <= podgpu::kMostDevicesPerContainer);
  PODGPU_CHECK(std::set(devices->begin(), devices->end()).size() == devices->size());
  podgpu::Topology topology;
  topology.gpus.resize(1);
  topology.gpus[0].uuid = "GPU-11111111-1111-1111-1111-111111111111";
  podgpu::NumberEntities(topology);
  const podgpu::ContainersByEntity matched =
      podgpu::MatchContainers(topology, {{{"ab", "name", *devices}}});
  const bool is_given = !matched.by_entity[0].empty();
  PODGPU_CHECK(is_given || matched.unmatched.size() == devices->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)podgpu::HostnameFile(text);
  CheckList(text);
  CheckDevices(text);
  return 0;
}
