// The samples of all devices and pods in a rolling window, from the reports of nodes.
//
// A sample belongs to the 5 s step of civil time in which its node read it; of several in one step
// the newest counts. A device whose node answers but has no sample in the window keeps its newest
// one. Samples belong to the pods that hold the device: when these change, older samples are
// dropped. Memory is limited: at most one sample for each device and step. Reports of nodes that do
// not count any more are dropped with their samples. One thread at a time (window_tables.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics_api/values/metrics_table.h"
#include "report/node_report.h"

namespace podgpu {

inline constexpr int64_t kWindowStepMs = 5'000;

struct WindowOptions {
  std::chrono::milliseconds length{60'000};
  // Returns the measure of a device, from 0 to 1; nothing if it is unknown.
  std::optional<double> (*share_of)(const DeviceUse& use, AveragedMeasure measure) = nullptr;
  // Returns whether a device with this share is in use; nothing if that is unknown.
  std::function<std::optional<bool>(const DeviceUse& use, double share)> is_in_use;
  // Returns whether the whole GPU or instance does nothing; nothing if that is unknown.
  std::optional<bool> (*does_nothing)(const DeviceUse& use) = nullptr;
  // Returns the workload of a pod by the pod's name.
  std::string_view (*workload_of)(std::string_view pod) = nullptr;
  std::vector<std::string> label_keys;  // Keys of the node labels that selectors may use.
};

// A node that counts, and its newest report.
struct WindowNode {
  std::shared_ptr<const NodeReport> report;  // Not null.
  int64_t read_ms = 0;                       // When the node read its values, since 1970.
};

// The nodes that do not count: whether their devices are in use is not known.
struct AbsentNodes {
  std::vector<std::shared_ptr<const NodeReport>> away;  // Last reports of nodes that answered once.
  size_t unread = 0;                                    // Nodes that have not answered yet.
  bool may_be_more = false;                             // The list of nodes is not complete.
};

// All nodes at one moment.
struct WindowFleet {
  std::vector<WindowNode> nodes;  // Those that count.
  AbsentNodes absent;
};

// Labels of nodes by name of the node, only those with the keys of WindowOptions::label_keys.
using NodeLabelMap = std::map<std::string, std::map<std::string, std::string>, std::less<>>;

class UseWindow {
 public:
  explicit UseWindow(WindowOptions options) : options_(std::move(options)) {}

  // Takes the newest reports of all nodes that count; reports that it has taken cost nothing.
  void Take(std::span<const WindowNode> nodes, AbsentNodes absent = {});

  // What a table is for: without pods and labels it costs less.
  enum class Content : uint8_t { kAll, kDevices };
  // Makes the table of the samples from `length` before `end_ms` to `end_ms`; `length` is at most
  // WindowOptions::length. `labels` may be null.
  std::shared_ptr<const MetricsTable> MakeTable(int64_t end_ms, std::chrono::milliseconds length,
                                                const NodeLabelMap* labels,
                                                Content content = Content::kAll) const;

  // Return the number of samples, and the number of bytes that they occupy.
  size_t points() const;
  size_t bytes() const;

  // The measures of a point.
  static constexpr size_t kPointMeasureCount = 6;

 private:
  struct Sample {
    float value = 0;
    uint32_t age_ms = 0;
  };
  // Bits of Point::flags.
  enum Flag : uint16_t { kIsIdle = 1, kIdleIsKnown = 2, kFirstInUse = 4, kFirstUnknown = 64 };
  struct Point {
    int64_t read_ms = 0;
    // The four averaged measures, utilisation and power; a value that is not a number is absent.
    std::array<Sample, kPointMeasureCount> samples{};
    double memory_bytes = -1;  // Negative: absent.
    uint32_t memory_age_ms = 0;
    uint16_t flags = 0;
  };
  struct PodPoint {
    int64_t read_ms = 0;
    double energy_joules = -1;  // Negative: absent, as in the next two.
    double memory_bytes = -1;
    float sm_percent = -1;
  };
  struct PodSeries {
    std::string pod_namespace, pod;
    std::vector<PodPoint> points;
  };
  struct Device {
    std::string id;                    // UUID, and with MIG the number of the instance.
    const ReportedGpu* gpu = nullptr;  // Borrowed from the report of the node.
    const DeviceUse* use = nullptr;    // Borrowed from the same report.
    std::vector<Point> points;         // Ascending by time.
    std::vector<PodSeries> pods;
  };
  struct Node {
    std::shared_ptr<const NodeReport> report;
    int64_t read_ms = 0;
    uint64_t round = 0;
    std::vector<Device> devices;
  };
  class TableMaker;

  void TakeReport(const WindowNode& taken, Node& node) const;
  void AddDevice(const ReportedGpu& gpu, const DeviceUse& use, std::string id, int64_t read_ms,
                 std::vector<Device>& before, Node& node) const;
  Point PointOf(const DeviceUse& use, int64_t read_ms) const;
  template <typename AnyPoint>
  void Append(AnyPoint point, std::vector<AnyPoint>& points) const;
  template <typename AnyPoint>
  static std::span<const AnyPoint> InWindow(const std::vector<AnyPoint>& points, int64_t begin_ms,
                                            int64_t end_ms);

  const WindowOptions options_;
  std::map<std::string, Node, std::less<>> nodes_;  // Nodes by name.
  AbsentNodes absent_;
  uint64_t round_ = 0;
};

}  // namespace podgpu
