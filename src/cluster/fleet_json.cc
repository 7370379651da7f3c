#include "cluster/fleet_json.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "base/version.h"

namespace podgpu {
namespace {

constexpr int kFleetSchema = 1;
constexpr double kPercent = 100;
constexpr double kBytesPerMib = 1048576;
// More namespaces than users request between two readings.
constexpr size_t kMostDocuments = 16;

std::string JsonText(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

// A JSON array that is written element by element.
class JsonColumn {
 public:
  void Add(std::string_view json) {
    text_ += text_.empty() ? '[' : ',';
    text_ += json;
  }
  void AddNumber(int64_t number) { Add(std::to_string(number)); }
  void AddRounded(const std::optional<double>& number) {
    number ? AddNumber(std::llround(*number)) : Add("null");
  }
  void AddText(std::string_view text) { Add(JsonText(text)); }
  std::string Whole() const { return text_.empty() ? "[]" : text_ + ']'; }

 private:
  std::string text_;
};

using HolderName = std::pair<std::string_view, std::string_view>;  // Namespace and name.

struct NameHash {
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  size_t operator()(const HolderName& name) const {
    constexpr size_t kOdd = 0x9E3779B97F4A7C15;
    return (*this)(name.first) * kOdd + (*this)(name.second);
  }
};

// A table of names; the index is the order of the first occurrence.
template <typename Key>
class NameTable {
 public:
  size_t IndexOf(const Key& key) {
    const auto [place, is_new] = indices_.try_emplace(key, names_.size());
    if (is_new) {
      names_.push_back(key);
    }
    return place->second;
  }
  const std::vector<Key>& names() const { return names_; }

 private:
  std::unordered_map<Key, size_t, NameHash> indices_;
  std::vector<Key> names_;
};

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

class FleetWriter {
 public:
  FleetWriter(const ClusterFacts& facts, std::string_view pod_namespace)
      : facts_(facts), namespace_(pod_namespace) {}

  std::string Write() {
    std::span<const ReportedGpu* const> counted = facts_.map.gpus;
    for (size_t i = 0; i < facts_.states.size(); ++i) {
      const NodeEntry& node = facts_.fleet->nodes[i];
      std::vector<const ReportedGpu*> gpus;
      for (const ReportedGpu& gpu : ShownOf(node, facts_.states[i])) {
        // Of two GPUs with one UUID the map has the first.
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
  // Includes the GPUs of withdrawn nodes: the page shows that they existed.
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
    return Counts(state) && node.report != nullptr && node.detail.empty() ? node.report->verdict
                                                                          : node.detail;
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
    addresses_.AddText(node.address.id);
    states_.AddText(NodeStateName(state));
    reasons_.AddText(node.last && !IsGood(*node.last) ? FetchResultName(*node.last) : "");
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

  std::string Assemble() {
    NameTable<std::string_view> namespaces;
    JsonColumn pods;
    for (const auto& [pod_namespace, pod] : pod_names_.names()) {
      pods.Add(absl::StrFormat("[%d,%s]", namespaces.IndexOf(pod_namespace), JsonText(pod)));
    }
    const ClusterCondition condition = JudgeCluster(facts_);
    std::string json = absl::StrFormat(
        "{\"schema\":%d,\"version\":%s,\"ready\":%s,\"verdict\":%s,\n", kFleetSchema,
        JsonText(kVersion), condition.ready ? "true" : "false", JsonText(condition.verdict));
    const auto table = [&json](std::string_view name, const std::string& column,
                               std::string_view end = ",") {
      absl::StrAppendFormat(&json, "\"%s\":%s%s\n", name, column, end);
    };
    const auto texts = [](const std::vector<std::string_view>& names) {
      JsonColumn column;
      for (const std::string_view name : names) {
        column.AddText(name);
      }
      return column.Whole();
    };
    table("namespaces", texts(namespaces.names()));
    table("pods", pods.Whole());
    table("models", texts(model_names_.names()));
    table("states", texts(state_names_.names()));
    json += "\"nodes\":{\n";
    table("node", names_.Whole());
    table("address", addresses_.Whole());
    table("state", states_.Whole());
    table("reason", reasons_.Whole());
    table("detail", details_.Whole());
    table("read_at_s", read_at_.Whole());
    table("owners_known", owners_known_.Whole());
    table("devices", devices_.Whole(), "");
    json += "},\"devices\":{\n";
    table("gpu", gpus_.Whole());
    table("model", models_.Whole());
    table("state", gpu_states_.Whole());
    table("activity_percent", activities_.Whole());
    table("memory_used_mib", memory_used_.Whole());
    table("memory_total_mib", memory_total_.Whole());
    table("instances", instances_.Whole());
    table("pods", pods_.Whole());
    table("hidden_owners", hidden_.Whole());
    table("idle_since_s", idle_since_.Whole(), "");
    return json + "}}\n";
  }

  const ClusterFacts& facts_;  // Borrowed, like all names.
  const std::string_view namespace_;
  NameTable<HolderName> pod_names_;
  NameTable<std::string_view> model_names_, state_names_;
  JsonColumn names_, addresses_, states_, reasons_, details_, read_at_, owners_known_, devices_;
  JsonColumn gpus_, models_, gpu_states_, activities_, memory_used_, memory_total_, instances_;
  JsonColumn pods_, hidden_, idle_since_;
};

// Returns whether both give the same JSON.
bool SayTheSame(const ClusterFacts& a, const ClusterFacts& b) {
  return a.fleet == b.fleet && a.list == b.list && a.states == b.states;
}

}  // namespace

std::string FleetJson(const ClusterFacts& facts, std::string_view pod_namespace) {
  return FleetWriter(facts, pod_namespace).Write();
}

std::shared_ptr<Document> FleetDocuments::Of(const std::shared_ptr<const ClusterFacts>& facts,
                                             std::string_view pod_namespace) {
  if (facts_ == nullptr || !SayTheSame(*facts_, *facts) || by_namespace_.size() >= kMostDocuments) {
    by_namespace_.clear();
    facts_ = facts;
  }
  auto place = by_namespace_.find(pod_namespace);
  if (place == by_namespace_.end()) {
    place = by_namespace_
                .emplace(pod_namespace,
                         MakeDocument(FleetJson(*facts_, pod_namespace), "application/json"))
                .first;
  }
  return place->second;
}

StatusOr<std::string_view> ParseFleetQuery(std::string_view query) {
  constexpr std::string_view kNamespace = "namespace=";
  constexpr size_t kLongestNamespace = 63;
  std::string_view pod_namespace;
  for (const std::string_view parameter : Split(query, '&')) {
    if (parameter.starts_with(kNamespace)) {
      pod_namespace = parameter.substr(kNamespace.size());
    } else if (!parameter.empty()) {
      return absl::InvalidArgumentError("the only parameter is \"namespace\"");
    }
  }
  if (pod_namespace.size() > kLongestNamespace ||
      pod_namespace.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
          std::string_view::npos) {
    return absl::InvalidArgumentError("\"namespace\" is the name of a namespace, such as research");
  }
  return pod_namespace;
}

}  // namespace podgpu
