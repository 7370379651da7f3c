// `podgpu top` on podgpu of a simulated node: all rows, sums, JSON, a dead engine.  The number in a
// test's name is that of a statement about what people see; tests/surfaces has the frames of
// faults.
#include <csignal>
#include <fstream>
#include <iterator>
#include <numeric>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/node_status.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr std::string_view kTopProgram = PODGPU_BINARY_DIR "/bin/podgpu";

std::string ShippedText(std::string_view name) {
  std::ifstream file(SimNode::Shipped(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

class TopOfANode : public FailureFixture {
 protected:
  explicit TopOfANode(const std::string& scenario = ShippedText("demo"))
      : FailureFixture(scenario, {"--api-server"}) {}

  void Start(const std::vector<std::string>& more_flags = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    std::vector<std::string> flags = {"-c=200",
                                      "--stale-after=4s",
                                      "--source=nvml",
                                      "--process-metrics=on",
                                      "--process-interval=200ms",
                                      "--proc-root=" + node_.directory() + "/proc"};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    exporter_.emplace(node_, flags, node_.LinesOf("api/env"));
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  void AwaitStatus(const std::function<bool(const NodeStatus&)>& holds) const {
    EXPECT_TRUE(exporter_->AwaitPage("/api/v1/status", [&](const std::string& json) {
      const auto status = ReadNodeStatus(json);
      return status.ok() && holds(*status);
    })) << exporter_->Get("/api/v1/status");
  }

  std::string Top(std::vector<std::string> words) const {
    words.insert(words.begin(), {std::string(kTopProgram), "top", exporter_->root()});
    Child child(words, {"LC_ALL=C.UTF-8", "TZ=UTC", "COLUMNS=120"});
    EXPECT_EQ(child.Wait(), 0) << child.output();
    return child.output();
  }
  // Asks until the frame has all `patterns`, since what the node says may change between two
  // requests.
  std::string AwaitFrame(const std::vector<std::string>& patterns) const {
    std::string frame;
    const auto lacks = [&frame](const std::string& pattern) {
      return !RE2::PartialMatch(frame, pattern);
    };
    exporter_->AwaitPage("/readyz", [&](const std::string& /*page*/) {
      frame = Top({"--once"});
      return std::ranges::none_of(patterns, lacks);
    });
    for (const std::string& pattern : patterns) {
      EXPECT_FALSE(lacks(pattern)) << pattern << "\n" << frame;
    }
    return frame;
  }
};

bool HasAllWatts(const NodeStatus& status) {
  return !status.gpus.empty() && !status.pods.empty() &&
         std::ranges::all_of(
             status.gpus, [](const StatusGpu& gpu) { return gpu.sm_active_ratio.has_value(); }) &&
         std::ranges::all_of(status.pods, [](const StatusPod& pod) {
           return pod.use.power_watts.has_value() &&
                  (pod.pod.empty() || pod.use.energy_joules.value_or(0) > 0);
         });
}

// The watts of the rows of the frame: of GPUs, and of pods with the unattributed row.
struct Watts {
  std::vector<double> of_gpus, of_pods;
};

Watts WattsIn(const std::string& frame) {
  static const RE2 gpu(R"(^[0-9]+ +[a-z]+ .* ([0-9]+)/700 )");
  static const RE2 pod(
      R"(^ (?:[a-z0-9-]+/|\(unattributed\)).* ~?([0-9]+) +~?(?:[0-9.]+ k?Wh|-)\s*$)");
  Watts watts;
  for (const std::string_view line : Split(frame, '\n')) {
    double value = 0;
    if (RE2::PartialMatch(line, gpu, &value)) {
      watts.of_gpus.push_back(value);
    } else if (RE2::PartialMatch(line, pod, &value)) {
      watts.of_pods.push_back(value);
    }
  }
  return watts;
}

double SumOfWatts(const std::vector<double>& watts) {
  return std::accumulate(watts.begin(), watts.end(), 0.0);
}

// Each row is rounded to a watt.
double RoundingOf(const Watts& watts) {
  return 0.5 * static_cast<double>(watts.of_gpus.size() + watts.of_pods.size());
}

TEST_F(TopOfANode, Statements14And15OnceHasAllRowsAndTheWattsOfPodsAddUp) {
  Start();
  AwaitStatus(HasAllWatts);
  // Instances are in the order of their numbers, and have a blank after a long one.  The pod that
  // has an instance alone has the activity of the instance.
  const std::string frame = AwaitFrame({"^podgpu top gpu-node-0  8 GPUs: 8 ok",
                                        R"((?s)\n6:2 +3g.*\n6:3 +2g.*\n6:9 +1g.*\n6:10 1g)",
                                        R"(\n vision/vision-batch-0 +6 +[0-9]+ +30\.0G +~)"});
  for (const char* const part :
       {"research/llama-train-0/trainer", "media/transcode-7c9d/worker", "4 owners, shared",
        "2 owners, MIG", "(free)", " search/embed-9b1e ", " search/rerank-2f60 ",
        " serving/chat-a-5d4f ", " serving/chat-b-77c2 ", " vision/vision-dev-0 ",
        " vision/vision-batch-0 ", " (unattributed) "}) {
    EXPECT_NE(frame.find(part), std::string::npos) << part << "\n" << frame;
  }
  const Watts watts = WattsIn(frame);
  EXPECT_EQ(watts.of_gpus.size(), 8U) << frame;
  EXPECT_EQ(watts.of_pods.size(), 12U) << frame;
  EXPECT_NEAR(SumOfWatts(watts.of_pods), SumOfWatts(watts.of_gpus), RoundingOf(watts)) << frame;
}

TEST_F(TopOfANode, AnInstanceHasNoPlotOfAnotherGpu) {
  Start();
  AwaitStatus(HasAllWatts);
  Child wide({std::string(kTopProgram), "top", exporter_->root(), "--once"},
             {"LC_ALL=C.UTF-8", "COLUMNS=170"});
  EXPECT_EQ(wide.Wait(), 0);
  EXPECT_TRUE(RE2::PartialMatch(wide.output(), "\n0 +ok .*[▁-█]")) << wide.output();
  EXPECT_TRUE(RE2::PartialMatch(wide.output(), R"(\n6:3  2g\.20gb +[0-9]+ {35,})"))
      << wide.output();
}

TEST_F(TopOfANode, JsonIsTheAnswerOfTheApi) {
  Start({"-c=3600000"});
  constexpr char kPath[] = "/api/v1/status?processes=1";
  ASSERT_TRUE(exporter_->Await(kPath, R"("pods":[)"));
  std::string before, json, after;
  do {  // A part of podgpu may get another state meanwhile.
    before = exporter_->Get(kPath);
    json = Top({"--json"});
    after = exporter_->Get(kPath);
  } while (before != after);
  EXPECT_EQ(json, before);
  EXPECT_TRUE(ReadNodeStatus(json).ok());
}

class TopOfARemoteEngine : public TopOfANode {
 protected:
  TopOfARemoteEngine() : TopOfANode(ShippedText("fault-engine")) {}
};

// The golden captures have no host engine, which is a process of its own.
TEST_F(TopOfARemoteEngine, ADeadEngineIsNamedAndItsValuesGo) {
  Start({"--source=dcgm", "--remote-hostengine-info=unix://" + node_.engine_socket()});
  AwaitStatus([](const NodeStatus& status) {
    return status.gpus.size() == 4 && status.gpus[0].power_watts.has_value();
  });
  ::kill(node_.engine_pid(), SIGKILL);
  const std::string frame =
      AwaitFrame({R"(4 GPUs: 4 unresp)", R"(\n0 +unresp +- .* ml/trainer-0/main +-\n)",
                  R"(\ndriver: .*engine\.sock)"});
  EXPECT_EQ(frame.find(" W\n"), std::string::npos) << frame;
}

}  // namespace
}  // namespace podgpu
