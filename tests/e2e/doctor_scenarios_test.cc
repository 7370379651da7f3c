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

constexpr std::string_view kGolden = PODGPU_SOURCE_DIR "/tests/golden/doctor/";
constexpr size_t kWidest = 100;
constexpr std::string_view kOwnProc = "OWN_PROC";  // In a flag: the folder of that name.

// A scenario at a time, with further flags and variables of the exporter.
struct Case {
  std::string name;
  std::string scenario;
  std::vector<std::string> steps = {"10s"};
  std::vector<std::string> flags = {};
  std::vector<std::string> variables = {};
};

std::vector<Case> Cases() {
  const std::vector<std::string> in_pod = {"KUBERNETES_SERVICE_HOST=127.0.0.1", "POD_NAME=podgpu-x",
                                           "POD_NAMESPACE=gpu", "NODE_NAME=gpu-node-0"};
  return {
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
      {"fault-kubelet-down", "fault-kubelet", {"165s"}},
      {"fault-kubelet-denied", "fault-kubelet", {"125s"}},
      {"fault-kubelet-garbage", "fault-kubelet", {"105s"}},
      {"fault-kubelet-rate-limited", "fault-kubelet", {"145s"}},
      {"fault-kubelet-old", "fault-kubelet", {"65s"}},
      {"processes", "demo", {"10s"}, {"--process-metrics"}, {"PODGPU_ENABLE_ACCOUNTING=true"}},
      {"own-pod-missing", "demo", {"10s"}, {"--kubernetes-enable-pod-uid"}, in_pod},
      {"no-library", "one-gpu", {"10s"}, {"--libnvidia-ml=/nowhere/libnvidia-ml.so.1"}},
      {"gpu-operator",
       "h100x8-pods",
       {"10s"},
       {"--process-metrics", "--proc-root=" + std::string(kOwnProc)}},
      {"laptop", "no-gpu", {"10s"}, {"-k=false"}},
      {"bad-counters", "one-gpu", {"10s"}, {"--collectors=/nowhere/counters.csv"}},
  };
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

// Runs the doctor on `tested` with more flags.
DoctorRun RunCase(const Case& tested, const std::vector<std::string>& more_flags = {}) {
  const DoctorNode node(tested.scenario, tested.steps);
  EXPECT_TRUE(node.ready());
  std::vector<std::string> flags = tested.flags;
  for (std::string& flag : flags) {
    if (const size_t at = flag.find(kOwnProc); at != std::string::npos) {
      flag.replace(at, kOwnProc.size(), node.own_proc());
    }
  }
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  return node.Run(flags, tested.variables);
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

TEST(DoctorDocument, Statement5EveryIdHasAnAnchor) {
  const std::string document = ReadAll(PODGPU_SOURCE_DIR "/docs/doctor.md");
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
