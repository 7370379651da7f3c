#include "pages/explain.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "attribution/device_id.h"
#include "base/counted.h"
#include "base/text.h"
#include "base/time_text.h"
#include "health/remedies.h"
#include "health/sample_state.h"
#include "pages/explain_processes.h"
#include "pages/explain_values.h"
#include "topology/device_state.h"

namespace podgpu {
namespace {

constexpr size_t kMostNamed = 4;  // Entries shown of a list that may be long.

std::string Age(Duration age) {
  return absl::StrFormat("%.1f s", std::chrono::duration<double>(age).count());
}

// Returns the way in which `device_id` names `gpu` or an instance of it.
std::string_view FormWords(std::string_view device_id, const Gpu& gpu) {
  const DeviceId id = ParseDeviceId(device_id);
  switch (id.form) {
    case DeviceIdForm::kGpuUuid:
      if (gpu.uuid.ends_with(id.uuid)) {  // Some plugins leave "GPU-" out.
        return "by UUID";
      }
      break;
    case DeviceIdForm::kMigUuid:
      return "by MIG UUID, which NVML knows";
    case DeviceIdForm::kMigParts:
      return "by the GPU's UUID and the numbers of the instance";
    case DeviceIdForm::kMinor:
      return "by the number of its device file";
    case DeviceIdForm::kIndex:
      return "by GPU id";
    case DeviceIdForm::kEveryGpu:
      return "by an id that stands for every GPU";
    case DeviceIdForm::kUnknown:
      break;
  }
  return "by UUID and the number of a share";
}

// Returns "nvidia.com/gpu", or the claim by which a device is held.
std::string HeldAs(const Owner& owner) {
  return owner.claim.name.empty() ? owner.resource : absl::StrFormat("claim %s", owner.claim.name);
}

struct UnmatchedWords {
  std::string_view meaning;
  std::string_view remedy;
};

UnmatchedWords WordsOf(UnmatchedReason reason) {
  switch (reason) {
    case UnmatchedReason::kUnknownIdForm:
      return {"podgpu does not know this form of device id",
              "report the id and the device plugin to podgpu's developers"};
    case UnmatchedReason::kUnknownDevice:
      return {"this node has no device with this id",
              "compare the id with nvidia-smi -L; restart the device plugin if a GPU was replaced"};
    case UnmatchedReason::kNvmlMissing:
      return {"without NVML podgpu cannot tell which MIG instance this is",
              "make libnvidia-ml.so.1 visible to the exporter (--libnvidia-ml)"};
    case UnmatchedReason::kUnknownMigUuid:
      return {"NVML has no MIG instance with this UUID",
              "the instance is gone: restart the device plugin after MIG was re-partitioned"};
    case UnmatchedReason::kNoResourceSlice:
      return {"no ResourceSlice lists it",
              "check `kubectl get resourceslices`, and podgpu's right to list and watch them"};
    case UnmatchedReason::kUnclearInstance:
      return {"the claim has no MIG UUID, and not exactly one instance has its profile",
              "none: the driver publishes no UUID for instances made on demand"};
  }
  return {};
}

class Explainer {
 public:
  Explainer(const ExplainFacts& facts, const ExplainQuery& query, const Grid& grid,
            const Owners& owners)
      : facts_(facts),
        query_(query),
        grid_(grid),
        topology_(grid.topology()),
        owners_(owners),
        stale_(facts.now - grid.read_at > facts.stale_after) {}

