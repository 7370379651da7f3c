// The composition root: flags, objects, threads, wait, stop; nothing else.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <sys/ioctl.h>
#include <sys/timex.h>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/foreign_calls.h"
#include "base/library.h"
#include "base/log.h"
#include "base/signal_queue.h"
#include "base/version.h"
#include "cli/cluster_flags.h"
#include "cli/completion.h"
#include "cli/config_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/machine_options.h"
#include "cli/metric_help.h"
#include "cli/metric_list.h"
#include "cli/roles.h"
#include "cli/top_flags.h"
#include "doctor/doctor.h"
#include "exporter/exporter.h"
#include "exporter/page_forecast.h"
#include "exporter/selection_check.h"
#include "http/listen.h"
#include "http/web_front.h"
#include "kube/kubelet_client.h"
#include "source/nvml/accounting_switch.h"
#include "source/open_source.h"
#include "source/pci_bus.h"
#include "top/top.h"

namespace podgpu {
namespace {

// DCGM takes 1.5 s to stop an embedded engine (measured with 4.6.0), and a stop may take 2 s.
constexpr std::chrono::milliseconds kStopPatience{1'900};

constexpr int kExitFatal = 1;
constexpr int kExitUsage = 2;  // Usage and configuration errors, including an address in use.

// The variables of the environment, copied at the first call, before threads start: the vendor's
// library may set variables later, while the configuration is read again.
const std::map<std::string, std::string>& Variables() {
  static const std::map<std::string, std::string> variables = [] {
    std::map<std::string, std::string> copied;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (const size_t equals = text.find('='); equals != std::string::npos) {
        copied.emplace(text.substr(0, equals), text.substr(equals + 1));
      }
    }
    return copied;
  }();
  return variables;
}

std::optional<std::string> FromEnvironment(const std::string& name) {
  const auto found = Variables().find(name);
  return found == Variables().end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> VariableNames() {
  const auto names = std::views::keys(Variables());
  return {names.begin(), names.end()};
}

std::string SystemHostname() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string();
}

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int Refuse(const Status& status) {
  std::fprintf(stderr, "podgpu: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitFatal;
}

// The signals that end the program, and SIGHUP.  A write to a client that has gone is an error of
// that write, not a signal.
SignalQueue TakeSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  return SignalQueue({SIGINT, SIGTERM, SIGQUIT, SIGHUP});
}

void LogWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    Log(LogLevel::kWarn, "the configuration was accepted with a warning", {{"what", warning}});
  }
}

// Waits for a signal that ends the program; loads changed counters, and on SIGHUP all.
void WaitForEnd(SignalQueue& signals, MetricList& list, Exporter& exporter) {
  while (true) {
    const bool looks_now = list.Await(signals.descriptor());
    const int signal = signals.Take();
    if (signal > 0 && signal != SIGHUP) {
      return;
    }
    std::optional<StatusOr<Counters>> counters;
    if (signal == SIGHUP) {
      counters = list.LoadAgain();
    } else if (looks_now) {
      counters = list.LoadIfChanged();
    }
    if (counters) {
      LogWarnings(counters->ok() ? (*counters)->warnings : std::vector<std::string>());
      exporter.Reload(*std::move(counters), list.warnings());
    }
  }
}

// The engine reads these variables when it starts in this process.
void ConfigureDcgmLog(const NodeCommand& command) {
  if (command.dcgm_log && command.source.address.empty()) {
    // NOLINTBEGIN(concurrency-mt-unsafe): before threads start.
    ::setenv("__DCGM_DBG_FILE", "-", 1);
    ::setenv("__DCGM_DBG_LVL", command.dcgm_log_level.c_str(), 1);
    // NOLINTEND(concurrency-mt-unsafe)
  }
}

// Returns the address for clients; if the port was 0, with the port that the system chose.
std::string ServedAt(uint16_t port, const HttpServerOptions& http) {
  if (http.inherited_socket >= 0) {
    return "the socket of systemd";
  }
  StatusOr<ListenAddress> address = ParseListenAddress(http.address);
  if (!address.ok() || !address->path.empty()) {
    return http.address;
  }
  address->port = port;
  return ToString(*address);
}

