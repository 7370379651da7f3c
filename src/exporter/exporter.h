// The node role, assembled: threads, what they share, and the order in which all of it starts and
// ends.
//
// Start makes one page before the port opens, so that nobody meets an empty one.  Five threads of
// its own: source, watchdog, kubelet refresher, tick, HTTP; more for what is off by default. Stop
// ends them within two seconds from any state; a thread that hangs inside the vendor library or
// waits for the kubelet cannot be joined, which Stop says, and the process then ends without it.
// Start and Stop belong to one thread, the caller of main.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "exporter/call_guard.h"
#include "exporter/process_refresher.h"
#include "exporter/reader.h"
#include "exporter/routes.h"
#include "exporter/tick.h"
#include "http/server.h"
#include "kube/pod_resources.h"
#include "pages/dumps.h"
#include "pages/text_files.h"
#include "refresh/api_refresher.h"
#include "refresh/job_refresher.h"
#include "refresh/kubelet_pods_refresher.h"
#include "refresh/refresher.h"
#include "usage/process_rows.h"

namespace podgpu {

struct ExporterOptions {
  HttpServerOptions http;
  bool requested_vs_used = false;  // Served under /metric; needs `processes`.
  bool legacy_from_start = false;  // The fields of /gpu/metrics are read before anyone asks.
  std::string query_address;       // That page on a listener of its own; empty: none.
  std::chrono::milliseconds collect_interval{30'000};
  std::chrono::milliseconds stale_after{0};  // 0: three intervals, at least 5 s.
  std::chrono::milliseconds call_deadline{10'000};
  std::chrono::milliseconds xid_window{300'000};  // Of DCGM_EXP_XID_ERRORS_COUNT.
  std::chrono::milliseconds clock_window{300'000};
  std::string metrics_path;     // Beside /metrics; empty: none.
  bool enable_control = false;  // POST under /api/v1 pauses profiling and lets go of devices.
  bool kubernetes = false;
  std::vector<View> views = {View::kDcgm, View::kCore, View::kSelf};
  std::vector<Counter> counters;
  size_t series_budget = 0;  // Of /metrics; 0: none.
  ViewOptions view;
  std::string node_name;  // For the cluster role; empty: the hostname of the view.
  JoinOptions join;
  VisibleNamespaces visible;
  std::string job_directory;  // Empty: no batch system.
  bool pod_labels = false;    // With `kubernetes`: ask the API server for labels of pods.
  // Where that is, or why there is none.
  StatusOr<ApiServerOptions> api_server = absl::FailedPreconditionError("no API server is known");
  // Where the kubelet lists its pods, which is asked in place of the API server.
  std::optional<KubeletPodsOptions> kubelet_pods = std::nullopt;
  ConfigNotes config;
  TextFileOptions text_files;
  DumpOptions dumps;
  ProcessOptions processes;
};

// The seams that main.cc or a test fills.  All outlive the Exporter.
struct ExporterSeams {
  Clock& clock;
  SourceOpener open_source;
  PodResources& kubelet;
  PciGpuLister list_pci_gpus = {};             // May be left out.
  ThreadTally written_off = NewThreadTally();  // Of the sources that `open_source` makes.
  const Files* files = nullptr;       // Needed with a directory of jobs and with an API server.
  uint32_t random_seed = 0;           // Of waits that must differ between nodes.
  ProcessOpener open_processes = {};  // Needed where processes are enabled.
};

class Exporter {
 public:
  static StatusOr<std::unique_ptr<Exporter>> Start(const ExporterOptions& options,
                                                   ExporterSeams seams);

  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  // Stops if Stop was not called, and waits for all threads without limit: call Stop first where
  // that matters.
  ~Exporter();

  // Ends all threads.  False when one of them, or one that was written off, still hangs in a
  // foreign call after `patience`: then this object must not be destroyed; end the process with
  // std::_Exit.
  bool Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(1'500));

  // Serves `counters` in place of the list of now, or, when they are refused, that one on; says so
  // on `/` and in the self metrics.  `warnings` are those of the flags.  The caller of Start.
  void Reload(StatusOr<Counters> counters, const std::vector<std::string>& warnings);

  // Reads the fields of a page that somebody asks for too, from the next reading on.  Any thread.
  void WantLegacy() { Want(legacy_wanted_); }
  void WantUse() { Want(use_wanted_); }

  uint16_t port() const { return http_->port(); }
  // Of the second listener; 0 where there is none.
  uint16_t query_port() const { return query_http_ == nullptr ? uint16_t{0} : query_http_->port(); }
  const Tick& tick() const { return tick_; }

 private:
  Exporter(const ExporterOptions& options, ExporterSeams seams);
  Status StartQueryServer(const ExporterOptions& options);
  void StartThreads();
  void Want(std::atomic<bool>& wanted);
  std::vector<const Field*> WantedFields() const PODGPU_REQUIRES(wanted_mutex_);
  // Has what is wanted read and shown.
  void Apply() PODGPU_REQUIRES(wanted_mutex_);

  Clock& clock_;
  const std::vector<View> views_;
  const FindingsAsked windows_;
  ConfigNotes config_;
  Mutex wanted_mutex_;
  std::vector<Counter> counters_ PODGPU_GUARDED_BY(wanted_mutex_);
  bool profiling_by_default_ PODGPU_GUARDED_BY(wanted_mutex_);
  const bool requested_vs_used_;
  std::atomic<bool> legacy_wanted_ = false;
  std::atomic<bool> use_wanted_ = false;
  const ThreadTally written_off_;
  Wakeup wakeup_;
  CallGuard guard_;
  HttpCounters clients_;
  Reader reader_;
  KubeletRefresher refresher_;
  const std::unique_ptr<ApiRefresher> api_pods_;  // Null unless labels or uids are wanted.
  const std::unique_ptr<KubeletPodsRefresher> kubelet_pods_;  // Null unless it is asked instead.
  const std::unique_ptr<ApiRefresher> api_slices_;            // Null unless claims are wanted.
  const std::unique_ptr<JobRefresher> jobs_;                  // Null without a directory of jobs.
  const std::unique_ptr<ProcessRefresher> processes_;         // Null unless processes are enabled.
  WriteCounts text_file_counts_;
  WriteCounts dump_counts_;
  Tick tick_;
  TextFiles text_files_;
  Dumps dumps_;
  const std::chrono::milliseconds watchdog_pace_;

  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> query_http_;  // Null without an address for it.
  Worker source_thread_;
  Worker watchdog_thread_;
  Worker kubelet_thread_;
  Worker api_pods_thread_;
  Worker kubelet_pods_thread_;
  Worker api_slices_thread_;
  Worker jobs_thread_;
  Worker processes_thread_;
  Worker tick_thread_;
  Worker text_file_thread_;
  Worker dump_thread_;
};

// The age beyond which values are withdrawn: as asked, else three intervals, at least 5 s.
std::chrono::milliseconds StaleAfter(const ExporterOptions& options);

// What is served beside /metrics, as soon as somebody asks for it.
struct WantedPages {
  bool legacy = false;  // /gpu/metrics and the text files.
  bool use = false;     // /api/v1/node
  bool vcuda = false;   // /metric
};

// The fields that the source reads: those of the counters, or that these are computed from, those
// that `views` need, and those of the pages that are wanted; theirs of profiling, and those that
// share energy within a partitioned GPU, only where a counter asks for profiling anyway.
std::vector<const Field*> FieldsToRead(const std::vector<Counter>& counters,
                                       const std::vector<View>& views, WantedPages wanted = {});

// What the source finds out beside fields for `counters`, in the windows of `options`.
FindingsAsked FindingsToRead(const std::vector<Counter>& counters, const FindingsAsked& windows);

// Whether `counters`, read from `path`, ask for profiling fields only because the default list
// does.
bool ProfilesByDefault(std::string_view path, const std::vector<Counter>& counters);

// What is said of a list of metrics and of the warnings about flags.
ConfigNotes NotesOn(const Counters& counters, const std::vector<std::string>& warnings,
                    WallTime loaded_at);

}  // namespace podgpu
