// What the doctor says about each shipped scenario and about each fault: golden output, and the
// statements about its form that hold for all of them.  PODGPU_UPDATE_GOLDEN=1 writes the files.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <re2/re2.h>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/checks.h"
#include "tests/e2e/doctor_node.h"

namespace podgpu {
namespace {

constexpr std::string_view kGolden = "tests/golden/doctor/";
constexpr size_t kWidest = 100;

// A scenario at a time, with further flags and variables of the exporter.  In a flag, OWN_PROC is
// the folder of that name, ENGINE the address of the node's engine, LIB the folder of its
// libraries.
struct Case {
  std::string name;
  std::string scenario;
  std::vector<std::string> steps = {"10s"};
  std::vector<std::string> flags = {};
  std::vector<std::string> variables = {};
  std::vector<std::string> fault = {};  // Of podgpu-sim, after the steps.
  std::string awaited = {};             // Run again until the output has it.
  std::string missing_file = {};        // Of the kernel's folder.
  std::vector<std::string> sim_flags = {};
};

// Those with a host engine.
std::vector<Case> EngineCases() {
  const std::vector<std::string> by_engine = {"--remote-hostengine-info=ENGINE",
                                              "--libdcgm=LIB/libdcgm.so.4"};
  return {{.name = "fault-engine",
           .scenario = "fault-engine",
           .steps = {"31s"},
           .flags = by_engine,
           .awaited = "  fail  dcgm.engine"},
          {.name = "no-client",
           .scenario = "one-gpu",
           .flags = {"--remote-hostengine-info=ENGINE", "--libdcgm=/nowhere/libdcgm.so.4"}},
          {.name = "old-client",
           .scenario = "one-gpu",
           .flags = by_engine,
           .fault = {"fault", "engine_version", "version=4.8.0"}},
          {.name = "all-lost-engine",
           .scenario = "one-gpu",
           .flags = by_engine,
           .fault = {"fault", "gpu_lost", "gpu=0", "xid=79"}}};
}

// Those in which the simulated kubelet changes.  It does so soon after the world's clock has moved.
std::vector<Case> KubeletCases() {
  std::vector<Case> cases;
  const auto add = [&cases](const std::string& what, const char* time, const char* awaited) {
    cases.push_back({.name = "fault-kubelet-" + what,
                     .scenario = "fault-kubelet",
                     .steps = {time},
                     .awaited = awaited});
  };
  add("down", "165s", "kubelet.sock does not exist");
  add("denied", "125s", "PERMISSION_DENIED");
  add("garbage", "105s", "does not speak HTTP/2");
  add("rate-limited", "145s", "rejected by rate limit");
  add("old", "65s", "21 ok, 2 note, 0 warn, 0 fail, 6 skipped");  // Before, it has v1: 5 skipped.
  return cases;
}

std::vector<Case> Cases() {
  const std::vector<std::string> in_pod = {"KUBERNETES_SERVICE_HOST=127.0.0.1", "POD_NAME=podgpu-x",
                                           "POD_NAMESPACE=gpu", "NODE_NAME=gpu-node-0"};
  std::vector<Case> cases = {
      {"one-gpu", "one-gpu"},
      {"demo", "demo", {"10s"}, {"-v"}},
      {"h100x8-pods", "h100x8-pods"},
      {"mig-mixed", "mig-mixed"},
      {"time-slicing", "time-slicing"},
      {"claims", "claims", {"10s"}, {"--kubernetes-enable-dra"}},
      {"churn", "churn"},
      {"nvswitch", "nvswitch"},
      {"grace", "grace"},
      {"a100x2", "a100x2", {"10s"}, {"--source=nvml"}},
      {"no-gpu", "no-gpu"},
      {"worked-example", "worked-example"},
      {"fault-field", "fault-field", {"35s"}},
      {"fault-call", "fault-call", {"35s"}},
      {"fault-stale", "fault-stale", {"35s"}},
      {"fault-hang", "fault-hang", {"125s"}},
      {"fault-gpu-lost", "fault-gpu-lost", {"35s"}},
      {"fault-gpu-detached", "fault-gpu-detached", {"35s"}},
      {"fault-driver-reload", "fault-driver-reload", {"35s"}},
      {"fault-mig", "fault-mig", {"35s"}},
      {"fault-no-driver", "fault-no-driver"},
      {"fault-board", "fault-board", {"55s"}},
      {"processes", "demo", {"10s"}, {"--process-metrics"}, {"PODGPU_ENABLE_ACCOUNTING=true"}},
      {"own-pod-missing", "demo", {"10s"}, {"--kubernetes-enable-pod-uid"}, in_pod},
      {"no-library", "one-gpu", {"10s"}, {"--libnvidia-ml=/nowhere/libnvidia-ml.so.1"}},
      {"gpu-operator", "h100x8-pods", {"10s"}, {"--process-metrics", "--proc-root=OWN_PROC"}},
      {"laptop", "no-gpu", {"10s"}, {"-k=false"}},
      {"bad-counters", "one-gpu", {"10s"}, {"--collectors=/nowhere/counters.csv"}},
      {"bad-address", "one-gpu", {"10s"}, {"-a=127.0.0.1:port"}},
      {.name = "no-device-file", .scenario = "h100x8-pods", .missing_file = "/dev/nvidia3"},
      {.name = "all-lost",
       .scenario = "one-gpu",
       .fault = {"fault", "gpu_lost", "gpu=0", "xid=79"}},
      {.name = "counters-taken",
       .scenario = "one-gpu",
       .fault = {"fault", "error", "calls=nvmlGpmSampleGet", "code=19"}},
      {.name = "claims-api",
       .scenario = "claims",
       .flags = {"--kubernetes-enable-dra"},
       .variables = {"POD_NAME=notebook-0", "POD_NAMESPACE=dev"},
       .sim_flags = {"--api-server"}},
      {.name = "claims-forbidden",
       .scenario = "claims",
       .flags = {"--kubernetes-enable-dra"},
       .variables = {"POD_NAME=notebook-0", "POD_NAMESPACE=dev"},
       .fault = {"fault", "api_forbidden"},
       .awaited = "answers 403",
       .sim_flags = {"--api-server"}},
  };
  std::ranges::move(KubeletCases(), std::back_inserter(cases));
  std::ranges::move(EngineCases(), std::back_inserter(cases));
  return cases;
}

// Puts what a case means in place of its words.
void Replace(std::string_view word, const std::string& meaning, std::string& flag) {
  if (const size_t at = flag.find(word); at != std::string::npos) {
    flag.replace(at, word.size(), meaning);
  }
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> LinesIn(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  lines.pop_back();
  return lines;
}

// The checks in verbose output, by id, with the lines below them.
std::map<std::string, std::vector<std::string>> ChecksIn(const std::string& text,
                                                         std::vector<std::string>& order) {
  std::map<std::string, std::vector<std::string>> checks;
  std::string id;
  for (const std::string_view line : LinesIn(text)) {
    std::string status;
    if (RE2::PartialMatch(line, R"(^  (ok|note|warn|fail|skip) +([a-z.]+) )", &status, &id)) {
      order.push_back(id);
      checks[id] = {status};
    } else if (line.starts_with("        ") && !id.empty()) {
      checks[id].emplace_back(Trim(line));
    }
  }
  return checks;
}

size_t LinesWith(const std::vector<std::string>& lines, std::string_view begin) {
  return static_cast<size_t>(std::ranges::count_if(
      lines, [begin](const std::string& line) { return line.starts_with(begin); }));
}

// Statement 6: plain characters, no long line, no forbidden word.
void ExpectPlain(const std::string& text) {
  for (const std::string_view line : LinesIn(text)) {
    EXPECT_LE(line.size(), kWidest) << line;
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
    EXPECT_FALSE(RE2::PartialMatch(line, R"((?i)\b(failed to|please|might)\b)")) << line;
    std::string plain(line);
    RE2::GlobalReplace(&plain, R"((uncorrectable|memory) errors?)", "");
    EXPECT_FALSE(RE2::PartialMatch(plain, R"((?i)\berror\b)")) << line;
  }
}

// Whether the node's /proc lacks processes that the driver lists: it follows a step of the clock a
// moment later than the simulated libraries.
bool ProcIsBehind(const std::string& text) {
  int listed = 0;
  int found = 0;
  return RE2::PartialMatch(text, R"(host PIDs visible: (\d+) GPU process(?:es)?, (\d+)\s+found)",
                           &listed, &found) &&
         listed != found;
}

// Runs the doctor on `tested` with more flags.
DoctorRun RunCase(const Case& tested, const std::vector<std::string>& more_flags = {}) {
  DoctorNode node(tested.scenario, tested.steps, tested.sim_flags);
  EXPECT_TRUE(node.ready());
  if (!tested.missing_file.empty()) {
    std::filesystem::remove(node.kernel().path() + tested.missing_file);
  }
  if (!tested.fault.empty()) {
    node.node().Command(tested.fault);
    node.node().Tick("+5s");
  }
  std::vector<std::string> flags = tested.flags;
  for (std::string& flag : flags) {
    Replace("OWN_PROC", node.own_proc(), flag);
    Replace("ENGINE", "unix://" + node.node().engine_socket(), flag);
    Replace("LIB", node.node().library(""), flag);
  }
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  constexpr int kMostRunsForProc = 100;
  DoctorRun run = node.Run(flags, tested.variables);
  for (int runs = 1; run.text.find(tested.awaited) == std::string::npos ||
                     (ProcIsBehind(run.text) && runs < kMostRunsForProc);
       ++runs) {
    run = node.Run(flags, tested.variables);
  }
  return run;
}

class DoctorScenarios : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(All, DoctorScenarios, ::testing::ValuesIn(Cases()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(DoctorScenarios, Statement6OutputIsTheGoldenOne) {
  const Case& tested = GetParam();
  const DoctorRun run = RunCase(tested);
  ExpectPlain(run.text);
  const std::string text = WithoutVolatile(run.text);
  const std::string path = std::string(kGolden) + tested.name + ".txt";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(kGolden);
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, ReadAll(path)) << "PODGPU_UPDATE_GOLDEN=1 writes it";
}

TEST_P(DoctorScenarios, Statements4And5EveryCheckIsThereAndEveryLossHasItsRemedy) {
  const DoctorRun run = RunCase(GetParam(), {"-v"});
  std::vector<std::string> order;
  const auto checks = ChecksIn(run.text, order);
  std::vector<std::string> ids;
  for (const Check& check : CheckTable()) {
    ids.emplace_back(check.id);
  }
  EXPECT_EQ(order, ids) << run.text;
  std::array<size_t, 5> counts{};
  ASSERT_TRUE(RE2::PartialMatch(run.text,
                                R"((\d+) ok, (\d+) note, (\d+) warn, (\d+) fail, (\d+) skipped in)",
                                &counts[0], &counts[1], &counts[2], &counts[3], &counts[4]))
      << run.text;
  EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3] + counts[4], ids.size());
  for (const auto& [id, lines] : checks) {
    if (lines.front() == "warn" || lines.front() == "fail") {
      EXPECT_EQ(LinesWith(lines, "do:"), 1U) << id << "\n" << run.text;
      EXPECT_GE(LinesWith(lines, "lose:"), 1U) << id << "\n" << run.text;
    }
  }
}

// Those that docs/doctor.md names below an id.  doctor_node_test shows another program that has the
// port, since its number differs from run to run, and another driver that has all GPUs.
TEST(DoctorDocument, EveryWarnAndFailIsReachedByAScenario) {
  std::set<std::string> reached = {"warn net.listen", "fail pci.devices"};
  for (const Case& tested : Cases()) {
    const std::string golden = ReadAll(std::string(kGolden) + tested.name + ".txt");
    for (const std::string_view line : LinesIn(golden)) {
      std::string status, id;
      if (RE2::PartialMatch(line, R"(^  (warn|fail)  ([a-z.]+) )", &status, &id)) {
        reached.insert(status + " " + id);
      }
    }
  }
  const std::string document = ReadAll("docs/doctor.md");
  std::string id;
  size_t named = 0;
  for (const std::string_view line : LinesIn(document)) {
    RE2::PartialMatch(line, R"re(<a id="([a-z.]+)"></a>)re", &id);
    for (const std::string status : {"warn", "fail"}) {
      if (!id.empty() && line.find("`" + status + "`") != std::string::npos) {
        ++named;
        EXPECT_TRUE(reached.contains(status + " " + id)) << status << " " << id;
      }
    }
  }
  EXPECT_GE(named, 18U);
}

TEST(DoctorDocument, Statement5EveryIdHasAnAnchor) {
  const std::string document = ReadAll("docs/doctor.md");
  size_t last = 0;
  for (const Check& check : CheckTable()) {
    const size_t at = document.find("<a id=\"" + std::string(check.id) + "\"></a>");
    ASSERT_NE(at, std::string::npos) << check.id;
    EXPECT_GT(at, last) << check.id << " stands in another order than in the table";
    last = at;
  }
  EXPECT_EQ(CheckTable().size(), 29U);
}

}  // namespace
}  // namespace podgpu
