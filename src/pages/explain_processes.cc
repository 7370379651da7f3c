#include "pages/explain_processes.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kMostProcessesNamed = 4;

bool IsHidden(const CopiedProcess& process, const UseCopy& use, const VisibleNamespaces& visible) {
  const auto pod =
      std::ranges::find(use.pods, PodOnDevice{process.pod, process.key.device}, &CopiedPod::key);
  if (pod == use.pods.end()) {
    // A pod that is gone no longer tells its namespace.
    return process.pod != kNoPod && !visible.Shows("");
  }
  return !visible.Shows(pod->pod_namespace);
}

// Returns for example "40213 python3, 40214 python3, and 3 more".  Processes of hidden pods are
// only counted.
std::string NamesOf(const std::vector<const CopiedProcess*>& processes, const UseCopy& use,
                    const VisibleNamespaces& visible) {
  std::vector<std::string> names;
  for (const CopiedProcess* const process : processes) {
    if (names.size() < kMostProcessesNamed && !IsHidden(*process, use, visible)) {
      const std::string pid = std::to_string(process->key.process.pid);
      names.push_back(process->name.empty() ? pid : pid + " " + process->name);
    }
  }
  if (names.empty()) {
    return "all in other namespaces";
  }
  const size_t more = processes.size() - names.size();
  return Listed(names) + (more == 0 ? "" : absl::StrFormat(", and %d more", more));
}

std::vector<const CopiedProcess*> On(const std::vector<CopiedProcess>& processes,
                                     DeviceNumber device, const GpuInstance* instance) {
  std::vector<const CopiedProcess*> found;
  for (const CopiedProcess& process : processes) {
    if (process.key.device == device &&
        (instance == nullptr || process.instance == instance->gpu_instance_id)) {
      found.push_back(&process);
    }
  }
  return found;
}

ExplainedStep Absent(std::string why) { return {"processes", "absent", std::move(why)}; }

// A list that could not be read ends no process, so of a lost device both kinds of rows tell.
std::string LastSeen(const UseCopy& use, DeviceNumber device, const GpuInstance* instance,
                     const VisibleNamespaces& visible) {
  std::vector<const CopiedProcess*> seen = On(use.processes, device, instance);
  if (seen.empty()) {
    seen = On(use.last_seen, device, instance);
  }
  return seen.empty() ? "" : "; last seen: " + NamesOf(seen, use, visible);
}

}  // namespace

ExplainedStep ExplainProcesses(const Topology& topology, EntityId entity, const UseCopy& use,
                               const Condition* condition, const VisibleNamespaces& visible) {
  const PartCondition* part = nullptr;
  if (condition != nullptr) {
    const auto found = std::ranges::find(condition->parts, "processes", &PartCondition::part);
    part = found == condition->parts.end() ? nullptr : &*found;
  }
  if (part == nullptr) {
    return Absent("processes are not read; --process-metrics=on reads them");
  }
  const Gpu& gpu = topology.GpuOf(entity);
  const GpuInstance* const instance = topology.InstanceOf(entity);
  const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
  if (gpu.state == DeviceState::kLost) {
    return Absent("cannot be read while the device is lost" +
                  (device ? LastSeen(use, *device, instance, visible) : ""));
  }
  if (!use.is_known || !device) {
    return Absent(part->detail);
  }
  const std::vector<const CopiedProcess*> running = On(use.processes, *device, instance);
  if (running.empty()) {
    return {"processes", "ok", "none runs on it"};
  }
  return {
      "processes", "ok",
      absl::StrFormat("%d %s: %s", running.size(), running.size() == 1 ? "process" : "processes",
                      NamesOf(running, use, visible))};
}

}  // namespace podgpu
