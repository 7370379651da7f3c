#include "sim/program/commands.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/text.h"
#include "sim/dcgm/engine_protocol.h"
#include "sim/program/control_log.h"
#include "sim/program/control_words.h"
#include "sim/program/fleet.h"
#include "sim/program/node.h"
#include "sim/program/scenario_files.h"
#include "sim/program/truth.h"
#include "sim/program/units.h"
#include "sim/scenario/compile.h"
#include "sim/scenario/fault_table.h"
#include "sim/scenario/run_writer.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {
namespace {

constexpr uint64_t kMaxTimeScale = 10'000;
constexpr uint64_t kMaxGpus = 1'024;

constexpr std::string_view kMigOff = "off";  // Instead of profiles: no MIG mode.

constexpr Flag kDir = {"--dir", "DIR", "run directory (default: PODGPU_SIM_DIR, else build/run)"};
constexpr Flag kGpu = {"--gpu", "N", "index of the GPU"};
constexpr Flag kAt = {"--at", "T", "world time of the change, such as 90s (default: now)"};

// The error for a value on the command line that is not valid.
Status Wrong(std::string_view command, std::string_view what, std::string_view found,
             std::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrFormat("podgpu-sim %s: %s is \"%s\"; write %s", command, what, found, allowed));
}

StatusOr<TimeUs> TimeOf(std::string_view command, std::string_view what, const std::string& text) {
  if (const std::optional<TimeUs> time = ParseTime(text)) {
    return *time;
  }
  return Wrong(command, what, text, "a time with its unit, such as 1.5s, 200ms or 2min");
}

// The time of `flag`, if it was given.
StatusOr<std::optional<TimeUs>> TimeFlag(std::string_view command, const Arguments& arguments,
                                         std::string_view flag) {
  const std::optional<std::string> text = arguments.Get(flag);
  if (!text) {
    return std::optional<TimeUs>();
  }
  PODGPU_ASSIGN_OR_RETURN(const TimeUs time, TimeOf(command, flag, *text));
  return std::optional(time);
}

StatusOr<std::string> GpuFlag(std::string_view command, const Arguments& arguments) {
  const std::optional<std::string> text = arguments.Get("--gpu");
  if (!text) {
    return absl::InvalidArgumentError(
        absl::StrFormat("podgpu-sim %s: --gpu N is missing", command));
  }
  const std::optional<uint64_t> index = ParseDecimal(*text);
  if (!index || *index >= kMaxGpus) {
    return Wrong(command, "--gpu", *text, "the index of a GPU, from 0");
  }
  return *text;
}

// Appends an entry to the log of the node that `arguments` name, and prints when it takes effect.
Status Control(const Arguments& arguments, std::string_view command, const std::string& entry,
               std::optional<TimeUs> at = std::nullopt) {
  if (!at) {
    PODGPU_ASSIGN_OR_RETURN(at, TimeFlag(command, arguments, "--at"));
  }
  PODGPU_ASSIGN_OR_RETURN(RunWriter node, RunWriter::Attach(RunDirectoryPath(arguments)));
  const DirectoryLock lock(node.directory());
  PODGPU_ASSIGN_OR_RETURN(const TimeUs effective, AppendControl(node, entry, at));
  std::printf("%s\n", absl::StrFormat("at %s: %s", FormatTime(effective), entry).c_str());
  return absl::OkStatus();
}

// Profiles go into YAML unquoted, so only their own characters are allowed.
Status SetLayout(const Arguments& arguments, std::string_view command,
                 std::span<const std::string_view> profiles) {
  PODGPU_ASSIGN_OR_RETURN(const std::string gpu, GpuFlag(command, arguments));
  std::string layout;
  for (const std::string_view profile : profiles) {
    const bool is_plain = std::all_of(profile.begin(), profile.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '+';
    });
    if (profile.empty() || !is_plain) {
      return Wrong(command, "a profile", profile, "MIG profiles such as 3g.40gb");
    }
    layout += absl::StrFormat("%s%s", layout.empty() ? "" : ", ", profile);
  }
  return Control(arguments, command,
                 absl::StrFormat("kind: mig_set, gpu: %s, layout: [%s]", gpu, layout));
}

