// Makes the table of a window.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_set>

#include "metrics_api/values/table_parts.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {
namespace {

constexpr double kMillisecondsPerSecond = 1'000;
constexpr double kPercentOfShare = 100;

using PodName = std::pair<std::string_view, std::string_view>;  // Namespace and name.

// The pods that hold a device, each once, in the order of their names.
std::vector<PodName> PodsHolding(const DeviceUse& use) {
  std::vector<PodName> pods;
  pods.reserve(use.owners.size());
  for (const ReportedOwner& owner : use.owners) {
    pods.emplace_back(owner.pod_namespace, owner.pod);
  }
  std::ranges::sort(pods);
  const auto repeated = std::ranges::unique(pods);
  pods.erase(repeated.begin(), repeated.end());
  return pods;
}

bool HasAnyHolder(const DeviceUse& use) { return !use.owners.empty() || use.hidden_owners > 0; }

}  // namespace

class UseWindow::TableMaker {
 public:
  TableMaker(const UseWindow& window, int64_t begin_ms, int64_t end_ms, Content content)
      : window_(window), begin_ms_(begin_ms), end_ms_(end_ms), content_(content) {
    table_->end_ms = end_ms;
    if (content == Content::kAll) {
      table_->label_keys = window.options_.label_keys;
    }
  }

  void Add(const Node& node, const NodeLabelMap* labels) {
    node_ = nodes_.Of(node.report->node);
    AddLabels(node.report->node, labels);
    ++table_->live_nodes;
    const bool is_silent = !node.report->owners_known && !node.report->gpus.empty();
    table_->nodes_without_holders += is_silent ? 1U : 0U;
    for (const Device& device : node.devices) {
      if (ids_.insert(device.id).second) {
        Add(device, node);
      }
    }
  }

  void Add(const AbsentNodes& absent, const NodeLabelMap* labels) {
    table_->nodes_unread = absent.unread;
    table_->may_have_more_nodes = absent.may_be_more;
    for (const auto& report : absent.away) {
      node_ = nodes_.Of(report->node);
      if (node_ == table_->node_labels.size()) {
        AddLabels(report->node, labels);
      }
      for (const ReportedGpu& gpu : report->gpus) {
        const uint32_t model = models_.Of(gpu.model);
        if (gpu.instances.empty()) {
          AddAway(gpu.use, model, report->owners_known);
        }
        for (const ReportedInstance& instance : gpu.instances) {
          AddAway(instance.use, model, report->owners_known);
        }
      }
    }
  }

  std::shared_ptr<const MetricsTable> Finish() {
    if (content_ == Content::kAll) {
      AddPods();
    }
    std::ranges::stable_sort(table_->holdings, {}, &TableHolding::name_space);
    return table_;
  }

 private:
  // The part of one device that a pod has.
  struct Piece {
    PodName pod;
    const Device* device = nullptr;
    const PodSeries* own = nullptr;  // Null: the node does not tell.
    uint32_t node = 0, model = 0;
    bool is_sole = false;         // No other pod holds the device.
    bool is_energy_only = false;  // It is a GPU in MIG mode, whose instances have own pieces.
    bool is_instance = false;
  };

  void AddLabels(const std::string& node, const NodeLabelMap* labels) {
    std::vector<std::optional<std::string>>& row = table_->node_labels.emplace_back();
    const auto known = labels == nullptr ? NodeLabelMap::const_iterator() : labels->find(node);
    for (const std::string& key : table_->label_keys) {
      row.emplace_back();
      if (labels != nullptr && known != labels->end()) {
        if (const auto value = known->second.find(key); value != known->second.end()) {
          row.back() = value->second;
        }
      }
    }
  }

