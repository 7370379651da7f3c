// Prints the pages of a simulated node over time as one OpenMetrics text with time stamps.
//
//   history_at SCENARIO END_S COUNTERS_CSV [KEY=VALUE...]
//
// The whole exporter runs on a simulated node, on clocks that move together, so an hour takes a
// second; a page is taken each 30 s.  What a scenario file cannot say comes as KEY=VALUE, with
// times in seconds: kubelet_down=FROM (it does not answer), unknown_device=FROM (a container gets
// an id that is no device), processes=off (processes are not read, so no call of podgpu's own hangs
// with the driver), pci_gpus=ID,ID (GPUs on the PCI bus), bad_counters=FROM (the counters
// file is refused), both_names=FROM and new_names=FROM (DCGM's families have both names of a
// crossing, or the new ones), series_budget=N, and raise=FROM:GPU:FIELD:VALUE (the driver answers
// this value of a field).  With way=processes the node has an API server, so processes on shared
// GPUs have their pods; no faults of the driver's calls are possible then.  With way=cluster the
// pages are those of the cluster role over 50 nodes, of which silent=N stop answering at from=FROM.
// For the tests of rules and dashboards.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/library.h"
#include "base/log.h"
#include "base/text.h"
#include "cluster/cluster_tick.h"
#include "exporter/exporter.h"
#include "fields/counters_csv.h"
#include "fields/metric_patterns.h"
#include "fields/renamed_fields.h"
#include "sim/testing/node.h"
#include "sim/world/run_directory.h"
#include "source/open_source.h"
#include "source/testing/forwarding_source.h"
#include "tests/energy/history.h"
#include "tests/energy/process_node.h"
#include "tests/matrix/lockstep_clock.h"
#include "tests/pod_lister.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr seconds kScrapePeriod{30};
// source, watchdog, kubelet, processes, tick; one thread serves the calls of `processes`.
constexpr int kWorkers = 5;
constexpr int kCallThreads = 1;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What happens on the node beside the scenario, by key.
class Events {
 public:
  explicit Events(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      PODGPU_CHECK(equals != std::string::npos);
      all_.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }

  std::string Of(const std::string& key) const {
    const auto found = all_.find(key);
    return found == all_.end() ? std::string() : found->second;
  }
  std::optional<int64_t> NumberOf(const std::string& key) const {
    return all_.contains(key) ? std::optional(Number(Of(key))) : std::nullopt;
  }
  // Whether the event of `key` has begun at this second.
  bool Holds(const std::string& key, int64_t second) const {
    const std::optional<int64_t> from = NumberOf(key);
    return from && second >= *from;
  }

  struct Raised {
    int64_t from_s, gpu, field, value;
  };
  std::vector<Raised> raised() const {
    std::vector<Raised> raised;
    for (auto [at, end] = all_.equal_range("raise"); at != end; ++at) {
      const std::vector<std::string_view> parts = Split(at->second, ':');
      PODGPU_CHECK(parts.size() == 4);
      raised.push_back({Number(parts[0]), Number(parts[1]), Number(parts[2]), Number(parts[3])});
    }
    return raised;
  }

 private:
  static int64_t Number(std::string_view text) {
    return static_cast<int64_t>(ParseDecimal(text).value());
  }

  std::multimap<std::string, std::string> all_;
};

// The kubelet's answer, from the world and the events.
class HistoryKubelet final : public PodResources {
 public:
  HistoryKubelet(sim::RunDirectory& node, const Events& events) : node_(node), events_(events) {}

  StatusOr<std::shared_ptr<const PodAllocations>> List() override {
    const int64_t second = node_.Now() / sim::kSecondUs;
    if (events_.Holds("kubelet_down", second)) {
      return absl::UnavailableError("the kubelet does not answer");
    }
    PodLister lister;
    node_.world().VisitPods(node_.Now(), lister);
    if (events_.Holds("unknown_device", second)) {
      lister.answer.allocations.push_back(
          {"ml", "trainer-9", "main", "nvidia.com/gpu", "vendor-7"});
    }
    return std::make_shared<const PodAllocations>(std::move(lister.answer));
  }

 private:
  sim::RunDirectory& node_;
  const Events& events_;
};

// A source whose driver answers the raised values from their times on.
class RaisingSource final : public ForwardingSource {
 public:
  RaisingSource(std::unique_ptr<Source> inner, sim::RunDirectory& node, const Events& events)

      : ForwardingSource(std::move(inner)), node_(node), raised_(events.raised()) {}