Status SetPowerLimit(const Arguments& arguments, std::string_view command,
                     const std::string& limit) {
  PODGPU_ASSIGN_OR_RETURN(const std::string gpu, GpuFlag(command, arguments));
  const std::string_view watts = std::string_view(limit).substr(0, limit.size() - 1);
  if (!limit.ends_with('W') || !ParseDecimal(watts)) {
    return Wrong(command, "the limit", limit, "watts, such as 300W");
  }
  return Control(arguments, command,
                 absl::StrFormat("kind: power_limit, gpu: %s, watts: %s", gpu, watts));
}

Status Joined(const std::vector<std::string>& errors) {
  std::string lines;
  for (const std::string& error : errors) {
    lines += (lines.empty() ? "" : "\n") + error;
  }
  return absl::InvalidArgumentError(lines);
}

StatusOr<int> Run(const Arguments& arguments) {
  NodeOptions options;
  options.run.directory = RunDirectoryPath(arguments);
  options.engine_tcp = arguments.Get("--engine-tcp");
  options.api_server = arguments.Has("--api-server");
  options.kubelet_https = arguments.Has("--kubelet-https");
  const std::optional<std::string> speed = arguments.Get("--speed");
  if (speed && arguments.Has("--manual")) {
    return absl::InvalidArgumentError(
        "podgpu-sim run: --manual and --speed exclude each other; leave one out");
  }
  if (speed) {
    const std::optional<Speed> parsed = ParseSpeed(*speed);
    if (!parsed) {
      return Wrong("run", "--speed", *speed, "two whole numbers, such as 60/1");
    }
    options.run.speed = *parsed;
    options.run.mode =
        parsed->numerator == parsed->denominator ? ClockMode::kReal : ClockMode::kScaled;
  } else if (arguments.Has("--manual")) {
    options.run.mode = ClockMode::kManual;
  }
  PODGPU_ASSIGN_OR_RETURN(const std::optional<TimeUs> pause,
                          TimeFlag("run", arguments, "--restart-engine"));
  if (pause) {
    options.restart_engine = std::chrono::milliseconds(*pause / 1000);
  }
  if (const std::optional<std::string> scale = arguments.Get("--time-scale")) {
    const std::optional<uint64_t> parsed = ParseDecimal(*scale);
    if (!parsed || *parsed < 1 || *parsed > kMaxTimeScale) {
      return Wrong("run", "--time-scale", *scale, "a whole number from 1 to 10000");
    }
    options.run.time_scale = static_cast<int64_t>(*parsed);
  }
  options.run.engine_delays = !arguments.Has("--prompt-engine");
  options.program = arguments.program;
  PODGPU_ASSIGN_OR_RETURN(options.scenario, LoadScenario(arguments.operands.front()));
  return RunNode(options);
}

Status Compile(const Arguments& arguments) {
  PODGPU_ASSIGN_OR_RETURN(const ScenarioFile scenario, LoadScenario(arguments.operands.front()));
  const CompileResult compiled = CompileScenario(scenario.text, scenario.path);
  if (!compiled.errors.empty()) {
    return Joined(compiled.errors);
  }
  std::string error;
  const std::unique_ptr<World> world = World::Open(compiled.image, error);
  if (world == nullptr) {
    return absl::InternalError(scenario.path + ": " + error);
  }
  if (const std::optional<std::string> file = arguments.Get("-o")) {
    PODGPU_RETURN_IF_ERROR(ReplaceFile(*file, compiled.image));
  }
  std::printf("%s\n", absl::StrFormat("%s: image %016x of %d bytes", scenario.path,
                                      world->scenario_hash(), compiled.image.size())
                          .c_str());
  return absl::OkStatus();
}

