#include "pages/node_page.h"

#include <algorithm>
#include <tuple>

#include "base/version.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

std::vector<ReportedOwner> OwnersOf(const std::vector<Owner>& owners) {
  std::vector<ReportedOwner> reported;
  reported.reserve(owners.size());
  for (const Owner& owner : owners) {
    reported.push_back(
        {owner.pod_namespace, owner.pod, owner.container, owner.resource, owner.claim.name});
  }
  std::ranges::sort(reported);  // Replicas of a shared device count as one owner here.
  const auto repeated = std::ranges::unique(reported);
  reported.erase(repeated.begin(), repeated.end());
  return reported;
}

DeviceUse UseOf(const SnapshotParts& parts, EntityId entity, const VisibleNamespaces& visible) {
  DeviceUse use;
  const Grid& grid = *parts.grid;
  for (const UseMeasureRow& row : UseMeasures()) {
    const std::optional<FieldRow> field = grid.RowOf(row.field_id);
    if (!field || !grid.ColumnsOf(*field).Contains(entity)) {
      continue;
    }
    const Value& value = grid.at(*field, entity);
    if (value.kind() != Value::Kind::kInt64 && value.kind() != Value::Kind::kDouble) {
      continue;
    }
    if (const double number = value.number() * row.scale; number >= 0 && number <= row.most) {
      use.values[static_cast<size_t>(row.measure)] = UseValue{number, value.age_ms()};
    }
  }
  if (parts.processes != nullptr && entity.index < parts.processes->size()) {
    use.processes = (*parts.processes)[entity.index];
  }
  for (ReportedOwner& owner : OwnersOf(parts.owners->by_entity[entity.index])) {
    if (visible.Shows(owner.pod_namespace)) {
      use.owners.push_back(std::move(owner));
    } else {
      ++use.hidden_owners;
    }
  }
  return use;
}

ReportedInstance InstanceOf(const SnapshotParts& parts, EntityId entity,
                            const VisibleNamespaces& visible) {
  const GpuInstance& instance = *parts.grid->topology().InstanceOf(entity);
  ReportedInstance reported;
  reported.gpu_instance_id = instance.gpu_instance_id;
  reported.profile = instance.profile;
  for (const ComputeInstance& compute : instance.compute_instances) {
    if (!compute.mig_uuid.empty()) {
      reported.uuids.push_back(compute.mig_uuid);
    }
  }
  reported.use = UseOf(parts, entity, visible);
  // DCGM repeats the power of the whole GPU for each of its instances.
  reported.use.values[static_cast<size_t>(UseMeasure::kPower)].reset();
  return reported;
}

// Returns the use of a GPU by each pod, in the order of their names.
std::vector<ReportedPodUse> PodsOn(const UseCopy& copy, const std::string& uuid,
                                   const VisibleNamespaces& visible) {
  constexpr double kMillijoulesPerJoule = 1'000;
  std::vector<ReportedPodUse> pods;
  const std::optional<DeviceNumber> device = copy.DeviceOf(uuid);
  for (const CopiedPod& pod : copy.pods) {
    if (!device || pod.key.device != *device || !visible.Shows(pod.pod_namespace)) {
      continue;
    }
    ReportedPodUse& use = pods.emplace_back();
    use.pod_namespace = pod.pod_namespace;
    use.pod = pod.pod;
    use.sm_percent = pod.sm_percent;
    use.memory_bytes = pod.memory_bytes;
    use.energy_joules = static_cast<double>(SumMj(pod.energy)) / kMillijoulesPerJoule;
  }
  std::ranges::sort(pods, {},
                    [](const ReportedPodUse& use) { return std::tie(use.pod_namespace, use.pod); });
  return pods;
}

void AddDevices(const NodePageFacts& facts, NodeReport& report) {
  const SnapshotParts& parts = facts.snapshot->parts();
  const UseCopy copy = facts.copy_use ? facts.copy_use() : UseCopy();
  const Topology& topology = parts.grid->topology();
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const EntityId entity{static_cast<uint16_t>(i)};
    if (topology.InstanceOf(entity) != nullptr) {
      report.gpus.back().instances.push_back(InstanceOf(parts, entity, facts.visible));
      continue;
    }
    const Gpu& gpu = topology.GpuOf(entity);
    ReportedGpu reported;
    reported.index = gpu.gpu_id;
    reported.uuid = gpu.uuid;
    reported.model = gpu.model;
    reported.use = UseOf(parts, entity, facts.visible);
    reported.use.pods = PodsOn(copy, gpu.uuid, facts.visible);
    report.gpus.push_back(std::move(reported));
  }
  // The condition lists the same GPUs in the same order, or was made before they were known.
  const std::vector<DeviceCondition>& judged = facts.condition->devices;
  for (size_t i = 0; i < report.gpus.size(); ++i) {
    report.gpus[i].state =
        i < judged.size() && judged[i].uuid == report.gpus[i].uuid ? judged[i].state : "recovering";
  }
}

}  // namespace

NodeReport MakeNodeReport(const NodePageFacts& facts) {
  NodeReport report;
  report.version = kVersion;
  report.node = facts.node;
  report.ready = facts.condition->ready;
  report.verdict = facts.condition->verdict;
  report.owners_known = facts.condition->owners_known;
  if (facts.snapshot->parts().grid != nullptr) {
    AddDevices(facts, report);
  }
  return report;
}

std::shared_ptr<const NodeDocument> NodePage::Of(const NodePageFacts& facts) {
  if (facts.snapshot == nullptr || facts.condition == nullptr) {
    return nullptr;
  }
  const SnapshotParts& parts = facts.snapshot->parts();
  return document_.Of({parts.tick, facts.condition}, [&](const NodeDocument*) {
    return std::make_shared<const NodeDocument>(
        NodeDocument{MakeDocument(WriteNodeReport(MakeNodeReport(facts)), "application/json"),
                     parts.grid == nullptr ? Instant() : parts.grid->read_at});
  });
}

std::vector<uint16_t> UseFieldIds(bool profiling) {
  std::vector<uint16_t> ids;
  for (const UseMeasureRow& row : UseMeasures()) {
    if (profiling || row.field_id < field_ids::kFirstProfiling) {
      ids.push_back(row.field_id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace podgpu
