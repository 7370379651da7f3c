// Prints podgpu's page of a simulated node at a given time of the node's own clock.
//
//   page_at RUN_DIRECTORY LIBDCGM ENGINE_ADDRESS START_S PATH FLAG...
//
// LIBDCGM is its path, or "nvml" for NVML's page.  PATH is "/metrics" or another one.  The flags
// are podgpu's own; those that change rows have effect.  It uses the same rooms as the program, on
// the manual clock of a run directory: find the devices, watch the fields, let START_S + 3 s of
// world time pass, read, ask the kubelet, make one page.  If the node has an API server and the
// flags ask for it, pods and ResourceSlices come from there; processes are read twice, one second
// apart.  For the golden pages of scenarios: the whole page follows from the scenario.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "attribution/hpc_jobs.h"
#include "attribution/join.h"
#include "base/files.h"
#include "base/library.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/flags.h"
#include "exporter/exporter.h"
#include "exporter/routes.h"
#include "fields/counters_csv.h"
#include "fields/metric_patterns.h"
#include "kube/api_mirror.h"
#include "kube/kubelet_client.h"
#include "sample/columns.h"
#include "sim/scenario/run_writer.h"
#include "sim/world/run_directory.h"
#include "source/open_source.h"

namespace podgpu {
namespace {

// The clock of a simulated node.  No thread waits on it here.
class NodeClock final : public Clock {
 public:
  explicit NodeClock(sim::RunDirectory& node) : node_(node) {}
  Instant Now() const override { return Instant(std::chrono::microseconds(node_.Now())); }
  WallTime WallNow() const override {
    return WallTime(std::chrono::microseconds(node_.StampUs(node_.Now())));
  }

 private:
  bool Wait(Instant /*deadline*/, const std::stop_token& /*stop*/, Wakeup* /*wakeup*/) override {
    PODGPU_CHECK(false && "no thread waits");
    return false;
  }

