// The source thread: opens the vendor library, finds the devices, has the fields sampled, reads
// them on its own clock.
//
// It is the only caller of the Source (but for the watchdog's Interrupt) and publishes two
// immutable values: the newest Grid, and a SourceStatus that says what it does and why.  Whatever
// fails, it waits a little and goes on: no driver yet, an engine that died, a GPU that left.  The
// tick logs what becomes of the status (state_log.h), since this thread may hang in the vendor's
// call.  Run is the body of one thread; everything else may be called from any thread.
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
#include "health/rescan_trigger.h"
#include "sample/grid.h"
#include "sample/grid_pool.h"
#include "source/source.h"

namespace podgpu {

// What source/pci_bus.h lists.
using PciGpuLister = std::function<std::vector<std::string>()>;

// What is read.
struct ReadList {
  std::vector<const Field*> fields;  // Ascending by id.
  FindingsAsked asked = {};
  // Profiling fields are on it because the default list has them: a node without profiling lacks
  // nothing that was asked of it.
  bool profiling_by_default = false;
};

struct ReaderOptions {
  ReadList list;               // To begin with.
  PciGpuLister list_pci_gpus;  // May be left out.
  std::chrono::milliseconds period{30'000};
  std::chrono::milliseconds stale_after{90'000};       // Samples older than this are withdrawn.
  std::chrono::milliseconds rediscover_every{10'000};  // How often devices are looked for again.
  std::chrono::milliseconds rewatch_every{60'000};     // How often a refused field is tried again.
  std::chrono::milliseconds first_retry{1'000};
  std::chrono::milliseconds longest_retry{10'000};
};

// Opens the vendor library; kNotFound while there is none.
using SourceOpener = std::function<StatusOr<std::unique_ptr<Source>>()>;

class Reader {
 public:
  // `clock`, `guard` and `tick` outlive the reader.  `tick` is nudged after every publication.
  Reader(SourceOpener open, ReaderOptions options, Clock& clock, CallGuard& guard, Wakeup& tick);

  // From the next reading on, which comes at once, reads `list` in place of that of the options.
  // Any thread.
  void ReadInstead(ReadList list);

  // What an operator asks of the devices.  Any thread.
  DeviceControl& control() { return control_; }

  // The thread's body; returns when `stop` is requested, or after the running vendor call if one
  // runs then.
  void Run(const std::stop_token& stop);

  const Published<Grid>& grids() const { return grids_; }
  const Published<SourceStatus>& statuses() const { return statuses_; }

 private:
  Status Connect();
  Status OpenIfNeeded();
  Status Discover();
  Status WatchFields();
  Status Read();
  StatusOr<std::shared_ptr<Grid>> ReadGrid();
  // Reads until a call fails (its status) or `stop` is requested (OK).
  Status ReadUntilFailure(const std::stop_token& stop);
  Status LookAgainIfDue();
  // Lets go of the devices until the time that was asked for is over.
  void LetGo(const std::stop_token& stop);
  // Where the driver needs that, asks for it; not again for a minute.
  void LetGoIfNeeded();
  // Looks for the devices and watches them if they have changed.  An engine that answers
  // everything but this costs no readings.
  Status LookAgain();
  bool AllIsWell() const;
  void CountExpected(const Topology& topology);
  bool WaitAfterFailure(const Status& failure, const std::stop_token& stop);
  void Say(PartState state, std::string detail);
  void SayWhatIsRead();

  const SourceOpener open_;
  const ReaderOptions options_;
  Clock& clock_;
  CallGuard& guard_;
  Wakeup& tick_;
  Wakeup news_;  // Ends the sleep between readings when something else is wanted.
  DeviceControl control_;

  std::shared_ptr<const ReadList> list_;  // What is watched and read.
  PartKinds kinds_;                       // What was looked for beside GPUs.
  std::unique_ptr<Source> source_;
  std::shared_ptr<const Topology> topology_;
  WatchResult watch_;
  GridPool grid_pool_;
  RescanTrigger rescan_trigger_;
  std::string look_failure_;  // Why the devices cannot be looked for; empty: they can.
  Instant discovered_at_{};
  Instant watched_at_{};
  std::optional<Instant> needed_at_;  // When the driver last needed the devices to be let go of.
  std::string need_;                  // Why they are let go of now; empty: on request.
  bool profiles_ = true;              // Profiling fields are watched.
  uint64_t epoch_ = 0;
  std::chrono::milliseconds retry_;
  SourceStatus status_;
  bool reading_is_said_ = false;  // SayWhatIsRead has nothing new to say.
  size_t most_seen_ = 0;          // GPUs together since the start.

  Published<ReadList> wanted_;
  Published<Grid> grids_;
  Published<SourceStatus> statuses_;
};

// Makes every value of `grid` absent (kStale) that is older than `limit`, `since_read` after the
// reading.  A field that the engine samples more slowly is judged by its own period.  Values of
// events (XID) stay: their time stamp is the event's.  Returns how many were withdrawn.
size_t WithdrawStale(Grid& grid, std::chrono::milliseconds limit,
                     std::chrono::milliseconds since_read);

}  // namespace podgpu