// The last address of a node's engine, or a free port: clients expect the next engine there.
std::string EngineAddressOf(const std::string& directory) {
  const StatusOr<std::string> address =
      SystemFiles().Read(directory + "/" + std::string(kEngineAddressName));
  return address.ok() && !Trim(*address).empty() ? std::string(Trim(*address)) : "127.0.0.1:0";
}

StatusOr<int> Engine(const Arguments& arguments) {
  const std::string parent_text = arguments.Get("--parent").value_or("0");
  const std::optional<uint64_t> parent = ParseDecimal(parent_text);
  if (!parent || *parent > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return Wrong("engine", "--parent", parent_text, "a process id");
  }
  return ServeEngine(RunDirectoryPath(arguments),
                     arguments.Get("--tcp").value_or(EngineAddressOf(RunDirectoryPath(arguments))),
                     static_cast<int>(*parent));
}

Status Mig(const Arguments& arguments) {
  std::vector<std::string_view> profiles(arguments.operands.begin(), arguments.operands.end());
  if (profiles.front() == kMigOff && profiles.size() == 1) {
    profiles.clear();
  }
  return SetLayout(arguments, "mig", profiles);
}

Status PowerLimit(const Arguments& arguments) {
  return SetPowerLimit(arguments, "power-limit", arguments.operands.front());
}

Status InjectFault(const Arguments& arguments) {
  PODGPU_ASSIGN_OR_RETURN(const FaultWords words, ReadFaultWords(arguments.operands));
  const Status done = Control(arguments, "fault", words.entry, words.at);
  return absl::IsInvalidArgument(done) ? absl::InvalidArgumentError(absl::StrFormat(
                                             "podgpu-sim fault %s: %s", arguments.operands.front(),
                                             std::string(done.message())))
                                       : done;
}

Status Heal(const Arguments& arguments) {
  std::optional<FaultKind> kind;
  if (!arguments.operands.empty()) {
    PODGPU_ASSIGN_OR_RETURN(kind, ReadFaultKind("heal", arguments.operands.front()));
  }
  PODGPU_ASSIGN_OR_RETURN(RunWriter node, RunWriter::Attach(RunDirectoryPath(arguments)));
  const DirectoryLock lock(node.directory());
  PODGPU_ASSIGN_OR_RETURN(const std::optional<TimeUs> at, HealControl(node, kind));
  const std::string what = kind ? arguments.operands.front() : "all";
  std::printf(
      "%s\n",
      at ? absl::StrFormat("at %s: %s is as in the scenario again", FormatTime(*at), what).c_str()
         : absl::StrFormat("nothing to undo: %s is as in the scenario", what).c_str());
  return absl::OkStatus();
}

Status SetSpeed(const Arguments& arguments) {
  const std::string& text = arguments.operands.front();
  const std::optional<Speed> speed = ParseSpeed(text);
  if (!speed && text != "manual") {
    return Wrong("speed", "the speed", text, "two whole numbers, such as 60/1, or manual");
  }
  PODGPU_ASSIGN_OR_RETURN(RunWriter node, RunWriter::Attach(RunDirectoryPath(arguments)));
  const DirectoryLock lock(node.directory());
  if (speed) {
    node.SetSpeed(*speed);
  } else {
    node.SetManual();
  }
  std::printf("%s\n",
              absl::StrFormat("world time %s, speed %s", FormatTime(node.Now()), text).c_str());
  return absl::OkStatus();
}

Status Tick(const Arguments& arguments) {
  const std::string& text = arguments.operands.front();
  PODGPU_ASSIGN_OR_RETURN(const TimeUs step,
                          TimeOf("tick", "the step", text.substr(text.starts_with('+') ? 1 : 0)));
  PODGPU_ASSIGN_OR_RETURN(RunWriter node, RunWriter::Attach(RunDirectoryPath(arguments)));
  const DirectoryLock lock(node.directory());
  PODGPU_RETURN_IF_ERROR(node.Tick(step));
  std::printf("world time %s\n", FormatTime(node.Now()).c_str());
  return absl::OkStatus();
}