  Explanation Run() {
    Explanation explanation;
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      const EntityId entity{static_cast<uint16_t>(i)};
      if (IsAsked(entity)) {
        explanation.devices.push_back(ExplainDevice(entity));
      }
    }
    if (facts_.condition != nullptr) {
      AddProcesses(*facts_.condition, explanation);
    }
    AddWhatIsNotKnown(explanation);
    for (const std::string& resource : owners_.unnamed_resources) {
      explanation.notes.push_back(absl::StrFormat(
          "a device id of %s contains the UUID of a device of this node, but podgpu does not know "
          "this resource as a GPU, so its pods are no owners. Add %s to --nvidia-resource-names, "
          "unless a scheduler gives the pod another GPU than the id names",
          resource, resource));
    }
    if (explanation.devices.empty()) {
      explanation.notes.push_back(query_.pod.empty() ? WhyNoDevice() : WhyPodHasNone());
      explanation.lacks_device = query_.pod.empty() && (query_.gpu || !query_.uuid.empty());
    }
    for (const UnmatchedDevice& device : owners_.unmatched) {
      explanation.notes.push_back(absl::StrFormat(
          "%s of %s is given to a pod and matches no device: %s. %s", Quoted(device.device_id),
          device.resource, WordsOf(device.reason).meaning, WordsOf(device.reason).remedy));
    }
    return explanation;
  }

 private:
  bool IsAsked(EntityId entity) const {
    const Gpu& gpu = topology_.GpuOf(entity);
    const GpuInstance* instance = topology_.InstanceOf(entity);
    if (query_.gpu && *query_.gpu != gpu.gpu_id) {
      return false;
    }
    if (query_.gpu_instance_id &&
        (instance == nullptr || *query_.gpu_instance_id != instance->gpu_instance_id)) {
      return false;
    }
    if (!query_.uuid.empty() && query_.uuid != gpu.uuid && !HasMigUuid(instance)) {
      return false;
    }
    return query_.pod.empty() || IsHeldByPod(entity);
  }

  // Adds why rows of processes are incomplete, for example without the names of their pods.
  static void AddProcesses(const Condition& condition, Explanation& explanation) {
    const auto part = std::ranges::find(condition.parts, "processes", &PartCondition::part);
    if (part != condition.parts.end() && part->state != PartState::kOk) {
      explanation.notes.push_back("processes: " + part->detail);
    }
  }

  // The kubelet does not say whether a pod has finished.
  void AddWhatIsNotKnown(Explanation& explanation) const {
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      const std::vector<Owner>& owners = owners_.by_entity[i];
      if (IsAsked({static_cast<uint16_t>(i)}) &&
          std::ranges::any_of(owners, [](const Owner& owner) { return owner.pod_uid.empty(); })) {
        explanation.notes.emplace_back(
            "a pod that holds a device here may have finished already: a kubelet before 1.34 lists "
            "it until it admits another pod, and podgpu has no word from the API server about it "
            "(--kubernetes-enable-pod-uid asks the API server)");
        return;
      }
    }
  }

  bool HasMigUuid(const GpuInstance* instance) const {
    return instance != nullptr &&
           std::ranges::count(instance->compute_instances, query_.uuid, &ComputeInstance::mig_uuid);
  }

  bool IsHeldByPod(EntityId entity) const {
    return facts_.visible.Shows(query_.pod_namespace) &&
           std::ranges::any_of(owners_.by_entity[entity.index], [&](const Owner& owner) {
             return owner.pod == query_.pod && owner.pod_namespace == query_.pod_namespace;
           });
  }

  ExplainedDevice ExplainDevice(EntityId entity) const {
    const Gpu& gpu = topology_.GpuOf(entity);
    ExplainedDevice device;
    device.gpu_id = gpu.gpu_id;
    device.uuid = gpu.uuid;
    device.model = gpu.model;
    device.pci_bus_id = gpu.pci_bus_id;
    if (const GpuInstance* instance = topology_.InstanceOf(entity)) {
      device.gpu_instance_id = instance->gpu_instance_id;
      device.profile = instance->profile;
    }
    device.steps.push_back(DeviceStep(entity, device.remedy));
    device.condition = ConditionOf(gpu.uuid, device.steps.front().state);
    device.steps.push_back(AllocationStep(entity));
    device.steps.push_back(MatchStep(entity, device.remedy));
    device.steps.push_back(
        ExplainProcesses(topology_, entity, facts_.use, facts_.condition, facts_.visible));
    device.steps.push_back(query_.metric.empty() ? ExplainValues(grid_, entity)
                                                 : ExplainMetric(grid_, entity, query_.metric));
    return device;
  }