  void Add(const Device& device, const Node& node) {
    const ReportedGpu& gpu = *device.gpu;
    const bool is_whole = device.use == &gpu.use;
    const uint32_t model = models_.Of(gpu.model);
    if (is_whole && node.report->owners_known) {
      AddGpu(gpu, model, node.read_ms);
    }
    if (is_whole && !gpu.instances.empty()) {
      for (const PodSeries& pod : device.pods) {
        pieces_.push_back({.pod = {pod.pod_namespace, pod.pod},
                           .device = &device,
                           .own = &pod,
                           .node = node_,
                           .model = model,
                           .is_energy_only = true});
      }
      return;
    }
    const auto index = static_cast<uint32_t>(table_->devices.size());
    table_->devices.push_back(FiguresOf(device, model));
    if (node.report->owners_known) {
      AddHolders(device, index, model, !is_whole);
    } else {
      table_->unknown.push_back({TableUnknown::Kind::kOfAny, false, node_, model});
    }
  }

  void AddAway(const DeviceUse& use, uint32_t model, bool owners_known) {
    TableUnknown row{TableUnknown::Kind::kOfAny, true, node_, model};
    if (owners_known) {
      row.kind = TableUnknown::Kind::kOfNone;
    }
    const std::vector<PodName> pods = owners_known ? PodsHolding(use) : std::vector<PodName>();
    for (const PodName& pod : pods) {
      row.kind = TableUnknown::Kind::kOfPod;
      row.name_space = namespaces_.Of(pod.first);
      row.workload = workloads_.Of(window_.options_.workload_of(pod.second));
      table_->unknown.push_back(row);
    }
    if (pods.empty()) {
      table_->unknown.push_back(row);
    }
  }

  void AddGpu(const ReportedGpu& gpu, uint32_t model, int64_t read_ms) {
    const bool is_held =
        HasAnyHolder(gpu.use) || std::ranges::any_of(gpu.instances, [](const auto& instance) {
          return HasAnyHolder(instance.use);
        });
    table_->gpus.push_back({node_, model, !is_held && gpu.state == "ok", read_ms});
  }

  TableDevice FiguresOf(const Device& device, uint32_t model) const {
    TableDevice row;
    row.node = node_;
    row.model = model;
    for (size_t i = 0; i < kAveragedMeasureCount; ++i) {
      row.in_use[i] = TallyOf(device, i);
    }
    row.memory_bytes = MemoryOf(device);
    row.power_watts = MeanOf(device, kAveragedMeasureCount + 1, 1);
    return row;
  }

  InUseTally TallyOf(const Device& device, size_t measure) const {
    InUseTally tally;
    for (const Point& point : InWindow(device.points, begin_ms_, end_ms_)) {
      const Sample& sample = point.samples[measure];
      if (std::isnan(sample.value) || (point.flags & (kFirstUnknown << measure)) != 0) {
        continue;
      }
      const int64_t at_ms = point.read_ms - sample.age_ms;
      tally.oldest_ms = tally.known == 0 ? at_ms : std::min(tally.oldest_ms, at_ms);
      ++tally.known;
      if ((point.flags & (kFirstInUse << measure)) != 0) {
        ++tally.in_use;
        tally.shares += sample.value;
      }
    }
    return tally;
  }

  std::optional<TimedValue> MeanOf(const Device& device, size_t sample, double factor) const {
    MeanOfSamples mean;
    for (const Point& point : InWindow(device.points, begin_ms_, end_ms_)) {
      if (!std::isnan(point.samples[sample].value)) {
        mean.Add(point.samples[sample].value * factor,
                 point.read_ms - point.samples[sample].age_ms);
      }
    }
    return mean.mean();
  }

  std::optional<TimedValue> MemoryOf(const Device& device) const {
    MeanOfSamples mean;
    for (const Point& point : InWindow(device.points, begin_ms_, end_ms_)) {
      if (point.memory_bytes >= 0) {
        mean.Add(point.memory_bytes, point.read_ms - point.memory_age_ms);
      }
    }
    return mean.mean();
  }