Status Truth(const Arguments& arguments) {
  PODGPU_ASSIGN_OR_RETURN(const std::optional<TimeUs> at, TimeFlag("truth", arguments, "--at"));
  PODGPU_ASSIGN_OR_RETURN(const std::optional<TimeUs> from, TimeFlag("truth", arguments, "--from"));
  std::string error;
  const std::unique_ptr<RunDirectory> directory =
      RunDirectory::Open(RunDirectoryPath(arguments), error);
  if (directory == nullptr) {
    return absl::NotFoundError(error);
  }
  const TimeUs begin = from.value_or(0);
  const TimeUs end = at.value_or(directory->Now());
  if (begin > end) {
    return absl::InvalidArgumentError(
        absl::StrFormat("podgpu-sim truth: --from %s lies after --at %s; exchange them",
                        FormatTime(begin), FormatTime(end)));
  }
  std::printf("%s", TruthJson(directory->world(), begin, end).c_str());
  return absl::OkStatus();
}

StatusOr<uint64_t> FleetNumber(const Arguments& arguments, std::string_view flag, uint64_t usual,
                               uint64_t most) {
  const std::optional<std::string> text = arguments.Get(flag);
  const std::optional<uint64_t> number = text ? ParseDecimal(*text) : std::optional(usual);
  if (!number || *number > most) {
    return Wrong("fleet", flag, text.value_or(""),
                 absl::StrFormat("a whole number up to %d", most));
  }
  return *number;
}

Status Fleet(const Arguments& arguments) {
  constexpr uint64_t kMostPercent = 100;
  FleetOptions options;
  PODGPU_ASSIGN_OR_RETURN(options.nodes,
                          FleetNumber(arguments, "--nodes", options.nodes, kMostFleetNodes));
  if (options.nodes == 0) {
    return Wrong("fleet", "--nodes", "0", "a number of nodes from 1");
  }
  PODGPU_ASSIGN_OR_RETURN(const uint64_t port,
                          FleetNumber(arguments, "--port", kFleetPort, 65'535));
  options.port = static_cast<uint16_t>(port);
  uint64_t percent = 0;
  for (const auto& [flag, share] : {std::pair("--hanging", &options.shares.hanging),
                                    std::pair("--refusing", &options.shares.refusing),
                                    std::pair("--garbage", &options.shares.garbage)}) {
    PODGPU_ASSIGN_OR_RETURN(const uint64_t given, FleetNumber(arguments, flag, 0, kMostPercent));
    *share = static_cast<uint32_t>(given);
    percent += given;
  }
  if (percent > kMostPercent) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "podgpu-sim fleet: --hanging, --refusing and --garbage add up to %d percent; the most "
        "is 100",
        percent));
  }
  options.nodes_file = arguments.Get("--nodes-file").value_or("");
  options.api_folder = arguments.Get("--api-server").value_or("");
  const std::string scenario = arguments.operands.empty() ? "demo" : arguments.operands.front();
  PODGPU_ASSIGN_OR_RETURN(options.scenario, LoadScenario(scenario));
  return RunFleet(options);
}

