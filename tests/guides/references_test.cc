// The commands of all documents that are not guides, such as README.md and docs/api.md, are run: on
// the simulated node of the guides, or on one of their own when they start the simulator.
//
// A command that needs a cluster is checked like those of guides, an image's build against the
// Dockerfile; tests/documents_test.cc checks those of ./dev.
#include <algorithm>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "tests/e2e/child.h"
#include "tests/guides/cluster_model.h"
#include "tests/guides/guide.h"
#include "tests/guides/image_build.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

class References : public ::testing::TestWithParam<std::string> {
 protected:
  References() : guide_(ReadGuide(GetParam())), cluster_(guide_, nullptr) {
    cluster_.ForgetNames();
  }

  void RunOne(const Command& command) {
    SCOPED_TRACE(guide_.path + ":" + std::to_string(command.line) + ": " + command.text);
    std::vector<std::string> words = Words(command.text);
    // Variables come first, alone or as words of `env`.
    const RE2 is_variable(R"(env|[A-Z_]+=.*|\$\(cat|.*/env\))");
    words.erase(words.begin(), std::ranges::find_if_not(words, [&](const std::string& word) {
                  return RE2::FullMatch(word, is_variable);
                }));
    ASSERT_FALSE(words.empty());
    if (words.front().starts_with("./podgpu")) {
      words.front().erase(0, 2);
    }
    const std::string& program = words.front();
    if (program == "./dev") {
      return;
    }
    if (ClusterModel::Knows(program)) {
      const std::vector<std::string> inside = cluster_.Check(command);
      if (!inside.empty()) {
        RunPodgpu(inside);
      }
    } else if (program == "docker") {
      EXPECT_EQ(WrongBuild(words, Dockerfile()), "");
    } else if (program == "podgpu-sim") {
      RunSimulator(words);
    } else if (program == "curl") {
      Ask(command);
    } else {
      ASSERT_EQ(program, "podgpu") << "the test does not know this command";
      RunPodgpu(words);
    }
  }

  const Guide guide_;

 private:
  World& world() {
    if (world_ == nullptr) {
      world_ = std::make_unique<World>();
      world_->Start({"podgpu", {"-k", "--web-enable-control"}, {}});
    }
    return *world_;
  }

  // As it is written, but an error of the server is one of the command.  The simulated node has no
  // history.
  void Ask(const Command& command) {
    if (command.text.find(":9401") != std::string::npos && !world().has_cluster()) {
      world().Start({"podgpu",
                     {"cluster", "--nodes=gpu-node-0:9400",
                      "--in-use-prometheus=http://prometheus.monitoring:9090"},
                     {}});
    }
    std::string text = command.text;
    if (text.find("/history") == text.npos) {
      RE2::Replace(&text, "^curl ", "curl --fail ");
    }
    world().Run(guide_.path, {command.line, text, {}});
  }

  void RunPodgpu(std::vector<std::string> words) {
    const std::string role = words.size() > 1 ? words[1] : "";
    if (role == "top") {
      RunTop(words);
    } else if (role == "doctor") {
      world().Run(guide_.path, {1, Joined(words) + " || [ $? -eq 1 ]", {}});  // 1: with a `warn`.
    } else if (ProgramOf(words)->ServesAnApiServer()) {
      // The tests of the metrics APIs start it.
      const auto parsed =
          ParseClusterFlags(std::span(words).subspan(2), [](const std::string& variable) {
            return variable.starts_with("KUBERNETES_SERVICE_") ? std::optional<std::string>("443")
                                                               : std::nullopt;
          });
      EXPECT_TRUE(parsed.ok()) << parsed.status();
    } else if (const Program program = *ProgramOf(words); program.EndsAtOnce()) {
      world().Run(guide_.path, {1, Joined(words), {}});
    } else {
      Program moved = program;
      for (std::string& argument : moved.arguments) {
        RE2::Replace(&argument, "build/run", world().node_directory());
        RE2::Replace(&argument, R"(^127\.0\.0\.1:5555$)", "localhost:5555");
      }
      world().Start(moved);
    }
  }

  // Asks the programs that run here, whatever host the document names.
  void RunTop(const std::vector<std::string>& words) {
    const bool is_fleet = std::ranges::find(words, "--fleet") != words.end();
    if (is_fleet && !world().has_cluster()) {
      world().Start({"podgpu", {"cluster", "--nodes=gpu-node-0:9400"}, {}});
    }
    std::string text;
    for (const std::string& word : words) {
      text += word.find("://") == word.npos ? word + " " : "";
    }
    text += "http://127.0.0.1:" + std::to_string(world().RealPort(is_fleet ? 9401 : 9400));
    world().Run(guide_.path, {1, text, {}});
  }

  // A node or a fleet is one of its own, on free ports; the other commands act on the world's node.
  void RunSimulator(std::vector<std::string> words) {
    if (words.at(1) != "run" && words[1] != "fleet") {
      world().Run(guide_.path, {1, Joined(words), {}});
      return;
    }
    for (std::string& word : words) {
      RE2::Replace(&word, R"(^(/tmp/node|build/run)$)", folder_.path() + "/own");
      RE2::Replace(&word, R"(^build/nodes$)", folder_.path() + "/nodes");
      RE2::Replace(&word, R"(^node\.yaml$)", SimNode::Shipped("one-gpu"));
      RE2::Replace(&word, R"(^sim/scenarios/)", "sim/scenarios/");
      word = word == "podgpu" ? PODGPU_BINARY_DIR "/bin/podgpu" : word;
    }
    words.front() = PODGPU_BINARY_DIR "/bin/podgpu-sim";
    const bool has_program = std::ranges::find(words, "--") != words.end();
    words.insert(words.begin() + 2, words[1] == "run" ? "--engine-tcp=127.0.0.1:0" : "--port=0");
    if (has_program) {
      words.insert(words.begin() + 2, "--dir=" + folder_.path() + "/own");
    }
    Child simulator(words);
    if (has_program) {
      EXPECT_EQ(simulator.Wait(), 0) << simulator.output();
    } else {
      EXPECT_TRUE(simulator.AwaitLine("Ctrl-C ends it").has_value()) << simulator.output();
    }
  }

  static std::string Joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
      text += (text.empty() ? "" : " ") + word;
    }
    return text;
  }

  ClusterModel cluster_;
  const TemporaryFolder folder_;
  std::unique_ptr<World> world_;
};

INSTANTIATE_TEST_SUITE_P(Docs, References, ::testing::ValuesIn(ReferencePaths()),
                         [](const auto& path) { return TestNameOf(path.param); });

TEST_P(References, Statement39EachCommandRuns) {
  for (const Command& command : guide_.Commands()) {
    RunOne(command);
  }
}

}  // namespace
}  // namespace podgpu::guides
