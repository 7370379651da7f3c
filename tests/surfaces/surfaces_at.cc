// Prints what people see of a simulated node at given times: top, the page `/` as text, /explain,
// and the log since the start.
//
//   surfaces_at SCENARIO SECOND,SECOND... [KEY=VALUE...]
//
// The whole exporter runs on the node, with the embedded engine of DCGM, on clocks that move
// together; it reads each second (interval_s=N: each N seconds).  What a scenario file cannot say
// comes as KEY=VALUE, with times in seconds: kubelet_down=FROM (its socket is gone), hangs=FROM
// (the thread that reads devices is blocked from then on), processes=on, own_proc=1 (podgpu sees
// the pids of its own namespace alone), kubernetes=off, pci_gpus=ID,ID, library=FILE (in place of
// libdcgm), explain=QUERY (default: gpu=0), show=SECTION,... (top, page, explain, explain_json,
// explain_html, page_html, metrics, status, status_of_page, log; default: the first three).  For
// the tests of what people see.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/library.h"
#include "base/log.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "exporter/routes.h"
#include "fields/counters_csv.h"
#include "kube/kubelet_client.h"
#include "pages/node_status_page.h"
#include "report/node_status.h"
#include "sim/program/node_proc.h"
#include "sim/testing/node.h"
#include "sim/world/run_directory.h"
#include "source/open_source.h"
#include "source/testing/forwarding_source.h"
#include "tests/matrix/lockstep_clock.h"
#include "tests/pod_lister.h"
#include "top/frame.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// source, watchdog, kubelet, tick; `processes` is one more, with a thread for its calls.
constexpr int kWorkers = 4;
constexpr size_t kColumns = 120;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int64_t Number(std::string_view text) {
  const std::optional<uint64_t> number = ParseDecimal(text);
  PODGPU_CHECK(number.has_value());
  return static_cast<int64_t>(*number);
}

// The words KEY=VALUE.
class Choices {
 public:
  explicit Choices(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      PODGPU_CHECK(equals != std::string::npos);
      all_.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  std::string Of(const std::string& key, const std::string& usual = "") const {
    const auto found = all_.find(key);
    return found == all_.end() ? usual : found->second;
  }
  // Whether the event of `key` has begun at this second.
  bool Holds(const std::string& key, int64_t second) const {
    const auto found = all_.find(key);
    return found != all_.end() && second >= Number(found->second);
  }

 private:
  std::map<std::string, std::string> all_;
};

// The kubelet of the world; while it is down, the real client looks for a socket that is not there.
class WorldKubelet final : public PodResources {
 public:
  WorldKubelet(sim::RunDirectory& node, const Choices& choices) : node_(node), choices_(choices) {}

  StatusOr<std::shared_ptr<const PodAllocations>> List() override {
    if (choices_.Holds("kubelet_down", node_.Now() / sim::kSecondUs)) {
      KubeletClientOptions options;
      options.socket = "/nowhere/kubelet.sock";
      return MakeKubeletClient(options)->List();
    }
    PodLister lister;
    node_.world().VisitPods(node_.Now(), lister);
    return std::make_shared<const PodAllocations>(std::move(lister.answer));
  }

 private:
  sim::RunDirectory& node_;
  const Choices& choices_;
};

// A source that tells when a reading has begun.  A thread that is about to call the driver looks
// like one that is blocked inside it; only this tells them apart.
class NotedSource final : public ForwardingSource {
 public:
  NotedSource(std::unique_ptr<Source> source, std::atomic<bool>& reads)
      : ForwardingSource(std::move(source)), reads_(reads) {}

  Status Read(Grid& grid) override {
    reads_ = true;
    reads_.notify_all();
    const Status status = ForwardingSource::Read(grid);
    reads_ = false;
    return status;
  }