constexpr Flag kRunFlags[] = {
    kDir,
    {"--manual", "", "world time moves only with `podgpu-sim tick`"},
    {"--speed", "A/B", "world time passes A/B times as fast (default 1/1)"},
    {"--engine-tcp", "ADDR",
     "host:port of the engine; port 0: a free one, in engine.addr (default: the scenario's)"},
    {"--kubelet-https", "",
     "also serve the kubelet's /pods over HTTPS; kubelet/https/env says where"},
    {"--api-server", "", "also run an API server with pods and ResourceSlices; api/env says where"},
    {"--restart-engine", "TIME",
     "start another engine that long after its death (default: none is started)"},
    {"--time-scale", "N",
     "divides the vendor's own time-outs and its time to stop, for tests (default 1)"},
    {"--prompt-engine", "", "reads over TCP and stopping an embedded engine take no time"},
};
constexpr Flag kCompileFlags[] = {{"-o", "FILE", "write the image to FILE"}};
constexpr Flag kEngineFlags[] = {
    kDir,
    {"--tcp", "ADDR",
     "host:port; port 0: a free one, written to engine.addr (default: the address in engine.addr, "
     "else a free port)"},
    {"--parent", "PID", "exit when process PID ends"},
};
constexpr Flag kFleetFlags[] = {
    {"--nodes", "N", "number of nodes, up to 20000 (default 100)"},
    {"--port", "PORT", "of all nodes; 0: a free one (default 9400)"},
    {"--nodes-file", "FILE",
     "write the nodes' addresses to FILE, for podgpu cluster --nodes=file:FILE"},
    {"--api-server", "DIR",
     "also run an API server that has the nodes with their labels pool and rack; DIR/env says "
     "where"},
    {"--hanging", "PERCENT", "of the nodes take connections and never answer (default 0)"},
    {"--refusing", "PERCENT", "of the nodes refuse connections (default 0)"},
    {"--garbage", "PERCENT", "of the nodes answer garbage (default 0)"},
};
constexpr Flag kControlFlags[] = {kGpu, kAt, kDir};
constexpr Flag kFaultFlags[] = {kAt, kDir};
constexpr Flag kDirFlags[] = {kDir};
constexpr Flag kTruthFlags[] = {
    {"--at", "T", "world time, such as 90s (default: now)"},
    {"--from", "T0", "since when (default: 0s)"},
    kDir,
};

std::string RunHelp() {
  return "With -- PROGRAM the program runs on the node: it finds the simulated libraries, the "
         "kubelet,\n"
         "sysfs and /proc by its environment.  The node ends with it, the exit code is that of "
         "the\n"
         "program, and the steps of the node go to standard error.  For example\n"
         "  podgpu-sim run h100x8-pods -- podgpu --validate\n";
}

// A command whose exit code is 0 when it succeeds.
template <Status (*kRun)(const Arguments&)>
StatusOr<int> Done(const Arguments& arguments) {
  PODGPU_RETURN_IF_ERROR(kRun(arguments));
  return 0;
}

constexpr size_t kMaxProfiles = 7;
constexpr size_t kMaxFaultWords = 16;

constexpr Command kCommands[] = {
    {"run", "SCENARIO", 1, 1, "run a node: directory, kubelet, engine; Ctrl-C ends it", kRunFlags,
     Run, RunHelp, true},
    {"compile", "SCENARIO", 1, 1, "check a scenario and make its image", kCompileFlags,
     Done<Compile>},
    {"engine", "", 0, 0, "the host engine of a node, as a process of its own", kEngineFlags,
     Engine},
    {"fleet", "[SCENARIO]", 0, 1, "many nodes for podgpu cluster, each like SCENARIO (demo)",
     kFleetFlags, Done<Fleet>},
    {"mig", "PROFILE...", 1, kMaxProfiles, "give a GPU another MIG layout; off: none",
     kControlFlags, Done<Mig>},
    {"power-limit", "WATTS", 1, 1, "give a GPU another power limit", kControlFlags,
     Done<PowerLimit>},
    {"fault", "KIND [KEY=VALUE...]", 1, kMaxFaultWords, "start a fault", kFaultFlags,
     Done<InjectFault>, FaultHelp},
    {"heal", "[KIND]", 0, 1, "undo all changes made at run time, or those of one kind", kDirFlags,
     Done<Heal>},
    {"speed", "A/B", 1, 1, "change the pace of world time, or stop it: manual", kDirFlags,
     Done<SetSpeed>},
    {"tick", "+TIME", 1, 1, "move the clock of a node with a manual clock", kDirFlags, Done<Tick>},
    {"truth", "", 0, 0, "what every device and process really consumed, as JSON", kTruthFlags,
     Done<Truth>},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace podgpu::sim
