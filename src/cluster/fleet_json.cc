#include "cluster/fleet_json.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/version.h"
#include "cluster/fleet_groups.h"
#include "cluster/json_columns.h"

namespace podgpu {
namespace {

constexpr int kFleetSchema = 1;
constexpr double kPercent = 100;
constexpr double kBytesPerMib = 1048576;

using HolderName = std::pair<std::string_view, std::string_view>;  // Namespace and name.

// The pods that hold `gpu` or an instance of it, each once, and the number of holders without
// names.
struct Holders {
  std::vector<HolderName> pods;
  uint64_t hidden = 0;
};
void AddHolders(const DeviceUse& use, Holders& holders) {
  for (const ReportedOwner& owner : use.owners) {
    holders.pods.emplace_back(owner.pod_namespace, owner.pod);
  }
  holders.hidden += use.hidden_owners;
}
Holders HoldersOf(const ReportedGpu& gpu) {
  Holders holders;
  AddHolders(gpu.use, holders);
  for (const ReportedInstance& instance : gpu.instances) {
    AddHolders(instance.use, holders);
  }
  std::ranges::sort(holders.pods);
  const auto repeated = std::ranges::unique(holders.pods);
  holders.pods.erase(repeated.begin(), repeated.end());
  return holders;
}

std::string EpochOf(std::initializer_list<std::string> parts) {
  size_t hash = 0;
  for (const std::string& part : parts) {
    hash = MixedHash(hash, std::hash<std::string>()(part));
  }
  return absl::StrFormat("%016x", hash);
}

class FleetWriter {
 public:
  FleetWriter(const ClusterFacts& facts, std::string_view pod_namespace, const FleetLinks& links)
      : facts_(facts), namespace_(pod_namespace), links_(links), groups_(facts.labels.get()) {}

  FleetText Write() {
    std::span<const ReportedGpu* const> counted = facts_.map.gpus;
    for (size_t i = 0; i < facts_.states.size(); ++i) {
      const NodeEntry& node = facts_.fleet->nodes[i];
      std::vector<const ReportedGpu*> gpus;
      for (const ReportedGpu& gpu : ShownOf(node, facts_.states[i])) {
        // When two GPUs have one UUID, the map has the first.
        const bool is_counted = !counted.empty() && counted.front() == &gpu;
        if (is_counted || !Counts(facts_.states[i])) {
          gpus.push_back(&gpu);
        }
        counted = counted.subspan(is_counted ? 1 : 0);
      }
      AddNode(i, gpus);
    }
    return Assemble();
  }

 private:
  // Includes the GPUs of unresponsive nodes: the page shows that they existed.
  static std::span<const ReportedGpu> ShownOf(const NodeEntry& node, NodeState state) {
    return node.report == nullptr || state == NodeState::kDuplicate ? std::span<const ReportedGpu>()
                                                                    : node.report->gpus;
  }

  int64_t UnixSeconds(Instant instant) const {
    const auto before = std::chrono::duration_cast<std::chrono::microseconds>(facts_.now - instant);
    return std::chrono::floor<std::chrono::seconds>((facts_.wall_now - before).time_since_epoch())
        .count();
  }

  // Describes the state of a node; empty if there is nothing to report.
  std::string DetailOf(size_t index) const {
    const NodeEntry& node = facts_.fleet->nodes[index];
    const NodeState state = facts_.states[index];
    if (state == NodeState::kDuplicate) {
      return WhyDuplicate(*facts_.fleet, facts_.states, index);
    }
    if (Counts(state) && node.report != nullptr && node.detail.empty()) {
      return node.report->verdict;
    }
    return node.detail;
  }