  // Adds the holdings of each namespace and the piece of each pod.
  void AddHolders(const Device& device, uint32_t index, uint32_t model, bool is_instance) {
    const std::vector<PodName> pods = PodsHolding(*device.use);
    table_->has_hidden_pods = table_->has_hidden_pods || device.use->hidden_owners > 0;
    const bool is_sole = pods.size() == 1 && device.use->hidden_owners == 0;
    for (size_t i = 0; i < pods.size(); ++i) {
      const uint32_t name_space = namespaces_.Of(pods[i].first);
      if (i == 0 || pods[i].first != pods[i - 1].first) {
        table_->holdings.push_back(
            {name_space, index, static_cast<uint32_t>(table_->held_by.size()), 0});
      }
      TableHolding& holding = table_->holdings.back();
      const uint32_t workload = workloads_.Of(window_.options_.workload_of(pods[i].second));
      const auto begin = table_->held_by.begin() + holding.first_workload;
      if (std::find(begin, table_->held_by.end(), workload) == table_->held_by.end()) {
        table_->held_by.push_back(workload);
        ++holding.workload_count;
      }
      if (content_ == Content::kDevices) {
        continue;
      }
      const auto own = std::ranges::find_if(device.pods, [&](const PodSeries& one) {
        return one.pod == pods[i].second && one.pod_namespace == pods[i].first;
      });
      pieces_.push_back({.pod = pods[i],
                         .device = &device,
                         .own = own == device.pods.end() ? nullptr : &*own,
                         .node = node_,
                         .model = model,
                         .is_sole = is_sole,
                         .is_instance = is_instance});
    }
  }

  void AddPods() {
    std::ranges::stable_sort(pieces_, {}, &Piece::pod);
    for (size_t begin = 0; begin < pieces_.size();) {
      size_t end = begin + 1;
      while (end < pieces_.size() && pieces_[end].pod == pieces_[begin].pod) {
        ++end;
      }
      AddPod(std::span(pieces_).subspan(begin, end - begin));
      begin = end;
    }
    std::ranges::stable_sort(table_->pods, {}, &TablePod::name_space);
  }

  void AddPod(std::span<const Piece> pieces) {
    const auto holding = std::ranges::find(pieces, false, &Piece::is_energy_only);
    if (holding == pieces.end()) {
      return;  // Its processes run on a GPU that it does not hold.
    }
    TablePod& row = table_->pods.emplace_back();
    row.name_space = namespaces_.Of(holding->pod.first);
    row.workload = workloads_.Of(window_.options_.workload_of(holding->pod.second));
    row.node = holding->node;
    row.model = holding->model;
    row.name = holding->pod.second;
    SumOfParts utilization, sm_active, memory, power, energy;
    for (const Piece& piece : pieces) {
      if (piece.is_energy_only || !piece.is_instance) {
        energy.Add(EnergyRateOf(piece));
      }
      if (!piece.is_energy_only) {
        row.shares_gpu = row.shares_gpu || !piece.is_sole;
        utilization.Add(UtilizationOf(piece));
        sm_active.Add(SmActiveOf(piece));
        memory.Add(MemoryOf(piece));
        power.Add(PowerOf(piece));
      }
    }
    row.values = {utilization.mean(), sm_active.mean(), memory.sum(), power.sum(), energy.sum()};
    TellIdle(pieces, row);
  }

  // A device that a pod holds alone: what the device measures. A shared one: what the processes of
  // the pod use; nothing if the node does not tell.
  std::optional<TimedValue> UtilizationOf(const Piece& piece) const {
    return piece.is_sole ? MeanOf(*piece.device, kAveragedMeasureCount, 1)
                         : OwnMean(piece, [](const PodPoint& point) { return point.sm_percent; });
  }
  std::optional<TimedValue> SmActiveOf(const Piece& piece) const {
    return piece.is_sole
               ? MeanOf(*piece.device, static_cast<size_t>(AveragedMeasure::kSm), kPercentOfShare)
               : std::nullopt;
  }
  std::optional<TimedValue> MemoryOf(const Piece& piece) const {
    return piece.is_sole ? MemoryOf(*piece.device)
                         : OwnMean(piece, [](const PodPoint& point) { return point.memory_bytes; });
  }
  std::optional<TimedValue> PowerOf(const Piece& piece) const {
    return piece.is_sole ? MeanOf(*piece.device, kAveragedMeasureCount + 1, 1) : std::nullopt;
  }

  template <typename Get>
  std::optional<TimedValue> OwnMean(const Piece& piece, Get get) const {
    MeanOfSamples mean;
    if (piece.own != nullptr) {
      for (const PodPoint& point : InWindow(piece.own->points, begin_ms_, end_ms_)) {
        if (const double value = get(point); value >= 0) {
          mean.Add(value, point.read_ms);
        }
      }
    }
    return mean.mean();
  }