 private:
  std::atomic<bool>& reads_;
};

class SeenNode {
 public:
  SeenNode(const std::string& scenario, const Choices& choices)
      : node_(scenario), choices_(choices), step_(Number(choices.Of("interval_s", "1"))) {
    // Only one thread runs at this point; the library reads the variable when it is opened.
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    PODGPU_CHECK(std::freopen(LogPath().c_str(), "w", stderr) != nullptr);
    std::string error;
    run_ = sim::RunDirectory::Open(node_.path(), error);
    PODGPU_CHECK(run_ != nullptr);
    StatusOr<sim::ProcTree> proc = sim::ProcTree::Create(node_.path(), run_->StampUs(0));
    PODGPU_CHECK(proc.ok());
    proc_.emplace(*std::move(proc));
    PODGPU_CHECK(proc_->Show(run_->world(), run_->Now()).ok());
    kubelet_.emplace(*run_, choices_);
    clock_.emplace(written_off_, WallTime(std::chrono::microseconds(run_->StampUs(run_->Now()))));
    Expect(false);
    Start();
    clock_->NoteOtherThread();  // The HTTP thread.
    clock_->AwaitQuiet();
    exporter_->Want(StatusFieldIds);
    routes_ = MakeRoutes({.source = "dcgm"}, exporter_->tick(), *clock_);
  }

  void PassUntil(int64_t second) {
    while (second_ < second) {
      const int64_t step = std::min<int64_t>(step_, second - second_);
      second_ += step;
      PODGPU_CHECK(node_.writer().Tick(step * sim::kSecondUs).ok());
      PODGPU_CHECK(proc_->Show(run_->world(), run_->Now()).ok());
      const bool source_hangs = choices_.Holds("hangs", second_);
      Expect(source_hangs);
      clock_->Advance(seconds(step));
      if (source_hangs) {
        source_reads_.wait(false);
      }
      clock_->AwaitQuiet();
    }
  }

  void RemoveFiles() const { std::filesystem::remove_all(node_.path()); }

  std::string Section(std::string_view name) {
    const std::string question = choices_.Of("explain", "gpu=0");
    if (name == "top") {
      return Top();
    }
    if (name == "metrics") {
      return Get("/metrics", "");
    }
    if (name == "page_html") {
      return Get("/", "", "text/html");
    }
    if (name == "page") {
      return Get("/", "");
    }
    if (name == "status") {
      return Get("/api/v1/status", "processes=1&history=1");
    }
    if (name == "status_of_page") {
      return Get("/api/v1/status", "");
    }
    if (name == "explain" || name == "explain_html") {
      return Get("/explain", question, name == "explain" ? "*/*" : "text/html");
    }
    if (name == "explain_json") {
      return Get("/api/v1/explain", question);
    }
    PODGPU_CHECK(name == "log");
    std::fflush(stderr);
    return TextOf(LogPath());
  }

 private:
  std::string LogPath() const { return node_.path() + "/log"; }
  bool ReadsProcesses() const { return choices_.Of("processes") == "on"; }

  void Expect(bool source_hangs) {
    const int workers = kWorkers + (ReadsProcesses() ? 1 : 0);
    const int idle = ReadsProcesses() ? 1 : 0;
    clock_->ExpectWorkers(workers - (source_hangs ? 1 : 0), idle + (source_hangs ? 1 : 0));
  }

  std::string Get(std::string_view path, std::string_view query, std::string_view accept = "*/*") {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    request.accept = accept;
    request.must_answer = true;
    return std::string(routes_(request).body);
  }

  std::string Top() {
    TopModel model;
    StatusOr<NodeStatus> status = ReadNodeStatus(Section("status"));
    PODGPU_CHECK(status.ok());
    model.status = *std::move(status);
    model.url = "http://localhost:9400";
    model.now_ms = ToMicroseconds(clock_->WallNow()) / 1000;
    return DrawOnce(model, TopView(), kColumns, {});
  }

  ExporterOptions Options() const {
    ExporterOptions options;
    options.http.address = "127.0.0.1:0";
    options.collect_interval = seconds(step_);
    options.stale_after = seconds(10 * step_);
    options.kubernetes = choices_.Of("kubernetes") != "off";
    options.view.kubernetes = options.kubernetes;
    options.view.hostname = "gpu-node-0";
    options.counters =
        ParseCounters(std::string(DefaultCountersCsv()), "counters.csv").value().counters;
    options.config.counters = "default counters";
    options.config.metrics = options.counters.size();
    options.processes.enabled = ReadsProcesses();
    options.processes.period = seconds(step_);
    return options;
  }

