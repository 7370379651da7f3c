// The readers of guides, and the checks of their commands: each mistake in a guide fails its test.
#include "tests/guides/guide.h"

#include <algorithm>
#include <iterator>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/guides/cluster_model.h"
#include "tests/guides/image_build.h"
#include "tests/guides/namespaces.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

constexpr const char* kObjects = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: podgpu, namespace: gpu}
spec:
  template:
    metadata: {labels: {app: podgpu}}
    spec:
      containers:
        - image: registry.example.com/podgpu:0.1.0
          command: [/usr/bin/my-gpu-exporter]
          args: [--log-level=info]
          env: [{name: NODE_NAME, value: a}]
          ports: [{containerPort: 9400}]
---
apiVersion: v1
kind: Service
metadata: {name: podgpu, namespace: gpu}
spec: {ports: [{port: 9400}]}
)";

Guide GuideOf(const std::string& commands) {
  Guide guide{"a guide", "", {}};
  guide.blocks.push_back({"sh", 1, {commands}});
  guide.blocks.push_back({"yaml", 5, {"# all.yaml", kObjects}});
  return guide;
}

// Checks `command` after the objects above were applied.
void CheckAfterApply(const std::string& command) {
  const Guide guide = GuideOf("kubectl apply -f all.yaml");
  ClusterModel cluster(guide, nullptr);
  cluster.Check(guide.Commands().front());
  cluster.Check({7, command, {}});
}

TEST(Guide, SplitsWordsAsAShellDoes) {
  EXPECT_EQ(Words(R"(curl -s 'a b' "c \"d\"" e\ f  # why)"),
            (std::vector<std::string>{"curl", "-s", "a b", "c \"d\"", "e f"}));
  EXPECT_EQ(Words("curl a#b"), (std::vector<std::string>{"curl", "a#b"}));
}

TEST(Guide, JoinsContinuedLinesAndSkipsComments) {
  Guide guide{"a guide", "", {}};
  guide.blocks.push_back({"sh", 4, {"# first", "podgpu \\", "  -k", "curl x"}});
  guide.blocks.push_back({"text", 10, {"a ..."}});
  const std::vector<Command> commands = guide.Commands();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].text, "podgpu   -k");
  EXPECT_EQ(commands[0].line, 6);
  EXPECT_EQ(commands[1].shown, std::vector<std::string>{"a ..."});
}

TEST(Guide, ComparesLinesInOrderWithGaps) {
  EXPECT_TRUE(Shows("x\na{gpu=\"0\",pod=\"p\"} 5\nb 1\n", {"a{...pod=\"p\"} ...", "b 1"}));
  EXPECT_FALSE(Shows("b 1\na 1\n", {"a 1", "b 1"}));
  EXPECT_FALSE(Shows("a 12\n", {"a 1"}));
  EXPECT_FALSE(Shows("a{pod=\"q\"} 1\n", {"a{...pod=\"p\"} ..."}));
}

TEST(Guide, AppliesAChange) {
  const Block diff{"diff", 1, {" image: x", "-a: 1", "+a: 2", "+b: 3"}};
  EXPECT_EQ(AfterChange(diff), "image: x\na: 2\nb: 3\n");
}

TEST(Guide, ReadsTheNamesOfAColumn) {
  const Guide guide{"a guide",
                    "| old | with podgpu |\n|---|---|\n| `a` | `b`, or `c{x=\"1\\|2\"}` |\n\n"
                    "| old | new |\n|---|---|\n| `d` | `e` |\n",
                    {}};
  EXPECT_EQ(NamesInColumn(guide, "with podgpu"), (std::vector<std::string>{"b", "c{x=\"1|2\"}"}));
}

TEST(Guide, FindsTheProgramsOfAManifestAndOfCommands) {
  const std::vector<Program> programs = ProgramsOf(Documents(kObjects, "here").front());
  ASSERT_EQ(programs.size(), 1U);
  EXPECT_EQ(programs[0].name, "my-gpu-exporter");
  EXPECT_EQ(programs[0].arguments, std::vector<std::string>{"--log-level=info"});
  EXPECT_EQ(programs[0].variables, std::vector<std::string>{"NODE_NAME=a"});
  const auto docker = ProgramOf(Words("docker run -d -p 9400:9400 a.example/podgpu:1 -r x"));
  ASSERT_TRUE(docker.has_value());
  EXPECT_EQ(docker->arguments, (std::vector<std::string>{"-r", "x"}));
  EXPECT_FALSE(ProgramOf(Words("docker run other")).has_value());
  EXPECT_FALSE(ProgramOf(Words("make")).has_value());
}

