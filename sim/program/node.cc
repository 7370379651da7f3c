#include "sim/program/node.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "sim/kube/api_face.h"
#include "sim/kube/kubelet.h"
#include "sim/kube/kubelet_pods.h"
#include "sim/program/control_log.h"
#include "sim/program/engine.h"
#include "sim/program/engine_address.h"
#include "sim/program/engine_supervisor.h"
#include "sim/program/node_faults.h"
#include "sim/program/node_pci.h"
#include "sim/program/node_proc.h"
#include "sim/program/node_program.h"
#include "sim/program/scenario_files.h"
#include "sim/program/signals.h"
#include "sim/program/units.h"
#include "sim/scenario/compile.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {
namespace {

constexpr int kLongestWaitMs = 60'000;
constexpr int kFaultPollMs = 10;

// Prints finished steps, to standard output or, when that belongs to a program on the node, to
// standard error.
class Steps {
 public:
  explicit Steps(const NodeOptions& options) : file_(options.program.empty() ? stdout : stderr) {}

  void Say(std::string_view what, const std::string& text) const {
    std::fprintf(file_, "%s\n", absl::StrFormat("%-10s %s", what, text).c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* const file_;
};

// Prints a complaint that does not end the node.
void Warn(const std::string& text) { std::fprintf(stderr, "podgpu-sim run: %s\n", text.c_str()); }

Status CompileErrors(const CompileResult& compiled) {
  std::string lines;
  for (const std::string& error : compiled.errors) {
    lines += (lines.empty() ? "" : "\n") + error;
  }
  return absl::InvalidArgumentError(lines);
}

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string CivilTime(int64_t unix_us) {
  const time_t seconds = static_cast<time_t>(unix_us / 1'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string PaceOf(const RunOptions& run) {
  switch (run.mode) {
    case ClockMode::kManual:
      return "manual: moves only with `podgpu-sim tick`";
    case ClockMode::kScaled:
      return absl::StrFormat("%d/%d of real time", run.speed.numerator, run.speed.denominator);
    case ClockMode::kReal:
      break;
  }
  return "real time";
}

// Claims the directory for one `run`; the claim ends with the process, also when it is killed.
StatusOr<FileDescriptor> Claim(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = directory + "/run.lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s; choose another run directory with --dir", path,
                        std::generic_category().message(error ? error.value() : errno)));
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: another podgpu-sim runs a node here; stop it or choose --dir", directory));
  }
  return file;
}

// All parts of a running node, destroyed in reverse order.
class Node {
 public:
  Node(const Steps& steps, RunWriter writer, std::unique_ptr<RunDirectory> directory,
       ProcTree processes)
      : steps_(steps),
        writer_(std::move(writer)),
        directory_(std::move(directory)),
        processes_(std::move(processes)),
        watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