  sim::RunDirectory& node_;
};

template <typename T>
T ValueOrDie(StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "page_at: %s\n", std::string(result.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(result);
}

// The variables of a pod on the node; empty if the node has no API server.
Environment EnvironmentOf(const std::string& directory) {
  std::map<std::string, std::string> variables;
  const std::string text = SystemFiles().Read(directory + "/api/env").value_or("");
  for (const std::string_view line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

// Shows all device families and no self metrics, unless `flags` say otherwise.
NodeCommand CommandOf(std::vector<std::string> flags, const Environment& environment) {
  flags.insert(flags.begin(), "--metrics-views=dcgm,native");
  NodeCommand command = ValueOrDie(ParseFlags(flags, environment));
  // Without a path the built-in list counts, also where this machine has a file of that name.
  const SystemFiles files(command.counters.path.empty() ? "/nowhere" : "");
  CountersFile list(command.counters.path, files, command.counters.release);
  command.exporter.counters = Select(ValueOrDie(list.Load()), command.patterns).counters;
  command.exporter.view.hostname = HostnameLabelValue(command, environment, "gpu-node-0");
  command.exporter.view.kubernetes = true;
  return command;
}

std::shared_ptr<const Grid> ReadDevices(Source& source, const ReadList& list, const Clock& clock,
                                        sim::RunWriter& writer) {
  const std::vector<const Field*>& fields = list.fields;
  auto topology = std::make_shared<Topology>(ValueOrDie(source.Discover(PartsFor(fields))));
  topology->epoch = 1;
  if (topology->column_count() > 0) {
    ValueOrDie(source.Watch(*topology, fields, std::chrono::seconds(1)));
  }
  std::shared_ptr<Grid> grid;
  for (int i = 0; i < 3; ++i) {  // Rates need two readings.
    ValueOrDie(StatusOr<bool>(writer.Tick(1'000'000).ok()));
    grid = std::make_shared<Grid>(topology, fields);
    grid->findings.asked = list.asked;
    grid->read_at = clock.Now();
    grid->read_at_wall = clock.WallNow();
    if (topology->column_count() > 0) {
      PODGPU_CHECK(source.Read(*grid).ok());
    }
  }
  return grid;
}

// The state of the program when the first list of a collection has come.
std::shared_ptr<const ApiFacts> ListObjects(const ExporterOptions& options,
                                            ApiCollection collection) {
  const SystemFiles files;
  ApiMirror mirror(ValueOrDie(options.api_server), collection, files);
  std::stop_source listed;
  const ApiRound round = mirror.Follow(listed.get_token(), [&] { listed.request_stop(); });
  if (!listed.stop_requested()) {
    ValueOrDie(StatusOr<bool>(round.status));
  }
  auto facts = std::make_shared<ApiFacts>();
  facts->value = std::make_shared<const ApiObjects>(mirror.objects());
  facts->state = PartState::kOk;
  return facts;
}

std::shared_ptr<const ApiFacts> ListPods(const ExporterOptions& options) {
  return ListObjects(options,
                     options.vcuda.enabled ? ApiCollection::kWholePods : ApiCollection::kPods);
}

std::shared_ptr<const PodFacts> AskKubelet(const std::string& directory, const Clock& clock) {
  KubeletClientOptions options;
  options.socket = directory + "/kubelet/kubelet.sock";
  auto facts = std::make_shared<PodFacts>();
  facts->value = ValueOrDie(MakeKubeletClient(options)->List());
  facts->good_at = clock.Now();
  facts->state = PartState::kOk;
  return facts;
}

// Reads the processes of the devices twice, since use needs a busy time.
void ReadProcesses(const SourceOptions& source, LibraryLoader& loader, const Clock& clock,
                   sim::RunWriter& writer, ProcessQueue& queue) {
  const SystemFiles files;
  const std::unique_ptr<NvmlProcesses> processes =
      ValueOrDie(OpenProcesses(source, loader, files, clock));
  for (int i = 0; i < 2; ++i) {
    PODGPU_CHECK(writer.Tick(1'000'000).ok());
    std::unique_ptr<ProcessReading> reading = queue.Begin();
    PODGPU_CHECK(processes->Read(*reading).ok());
    queue.Add(std::move(reading));
  }
  queue.facts().Set(std::make_shared<const ProcessFacts>(
      ProcessFacts{.state = PartState::kOk, .detail = {}, .uuids = processes->uuids()}));
}

int Print(const std::string& path, const Tick& tick, const Clock& clock) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  const HttpResponse response = MakeRoutes({}, tick, clock)(request);
  std::fputs(std::string(response.body).c_str(), stdout);
  return response.status == 200 ? 0 : 1;
}

int Main(const std::string& directory, const std::string& library, const std::string& address,
         int64_t start_s, const std::string& path, const std::vector<std::string>& flags) {
  const ExporterOptions options = CommandOf(flags, EnvironmentOf(directory)).exporter;
  std::string error;
  const std::unique_ptr<sim::RunDirectory> node = sim::RunDirectory::Open(directory, error);
  PODGPU_CHECK(node != nullptr);
  sim::RunWriter writer = ValueOrDie(sim::RunWriter::Attach(directory));
  PODGPU_CHECK(start_s == 0 || writer.Tick(start_s * 1'000'000).ok());
  NodeClock clock(*node);
  SystemLibraryLoader loader;
  SourceOptions source_options;
  source_options.dcgm_library = library;
  source_options.nvml_library = directory + "/lib/libnvidia-ml.so.1";
  source_options.address = address;
  source_options.proc_root = directory + "/proc";
  source_options.kind = library == "nvml" ? SourceKind::kNvml : SourceKind::kDcgm;
  const std::unique_ptr<Source> source = ValueOrDie(OpenSource(source_options, loader, clock));

  Published<Grid> grids;
  grids.Set(ReadDevices(*source,
                        {FieldsToRead(options.counters, options.views, FieldsFromStart(options)),
                         FindingsToRead(options.counters, options.windows)},
                        clock, writer));
  Published<SourceStatus> statuses;
  statuses.Set(std::make_shared<const SourceStatus>(
      SourceStatus{PartState::kOk, source->Describe(), 1, 0, grids.Get()->topology().gpus.size()}));
  Published<PodFacts> pods;
  pods.Set(AskKubelet(directory, clock));

  Published<JobFacts> jobs;
  auto job_facts = std::make_shared<JobFacts>();
  job_facts->state = PartState::kOk;
  if (!options.job_directory.empty()) {
    job_facts->value = std::make_shared<const HpcJobs>(
        ValueOrDie(ReadHpcJobs(SystemFiles(), options.job_directory)));
  }
  jobs.Set(std::move(job_facts));

  Published<ApiFacts> api_pods;
  const bool wants_pods = options.pod_labels || options.view.pod_uid || options.vcuda.enabled;
  if (wants_pods) {
    api_pods.Set(ListPods(options));
  }
  ProcessQueue processes;
  if (options.processes.enabled) {
    ReadProcesses(source_options, loader, clock, writer, processes);
  }
  Published<ApiFacts> api_slices;
  if (options.join.claims) {
    api_slices.Set(ListObjects(options, ApiCollection::kResourceSlices));
  }

  CallGuard guard(clock, std::chrono::seconds(10));
  Wakeup wakeup;
  const std::atomic<int> written_off = 0;
  const HttpCounters clients;
  Tick tick(TickOptionsOf(options),
            {grids,
             statuses,
             pods,
             guard,
             written_off,
             clients,
             {.jobs = &jobs,
              .api_pods = wants_pods ? &api_pods : nullptr,
              .api_slices = options.join.claims ? &api_slices : nullptr,
              .processes = options.processes.enabled ? &processes : nullptr}},
            clock, wakeup);
  tick.Once();
  return Print(path, tick, clock);
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fputs("usage: page_at RUN_DIRECTORY LIBDCGM ENGINE_ADDRESS START_S PATH FLAG...\n",
               stderr);
    return 2;
  }
  return podgpu::Main(argv[1], argv[2], argv[3], std::strtol(argv[4], nullptr, 10), argv[5],
                      {argv + 6, argv + argc});
}
