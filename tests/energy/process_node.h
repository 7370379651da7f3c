// A simulated node on a virtual clock, and podgpu's whole path from the driver to the page of
// processes.
//
// NVML is the simulated library, opened as the program opens it; /proc is the node's own; opener,
// refresher, queue, tick and views are the program's.  One thread drives all of it: Pass moves the
// node's clock, makes one reading and one page.  Device fields, if any, are read by the program's
// source at their own pace.  While a fault makes the driver hang, readings run on their own
// threads, so time and pages continue.  A test can then compare a page with the world.  One node at
// a time, since the library finds it through the environment.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/library.h"
#include "base/wakeup.h"
#include "exporter/process_refresher.h"
#include "exporter/tick.h"
#include "sim/program/node_proc.h"
#include "sim/testing/node.h"
#include "sim/world/run_directory.h"
#include "source/source.h"

namespace podgpu {

// The device fields to read, the source, and the period.
struct NodeDevices {
  std::vector<uint16_t> fields = {};  // Empty: grids have no rows.
  bool by_dcgm = false;               // Otherwise by NVML.
  std::chrono::milliseconds period{30'000};
};

class ProcessNode {
 public:
  explicit ProcessNode(std::string_view scenario, ProcessOptions options = {},
                       NodeDevices devices = {});
  ~ProcessNode();
  ProcessNode(const ProcessNode&) = delete;
  ProcessNode& operator=(const ProcessNode&) = delete;

  // Advances the clock by this time, then reads and makes a page.
  void Pass(Duration step);
  // The same without a reading.
  void PassUnread(Duration step);
  void Read();
  // Advances the clock by this time, then makes the due readings, of processes or devices, and a
  // page.
  void PassAtPace(Duration step);
  // How often PassAtPace found a due reading while the previous one was blocked in the driver.
  size_t stuck_readings() const { return stuck_readings_; }

  const sim::World& world() const { return run_->world(); }
  sim::TimeUs now() const { return run_->Now(); }
  // Civil time, in microseconds since 1970.
  int64_t stamp_us() const { return run_->StampUs(now()); }
  const ProcessFacts& facts() { return *refresher_->queue().facts().Get(); }
  std::shared_ptr<const Snapshot> page() const { return tick_->snapshots().Get(); }
  std::shared_ptr<const Condition> condition() const { return tick_->conditions().Get(); }

 private:
  class NodeTime;
  // A periodic reading.
  struct Pace {
    std::optional<Instant> begun_at;
    std::atomic<bool> is_done = true;
    std::jthread thread;  // The reading that began while the driver hung.
  };

  void StartExporter(ProcessOptions options);
  std::unique_ptr<Source> OpenDevices(const std::string& proc_root);
  bool FindDevices();
  void ReadDevices();
  bool DriverHangs() const;
  template <typename Reading>
  void ReadWhenDue(Pace& pace, Duration period, Reading read);
  // The answers of kubelet and API server.
  void ShowPods();

  const NodeDevices devices_;
  std::vector<const Field*> fields_;
  std::chrono::milliseconds process_period_{};
  sim::TestNode node_;
  std::unique_ptr<sim::RunDirectory> run_;
  std::unique_ptr<NodeTime> clock_;
  std::optional<sim::ProcTree> proc_;

  SystemFiles files_;
  SystemLibraryLoader loader_;
  Wakeup wakeup_;
  std::optional<DeviceControl> control_;
  std::unique_ptr<ProcessRefresher> refresher_;
  std::unique_ptr<Source> source_;
  bool is_found_ = false;  // Devices are found and watched.
  uint64_t epoch_ = 0;
  std::shared_ptr<const Topology> topology_;
  Published<Grid> grids_;
  Published<SourceStatus> statuses_;
  Published<PodFacts> pods_;
  Published<ApiFacts> api_pods_;
  std::optional<CallGuard> guard_;
  const std::atomic<int> written_off_ = 0;
  const HttpCounters clients_;
  std::optional<Tick> tick_;
  size_t stuck_readings_ = 0;
  Pace processes_pace_, devices_pace_;
};

}  // namespace podgpu