  void AddNode(size_t index, const std::vector<const ReportedGpu*>& gpus) {
    const NodeEntry& node = facts_.fleet->nodes[index];
    const NodeState state = facts_.states[index];
    int64_t devices = 0;
    for (const ReportedGpu* gpu : gpus) {
      devices += AddGpu(node, state, *gpu) ? 1 : 0;
    }
    if (devices == 0 && !namespace_.empty()) {
      return;
    }
    names_.AddText(node.report == nullptr ? "" : node.report->node);
    groups_.AddNode(node.report == nullptr ? node.address.expected_node : node.report->node);
    addresses_.AddText(node.address.id);
    states_.AddText(NodeStateName(state));
    reasons_.AddText(NodeReason(node, state));
    details_.AddText(DetailOf(index));
    node.report == nullptr ? read_at_.Add("null") : read_at_.AddNumber(UnixSeconds(node.read_at));
    owners_known_.Add(
        node.report != nullptr && node.report->owners_known && Counts(state) ? "true" : "false");
    devices_.AddNumber(devices);
  }

  // Returns false if the GPU has no pod of the requested namespace.
  bool AddGpu(const NodeEntry& node, NodeState state, const ReportedGpu& gpu) {
    const bool counts = Counts(state);
    const Holders holders = counts ? HoldersOf(gpu) : Holders();
    if (!namespace_.empty() && std::ranges::none_of(holders.pods, [this](const HolderName& pod) {
          return pod.first == namespace_;
        })) {
      return false;
    }
    gpus_.AddNumber(gpu.index);
    if (links_.wants_uuids()) {
      uuids_.AddText(gpu.uuid);
    }
    models_.AddNumber(static_cast<int64_t>(model_names_.IndexOf(gpu.model)));
    const std::string_view word = counts ? std::string_view(gpu.state) : "unresponsive";
    gpu_states_.AddNumber(static_cast<int64_t>(state_names_.IndexOf(word)));
    AddUse(gpu, counts);
    JsonColumn pods;
    for (const HolderName& pod : holders.pods) {
      pods.AddNumber(static_cast<int64_t>(pod_names_.IndexOf(pod)));
    }
    pods_.Add(pods.Whole());
    hidden_.AddNumber(static_cast<int64_t>(holders.hidden));
    instances_.AddNumber(static_cast<int64_t>(gpu.instances.size()));
    const auto spell =
        node.idle == nullptr ? IdleSpells::const_iterator() : node.idle->find(gpu.uuid);
    counts&& node.idle != nullptr&& spell != node.idle->end()
        ? idle_since_.AddNumber(UnixSeconds(spell->second))
        : idle_since_.Add("null");
    return true;
  }

  void AddUse(const ReportedGpu& gpu, bool counts) {
    const auto scaled = [&](const std::optional<double>& value, double scale) {
      return counts && value ? std::optional(*value * scale) : std::nullopt;
    };
    const std::optional<UseValue>& used = gpu.use.of(UseMeasure::kMemoryUsed);
    const std::optional<UseValue>& total = gpu.use.of(UseMeasure::kMemoryTotal);
    activities_.AddRounded(scaled(ActivityOf(gpu), kPercent));
    memory_used_.AddRounded(
        scaled(used ? std::optional(used->value) : std::nullopt, 1 / kBytesPerMib));
    memory_total_.AddRounded(
        scaled(total ? std::optional(total->value) : std::nullopt, 1 / kBytesPerMib));
  }

  static std::string TextsOf(const std::vector<std::string_view>& names) {
    JsonColumn column;
    for (const std::string_view name : names) {
      column.AddText(name);
    }
    return column.Whole();
  }