  void Start() {
    const ExporterOptions options = Options();
    SourceOptions source;
    source.dcgm_library =
        choices_.Of("library", std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so.4");
    source.nvml_library = std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1";
    source.stale_after = StaleAfter(options);
    source.proc_root = node_.path() + "/proc";
    if (choices_.Of("own_proc") == "1") {
      source.proc_root = OwnProc();
    }
    const SourceOpener open = [this, source]() -> StatusOr<std::unique_ptr<Source>> {
      clock_->NoteWorker();
      StatusOr<std::unique_ptr<Source>> opened =
          OpenDcgmSource(source, loader_, *clock_, written_off_);
      if (!opened.ok()) {
        return opened;
      }
      return std::make_unique<NotedSource>(*std::move(opened), source_reads_);
    };
    ExporterSeams seams{*clock_, open, *kubelet_, {}, written_off_};
    if (const std::string ids = choices_.Of("pci_gpus"); !ids.empty()) {
      seams.list_pci_gpus = [ids] {
        const std::vector<std::string_view> parts = Split(ids, ',');
        return std::vector<std::string>(parts.begin(), parts.end());
      };
    }
    seams.explain_no_driver = [this] {
      return NoDriver{.has_no_gpu = choices_.Of("no_gpu") == "1",
                      .remedy = choices_.Of("no_driver_remedy")};
    };
    seams.open_processes = [this, source] {
      return OpenProcesses(source, loader_, files_, *clock_);
    };
    StatusOr<std::unique_ptr<Exporter>> exporter = Exporter::Start(options, seams);
    PODGPU_CHECK(exporter.ok());
    exporter_ = *std::move(exporter);
  }

  // A /proc with the pids of podgpu's own pod alone.
  std::string OwnProc() const {
    const std::string folder = node_.path() + "/own-proc";
    std::filesystem::create_directories(folder + "/1");
    node_.folder().Write("own-proc/1/stat",
                         "1 (podgpu) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
    node_.folder().Write("own-proc/stat", "btime 1699990000\n");
    return folder;
  }

  sim::TestNode node_;
  const Choices& choices_;
  const int64_t step_;
  int64_t second_ = 0;
  std::unique_ptr<sim::RunDirectory> run_;
  std::optional<sim::ProcTree> proc_;
  std::optional<WorldKubelet> kubelet_;
  const SystemFiles files_;
  SystemLibraryLoader loader_;
  const ThreadTally written_off_ = NewThreadTally();
  std::optional<LockstepClock> clock_;
  std::atomic<bool> source_reads_ = false;
  std::unique_ptr<Exporter> exporter_;
  HttpHandler routes_;
};

void Print(const std::string& scenario, const std::string& times, const Choices& choices) {
  SeenNode node(scenario, choices);
  const std::string shown = choices.Of("show", "top,page,explain");
  for (const std::string_view second : Split(times, ',')) {
    node.PassUntil(Number(second));
    for (const std::string_view section : Split(shown, ',')) {
      const std::string text = node.Section(section);
      std::printf("== %s at %s s\n%s%s", std::string(section).c_str(), std::string(second).c_str(),
                  text.c_str(), text.ends_with('\n') ? "" : "\n");
    }
  }
  std::fflush(stdout);
  node.RemoveFiles();
  std::_Exit(0);  // Threads may be blocked inside the driver.
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: surfaces_at SCENARIO SECOND,SECOND... [KEY=VALUE...]\n", stderr);
    return 2;
  }
  podgpu::ConfigureLog(podgpu::LogLevel::kInfo, podgpu::LogForm::kText);
  podgpu::Print(podgpu::TextOf(argv[1]), argv[2], podgpu::Choices({argv + 3, argv + argc}));
}