  Status Start(const NodeOptions& options) {
    const std::string socket_path = writer_.directory() + "/kubelet/kubelet.sock";
    PODGPU_ASSIGN_OR_RETURN(kubelet_, FakeKubelet::Start(*directory_, clock_, socket_path));
    std::string versions;
    for (const char* version : {"v1", "v1alpha1"}) {
      if (directory_->world().kubelet_has(version)) {
        versions += (versions.empty() ? "" : ", ") + std::string(version);
      }
    }
    steps_.Say("kubelet", absl::StrFormat("%s serves pod-resources %s", socket_path,
                                          versions.empty() ? "in no version" : versions));
    PODGPU_RETURN_IF_ERROR(StartApi(options));
    engine_ = std::make_unique<EngineSupervisor>(
        writer_, clock_, EngineOptionsOf(options),
        [this](const std::string& what) { steps_.Say("engine", what); });
    PODGPU_RETURN_IF_ERROR(engine_->Start());
    inotify_add_watch(watch_.get(), writer_.directory().c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    return absl::OkStatus();
  }

  // Starts the program that the node is for.
  Status StartProgram(const std::vector<std::string>& words) {
    PODGPU_ASSIGN_OR_RETURN(NodeProgram program, NodeProgram::Start(words, writer_.directory()));
    program_.emplace(std::move(program));
    return absl::OkStatus();
  }

  // Serves until SIGINT or SIGTERM, or, if there is a program, until it ends.  Returns its exit
  // code.
  int Serve(const Signals& signals) {
    for (;;) {
      std::array<pollfd, 2> polled = {
          {{signals.descriptor(), POLLIN, 0}, {watch_.get(), POLLIN, 0}}};
      // Both use one moment: a fault that begins or ends between two moments would be missed.
      // Obeying takes time, and the faults in force may differ afterwards.
      const TimeUs now = directory_->Now();
      const int wait_ms = Obey(now) ? 0 : WaitMs(now);
      poll(polled.data(), polled.size(), wait_ms);
      for (int one = signals.Take(); one != 0; one = signals.Take()) {
        if (one == SIGCHLD) {
          continue;
        }
        if (!program_) {
          return 0;
        }
        program_->Stop();
      }
      if (const std::optional<int> code = program_ ? program_->Ended() : std::nullopt) {
        return *code;
      }
      engine_->Poll();
      if (polled[1].revents != 0) {
        ReadControlFile();
      }
    }
  }

 private:
  Status StartApi(const NodeOptions& options) {
    if (options.api_server) {
      const std::string folder =
          std::filesystem::absolute(writer_.directory()).lexically_normal().string() + "/api";
      PODGPU_ASSIGN_OR_RETURN(api_, ApiFace::Start(*directory_, folder));
      steps_.Say("api",
                 absl::StrFormat("https://127.0.0.1:%d serves pods and resourceslices; %s/env has "
                                 "its address and credentials",
                                 api_->server().port(), folder));
    }
    if (options.kubelet_https) {
      const std::string folder =
          std::filesystem::absolute(writer_.directory()).lexically_normal().string() +
          "/kubelet/https";
      PODGPU_ASSIGN_OR_RETURN(kubelet_https_, FakeKubeletPods::Start(*directory_, folder));
      steps_.Say("https",
                 absl::StrFormat("%s lists the kubelet's pods; %s/env has its address and token",
                                 kubelet_https_->url(), folder));
    }
    return absl::OkStatus();
  }

  // A requested address is required; the scenario's address is replaced when its port is taken.
  std::string EngineAddress(const NodeOptions& options) const {
    if (options.engine_tcp) {
      return *options.engine_tcp;
    }
    const std::string usual(directory_->world().engine_tcp());
    std::string address = FreeAddress(usual);
    if (address != usual) {
      steps_.Say("engine",
                 absl::StrFormat("%s is taken by another program; the engine takes a free port. "
                                 "Use --engine-tcp=%s to require this one",
                                 usual, usual));
    }
    return address;
  }

  EngineSupervisorOptions EngineOptionsOf(const NodeOptions& options) const {
    const World& world = directory_->world();
    EngineSupervisorOptions engine;
    engine.tcp = EngineAddress(options);
    if (!world.engine_unix().empty()) {
      engine.socket_path = absl::StrFormat("%s/%s", writer_.directory(), world.engine_unix());
    }
    engine.restart_after_death = options.restart_engine;
    return engine;
  }

  // Applies the faults of this moment to the servers; returns whether anything changed.
  bool Obey(TimeUs now) {
    const World& world = directory_->world();
    if (const Status shown = processes_.Show(world, now); !shown.ok()) {
      Warn(std::string(shown.message()));
    }
    engine_->Obey(EngineOrdersAt(world, now));
    const bool api_changed = ObeyApi(now) || ObeyHttps(now);
    const KubeletBehaviour wanted = KubeletBehaviourAt(world, now);
    if (wanted == behaviour_) {
      return api_changed;
    }
    const Status changed = kubelet_->Behave(wanted);
    if (!changed.ok()) {
      Warn(std::string(changed.message()));
    }
    steps_.Say("kubelet", KubeletWordsAt(world, now));
    behaviour_ = wanted;
    return true;
  }

  bool ObeyApi(TimeUs now) {
    const World& world = directory_->world();
    if (api_ != nullptr) {
      api_->Refresh();
    }
    const ApiBehaviour wanted = ApiBehaviourAt(world, now);
    if (wanted == api_behaviour_) {
      return false;
    }
    api_behaviour_ = wanted;
    if (api_ == nullptr) {
      steps_.Say("api", ApiWordsAt(world, now) +
                            ", but this node has no API server: run with --api-server");
      return true;
    }
    const Status changed = api_->Behave(wanted);
    if (!changed.ok()) {
      Warn(std::string(changed.message()));
    }
    steps_.Say("api", ApiWordsAt(world, now));
    return true;
  }

  bool ObeyHttps(TimeUs now) {
    if (kubelet_https_ == nullptr) {
      return false;
    }
    kubelet_https_->Refresh();
    const KubeletHttpsBehaviour wanted = KubeletHttpsBehaviourAt(directory_->world(), now);
    if (wanted == https_behaviour_) {
      return false;
    }
    https_behaviour_ = wanted;
    kubelet_https_->Behave(wanted);
    steps_.Say("https", KubeletHttpsWordsAt(directory_->world(), now));
    return true;
  }

  // How long the loop may wait for a signal or an edit; -1: without limit.  While faults or process
  // changes are ahead, or while the API server sends watch events, it polls as often as a library
  // does, since a manual clock moves without notice.
  int WaitMs(TimeUs now) const {
    if (api_ != nullptr || kubelet_https_ != nullptr || processes_.changes() ||
        HasServerFaultsAfter(directory_->world(), now)) {
      return kFaultPollMs;
    }
    const std::optional<Instant> due = engine_->due();
    if (!due) {
      return -1;
    }
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(*due - clock_.Now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLongestWaitMs));
  }