TEST(Guide, AcceptsCommandsThatFitTheObjects) {
  CheckAfterApply("kubectl -n gpu rollout status ds/podgpu");
  CheckAfterApply("kubectl -n gpu port-forward svc/podgpu 9400");
  CheckAfterApply("kubectl -n gpu port-forward ds/podgpu 8080:9400");
  CheckAfterApply("kubectl -n gpu get pods -l app=podgpu");
  CheckAfterApply("kubectl -n gpu exec ds/podgpu -- podgpu --version");
}

TEST(Guide, RefusesCommandsThatDoNotFitTheObjects) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"kubectl -n gpu rollout status ds/other", "no daemonset other"},
      {"kubectl -n default rollout status ds/podgpu", "no daemonset podgpu"},
      {"kubectl -n gpu port-forward svc/podgpu 9401", "has no port 9401"},
      {"kubectl -n gpu get pods -l app=other", "no object has the labels"},
      {"kubectl -n gpu frobnicate ds/podgpu", "does not know this command"},
      {"kubectl -n gpu get gadget/podgpu", "unknown kind gadget"},
      {"kubectl apply -f missing.yaml", "no file missing.yaml"},
      {"kubectl -n gpu get ds/podgpu --wat", "unknown flag --wat"},
      {"kubectl patch clusterpolicy cluster-policy --type merge "
       R"(-p '{"spec":{"dcgmExporter":{"x":1}}}')",
       "has no dcgmExporter.x"},
      {"helm uninstall other -n gpu", "no release other"}};
  for (const auto& [command, why] : wrong) {
    ::testing::TestPartResultArray results;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      CheckAfterApply(command);
    }
    ASSERT_GE(results.size(), 1) << command;
    EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find(why), std::string::npos)
        << command << ": " << results.GetTestPartResult(0).message();
  }
}

TEST(ImageBuild, NeedsAStageAndArgumentsOfTheDockerfile) {
  const std::string file = "ARG BASE=a\nARG DCGM=b\nFROM a AS image\nFROM image AS podgpu-dcgm\n";
  const std::string last = file + "FROM image AS podgpu\n";
  const auto wrong = [](const std::string& line, const std::string& dockerfile) {
    return WrongBuild(Words(line), dockerfile);
  };
  EXPECT_EQ(wrong("docker build -t a.example/podgpu:1 .", last), "");
  EXPECT_EQ(wrong("docker build --target podgpu-dcgm --build-arg DCGM=x --tag y .", last), "");
  EXPECT_EQ(wrong("docker build -t podgpu .", file),
            "without --target the last stage is built, which is podgpu-dcgm, not podgpu\n");
  EXPECT_EQ(wrong("docker build --target other .", last), "the Dockerfile has no stage other\n");
  EXPECT_EQ(wrong("docker build --build-arg SIZE=1 .", last),
            "the Dockerfile has no argument SIZE\n");
  EXPECT_EQ(wrong("docker build -t podgpu", last), "is not `docker build ... .`\n");
}

TEST(Namespaces, NeedTheirPodSecurityLabelInTheNextCommand) {
  const std::string label = "label namespace gpu pod-security.kubernetes.io/enforce=privileged";
  const auto without = [](std::vector<std::string> commands) {
    Guide guide{"a guide", "", {}};
    guide.blocks.push_back({"sh", 1, std::move(commands)});
    return NamespacesWithoutLabel(guide);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(without({"kubectl create namespace gpu", "kubectl " + label, "kubectl get pods"}),
            Lines{});
  EXPECT_EQ(without({"oc new-project gpu", "oc " + label}), Lines{});
  EXPECT_EQ(without({"oc new-project gpu", "oc get pods", "oc " + label}),
            Lines{"a guide:2: oc new-project gpu"});
  EXPECT_EQ(without({"kubectl create ns other", "kubectl " + label}),
            Lines{"a guide:2: kubectl create ns other"});
  EXPECT_EQ(without({"helm install a b -n gpu --create-namespace"}),
            Lines{"a guide:2: helm install a b -n gpu --create-namespace"});
}

TEST(Namespaces, AllOfTheDocumentsHaveTheirPodSecurityLabel) {
  std::vector<std::string> paths = GuidePaths();
  std::ranges::move(ReferencePaths(), std::back_inserter(paths));
  for (const std::string& path : paths) {
    EXPECT_EQ(NamespacesWithoutLabel(ReadGuide(path)), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace podgpu::guides
