// The source thread: opens the vendor library, scans for devices, makes the library sample the
// fields, and reads them periodically.
//
// It is the only caller of the Source, except for the watchdog's Interrupt.  It publishes two
// immutable values: the newest Grid, and a SourceStatus that says what it does and why.  After any
// failure (no driver yet, a dead engine, a lost GPU) it waits and tries again.  The tick logs
// changes of the status (state_log.h), since this thread may hang in a vendor call.  Run is the
// body of one thread; everything else may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/published.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "exporter/call_guard.h"
#include "exporter/device_control.h"
#include "facts/thread_facts.h"
#include "fields/field.h"
#include "fields/field_collections.h"
#include "health/rescan_trigger.h"
#include "sample/grid.h"
#include "sample/grid_pool.h"
#include "source/pci_bus.h"
#include "source/source.h"

namespace podgpu {

// Lists the GPUs on the PCI bus (source/pci_bus.h).
using PciGpuLister = std::function<std::vector<std::string>()>;

// Called while no driver can be used (source/pci_bus.h).
using NoDriverSayer = std::function<NoDriver()>;

// The fields and findings that the reader reads.
struct ReadList {
  std::vector<const Field*> fields;  // Ascending by id.
  FindingsAsked asked = {};
  std::shared_ptr<const FieldCollections> collections = nullptr;  // Null: all have one interval.
  // Profiling fields are on the list only because the default list has them: on a node without
  // profiling their absence is not a fault.
  bool profiling_by_default = false;
};

struct ReaderOptions {
  ReadList list;                                  // The list in use until the first ReadInstead.
  PciGpuLister list_pci_gpus;                     // Optional.
  NoDriverSayer explain_no_driver;                // Optional.
  std::chrono::milliseconds period{30'000};       // Of all fields outside collections.
  std::chrono::milliseconds stale_after{90'000};  // Samples older than this are withdrawn.
  std::chrono::milliseconds rediscover_every{10'000};  // Time between device scans.
  std::chrono::milliseconds rewatch_every{60'000};     // Time between retries of a refused field.
  std::chrono::milliseconds first_retry{1'000};
  std::chrono::milliseconds longest_retry{10'000};
};

// Opens the vendor library; kNotFound while there is none.
using SourceOpener = std::function<StatusOr<std::unique_ptr<Source>>()>;

class Reader {
 public:
  // `clock`, `guard` and `tick` outlive the reader.  `tick` is nudged after every publication.
  Reader(SourceOpener open, ReaderOptions options, Clock& clock, CallGuard& guard, Wakeup& tick);

  // Reads `list` from the next reading on, which comes at once.  Any thread.
  void ReadInstead(ReadList list);

  // The operator's requests.  Any thread.
  DeviceControl& control() { return control_; }

  // The thread's body; returns when `stop` is requested, after the running vendor call if there is
  // one.
  void Run(const std::stop_token& stop);

  const Published<Grid>& grids() const { return grids_; }
  const Published<SourceStatus>& statuses() const { return statuses_; }

 private:
  Status Connect();
  Status OpenIfNeeded();
  Status Discover();
  Status WatchFields();
  // Returns the time between two readings: the shortest interval of a field.
  std::chrono::milliseconds ReadingPeriod() const;
  Status Read();
  StatusOr<std::shared_ptr<Grid>> ReadGrid();
  // Reads until a call fails (returns its status) or `stop` is requested (returns OK).
  Status ReadUntilFailure(const std::stop_token& stop);
  Status RescanIfDue();
  // Releases the devices until the requested time is over.
  void ReleaseDevices(const std::stop_token& stop);
  // Requests a release if the driver needs one, at most once a minute.
  void ReleaseIfNeeded();
  // Scans for devices and watches them if they have changed.  If only the scan fails, readings go
  // on with the last known devices.
  Status Rescan();
  bool AllIsWell() const;
  void CountExpected(const Topology& topology);
  bool WaitAfterFailure(const Status& failure, const std::stop_token& stop);
  // Says that the driver or its library is missing: not a fault on a machine without a GPU.
  // `remedy`: used where the machine tells no better one.
  // Returns whether the status has changed.
  bool SayNoDriver(const std::string& detail, std::string remedy = "");
  void Say(PartState state, std::string detail);
  // Does not wake the tick, so that the new status and its reading come on the same page.
  void SayWhatIsRead();
  // Returns whether the status has changed.  A remedy is that of this state alone.
  bool SetStatus(PartState state, std::string detail, std::string remedy = "");

  const SourceOpener open_;
  const ReaderOptions options_;
  Clock& clock_;
  CallGuard& guard_;
  Wakeup& tick_;
  Wakeup news_;  // Ends the sleep between readings when a new list or request has come.
  DeviceControl control_;

  std::shared_ptr<const ReadList> list_;  // The list that is watched and read now.
  PartKinds kinds_;                       // The parts beside GPUs that the last scan included.
  std::unique_ptr<Source> source_;
  std::shared_ptr<const Topology> topology_;
  WatchResult watch_;
  GridPool grid_pool_;
  RescanTrigger rescan_trigger_;
  std::string scan_failure_;  // Why the last device scan failed; empty: it succeeded.
  Instant discovered_at_{};
  Instant watched_at_{};
  std::optional<Instant> needed_at_;  // Last time at which the driver needed a release.
  std::string need_;      // Why the driver needs the current release; empty: an operator asked.
  bool profiles_ = true;  // Profiling fields are watched.
  uint64_t epoch_ = 0;
  std::chrono::milliseconds retry_;
  SourceStatus status_;
  bool reading_is_said_ = false;  // The status already describes the current readings.
  size_t most_seen_ = 0;          // The most GPUs seen at one time since the start.

  Published<ReadList> wanted_;
  Published<Grid> grids_;
  Published<SourceStatus> statuses_;
};

}  // namespace podgpu