  void ReadControlFile() {
    std::array<char, 4096> events{};
    while (read(watch_.get(), events.data(), events.size()) > 0) {
      // Which file changed does not matter: a file that equals the log in force changes nothing.
    }
    const DirectoryLock lock(writer_.directory());
    const StatusOr<bool> accepted = AcceptControlFile(writer_);
    if (!accepted.ok()) {
      Warn(absl::StrFormat("%s\nthe control log is unchanged",
                           std::string(accepted.status().message())));
    } else if (*accepted) {
      steps_.Say("control", absl::StrFormat("control.yaml is in force, generation %d",
                                            writer_.log_generation()));
    }
  }

  const Steps& steps_;
  SystemClock clock_;
  RunWriter writer_;
  std::unique_ptr<RunDirectory> directory_;
  ProcTree processes_;
  std::unique_ptr<FakeKubelet> kubelet_;
  std::unique_ptr<ApiFace> api_;  // Null when not requested; the same for the next.
  std::unique_ptr<FakeKubeletPods> kubelet_https_;
  std::unique_ptr<EngineSupervisor> engine_;
  std::optional<NodeProgram> program_;
  KubeletBehaviour behaviour_;
  ApiBehaviour api_behaviour_;
  KubeletHttpsBehaviour https_behaviour_;
  const FileDescriptor watch_;
};

// Removes files that would make the node look alive afterwards.
void RemoveSockets(const std::string& directory, const std::string& engine_socket) {
  for (const std::string& name : {engine_socket, std::string("engine.addr"),
                                  std::string("engine.pid"), std::string("kubelet/kubelet.sock"),
                                  std::string("api/env"), std::string("kubelet/https/env")}) {
    std::error_code error;
    std::filesystem::remove(std::filesystem::path(directory) / name, error);
  }
  std::error_code error;
  std::filesystem::remove_all(std::filesystem::path(directory) / "proc", error);
}

// The run directory of the world, with the libraries of its driver.
StatusOr<RunWriter> CreateRun(RunOptions run, std::span<const std::byte> image) {
  std::string error;
  const std::unique_ptr<World> world = World::Open(image, error);
  if (world == nullptr) {
    return absl::InternalError(error);
  }
  run.lib_links = SharedObjects(world->driver_version(), world->dcgm_version());
  return RunWriter::Create(run, image);
}

}  // namespace

