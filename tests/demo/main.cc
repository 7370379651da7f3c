// podgpu_demo demo|demo-check BUILD_FOLDER RUN_FOLDER SCENARIO: steps 3 to 5 of ./dev demo.
//
// Starts podgpu-sim on the scenario and podgpu on that simulated node, compares the page with the
// scenario, and shows where to look.  "demo" stays in the foreground until a signal or
// DEMO_SECONDS; "demo-check" ends after the comparison.  Exit code 0: all as expected, 1: not, 2:
// wrong use or a taken PORT.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sim/compile.h"
#include "sim/run_directory.h"
#include "sim/world.h"
#include "tests/demo/page.h"
#include "tests/demo/process.h"

namespace podgpu::demo {
namespace {

constexpr uint16_t kDefaultPort = 9400;
constexpr std::chrono::seconds kStartPatience{30};
constexpr std::chrono::seconds kPagePatience{30};
constexpr std::chrono::seconds kStopPatience{5};

// A world that has just begun has done no work yet; from this time on there is something to see.
constexpr sim::TimeUs kShownFromUs = 3'000'000;

enum ExitCode { kAsExpected = 0, kUnexpected = 1, kWrongUse = 2 };

struct Setting {
  std::string command;  // "demo" or "demo-check"
  std::filesystem::path build, run;
  std::string scenario;
  uint16_t port = 0;
  std::string moved;  // Why not the default port; empty when it is.
};

void Say(const Setting& setting, int step, const char* name, const std::string& text) {
  std::printf("%s %d/5 %-11s%s\n", setting.command.c_str(), step, name, text.c_str());
  std::fflush(stdout);
}

int Complain(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return kUnexpected;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Chooses the port: PORT insists, else the first free one from 9400 on.
std::optional<int> ChoosePort(Setting& setting) {
  const std::string pinned = Variable("PORT");
  const std::optional<uint64_t> number = ParseDecimal(pinned);
  if (!pinned.empty() && (!number || *number == 0 || *number > 65535)) {
    Complain("PORT=" + pinned + " is no port; give a number from 1 to 65535");
    return kWrongUse;
  }
  setting.port = pinned.empty() ? kDefaultPort : static_cast<uint16_t>(*number);
  while (!IsFree(setting.port)) {
    const std::string taken =
        "port " + std::to_string(setting.port) + " is taken by " + ListenerOf(setting.port);
    if (!pinned.empty()) {
      Complain(taken);
      return kWrongUse;
    }
    if (setting.moved.empty()) {
      setting.moved = taken;
    }
    ++setting.port;
  }
  return std::nullopt;
}

// The world of the scenario, opened beside the running one.
struct Truth {
  std::vector<std::byte> image;  // Outlives the world.
  std::unique_ptr<sim::World> world;
};

std::optional<Truth> ReadScenario(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  sim::CompileResult compiled = sim::CompileScenario(text, path);
  for (const std::string& error : compiled.errors) {
    Complain(error);
  }
  Truth truth{.image = std::move(compiled.image), .world = nullptr};
  std::string error;
  truth.world = sim::World::Open(truth.image, error);
  if (truth.world == nullptr) {
    Complain(path + ": " + error);
    return std::nullopt;
  }
  return truth;
}

// Waits until `done` holds; says why not when the child ends or patience does.
template <typename Condition>
bool Await(Child& child, const char* what, std::chrono::milliseconds patience, Condition done) {
  const Patience wait(patience);
  while (!done()) {
    const std::optional<std::string> end = child.Ended();
    if (end || !wait.WaitABit()) {
      Complain(std::string(what) + (end ? " ended with " + *end : " is not ready after 30 s") +
               "; its last lines, from " + child.log() + ":\n" + child.LastLines());
      return false;
    }
  }
  return true;
}

std::vector<std::string> ExporterArguments(const Setting& setting) {
  const std::string run = setting.run.string();
  return {setting.build / "bin/podgpu",
          "node",
          "-a",
          ":" + std::to_string(setting.port),
          "-c",
          "1000",
          "-k",
          "--pod-resources-kubelet-socket",
          run + "/kubelet/kubelet.sock",
          "--libdcgm",
          run + "/lib/libdcgm.so.4",
          "--libnvidia-ml",
          run + "/lib/libnvidia-ml.so.1",
          "--process-metrics=on",
          "--proc-root",
          run + "/proc"};
}

// Where the simulated node and its API server are.
std::vector<std::string> ExporterVariables(const Setting& setting) {
  std::vector<std::string> variables = {"PODGPU_SIM_DIR=" + setting.run.string()};
  std::ifstream file(setting.run / "api/env");
  for (std::string line; std::getline(file, line);) {
    variables.push_back(line);
  }
  return variables;
}

// Blocks the signals that end the demo, so that they are waited for.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&set, signal);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Stays until a signal, DEMO_SECONDS, or the end of a child.
int Stay(const sigset_t& signals, Child& simulator, Child& exporter) {
  const std::optional<uint64_t> seconds = ParseDecimal(Variable("DEMO_SECONDS"));
  const Patience wait(std::chrono::seconds(seconds.value_or(0)));
  while (true) {
    if (const auto end = exporter.Ended()) {
      return Complain("the exporter ended with " + *end + ":\n" + exporter.LastLines());
    }
    if (const auto end = simulator.Ended()) {
      return Complain("the simulator ended with " + *end + ":\n" + simulator.LastLines());
    }
    constexpr timespec kTurn{.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &kTurn);
    if ((signal > 0 && signal != SIGCHLD) ||
        (seconds && wait.ElapsedSeconds() >= static_cast<double>(*seconds))) {
      return kAsExpected;
    }
  }
}

void TellWhereToLook(const Setting& setting, const std::vector<std::string>& lines) {
  std::printf("These numbers come from the simulator. No GPU of this machine is read.\n");
  for (const std::string& line : lines) {
    std::printf("  %s\n", line.c_str());
  }
  if (setting.command == "demo-check") {
    return;
  }
  const std::string address = "http://localhost:" + std::to_string(setting.port);
  std::printf(
      "\n"
      "Look   %-32s the state of each part, links\n"
      "       %-32s the page Prometheus reads\n"
      "Logs   %s\n"
      "Stop   Ctrl-C stops both.\n",
      (address + "/").c_str(), (address + "/metrics").c_str(), (setting.run / "*.log").c_str());
  std::fflush(stdout);
}

// Waits until the page says what the scenario does.  The first page may be older than the kubelet's
// first answer, so a difference counts only when it lasts.
int CheckPage(const Setting& setting, const Expectation& expected, sim::RunDirectory& node,
              Child& exporter) {
  std::vector<Sample> page;
  std::vector<std::string> wrong = {"no page yet"};
  const bool right = Await(exporter, "the page", kPagePatience, [&] {
    if (const std::optional<std::string> text = Fetch(setting.port, "/metrics")) {
      page = ParsePage(*text);
      wrong = Compare(expected, page);
    }
    return wrong.empty() && node.Now() >= kShownFromUs;
  });
  if (!right) {
    for (const std::string& line : wrong) {
      Complain("  " + line);
    }
    return kUnexpected;
  }
  Say(setting, 5, "check", Summary(expected));
  TellWhereToLook(setting, ShownLines(expected, page));
  return kAsExpected;
}

int Run(Setting setting) {
  if (const std::optional<int> code = ChoosePort(setting)) {
    return *code;
  }
  const sigset_t signals = BlockSignals();
  const std::optional<Truth> truth = ReadScenario(setting.scenario);
  if (!truth) {
    return kUnexpected;
  }
  std::filesystem::create_directories(setting.run);
  Child simulator({setting.build / "bin/podgpu-sim", "run", setting.scenario, "--dir", setting.run,
                   "--engine-tcp", "127.0.0.1:0", "--api-server"},
                  {}, setting.run / "podgpu-sim.log");
  std::unique_ptr<sim::RunDirectory> directory;
  if (!Await(simulator, "the simulator", kStartPatience, [&] {
        std::string error;
        directory = sim::RunDirectory::Open(setting.run, error);
        return directory != nullptr &&
               std::filesystem::exists(setting.run / "kubelet/kubelet.sock") &&
               std::filesystem::exists(setting.run / "api/env");
      })) {
    return kUnexpected;
  }
  const Expectation expected = ExpectationOf(*truth->world, directory->Now());
  const std::string gpus = std::to_string(expected.gpus);
  Say(setting, 3, "simulator",
      gpus + " x " + expected.model + ", scenario " + std::string(truth->world->scenario_name()));

  const Patience since_start(kStartPatience);
  Child exporter(ExporterArguments(setting), ExporterVariables(setting),
                 setting.run / "podgpu.log");
  if (!Await(exporter, "the exporter", kStartPatience,
             [&] { return Fetch(setting.port, "/readyz").has_value(); })) {
    return kUnexpected;
  }
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f", since_start.ElapsedSeconds());
  if (!setting.moved.empty()) {
    Say(setting, 4, "exporter", setting.moved + "; " + std::to_string(setting.port) + " is free");
  }
  Say(setting, 4, "exporter",
      "source dcgm, " + gpus + " GPUs, first page " + seconds.data() + " s after start");

  int code = CheckPage(setting, expected, *directory, exporter);
  if (code == kAsExpected && setting.command == "demo") {
    code = Stay(signals, simulator, exporter);
  }
  exporter.Stop(kStopPatience);
  simulator.Stop(kStopPatience);
  return code;
}

}  // namespace
}  // namespace podgpu::demo

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  if (argc != 5) {
    std::fputs("usage: podgpu_demo demo|demo-check BUILD_FOLDER RUN_FOLDER SCENARIO\n", stderr);
    return 2;
  }
  podgpu::demo::Setting setting;
  setting.command = words[1];
  setting.build = words[2];
  setting.run = words[3];
  setting.scenario = words[4];
  return podgpu::demo::Run(std::move(setting));
}
