#include "exporter/condition.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "topology/device_state.h"

namespace podgpu {
namespace {

std::string Seconds(std::chrono::milliseconds duration) {
  return absl::StrFormat("%.1f s", std::chrono::duration<double>(duration).count());
}

PartCondition JudgeDriver(const TickFacts& facts) {
  if (facts.running && facts.running->past_deadline) {
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(facts.running->elapsed);
    return {"driver", PartState::kUnresponsive,
            absl::StrFormat(
                "the call \"%s\" has not returned for %s; values are withdrawn after %s",
                SourceCallName(facts.running->call), Seconds(elapsed), Seconds(facts.stale_after))};
  }
  return {"driver", facts.source->state, facts.source->detail};
}

PartCondition JudgeKubelet(const TickFacts& facts) {
  std::string detail = facts.pods->detail;
  if (facts.pods->state == PartState::kDegraded) {
    detail += absl::StrFormat(". Owners are %s old", Seconds(facts.pods_age));
  }
  if (facts.owners != nullptr && !facts.owners->unmatched.empty()) {
    const UnmatchedDevice& first = facts.owners->unmatched.front();
    detail += absl::StrFormat("; %d device ids match no device, the first: \"%s\" of %s (%s)",
                              facts.owners->unmatched.size(), first.device_id, first.resource,
                              UnmatchedReasonName(first.reason));
  }
  return {"kubelet", facts.pods->state, std::move(detail)};
}

// "free", "ns/pod (container)", "4 owners, shared", of a GPU and its instances together.
std::string DescribeOwners(const TickFacts& facts, uint16_t gpu) {
  if (facts.pods->answer == nullptr) {
    return "not known: the kubelet has not answered";
  }
  std::vector<const Owner*> found;
  const Topology& topology = facts.grid->topology();
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    if (topology.entities[i].gpu == gpu) {
      for (const Owner& owner : facts.owners->by_entity[i]) {
        found.push_back(&owner);
      }
    }
  }
  if (found.empty()) {
    return "free";
  }
  if (found.size() == 1) {
    return absl::StrFormat("%s/%s (%s)", found[0]->pod_namespace, found[0]->pod,
                           found[0]->container);
  }
  return absl::StrFormat("%d owners%s", found.size(),
                         topology.gpus[gpu].mig_enabled ? ", MIG" : ", shared");
}

std::vector<DeviceCondition> JudgeDevices(const TickFacts& facts) {
  std::vector<DeviceCondition> devices;
  if (facts.grid == nullptr) {
    return devices;
  }
  const Topology& topology = facts.grid->topology();
  const auto count = static_cast<uint16_t>(topology.gpus.size());
  for (uint16_t i = 0; i < count; ++i) {
    const Gpu& gpu = topology.gpus[i];
    const DeviceState state = facts.devices_are_stale() ? DeviceState::kUnresponsive : gpu.state;
    devices.push_back({gpu.gpu_id, std::string(DeviceStateName(state)), gpu.uuid, gpu.model,
                       gpu.pci_bus_id, DescribeOwners(facts, i)});
  }
  return devices;
}

}  // namespace

Condition Judge(const TickFacts& facts) {
  Condition condition;
  condition.parts = {JudgeDriver(facts), JudgeKubelet(facts)};
  condition.devices = JudgeDevices(facts);
  if (facts.grid == nullptr) {
    condition.verdict = absl::StrFormat("not ready: %s", condition.parts[0].detail);
    return condition;
  }
  if (facts.devices_are_stale()) {
    condition.verdict = absl::StrFormat("not ready: the newest sample is %s old and withdrawn",
                                        Seconds(facts.grid_age));
    return condition;
  }
  const size_t total = condition.devices.size();
  if (total == 0 && facts.source->expected_gpus > 0) {
    condition.verdict = absl::StrFormat("not ready: the driver lists no GPU, %d were there before",
                                        facts.source->expected_gpus);
    return condition;
  }
  condition.ready = true;
  const auto lost = std::ranges::count(condition.devices, "lost", &DeviceCondition::state);
  if (total == 0) {
    condition.verdict = "ready: the driver answers and this node has no GPU";
  } else if (lost > 0) {
    condition.verdict = absl::StrFormat("ready: %d of %d GPUs served, %d lost",
                                        total - static_cast<size_t>(lost), total, lost);
  } else {
    condition.verdict = absl::StrFormat("ready: %d GPUs have fresh samples", total);
  }
  return condition;
}

}  // namespace podgpu