void SayServing(uint16_t port, const HttpServerOptions& http) {
  const std::string address = ServedAt(port, http);
  if (port > 0) {
    Log(LogLevel::kInfo, "serving",
        {{"version", std::string(kVersion)}, {"address", address}, {"port", std::to_string(port)}});
  } else {
    Log(LogLevel::kInfo, "serving", {{"version", std::string(kVersion)}, {"address", address}});
  }
}

int RunNode(NodeCommand command, const CommandReader& read_again) {
  ConfigureDcgmLog(command);
  ConfigureLog(command.log_level, command.log_form);
  SignalQueue signals = TakeSignals();
  const SystemFiles files;
  SystemClock clock;
  MetricList list(command, read_again, files, clock);
  StatusOr<Counters> counters = list.Load();
  if (!counters.ok()) {
    return Refuse(counters.status());
  }
  TakeCounters(command, *std::move(counters), list.warnings(), clock.WallNow());
  LogWarnings(command.exporter.config.warnings);
  if (!command.config_file.empty()) {
    Log(LogLevel::kInfo, "configuration read", {{"path", command.config_file}});
  }
  const Environment environment = FromEnvironment;
  const Machine machine = {environment, SystemHostname(), ::getpid(), files};
  if (const Status status = TakeMachine(command, machine); !status.ok()) {
    return Refuse(status);
  }

  SystemLibraryLoader loader;
  const std::unique_ptr<PodResources> kubelet = MakeKubeletClient(command.kubelet);
  const SystemFiles sysfs(command.sysfs_root);
  const ThreadTally written_off = NewThreadTally();
  command.source.sysfs = &sysfs;
  const SourceOpener open = [&] { return OpenSource(command.source, loader, clock, written_off); };
  StatusOr<std::unique_ptr<Exporter>> exporter = Exporter::Start(
      command.exporter,
      {clock, open, *kubelet, [&] { return ListPciGpus(sysfs); }, written_off, &files,
       static_cast<uint32_t>(std::hash<std::string>()(command.exporter.view.hostname)),
       [&] { return OpenProcesses(command.source, loader, files, clock, written_off); },
       [&] { return ExplainNoDriver(command.source); }});
  if (!exporter.ok()) {
    return Refuse(exporter.status());
  }
  SayServing((*exporter)->port(), command.exporter.http);
  if (const uint16_t port = (*exporter)->query_port(); port > 0) {
    Log(LogLevel::kInfo, "serving requests and use of GPUs",
        {{"address", command.exporter.query_address}, {"query_port", std::to_string(port)}});
  }
  WaitForEnd(signals, list, **exporter);
  if (!(*exporter)->Stop(kStopPatience)) {
    std::_Exit(0);  // A thread is blocked inside a foreign library; the kernel ends it.
  }
  return 0;
}