  // The growth of the pod's energy, from the last reading before the window to the newest one. A
  // counter that falls has started again: that interval does not count.
  std::optional<TimedValue> EnergyRateOf(const Piece& piece) const {
    if (piece.own == nullptr) {
      return std::nullopt;
    }
    double joules = 0;
    int64_t counted_ms = 0;
    int64_t oldest_ms = 0;
    const PodPoint* before = nullptr;
    for (const PodPoint& point : piece.own->points) {
      if (point.read_ms > end_ms_ || point.energy_joules < 0) {
        continue;
      }
      if (before != nullptr && point.read_ms > begin_ms_ &&
          point.energy_joules >= before->energy_joules) {
        oldest_ms = counted_ms == 0 ? before->read_ms : oldest_ms;
        joules += point.energy_joules - before->energy_joules;
        counted_ms += point.read_ms - before->read_ms;
      }
      before = &point;
    }
    return counted_ms == 0
               ? std::nullopt
               : std::optional(TimedValue{
                     joules * kMillisecondsPerSecond / static_cast<double>(counted_ms), oldest_ms});
  }

  void TellIdle(std::span<const Piece> pieces, TablePod& row) const {
    bool is_known = true;
    bool is_busy = false;
    row.oldest_ms = end_ms_;
    for (const Piece& piece : pieces) {
      if (piece.is_energy_only) {
        continue;
      }
      const auto points = InWindow(piece.device->points, begin_ms_, end_ms_);
      is_known = is_known && !points.empty();
      for (const Point& point : points) {
        row.oldest_ms = std::min(row.oldest_ms, point.read_ms);
        is_known = is_known && (point.flags & kIdleIsKnown) != 0;
        is_busy = is_busy || ((point.flags & kIdleIsKnown) != 0 && (point.flags & kIsIdle) == 0);
      }
    }
    row.is_idle = is_busy ? std::optional(false) : is_known ? std::optional(true) : std::nullopt;
  }

  const UseWindow& window_;
  const int64_t begin_ms_, end_ms_;
  const Content content_;
  const std::shared_ptr<MetricsTable> table_ = std::make_shared<MetricsTable>();
  Interned nodes_{table_->nodes}, models_{table_->models}, workloads_{table_->workloads},
      namespaces_{table_->namespaces};
  std::unordered_set<std::string_view> ids_;
  std::vector<Piece> pieces_;
  uint32_t node_ = 0;
};

// The points of the window; without any, the newest one before it.
template <typename AnyPoint>
std::span<const AnyPoint> UseWindow::InWindow(const std::vector<AnyPoint>& points, int64_t begin_ms,
                                              int64_t end_ms) {
  const auto begin = std::ranges::upper_bound(points, begin_ms, {}, &AnyPoint::read_ms);
  const auto end = std::ranges::upper_bound(points, end_ms, {}, &AnyPoint::read_ms);
  if (begin == end && begin != points.begin()) {
    return {begin - 1, begin};
  }
  return {begin, end};
}

std::shared_ptr<const MetricsTable> UseWindow::MakeTable(int64_t end_ms,
                                                         std::chrono::milliseconds length,
                                                         const NodeLabelMap* labels,
                                                         Content content) const {
  TableMaker maker(*this, end_ms - length.count(), end_ms, content);
  for (const auto& [name, node] : nodes_) {
    maker.Add(node, labels);
  }
  maker.Add(absent_, labels);
  return maker.Finish();
}

size_t MetricsTable::bytes() const {
  size_t bytes = devices.capacity() * sizeof(TableDevice) +
                 holdings.capacity() * sizeof(TableHolding) + gpus.capacity() * sizeof(TableGpu) +
                 held_by.capacity() * sizeof(uint32_t) + unknown.capacity() * sizeof(TableUnknown) +
                 pods.capacity() * sizeof(TablePod);
  for (const std::vector<std::string>* texts : {&nodes, &models, &workloads, &namespaces}) {
    bytes += texts->capacity() * sizeof(std::string);
  }
  return bytes;
}

}  // namespace podgpu