  Status Read(Grid& grid) override {
    PODGPU_RETURN_IF_ERROR(ForwardingSource::Read(grid));
    for (const Events::Raised& raised : raised_) {
      const std::optional<FieldRow> row = grid.RowOf(static_cast<uint16_t>(raised.field));
      if (row && node_.Now() >= raised.from_s * sim::kSecondUs) {
        grid.CellsOf(*row)[static_cast<size_t>(raised.gpu)] = Value::OfInt64(raised.value);
      }
    }
    return absl::OkStatus();
  }

 private:
  sim::RunDirectory& node_;
  const std::vector<Events::Raised> raised_;
};

// The list with both names of each renamed family, or with the new ones.
Counters Renamed(const Counters& list, bool keeps_old) {
  Counters renamed = Select(list, {.include = {}, .exclude = {}, .both_names = true});
  std::erase_if(renamed.counters, [&](const Counter& counter) {
    return !keeps_old && std::ranges::find(RenamedFields(), counter.name,
                                           &RenamedField::old_name) != RenamedFields().end();
  });
  return renamed;
}

// The whole exporter on a node.
class HistoryNode {
 public:
  HistoryNode(const std::string& scenario, const std::string& csv, const Events& events)
      : node_(scenario), events_(events), list_(ParseCounters(csv, "counters.csv").value()) {
    // Only one thread runs at this point; the library reads the variable when it is opened.
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    std::string error;
    run_ = sim::RunDirectory::Open(node_.path(), error);
    PODGPU_CHECK(run_ != nullptr);
    StatusOr<sim::ProcTree> proc = sim::ProcTree::Create(node_.path(), run_->StampUs(0));
    PODGPU_CHECK(proc.ok());
    proc_.emplace(*std::move(proc));
    PODGPU_CHECK(proc_->Show(run_->world(), run_->Now()).ok());
    kubelet_.emplace(*run_, events_);
    clock_.emplace(written_off_, WallTime(std::chrono::microseconds(run_->StampUs(run_->Now()))));
    const bool reads_processes = events_.Of("processes") != "off";
    clock_->ExpectWorkers(reads_processes ? kWorkers : kWorkers - 1,
                          reads_processes ? kCallThreads : 0);
    Start();
    clock_->NoteOtherThread();  // The HTTP thread.
    clock_->AwaitQuiet();
  }
  ~HistoryNode() { PODGPU_CHECK(exporter_->Stop(std::chrono::hours(1))); }
  HistoryNode(const HistoryNode&) = delete;
  HistoryNode& operator=(const HistoryNode&) = delete;

  std::string Record(int64_t end_s) {
    PageHistory history;
    for (int64_t second = 0; second <= end_s; second += kScrapePeriod.count()) {
      history.Add(exporter_->tick().snapshots().Get()->openmetrics(), run_->StampUs(run_->Now()));
      for (const auto& [event, list] : lists_) {
        if (events_.NumberOf(event) == second) {
          exporter_->Reload(list, {});
        }
      }
      PODGPU_CHECK(node_.writer().Tick(std::chrono::microseconds(kScrapePeriod).count()).ok());
      PODGPU_CHECK(proc_->Show(run_->world(), run_->Now()).ok());
      clock_->Advance(kScrapePeriod);
      clock_->AwaitQuiet();
    }
    return history.Text();
  }

 private:
  void Start() {
    ExporterOptions options;
    options.http.address = "127.0.0.1:0";
    options.collect_interval = kScrapePeriod;
    options.kubernetes = true;
    options.views = {View::kDcgm, View::kNative, View::kSelf};
    options.view.kubernetes = true;
    options.view.hostname = "gpu-node-0";
    options.counters = list_.counters;
    options.series_budget = static_cast<size_t>(events_.NumberOf("series_budget").value_or(0));
    options.processes.enabled = events_.Of("processes") != "off";
    options.processes.period = kScrapePeriod;
    SourceOptions source;
    source.dcgm_library = std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so.4";
    source.nvml_library = std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1";
    source.stale_after = StaleAfter(options);
    source.proc_root = node_.path() + "/proc";
    const SourceOpener open = [this, source]() -> StatusOr<std::unique_ptr<Source>> {
      clock_->NoteWorker();
      PODGPU_ASSIGN_OR_RETURN(std::unique_ptr<Source> opened,
                              OpenDcgmSource(source, loader_, *clock_, written_off_));
      return std::make_unique<RaisingSource>(std::move(opened), *run_, events_);
    };
    ExporterSeams seams{*clock_, open, *kubelet_, {}, written_off_};
    if (const std::string ids = events_.Of("pci_gpus"); !ids.empty()) {
      seams.list_pci_gpus = [ids] {
        const std::vector<std::string_view> parts = Split(ids, ',');
        return std::vector<std::string>(parts.begin(), parts.end());
      };
    }
    seams.open_processes = [this, source] {
      return OpenProcesses(source, loader_, files_, *clock_);
    };
    StatusOr<std::unique_ptr<Exporter>> exporter = Exporter::Start(options, seams);
    PODGPU_CHECK(exporter.ok());
    exporter_ = *std::move(exporter);
  }