StatusOr<int> RunNode(const NodeOptions& options) {
  const Steps steps(options);
  const Signals signals;  // Before gRPC starts threads.
  const CompileResult compiled = CompileScenario(options.scenario.text, options.scenario.path);
  if (!compiled.errors.empty()) {
    return CompileErrors(compiled);
  }
  PODGPU_RETURN_IF_ERROR(CheckRunDirectory(options.run.directory));
  PODGPU_ASSIGN_OR_RETURN(const FileDescriptor claim, Claim(options.run.directory));
  PODGPU_ASSIGN_OR_RETURN(RunWriter writer, CreateRun(options.run, compiled.image));
  PODGPU_RETURN_IF_ERROR(
      ReplaceFile(options.run.directory + "/scenario.yaml", Bytes(options.scenario.text)));
  std::string error;
  std::unique_ptr<RunDirectory> directory = RunDirectory::Open(options.run.directory, error);
  if (directory == nullptr) {
    return absl::InternalError(error);
  }
  const World& world = directory->world();
  const std::string engine_socket(world.engine_unix());
  PODGPU_RETURN_IF_ERROR(
      CheckSocketPath(absl::StrFormat("%s/%s", options.run.directory, engine_socket)));
  PODGPU_RETURN_IF_ERROR(WritePciTree(PciDevices(world), options.run.directory));
  PODGPU_ASSIGN_OR_RETURN(ProcTree processes,
                          ProcTree::Create(options.run.directory, directory->StampUs(0)));
  PODGPU_RETURN_IF_ERROR(processes.Show(world, directory->Now()));
  steps.Say("scenario",
            absl::StrFormat("%s from %s: %d GPUs, image %016x of %d bytes", world.scenario_name(),
                            options.scenario.path, world.gpu_count(), world.scenario_hash(),
                            compiled.image.size()));
  steps.Say("directory", options.run.directory);
  steps.Say("clock", absl::StrFormat("%s; world time 0 is %s", PaceOf(options.run),
                                     CivilTime(directory->StampUs(0))));
  Status started;
  int code = 0;
  {
    Node node(steps, std::move(writer), std::move(directory), std::move(processes));
    PODGPU_RETURN_IF_ERROR(node.Start(options));
    steps.Say("ready", absl::StrFormat("PODGPU_SIM_DIR=%s LD_LIBRARY_PATH=%s/lib; Ctrl-C ends it",
                                       options.run.directory, options.run.directory));
    started = options.program.empty() ? absl::OkStatus() : node.StartProgram(options.program);
    code = started.ok() ? node.Serve(signals) : 0;
  }
  RemoveSockets(options.run.directory, engine_socket);
  steps.Say("ended", options.run.directory);
  PODGPU_RETURN_IF_ERROR(started);
  return code;
}

StatusOr<int> ServeEngine(const std::string& directory, const std::string& tcp, int parent) {
  const Signals signals;
  if (parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      return 1;  // The parent ended before the call.
    }
  }
  PODGPU_ASSIGN_OR_RETURN(RunWriter node, RunWriter::Attach(directory));
  std::string error;
  const std::unique_ptr<RunDirectory> run = RunDirectory::Open(directory, error);
  if (run == nullptr) {
    return absl::InternalError(error);
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  EngineOptions options;
  options.run_directory = directory;
  options.tcp = tcp;
  options.socket_name = run->world().engine_unix();
  options.generation = node.BeginEngine();
  options.stop_descriptor = signals.descriptor();
  options.on_listening = [&] {
    if (ReplaceFile(directory + "/engine.pid", Bytes(pid)).ok()) {
      node.SetEngineUp(true);
    }
  };
  const int code = RunEngine(options);
  node.SetEngineUp(false);
  return code;
}

}  // namespace podgpu::sim