  // Adds what changes only with nodes, boards, holders and flags.
  void AddTables(JsonObject& fleet) const {
    NameTable<std::string_view> namespaces;
    JsonColumn pods;
    for (const auto& [pod_namespace, pod] : pod_names_.names()) {
      pods.Add(absl::StrFormat("[%d,%s]", namespaces.IndexOf(pod_namespace), JsonText(pod)));
    }
    fleet.Add("version", JsonText(kVersion));
    if (!links_.node_url.empty()) {
      fleet.Add("node_url", JsonText(links_.node_url));
    }
    if (!links_.dashboard_url.empty()) {
      fleet.Add("dashboard_url", JsonText(links_.dashboard_url));
    }
    if (facts_.prometheus != nullptr) {
      fleet.Add("history", "true");
    }
    groups_.WriteTo(fleet);
    fleet.Add("namespaces", TextsOf(namespaces.names()));
    fleet.Add("pods", pods.Whole());
    fleet.Add("models", TextsOf(model_names_.names()));
  }
  void AddNodeTables(JsonObject& nodes) const {
    nodes.Add("node", names_.Whole());
    nodes.Add("address", addresses_.Whole());
    nodes.Add("devices", devices_.Whole());
  }
  void AddDeviceTables(JsonObject& devices) const {
    devices.Add("gpu", gpus_.Whole());
    if (links_.wants_uuids()) {
      devices.Add("uuid", uuids_.Whole());
    }
    devices.Add("model", models_.Whole());
    devices.Add("memory_total_mib", memory_total_.Whole());
    devices.Add("instances", instances_.Whole());
    devices.Add("pods", pods_.Whole());
    devices.Add("hidden_owners", hidden_.Whole());
  }

  // Adds what changes with every reading.
  void AddValues(JsonObject& fleet) const {
    const ClusterCondition condition = JudgeCluster(facts_);
    fleet.Add("ready", condition.ready ? "true" : "false");
    fleet.Add("verdict", JsonText(condition.verdict));
    fleet.Add("states", TextsOf(state_names_.names()));
  }
  void AddNodeValues(JsonObject& nodes) const {
    nodes.Add("state", states_.Whole());
    nodes.Add("reason", reasons_.Whole());
    nodes.Add("detail", details_.Whole());
    nodes.Add("read_at_s", read_at_.Whole());
    nodes.Add("owners_known", owners_known_.Whole());
  }
  void AddDeviceValues(JsonObject& devices) const {
    devices.Add("state", gpu_states_.Whole());
    devices.Add("activity_percent", activities_.Whole());
    devices.Add("memory_used_mib", memory_used_.Whole());
    devices.Add("idle_since_s", idle_since_.Whole());
  }

  static JsonObject Begin(std::string_view epoch) {
    JsonObject fleet;
    fleet.Add("schema", std::to_string(kFleetSchema));
    fleet.Add("epoch", JsonText(epoch));
    return fleet;
  }

  FleetText Assemble() const {
    JsonObject tables, node_tables, device_tables;
    AddTables(tables);
    AddNodeTables(node_tables);
    AddDeviceTables(device_tables);
    FleetText text;
    text.epoch = EpochOf({tables.Whole(), node_tables.Whole(), device_tables.Whole()});

    JsonObject delta = Begin(text.epoch), node_values, device_values;
    AddNodeValues(node_values);
    AddDeviceValues(device_values);
    delta.Add("delta", "true");
    AddValues(delta);
    delta.Add("nodes", node_values.Whole());
    delta.Add("devices", device_values.Whole());
    text.delta = delta.Whole() + '\n';

    JsonObject whole = Begin(text.epoch);
    AddTables(whole);
    AddValues(whole);
    AddNodeValues(node_tables);
    AddDeviceValues(device_tables);
    whole.Add("nodes", node_tables.Whole());
    whole.Add("devices", device_tables.Whole());
    text.whole = whole.Whole() + '\n';
    return text;
  }

  const ClusterFacts& facts_;  // Borrowed, like all names.
  const std::string_view namespace_;
  const FleetLinks& links_;
  FleetGroups groups_;
  NameTable<HolderName> pod_names_;
  NameTable<std::string_view> model_names_, state_names_;
  JsonColumn names_, addresses_, states_, reasons_, details_, read_at_, owners_known_, devices_;
  JsonColumn gpus_, models_, gpu_states_, activities_, memory_used_, memory_total_, instances_;
  JsonColumn uuids_, pods_, hidden_, idle_since_;
};

}  // namespace

FleetText MakeFleetText(const ClusterFacts& facts, std::string_view pod_namespace,
                        const FleetLinks& links) {
  return FleetWriter(facts, pod_namespace, links).Write();
}

}  // namespace podgpu
