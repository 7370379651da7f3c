// Assembles the node role: its threads, their shared objects, and the order of start and stop.
//
// Start makes one page before the port opens, so no client gets an empty page.  There are always
// five threads: source, watchdog, kubelet refresher, tick, HTTP; each optional feature adds its
// own. Stop ends them within two seconds from any state.  A thread that hangs in the vendor
// library, or waits for the kubelet, cannot be joined: Stop returns false, and the process must end
// without it. Start and Stop are called on the main thread.
#pragma once

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
#include "refresh/container_refresher.h"
#include "refresh/job_refresher.h"
#include "refresh/kubelet_pods_refresher.h"
#include "refresh/refresher.h"
#include "usage/process_rows.h"

namespace podgpu {

struct ExporterOptions : PageOptions {
  HttpServerOptions http;
  RouteOptions routes;
  bool legacy_from_start = false;  // Reads the fields of /gpu/metrics before the first request.
  std::string query_address;       // A second listener, with /metric alone; empty: none.
  std::chrono::milliseconds collect_interval{30'000};
  FieldCollections collections = {};         // Fields of `counters` with intervals of their own.
  std::chrono::milliseconds stale_after{0};  // 0: three intervals, at least 5 s.
  std::chrono::milliseconds call_deadline{10'000};
  FindingsAsked windows{.xid_window = std::chrono::minutes(5),
                        .clock_window = std::chrono::minutes(5)};
  bool enable_control = false;  // POST under /api/v1 pauses profiling and releases devices.
  bool kubernetes = false;
  std::string job_directory;     // Empty: no batch system.
  std::string container_socket;  // Socket of a container runtime; empty: none is asked.
  bool pod_labels = false;       // With `kubernetes`: rows carry labels of pods.
  // API server address and credentials, or the reason they are missing.
  StatusOr<ApiServerOptions> api_server = absl::FailedPreconditionError("no API server is known");
  // The kubelet's list of pods, used instead of the API server.
  std::optional<KubeletPodsOptions> kubelet_pods = std::nullopt;
  TextFileOptions text_files;
  DumpOptions dumps;
};

// The world outside, which main.cc or a test provides.  All outlive the Exporter.
struct ExporterSeams {
  Clock& clock;
  SourceOpener open_source;
  PodResources& kubelet;
  PciGpuLister list_pci_gpus = {};             // Optional.
  ThreadTally written_off = NewThreadTally();  // Threads of the sources that `open_source` makes.
  const Files* files = nullptr;          // Needed with a directory of jobs and with an API server.
  uint32_t random_seed = 0;              // For waits that must differ between nodes.
  ProcessOpener open_processes = {};     // Needed where processes are enabled.
  NoDriverSayer explain_no_driver = {};  // Optional.
};

class Exporter {
 public:
  static StatusOr<std::unique_ptr<Exporter>> Start(const ExporterOptions& options,
                                                   ExporterSeams seams);

  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  // Ends all threads and waits for them without a limit; call Stop first to limit the wait.
  ~Exporter();

  // Ends all threads.  Returns false if a thread, or an abandoned one, hangs after `patience`: then
  // the caller must not destroy this object and must end the process with std::_Exit.
  bool Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(1'500));

  // Switches to `counters`; if they are an error, keeps the current list.  `/` and the self metrics
  // show the result.  `warnings` are those of the flags.  Called on the main thread.
  void Reload(StatusOr<Counters> counters, const std::vector<std::string>& warnings);

  // Adds the fields of a page to all further readings.  Any thread.
  void Want(FieldIds page);

  uint16_t port() const { return http_->port(); }
  // The port of the second listener; 0 if there is none.
  uint16_t query_port() const { return query_http_ == nullptr ? uint16_t{0} : query_http_->port(); }
  const Tick& tick() const { return tick_; }

 private:
  Exporter(const ExporterOptions& options, ExporterSeams seams);
  Status StartQueryServer(const ExporterOptions& options);
  void StartThreads();
  std::vector<const Field*> WantedFields() const PODGPU_REQUIRES(wanted_mutex_);
  // Applies the current counter list to the reader and the tick.
  void Apply() PODGPU_REQUIRES(wanted_mutex_);

  Clock& clock_;
  const FindingsAsked windows_;
  ConfigNotes config_;
  Mutex wanted_mutex_;
  std::vector<Counter> counters_ PODGPU_GUARDED_BY(wanted_mutex_);
  std::shared_ptr<const FieldCollections> collections_ PODGPU_GUARDED_BY(wanted_mutex_);
  bool profiling_by_default_ PODGPU_GUARDED_BY(wanted_mutex_);
  std::vector<FieldIds> pages_ PODGPU_GUARDED_BY(wanted_mutex_);  // Pages whose fields are read.
  const ThreadTally written_off_;
  Wakeup wakeup_;
  CallGuard guard_;
  HttpCounters clients_;
  Reader reader_;
  KubeletRefresher refresher_;
  const std::unique_ptr<ApiRefresher> api_pods_;  // Null unless labels or uids are wanted.
  const std::unique_ptr<KubeletPodsRefresher> kubelet_pods_;  // Null without --kubelet-pods-url.
  const std::unique_ptr<ApiRefresher> api_slices_;            // Null unless claims are wanted.
  const std::unique_ptr<JobRefresher> jobs_;                  // Null without a directory of jobs.
  const std::unique_ptr<ContainerRefresher> containers_;      // Null without a runtime to ask.
  const std::unique_ptr<ProcessRefresher> processes_;         // Null unless processes are enabled.
  WriteCounts text_file_counts_;
  WriteCounts dump_counts_;
  Tick tick_;
  TextFiles text_files_;
  Dumps dumps_;

  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> query_http_;  // Null without an address for it.
  Worker source_thread_;
  Worker watchdog_thread_;
  Worker kubelet_thread_;
  Worker api_pods_thread_;
  Worker kubelet_pods_thread_;
  Worker api_slices_thread_;
  Worker jobs_thread_;
  Worker containers_thread_;
  Worker processes_thread_;
  Worker tick_thread_;
  Worker text_file_thread_;
  Worker dump_thread_;
};

// Returns what the tick of an exporter with `options` needs to know.
TickOptions TickOptionsOf(const ExporterOptions& options);

// Returns the age beyond which values are withdrawn: options.stale_after, or if that is 0 three
// intervals, at least 5 s.
std::chrono::milliseconds StaleAfter(const ExporterOptions& options);

// Returns the fields that the source reads: those of the counters, those from which counters are
// computed, and those that `views` and `pages` need.  Profiling fields for views and pages are read
// only where a counter needs profiling anyway, since profiling occupies the device.
std::vector<const Field*> FieldsToRead(const std::vector<Counter>& counters,
                                       const std::vector<View>& views,
                                       const std::vector<FieldIds>& pages = {});

// Returns which findings the source must make for `counters`, in these time windows.
FindingsAsked FindingsToRead(const std::vector<Counter>& counters, const FindingsAsked& windows);

// Returns whether `counters`, read from `path`, ask for profiling fields only because the default
// list does.
bool ProfilesByDefault(std::string_view path, const std::vector<Counter>& counters);

// Makes the notes about a list of metrics and the warnings about flags.
ConfigNotes NotesOn(const Counters& counters, const std::vector<std::string>& warnings,
                    WallTime loaded_at);

}  // namespace podgpu