  // Returns for example "lost since 14:01:07 UTC (2m15s)"; empty if the device is ok.
  std::string ConditionOf(std::string_view uuid, std::string_view state) const {
    if (state == DeviceStateName(DeviceState::kOk)) {
      return "";
    }
    const std::optional<WallTime> since = facts_.timeline.TimesOf(uuid).state_since;
    // Before the next page, the reading may already show another state than the timeline.
    const bool is_of_this_state =
        facts_.condition != nullptr &&
        std::ranges::any_of(facts_.condition->devices, [&](const DeviceCondition& device) {
          return device.uuid == uuid && device.state == state;
        });
    if (!since || !is_of_this_state) {
      return std::string(state);
    }
    const int64_t since_ms = ToMicroseconds(*since) / 1000;
    return absl::StrFormat("%s since %s UTC (%s)", state, TimeOfDay(since_ms),
                           SpanText(ToMicroseconds(facts_.wall_now) / 1000 - since_ms));
  }

  ExplainedStep DeviceStep(EntityId entity, std::string& remedy) const {
    const size_t gpu = topology_.entities[entity.index].gpu;
    const SampleVerdict verdict = JudgeSamples(grid_, gpu);
    const DeviceState state = StateOf(gpu, verdict);
    const std::string age = Age(facts_.now - grid_.read_at);
    const std::string_view name = DeviceStateName(state);
    if (state == DeviceState::kLost) {
      remedy = "drain the node, look for \"NVRM: Xid\" in the kernel log, then reset or reboot";
      return {"device", name,
              absl::StrFormat("the driver reports that it is lost; read %s ago", age)};
    }
    if (state == DeviceState::kUnresponsive) {
      remedy = "run nvidia-smi on the node, and read the kernel log and the log of the engine";
      return {
          "device", name,
          stale_ ? absl::StrFormat("no values have been read for %s", age) : WhySilent(verdict)};
    }
    if (state == DeviceState::kDegraded) {
      const DeviceLoss loss = LossOf(gpu);
      remedy = RemedyOf(state, loss);
      return {"device", name, absl::StrFormat("%s; read %s ago", CauseOf(state, loss), age)};
    }
    return {"device", name, absl::StrFormat("the driver answers; read %s ago", age)};
  }

  // Returns the loss that the page judged, since throttling counts for longer than one reading.
  DeviceLoss LossOf(size_t gpu) const {
    if (facts_.condition != nullptr) {
      const auto& judged = facts_.condition->devices;
      const auto device =
          std::ranges::find(judged, topology_.gpus[gpu].uuid, &DeviceCondition::uuid);
      if (device != judged.end()) {
        return device->loss;
      }
    }
    return LossIn(grid_, gpu);
  }

  // Judges this reading alone, without the patience that the tick has with missing samples.
  DeviceState StateOf(size_t gpu, const SampleVerdict& verdict) const {
    const bool is_silent =
        verdict.state == SampleState::kStale || verdict.state == SampleState::kMissing;
    GpuFreshness gpus;
    const size_t judged = std::min(gpu, kMaxJudgedGpus - 1);
    gpus.unresponsive[judged] = is_silent;
    gpus.losses[judged] = LossOf(gpu);
    return JudgeState(topology_, gpu, gpus, stale_);
  }

  std::string WhySilent(const SampleVerdict& verdict) const {
    return verdict.state == SampleState::kStale
               ? absl::StrFormat("the driver lists it, and its samples are older than %s",
                                 Age(facts_.stale_after))
               : absl::StrFormat("the driver lists it, and it gives no value: %s (%s)",
                                 AbsenceName(verdict.reason), AbsenceMeaning(verdict.reason));
  }

  // Returns whether the page was made before the kubelet's first answer, or while its last one was
  // too old.
  bool PageLacksOwners() const {
    return facts_.condition != nullptr && !facts_.condition->owners_known;
  }

  // Returns whether the kubelet's last answer is not too old, and the page has its owners.
  bool OwnersAreKnown() const {
    return facts_.pods.value != nullptr && !PageLacksOwners() &&
           facts_.now - facts_.pods.good_at <= facts_.owners_stay_for;
  }