// Checks that -d names devices of this node; returns false when the driver hangs.
bool ValidateSelection(const NodeCommand& command, Clock& clock) {
  constexpr std::chrono::seconds kPatience{5};
  const ThreadTally written_off = NewThreadTally();
  const SelectionCheck check = CheckSelection(
      command.exporter.view.selections,
      [&command, &clock, written_off, loader = std::make_shared<SystemLibraryLoader>()] {
        return OpenSource(command.source, *loader, clock, written_off);
      },
      kPatience, clock, written_off);
  for (const std::string& warning : check.warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
  if (!check.unknown.empty()) {
    std::printf("note: the devices in --devices (-d) could not be checked: %s\n",
                check.unknown.c_str());
  }
  return *written_off == 0;
}

// Prints the forecast of /metrics of this node; returns false when the driver hangs.
bool PrintForecast(NodeCommand command, const Counters& counters, Clock& clock,
                   const Files& files) {
  constexpr std::chrono::seconds kPatience{5};
  ConfigureLog(LogLevel::kError, command.log_form);
  TakeCounters(command, counters, {}, clock.WallNow());
  if (command.exporter.view.hostname.empty()) {
    command.exporter.view.hostname = SystemHostname();
  }
  const ThreadTally written_off = NewThreadTally();
  const auto loader = std::make_shared<SystemLibraryLoader>();
  const auto sysfs = std::make_shared<const SystemFiles>(command.sysfs_root);
  command.source.sysfs = sysfs.get();
  const std::unique_ptr<PodResources> kubelet = MakeKubeletClient(command.kubelet);
  const SourceOpener open = [source = command.source, loader, sysfs, &clock, written_off] {
    return OpenSource(source, *loader, clock, written_off);
  };
  const PageForecast forecast = ForecastPage(command.exporter,
                                             {.clock = clock,
                                              .open_source = open,
                                              .kubelet = *kubelet,
                                              .written_off = written_off,
                                              .files = &files},
                                             kPatience);
  std::fputs(ForecastText(forecast).c_str(), stdout);
  return *written_off == 0;
}

// Returns exit code 0 and prints what would be served and each warning, or prints the line with
// which a start would fail.
int Validate(const NodeCommand& command) {
  const SystemFiles files;
  SystemClock clock;
  MetricList list(command, nullptr, files, clock);
  const StatusOr<Counters> counters = list.Load();
  if (!counters.ok()) {
    return Refuse(counters.status());
  }
  const HttpServerOptions& http = command.exporter.http;
  if (const Status web = WebFront::Check(http.web_config_file, http.files); !web.ok()) {
    return Refuse(web);
  }
  const ConfigNotes notes = NotesOn(*counters, list.warnings(), {});
  for (const std::string& warning : notes.warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
  const bool driver_returned = ValidateSelection(command, clock);
  std::printf("%s: %zu metrics, %zu fields to read\n", notes.counters.c_str(), notes.metrics,
              FieldsToRead(counters->counters, command.exporter.views).size());
  std::fputs(CollectionsText(*counters).c_str(), stdout);
  const bool driver_is_there = driver_returned && PrintForecast(command, *counters, clock, files);
  if (!driver_is_there) {
    std::fflush(stdout);
    std::_Exit(0);  // A thread is blocked inside the driver; the kernel ends it.
  }
  return 0;
}

int PrintHelp(const NodeCommand& command) {
  const StatusOr<std::string> text = command.help_topic == "metrics"
                                         ? MetricHelp(command.help_metric)
                                         : HelpText(command.help_topic);
  if (!text.ok()) {
    return Refuse(text.status());
  }
  return Print(*text);
}

int PrintVersion() {
  std::printf("podgpu version %s\n", std::string(kVersion).c_str());
  return 0;
}

int PrintCompletion(const std::vector<std::string>& arguments) {
  const StatusOr<std::string> script =
      CompletionScript(arguments.size() == 2 ? arguments[1] : std::string_view());
  if (!script.ok()) {
    return Refuse(script.status());
  }
  return Print(*script);
}

int RunCluster(const std::vector<std::string>& arguments) {
  StatusOr<ClusterCommand> command = ParseClusterFlags(arguments, FromEnvironment);
  if (!command.ok()) {
    return Refuse(command.status());
  }
  if (command->wants_help) {
    return Print(ClusterHelpText());
  }
  ConfigureLog(command->log_level, command->log_form);
  SignalQueue signals = TakeSignals();
  const SystemFiles files;
  SystemClock clock;
  TakeMachine(*command, SystemHostname());
  StatusOr<std::unique_ptr<Cluster>> cluster =
      Cluster::Start(command->cluster, {clock, files, ResolveBySystem});
  if (!cluster.ok()) {
    return Refuse(cluster.status());
  }
  SayServing((*cluster)->port(), command->cluster.http);
  while (signals.Await() == SIGHUP) {
  }
  if (!(*cluster)->Stop()) {
    std::_Exit(0);  // A name server does not answer; the kernel ends the waiting thread.
  }
  return 0;
}

// Prints one line per GPU; returns exit code 1 when a GPU refuses.
int EnableAccounting(const std::string& nvml_library) {
  SystemLibraryLoader loader;
  SystemClock clock;
  const ThreadTally written_off = NewThreadTally();
  const StatusOr<AccountingSwitched> switched =
      SwitchAccountingOn(loader, nvml_library, clock, written_off);
  if (!switched.ok()) {
    std::fprintf(stderr, "podgpu: %s\n", std::string(switched.status().message()).c_str());
    if (*written_off > 0) {
      std::_Exit(kExitFatal);  // A thread is blocked inside the driver; the kernel ends it.
    }
    return kExitFatal;
  }
  for (const std::string& line : switched->lines) {
    std::printf("%s\n", line.c_str());
  }
  if (switched->lines.empty()) {
    std::printf("no GPUs found\n");
  }
  return switched->has_failed ? kExitFatal : 0;
}

bool ClockIsSynchronised() {
  timex state{};
  return ::adjtimex(&state) != TIME_ERROR;
}

// Returns whether standard output is a terminal, and its width.
DoctorOutput OutputOfDoctor() {
  DoctorOutput output{.is_terminal = ::isatty(STDOUT_FILENO) == 1};
  winsize size{};
  constexpr uint16_t kNarrowest = 40;
  if (output.is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col >= kNarrowest) {
    output.width = size.ws_col;
  }
  return output;
}

int RunDoctor(const std::vector<std::string>& arguments) {
  const StatusOr<DoctorCommand> command =
      ReadDoctorCommand(arguments, FromEnvironment, SystemFiles());
  if (!command.ok()) {
    return Refuse(command.status());
  }
  if (command->wants_help) {
    return Print(DoctorHelpText());
  }
  if (command->enable_accounting) {
    return EnableAccounting(command->node.source.nvml_library);
  }
  std::signal(SIGPIPE, SIG_IGN);
  ConfigureLog(LogLevel::kError, command->node.log_form);
  SystemLibraryLoader loader;
  SystemClock clock;
  const SystemFiles files;
  const StatusOr<DoctorAnswer> answer =
      RunDoctor(*command,
                {clock,
                 loader,
                 files,
                 FromEnvironment,
                 {.hostname = SystemHostname(),
                  .pid = ::getpid(),
                  .uid = ::getuid(),
                  .clock_is_synchronised = ClockIsSynchronised()}},
                OutputOfDoctor());
  if (!answer.ok()) {
    return Refuse(answer.status());
  }
  std::fputs(answer->text.c_str(), stdout);
  std::fflush(stdout);
  std::_Exit(answer->exit_code);  // Threads may be blocked inside the driver; the kernel ends them.
}

int RunTop(const std::vector<std::string>& arguments) {
  const StatusOr<TopCommand> command = ParseTopFlags(arguments, FromEnvironment);
  if (!command.ok()) {
    return Refuse(command.status());
  }
  if (command->wants_help) {
    return Print(TopHelpText());
  }
  std::signal(SIGPIPE, SIG_IGN);
  ConfigureLog(LogLevel::kError, LogForm::kText);
  SystemClock clock;
  const TopTerminal terminal{
      STDIN_FILENO, STDOUT_FILENO,
      !command->is_dumb && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1};
  return RunTop(command->top, terminal, clock, SystemFiles());
}

int RunNodeRole(const std::vector<std::string>& arguments, CalledAs called_as) {
  const SystemFiles files;
  const CommandReader read = [&] {
    StatusOr<NodeCommand> command = ReadNodeCommand(arguments, FromEnvironment, files, called_as);
    if (command.ok()) {
      std::ranges::move(UnknownVariables(VariableNames()), std::back_inserter(command->idle_flags));
    }
    return command;
  };
  StatusOr<NodeCommand> command = read();
  if (!command.ok()) {
    return Refuse(command.status());
  }
  switch (command->action) {
    case NodeCommand::Action::kShowHelp:
      return PrintHelp(*command);
    case NodeCommand::Action::kShowVersion:
      return PrintVersion();
    case NodeCommand::Action::kValidate:
      return Validate(*command);
    case NodeCommand::Action::kRun:
      break;
  }
  return RunNode(*std::move(command), read);
}

// Without a word in the arguments the role is "node".  If the program is called by the name of a
// replaced exporter, there are no roles.
int Main(std::vector<std::string> arguments) {
  const CalledAs called_as = CalledBy(arguments.empty() ? "podgpu" : arguments.front());
  arguments.erase(arguments.begin(), arguments.begin() + (arguments.empty() ? 0 : 1));
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (called_as != CalledAs::kPodgpu || word.empty() || word.starts_with('-') || word == "help" ||
      word == "h") {
    return RunNodeRole(arguments, called_as);
  }
  if (word == "completion") {
    return PrintCompletion(arguments);
  }
  if (word == "version") {
    return PrintVersion();
  }
  arguments.erase(arguments.begin());
  if (word == "node") {
    return RunNodeRole(arguments, called_as);
  }
  if (word == "cluster") {
    return RunCluster(arguments);
  }
  if (word == "doctor") {
    return RunDoctor(arguments);
  }
  if (word == "top") {
    return RunTop(arguments);
  }
  return Refuse(UnknownRole(word));
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  return podgpu::Main(std::vector<std::string>(argv, argv + argc));
}