  sim::TestNode node_;
  const Events& events_;
  const Counters list_;
  // The lists that take its place, by event.
  const std::map<std::string, StatusOr<Counters>> lists_ = {
      {"bad_counters", ParseCounters("DCGM_FI_DEV_GPU_TMP, gauge, wrong\n", "counters.csv")},
      {"both_names", Renamed(list_, true)},
      {"new_names", Renamed(list_, false)}};
  std::unique_ptr<sim::RunDirectory> run_;
  std::optional<sim::ProcTree> proc_;
  std::optional<HistoryKubelet> kubelet_;
  const SystemFiles files_;
  SystemLibraryLoader loader_;
  const ThreadTally written_off_ = NewThreadTally();
  std::optional<LockstepClock> clock_;
  std::unique_ptr<Exporter> exporter_;
};

// The same with processes read each second, and pods from the API server.
std::string RecordProcesses(const std::string& scenario, const std::string& csv, int64_t end_s) {
  NodeDevices devices;
  devices.by_dcgm = true;
  devices.period = std::chrono::milliseconds(1'000);
  for (const Field* field : FieldsToRead(ParseCounters(csv, "counters.csv").value().counters,
                                         {View::kDcgm, View::kNative})) {
    devices.fields.push_back(field->id);
  }
  ProcessNode node(scenario, {}, devices);
  PageHistory history;
  node.Read();
  for (int64_t second = 0; second <= end_s; ++second) {
    if (second % kScrapePeriod.count() == 0) {
      history.Add(node.page()->openmetrics(), node.stamp_us());
    }
    node.Pass(seconds(1));
  }
  return history.Text();
}

// The cluster role over 50 nodes that answer each 30 s, until some of them stop.
std::string RecordCluster(int64_t epoch_s, int64_t end_s, const Events& events) {
  constexpr int64_t kNodes = 50;
  LockstepClock clock(NewThreadTally(), WallTime(seconds(epoch_s)));
  Wakeup wakeup;
  Published<Fleet> fleets;
  Published<NodeList> lists;
  auto list = std::make_shared<NodeList>();
  list->is_found = list->is_ok = true;
  Fleet fleet;
  for (int64_t i = 0; i < kNodes; ++i) {
    NodeReport report;
    report.node = "gpu-node-" + std::to_string(i);
    report.gpus.resize(1);
    report.gpus[0].uuid = "GPU-" + std::to_string(i);
    report.gpus[0].state = "ok";
    NodeEntry node;
    node.address.id = report.node + ":9400";
    node.report = std::make_shared<const NodeReport>(std::move(report));
    list->addresses.push_back(node.address);
    fleet.nodes.push_back(std::move(node));
  }
  lists.Set(std::move(list));
  ClusterTick tick({}, {fleets, lists}, clock, wakeup);
  PageHistory history;
  for (int64_t second = 0; second <= end_s; second += kScrapePeriod.count()) {
    for (int64_t i = 0; i < kNodes; ++i) {
      NodeEntry& node = fleet.nodes[static_cast<size_t>(i)];
      const bool is_silent =
          i < events.NumberOf("silent").value_or(0) && events.Holds("from", second);
      node.last = is_silent ? FetchResult::kTimeout : FetchResult::kOk;
      node.read_at = is_silent ? node.read_at : clock.Now();
    }
    fleets.Set(std::make_shared<const Fleet>(fleet));
    tick.Once();
    history.Add(tick.metrics().Get()->openmetrics(), (epoch_s + second) * sim::kSecondUs);
    clock.Advance(kScrapePeriod);
  }
  return history.Text();
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: history_at SCENARIO END_S COUNTERS_CSV [KEY=VALUE...]\n", stderr);
    return 2;
  }
  const std::string scenario = podgpu::TextOf(argv[1]);
  const int64_t end_s = std::strtol(argv[2], nullptr, 10);
  const std::string csv = podgpu::TextOf(argv[3]);
  const podgpu::Events events({argv + 4, argv + argc});
  podgpu::ConfigureLog(podgpu::LogLevel::kError, podgpu::LogForm::kText);
  const std::string way = events.Of("way");
  std::string text;
  if (way == "cluster") {
    text = podgpu::RecordCluster(events.NumberOf("epoch_s").value(), end_s, events);
  } else if (way == "processes") {
    text = podgpu::RecordProcesses(scenario, csv, end_s);
  } else {
    text = podgpu::HistoryNode(scenario, csv, events).Record(end_s);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