  std::string WhyOwnersAreNotKnown() const {
    if (facts_.pods.value == nullptr) {
      return facts_.pods.detail;
    }
    const std::string age = Age(facts_.now - facts_.pods.good_at);
    return facts_.now - facts_.pods.good_at <= facts_.owners_stay_for
               ? absl::StrFormat("the kubelet has answered %s ago; the next page has its owners",
                                 age)
               : absl::StrFormat("the kubelet's last answer is %s old, which is too old: %s", age,
                                 facts_.pods.detail);
  }

  ExplainedStep AllocationStep(EntityId entity) const {
    if (!OwnersAreKnown()) {
      return {"allocation", "absent", WhyOwnersAreNotKnown()};
    }
    const std::vector<Owner>& owners = owners_.by_entity[entity.index];
    const std::string age = Age(facts_.now - facts_.pods.good_at);
    if (owners.empty() && facts_.pods.is_incomplete) {
      return {"allocation", "absent",
              absl::StrFormat("%s ago no pod held it, and now %s", age, facts_.pods.detail)};
    }
    if (owners.empty() && topology_.HidesInstancesOf(topology_.entities[entity.index].gpu)) {
      return {"allocation", "absent",
              absl::StrFormat("its MIG instances cannot be listed, so a pod may hold one, as of %s "
                              "ago",
                              age)};
    }
    if (owners.empty()) {
      return {"allocation", "free",
              absl::StrFormat("no pod of the kubelet's list (%s) holds it, as of %s ago",
                              Counted(facts_.pods.value->pod_count, "pod"), age)};
    }
    const std::vector<const Owner*> holders = OnePerContainer(owners);
    std::vector<std::string> names;
    for (const Owner* holder : holders) {
      if (facts_.visible.Shows(holder->pod_namespace)) {
        names.push_back(absl::StrFormat("%s to %s/%s (%s)", HeldAs(*holder), holder->pod_namespace,
                                        holder->pod, holder->container));
      }
    }
    if (names.empty()) {
      return {"allocation", "ok", absl::StrFormat("held in another namespace, as of %s ago", age)};
    }
    const size_t more = holders.size() - std::min(names.size(), kMostNamed);
    names.resize(std::min(names.size(), kMostNamed));
    const std::string rest = more == 0 ? "" : absl::StrFormat(", and %d more", more);
    return {"allocation", "ok",
            absl::StrFormat("the kubelet gives %s%s, as of %s ago", Listed(names), rest, age)};
  }

  // Returns the forms of the ids by which the kubelet names this device.
  std::vector<std::string> FormsOf(EntityId entity) const {
    std::set<std::string> forms;
    for (const Allocation& allocation : facts_.pods.value->allocations) {
      const bool may_match =
          std::ranges::any_of(owners_.by_entity[entity.index], [&](const Owner& owner) {
            return owner.pod == allocation.pod && owner.pod_namespace == allocation.pod_namespace &&
                   owner.resource == allocation.resource;
          });
      if (may_match && !Join(topology_, std::span(&allocation, 1), facts_.join)
                            .by_entity[entity.index]
                            .empty()) {
        forms.emplace(FormWords(allocation.device_id, topology_.GpuOf(entity)));
      }
    }
    return {forms.begin(), forms.end()};
  }

  ExplainedStep MatchStep(EntityId entity, std::string& remedy) const {
    if (!OwnersAreKnown()) {
      return {"match", "absent", "there is no usable answer of the kubelet"};
    }
    if (!owners_.by_entity[entity.index].empty()) {
      const std::vector<std::string> forms = FormsOf(entity);
      return {"match", "ok",
              absl::StrFormat("%s; %s", forms.empty() ? "by the claim of a device" : Listed(forms),
                              RowsOf(owners_.by_entity[entity.index], remedy))};
    }
    if (!owners_.unmatched.empty()) {
      const UnmatchedDevice& first = owners_.unmatched.front();
      if (remedy.empty()) {
        remedy = WordsOf(first.reason).remedy;
      }
      return {"match", "unmatched",
              absl::StrFormat("%s of pods on this node %s no device, the first: %s of %s (%s)",
                              Counted(owners_.unmatched.size(), "device id"),
                              owners_.unmatched.size() == 1 ? "matches" : "match",
                              Quoted(first.device_id), first.resource,
                              UnmatchedReasonName(first.reason))};
    }
    return {"match", "ok", "there is nothing to match"};
  }

