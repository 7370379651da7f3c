#include "exporter/exporter.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "fields/field_ids.h"
#include "fields/slow_fields.h"
#include "http/openssl_on_need.h"
#include "usage/mig_activity.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// podgpu asks the kubelet once per interval, but at most once a second, since all clients of the
// node share the kubelet's limit of 100 requests a second, and at least every 10 s, since an ended
// pod must leave the page soon; while the pods do not change, at least every 30 s.
constexpr milliseconds kShortestKubeletPeriod{1'000};
constexpr milliseconds kLongestKubeletPeriod{10'000};
constexpr milliseconds kLongestQuietPeriod{30'000};
// A device scan costs microseconds with an embedded engine and about 90 ms with a remote one over
// TCP (measured with DCGM 4.6.0).
constexpr milliseconds kShortestRediscovery{2'000};
constexpr milliseconds kLongestRediscovery{10'000};
constexpr milliseconds kShortestStaleAfter{5'000};

// The pages whose fields are read before a client requests them.
std::vector<FieldIds> PagesFromStart(const ExporterOptions& options) {
  std::vector<FieldIds> pages = FieldsFromStart(options);
  if (options.text_files.wanted() || options.legacy_from_start) {
    pages.push_back(LegacyFieldIds);
  }
  return pages;
}

// Returns null where there are none.
std::shared_ptr<const FieldCollections> Shared(FieldCollections collections) {
  return collections.empty() ? nullptr
                             : std::make_shared<const FieldCollections>(std::move(collections));
}

ReaderOptions ReaderOptionsOf(const ExporterOptions& options, ExporterSeams& seams) {
  ReaderOptions reader;
  reader.list_pci_gpus = std::move(seams.list_pci_gpus);
  reader.explain_no_driver = std::move(seams.explain_no_driver);
  reader.list = {FieldsToRead(options.counters, options.views, PagesFromStart(options)),
                 FindingsToRead(options.counters, options.windows), Shared(options.collections),
                 ProfilesByDefault(options.config.counters, options.counters)};
  reader.period = options.collect_interval;
  reader.stale_after = StaleAfter(options);
  reader.rediscover_every =
      std::clamp(options.collect_interval, kShortestRediscovery, kLongestRediscovery);
  return reader;
}

// The accounts of processes and pods need the times at which pods come and go, so with them the
// pace never slows down.
RefresherOptions RefresherOptionsOf(const ExporterOptions& options) {
  const milliseconds interval = std::max(options.collect_interval, kShortestKubeletPeriod);
  const milliseconds period = std::min(interval, kLongestKubeletPeriod);
  // Seconds pass between the time at which the kubelet lists a pod and its first work on a GPU.
  const milliseconds quiet = interval < kLongestKubeletPeriod
                                 ? std::min(3 * interval, kLongestKubeletPeriod)
                                 : std::min(interval, kLongestQuietPeriod);
  const bool has_accounts = options.processes.enabled || options.vcuda.enabled;
  return {.period = period,
          .quiet_period = has_accounts ? period : quiet,
          .expected = options.kubernetes,
          .in_pod = !options.join.ignored.own.name.empty()};
}

// Has the shorter period of the kubelet refresher: an ended job must leave the page soon.
std::unique_ptr<JobRefresher> JobRefresherOf(const ExporterOptions& options, const Files* files,
                                             Clock& clock, Wakeup& tick) {
  if (options.job_directory.empty()) {
    return nullptr;
  }
  PODGPU_CHECK(files != nullptr);
  return std::make_unique<JobRefresher>(
      *files, JobRefresherOptions{options.job_directory, RefresherOptionsOf(options).period}, clock,
      tick);
}

// Has that period too.
std::unique_ptr<ContainerRefresher> ContainerRefresherOf(const ExporterOptions& options,
                                                         const Files* files, Clock& clock,
                                                         Wakeup& tick) {
  if (options.container_socket.empty()) {
    return nullptr;
  }
  PODGPU_CHECK(files != nullptr);
  return std::make_unique<ContainerRefresher>(
      *files,
      ContainerRefresherOptions{options.container_socket, RefresherOptionsOf(options).period},
      clock, tick);
}

// Returns null unless processes are enabled.
std::unique_ptr<ProcessRefresher> ProcessRefresherOf(const ExporterOptions& options,
                                                     const ProcessOpener& open,
                                                     DeviceControl& control, Clock& clock,
                                                     Wakeup& tick) {
  if (!options.processes.enabled) {
    return nullptr;
  }
  PODGPU_CHECK(open != nullptr);
  return std::make_unique<ProcessRefresher>(open, options.processes.period, options.call_deadline,
                                            control, clock, tick);
}

bool WantsPods(const ExporterOptions& options) {
  const bool labels = options.pod_labels && !options.view.virtual_gpus;
  // Without an API server, rows of processes are shown without the names of their pods.
  const bool names = options.processes.enabled && (options.api_server.ok() || options.kubelet_pods);
  return options.vcuda.enabled || (options.kubernetes && (labels || options.view.pod_uid || names));
}

bool WantsSlices(const ExporterOptions& options) {
  return options.kubernetes && options.join.claims;
}

// Returns null where pods are not needed or the API server lists them.
std::unique_ptr<KubeletPodsRefresher> KubeletPodsOf(const ExporterOptions& options,
                                                    const ExporterSeams& seams, Wakeup& tick) {
  if (!WantsPods(options) || !options.kubelet_pods) {
    return nullptr;
  }
  PODGPU_CHECK(seams.files != nullptr);
  return std::make_unique<KubeletPodsRefresher>(
      *seams.files,
      KubeletPodsRefresherOptions{*options.kubelet_pods, RefresherOptionsOf(options).period,
                                  options.join.ignored.own, seams.random_seed},
      seams.clock, tick);
}

// Returns null where the collection is not `wanted`.
std::unique_ptr<ApiRefresher> ApiRefresherOf(ApiCollection collection, bool wanted,
                                             const ExporterOptions& options,
                                             const ExporterSeams& seams, Wakeup& tick) {
  if (!wanted) {
    return nullptr;
  }
  PODGPU_CHECK(seams.files != nullptr);
  return std::make_unique<ApiRefresher>(
      *seams.files, ApiRefresherOptions{collection, options.api_server, seams.random_seed},
      seams.clock, tick);
}

// Returns the fields that a view needs besides those of the counters.
std::vector<uint16_t> FieldIdsOf(View view, bool profiling) {
  switch (view) {
    case View::kCore:
      return CoreFieldIds();
    case View::kNative:
      return NativeFieldIds();
    case View::kProcess:
      return profiling ? MigActivityFieldIds() : std::vector<uint16_t>();
    case View::kDcgm:
    case View::kSelf:
      break;
  }
  return {};
}

}  // namespace

TickOptions TickOptionsOf(const ExporterOptions& options) {
  const PageOptions& pages = options;
  TickOptions tick{pages};
  tick.period = options.collect_interval;
  tick.stale_after = StaleAfter(options);
  tick.processes.pod_values = options.processes.enabled && options.view.virtual_gpus;
  tick.why_no_api = options.kubernetes ? std::string(options.api_server.status().message())
                                       : "it is used only with --kubernetes (-k)";
  if (tick.node.empty()) {
    tick.node = options.view.hostname;
  }
  return tick;
}

milliseconds StaleAfter(const ExporterOptions& options) {
  if (options.stale_after > milliseconds(0)) {
    return options.stale_after;
  }
  return std::max(options.collect_interval * kPeriodsUntilStale, kShortestStaleAfter);
}

std::vector<const Field*> FieldsToRead(const std::vector<Counter>& counters,
                                       const std::vector<View>& views,
                                       const std::vector<FieldIds>& pages) {
  std::set<uint16_t> ids;
  for (const Counter& counter : counters) {
    if (counter.field != nullptr) {
      ids.insert(counter.field->id);
    } else if (const std::optional<uint16_t> hidden = FieldBehind(counter)) {
      ids.insert(*hidden);
    }
  }
  const bool profiling = !ids.empty() && *ids.rbegin() >= field_ids::kFirstProfiling;
  for (const View view : views) {
    const std::vector<uint16_t> more = FieldIdsOf(view, profiling);
    ids.insert(more.begin(), more.end());
  }
  for (const FieldIds page : pages) {
    const std::vector<uint16_t> more = page(profiling);
    ids.insert(more.begin(), more.end());
  }
  std::vector<const Field*> fields;
  fields.reserve(ids.size());
  for (const uint16_t id : ids) {
    fields.push_back(FindField(id));
  }
  return fields;
}

FindingsAsked FindingsToRead(const std::vector<Counter>& counters, const FindingsAsked& windows) {
  FindingsAsked asked = windows;
  if (std::ranges::none_of(counters, [](const Counter& counter) {
        return FieldBehind(counter) == field_ids::kClockReasons;
      })) {
    asked.clock_window = milliseconds(0);
  }
  asked.health = std::ranges::count(counters, ExporterCounter::kHealth, &Counter::own) > 0;
  asked.peers = std::ranges::count(counters, ExporterCounter::kPeers, &Counter::own) > 0;
  return asked;
}

bool ProfilesByDefault(std::string_view path, const std::vector<Counter>& counters) {
  return IsDefaultList(path) && std::ranges::none_of(counters, [](const Counter& counter) {
           const bool was_added = counter.line == 0;  // Added by --metrics-include.
           return was_added && counter.field != nullptr && counter.field->profiling;
         });
}

ConfigNotes NotesOn(const Counters& counters, const std::vector<std::string>& warnings,
                    WallTime loaded_at) {
  ConfigNotes notes;
  notes.counters = counters.path;
  notes.metrics = counters.counters.size();
  notes.warnings = counters.warnings;
  notes.warnings.insert(notes.warnings.end(), warnings.begin(), warnings.end());
  notes.loaded_at = loaded_at;
  return notes;
}

Exporter::Exporter(const ExporterOptions& options, ExporterSeams seams)
    : clock_(seams.clock),
      windows_(options.windows),
      config_(options.config),
      counters_(options.counters),
      collections_(Shared(options.collections)),
      profiling_by_default_(ProfilesByDefault(options.config.counters, options.counters)),
      pages_(PagesFromStart(options)),
      written_off_(std::move(seams.written_off)),
      guard_(clock_, options.call_deadline, options.collect_interval),
      reader_(std::move(seams.open_source), ReaderOptionsOf(options, seams), clock_, guard_,
              wakeup_),
      refresher_(seams.kubelet, RefresherOptionsOf(options), clock_, wakeup_),
      api_pods_(ApiRefresherOf(ApiCollection::kWholePods,
                               WantsPods(options) && !options.kubelet_pods, options, seams,
                               wakeup_)),
      kubelet_pods_(KubeletPodsOf(options, seams, wakeup_)),
      api_slices_(ApiRefresherOf(ApiCollection::kResourceSlices, WantsSlices(options), options,
                                 seams, wakeup_)),
      jobs_(JobRefresherOf(options, seams.files, clock_, wakeup_)),
      containers_(ContainerRefresherOf(options, seams.files, clock_, wakeup_)),
      processes_(
          ProcessRefresherOf(options, seams.open_processes, reader_.control(), clock_, wakeup_)),
      tick_(TickOptionsOf(options),
            {reader_.grids(),
             reader_.statuses(),
             refresher_.facts(),
             guard_,
             *written_off_,
             clients_,
             {.jobs = jobs_ != nullptr ? &jobs_->facts() : nullptr,
              .containers = containers_ != nullptr ? &containers_->facts() : nullptr,
              .text_files = &text_file_counts_,
              .dumps = options.dumps.enabled ? &dump_counts_ : nullptr,
              .api_pods = kubelet_pods_ != nullptr ? &kubelet_pods_->facts()
                          : api_pods_ != nullptr   ? &api_pods_->facts()
                                                   : nullptr,
              .api_slices = api_slices_ != nullptr ? &api_slices_->facts() : nullptr,
              .processes = processes_ != nullptr ? &processes_->queue() : nullptr,
              .kubelet = &refresher_.next_request()}},
            clock_, wakeup_),
      text_files_(options.text_files, tick_.snapshots(), text_file_counts_, clock_),
      dumps_(
          options.dumps, options.view, tick_.snapshots(), dump_counts_,
          [this] {
            MutexLock lock(wanted_mutex_);
            return counters_;
          },
          clock_) {}

StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const ExporterOptions& options,
                                                    ExporterSeams seams) {
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<Exporter> exporter(
      new Exporter(options, std::move(seams)));  // NOLINT(cppcoreguidelines-owning-memory)
  exporter->tick_.Once();
  if (exporter->api_pods_ != nullptr || exporter->api_slices_ != nullptr ||
      exporter->kubelet_pods_ != nullptr) {
    LoadOpenSsl();  // The driver's library may hang while the source thread loads it.
  }
  HttpServerOptions http = options.http;
  http.counters = &exporter->clients_;
  if (options.enable_control) {
    http.guard.control_paths = ControlPaths();
  }
  RouteOptions routes = options.routes;
  routes.want = [exporter = exporter.get()](FieldIds page) { exporter->Want(page); };
  routes.control = options.enable_control ? &exporter->reader_.control() : nullptr;
  PODGPU_ASSIGN_OR_RETURN(
      exporter->http_,
      HttpServer::Start(std::move(http),
                        MakeRoutes(std::move(routes), exporter->tick_, exporter->clock_)));
  if (!options.query_address.empty()) {
    PODGPU_RETURN_IF_ERROR(exporter->StartQueryServer(options));
  }
  exporter->StartThreads();
  return exporter;
}

Status Exporter::StartQueryServer(const ExporterOptions& options) {
  HttpServerOptions http = options.http;
  http.address = options.query_address;
  http.inherited_socket = -1;
  http.counters = &clients_;
  PODGPU_ASSIGN_OR_RETURN(query_http_, HttpServer::Start(std::move(http), MakeQueryRoutes(tick_)));
  return absl::OkStatus();
}

void Exporter::StartThreads() {
  source_thread_.Start([this](const std::stop_token& stop) { reader_.Run(stop); }, "source");
  watchdog_thread_.Start(
      [this](const std::stop_token& stop) {
        guard_.Watch(stop, processes_ != nullptr ? &processes_->guard() : nullptr);
      },
      "watchdog");
  kubelet_thread_.Start([this](const std::stop_token& stop) { refresher_.Run(stop); }, "kubelet");
  if (api_pods_ != nullptr) {
    api_pods_thread_.Start([this](const std::stop_token& stop) { api_pods_->Run(stop); },
                           "api-pods");
  }
  if (kubelet_pods_ != nullptr) {
    kubelet_pods_thread_.Start([this](const std::stop_token& stop) { kubelet_pods_->Run(stop); },
                               "kubelet-pods");
  }
  if (api_slices_ != nullptr) {
    api_slices_thread_.Start([this](const std::stop_token& stop) { api_slices_->Run(stop); },
                             "api-slices");
  }
  if (jobs_ != nullptr) {
    jobs_thread_.Start([this](const std::stop_token& stop) { jobs_->Run(stop); }, "jobs");
  }
  if (containers_ != nullptr) {
    containers_thread_.Start([this](const std::stop_token& stop) { containers_->Run(stop); },
                             "containers");
  }
  if (processes_ != nullptr) {
    processes_thread_.Start([this](const std::stop_token& stop) { processes_->Run(stop); },
                            "processes");
  }
  tick_thread_.Start([this](const std::stop_token& stop) { tick_.Run(stop); }, "tick");
  if (text_files_.wanted()) {
    text_file_thread_.Start([this](const std::stop_token& stop) { text_files_.Run(stop); },
                            "textfiles");
  }
  if (dumps_.wanted()) {
    dump_thread_.Start([this](const std::stop_token& stop) { dumps_.Run(stop); }, "dumps");
  }
}

namespace {

// A thread that Stop joins, and the object that it may be waiting for.
struct Joined {
  Worker& worker;
  const char* waits_for;
};

}  // namespace

bool Exporter::Stop(milliseconds patience) {
  http_.reset();
  query_http_.reset();
  const Joined joined[] = {
      {tick_thread_, "the tick"},
      {watchdog_thread_, "the watchdog"},
      {kubelet_thread_, "the kubelet's answer"},
      {processes_thread_, "a call into the driver, or /proc"},
      {api_pods_thread_, "the API server's answer"},
      {kubelet_pods_thread_, "the kubelet's list of pods"},
      {api_slices_thread_, "the API server's answer"},
      {jobs_thread_, "the file system of --hpc-job-mapping-dir"},
      {containers_thread_, "the container runtime's answer"},
      {source_thread_, "a call into the driver"},
      {text_file_thread_, "the disk of --textfile-device or --textfile-pod"},
      {dump_thread_, "the disk of --dump-directory"},
  };
  for (const Joined& one : joined) {
    one.worker.RequestStop();
  }
  guard_.InterruptNow();
  if (processes_ != nullptr) {
    processes_->guard().InterruptNow();
  }
  const Instant deadline =
      SystemClock().Now() + patience;  // Real time, also in tests with a virtual clock.
  std::vector<std::string> awaited;
  for (const Joined& one : joined) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - SystemClock().Now());
    if (!one.worker.JoinWithin(std::max(left, milliseconds(0)))) {
      awaited.emplace_back(one.waits_for);
    }
  }
  if (*written_off_ > 0) {
    awaited.emplace_back("an earlier call into the driver that still hangs");
  }
  if (!awaited.empty()) {
    Log(LogLevel::kWarn, "threads did not end in time; podgpu exits without them",
        {{"waits_for", Listed(awaited)}});
  }
  return awaited.empty();
}

void Exporter::Reload(StatusOr<Counters> counters, const std::vector<std::string>& warnings) {
  if (!counters.ok()) {
    ++config_.failed_reloads;
    config_.refusal = std::string(counters.status().message());
    Log(LogLevel::kError, "new list of metrics refused; the current list stays in use",
        {{"error", config_.refusal}});
    tick_.NoteConfig(config_);
    return;
  }
  const ConfigNotes before = config_;
  config_ = NotesOn(*counters, warnings, clock_.WallNow());
  config_.reloads = before.reloads + 1;
  config_.failed_reloads = before.failed_reloads;
  Log(LogLevel::kInfo, "list of metrics reloaded",
      {{"path", config_.counters}, {"metrics", std::to_string(config_.metrics)}});
  tick_.NoteConfig(config_);
  MutexLock lock(wanted_mutex_);
  profiling_by_default_ = ProfilesByDefault(counters->path, counters->counters);
  counters_ = std::move(counters->counters);
  collections_ = Shared(std::move(counters->collections));
  Apply();
}

void Exporter::Want(FieldIds page) {
  MutexLock lock(wanted_mutex_);
  const std::vector<const Field*> before = WantedFields();
  pages_.push_back(page);
  if (WantedFields() != before) {
    Apply();
  }
}

std::vector<const Field*> Exporter::WantedFields() const {
  return FieldsToRead(counters_, tick_.options().views, pages_);
}

void Exporter::Apply() {
  std::vector<const Field*> fields = WantedFields();
  tick_.ShowInstead(counters_, fields);  // First: the tick must wait for the reader's next reading.
  reader_.ReadInstead({std::move(fields), FindingsToRead(counters_, windows_), collections_,
                       profiling_by_default_});
}

Exporter::~Exporter() {
  constexpr std::chrono::hours kForEver{24 * 365};
  Stop(kForEver);
}

}  // namespace podgpu