  // Says which rows carry the owners of a device.
  std::string RowsOf(const std::vector<Owner>& owners, std::string& remedy) const {
    if (!facts_.view.kubernetes) {
      if (remedy.empty()) {
        remedy = "start with --kubernetes (-k) for namespace, pod and container on DCGM rows";
      }
      return "DCGM rows carry no pod without --kubernetes (-k); podgpu_allocation_info does";
    }
    if (facts_.view.virtual_gpus) {
      return absl::StrFormat(
          "a copy of each DCGM row for each of %d shares, since --kubernetes-virtual-gpus asks for "
          "it",
          owners.size());
    }
    if (SoleOwner(owners) == nullptr) {
      return absl::StrFormat(
          "DCGM rows carry no pod, since %d owners share the device; podgpu_allocation_info lists "
          "them",
          OnePerContainer(owners).size());
    }
    return "DCGM rows carry namespace, pod and container";
  }

  std::string WhyNoDevice() const {
    if (topology_.gpus.empty()) {
      return "the driver lists no GPU on this node";
    }
    std::vector<std::string> ids;
    ids.reserve(topology_.gpus.size());
    for (const Gpu& gpu : topology_.gpus) {
      ids.push_back(std::to_string(gpu.gpu_id));
    }
    return absl::StrFormat("this node has no such device; its GPUs are %s", Listed(ids));
  }

  std::string WhyPodHasNone() const {
    const std::string pod = query_.pod_namespace + "/" + query_.pod;
    if (!facts_.visible.Shows(query_.pod_namespace)) {
      return absl::StrFormat("pods of namespace %s are not shown here (--api-namespaces)",
                             query_.pod_namespace);
    }
    if (!OwnersAreKnown()) {
      return absl::StrFormat("the devices of %s are not known: %s", pod, WhyOwnersAreNotKnown());
    }
    if (facts_.join.ignored.Contain(query_.pod_namespace, query_.pod)) {
      return absl::StrFormat(
          "%s is no owner, whatever it holds, since it is podgpu's own pod or one of --ignore-pods",
          pod);
    }
    std::vector<std::string> held;
    std::set<std::string> resources;
    for (const Allocation& allocation : facts_.pods.value->allocations) {
      if (allocation.pod == query_.pod && allocation.pod_namespace == query_.pod_namespace) {
        held.push_back(
            absl::StrFormat("%s of %s", Quoted(allocation.device_id), allocation.resource));
        resources.insert(allocation.resource);
      }
    }
    if (held.empty()) {
      return absl::StrFormat(
          "the kubelet gives no device to %s (it lists %s): does a container of the pod have "
          "a limit of nvidia.com/gpu, and does the pod run on this node?",
          pod, Counted(facts_.pods.value->pod_count, "pod"));
    }
    held.resize(std::min(held.size(), kMostNamed));
    return absl::StrFormat(
        "the kubelet gives %s to %s, and none of these is known as a GPU; for a resource that is a "
        "GPU, start with --nvidia-resource-names=%s",
        Listed(held), pod, absl::StrJoin(resources, ","));
  }

  const ExplainFacts& facts_;
  const ExplainQuery& query_;
  const Grid& grid_;
  const Topology& topology_;
  const Owners& owners_;
  const bool stale_;
};

}  // namespace

Explanation Explain(const ExplainFacts& facts, const ExplainQuery& query) {
  if (facts.page == nullptr || facts.page->parts().grid == nullptr) {
    const std::string verdict = facts.condition == nullptr
                                    ? std::string("the first page is not made yet")
                                    : facts.condition->verdict;
    return {{}, {absl::StrFormat("no device is known: %s", verdict)}};
  }
  return Explainer(facts, query, *facts.page->parts().grid, *facts.page->parts().owners).Run();
}

}  // namespace podgpu
