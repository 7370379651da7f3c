// The readers of documents, and the check of those commands that no test runs: each mistake in a
// document fails its test.
#include "tests/guides/guide.h"

#include <gtest/gtest.h>

#include "tests/guides/unrun.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

TEST(Guide, SplitsWordsAsAShellDoes) {
  EXPECT_EQ(Words(R"(curl -s 'a b' "c \"d\"" e\ f  # why)"),
            (std::vector<std::string>{"curl", "-s", "a b", "c \"d\"", "e f"}));
  EXPECT_EQ(Words("curl a#b ''"), (std::vector<std::string>{"curl", "a#b", ""}));
}

TEST(Guide, JoinsContinuedLinesAndSkipsComments) {
  const Guide guide{
      "docs/install-kubernetes.md",
      "",
      {{"sh", 4, {"# first", "podgpu \\", "  -k", "curl x"}}, {"text", 10, {"a ..."}}}};
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
  std::vector<YamlError> errors;
  const std::vector<Program> programs = ProgramsOf(ReadYaml(
      "containers:\n  - image: registry.example.com/podgpu:0.1.0\n    command: [my-gpu-exporter]\n"
      "    args: [--log-level=info]\n    env: [{name: NODE_NAME, value: a}]\n  - image: other\n",
      errors));
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

TEST(Unrun, FindsEachFault) {
  const std::string label = "label namespace gpu pod-security.kubernetes.io/enforce=privileged";
  const struct {
    std::vector<std::string> commands;
    std::string fault;  // Of the first command; "" if it has none.
  } rows[] = {
      {{"kubectl -n gpu rollout status ds/podgpu"}, ""},
      {{"kubectl -n gpu port-forward svc/podgpu 8080:9400"}, ""},
      {{"kubectl -n gpu exec ds/podgpu -- podgpu --version"}, ""},
      {{"kubectl apply -f mine.yaml -f deploy/manifests/pod-gpu-map"}, ""},
      {{"helm upgrade --install podgpu deploy/helm/podgpu -n gpu --set a=b"}, ""},
      {{"kubectl create namespace gpu", "kubectl " + label}, ""},
      {{"oc new-project gpu", "oc " + label}, ""},
      {{"docker build --target podgpu-dcgm --build-arg DCGM=x --tag y ."}, ""},
      {{"kubectl -n gpu rollout status ds/other"}, "unknown other"},
      {{"kubectl -n gqu rollout status ds/podgpu"}, "unknown gqu"},
      {{"helm uninstall other -n gpu"}, "unknown other"},
      {{"kubectl -n gpu port-forward svc/podgpu 9402"}, "unknown 9402"},
      {{"kubectl -n gpu port-forward svc/podgpu-cluster 9400"}, "unknown 9400"},
      {{"kubectl -n gpu get route other"}, "unknown other"},
      {{"kubectl -n gpu get pods -l app=other"}, "unknown other"},
      {{"kubectl -n gpu frobnicate ds/podgpu"}, "unknown frobnicate"},
      {{"kubectl -n gpu get gadget/podgpu"}, "unknown gadget"},
      {{"helm install podgpu deploy/helm/pod -n gpu"}, "unknown deploy/helm/pod"},
      {{"kubectl apply -f missing.yaml"}, "unknown missing.yaml"},
      {{"kubectl -n gpu get ds/podgpu --wat"}, "unknown --wat"},
      {{R"(kubectl patch clusterpolicy podgpu -p '{"spec":{"dcgmExporter":{"x":1}}}')"},
       "unknown x"},
      {{"oc new-project gpu", "oc get pods", "oc " + label}, "the next command does not set"},
      {{"kubectl create namespace podgpu", "kubectl " + label}, "the next command does not set"},
      {{"helm install podgpu deploy/helm/podgpu -n gpu --create-namespace"}, "unknown --create"},
      {{"docker build --target other ."}, "no stage other"},
      {{"docker build --build-arg SIZE=1 ."}, "no argument SIZE"},
      {{"docker build -t podgpu"}, "is not `docker build"},
  };
  for (const auto& row : rows) {
    const Guide guide{
        "a guide", "gpu gpu", {{"sh", 1, row.commands}, {"yaml", 9, {"# mine.yaml"}}}};
    const std::vector<std::string> faults = FaultsOfUnrun(guide);
    EXPECT_EQ(faults.size(), row.fault.empty() ? 0U : 1U) << row.commands[0];
    for (const std::string& fault : faults) {
      EXPECT_TRUE(fault.starts_with("a guide:2: ") && fault.find(row.fault) != fault.npos) << fault;
    }
  }
}

TEST(Unrun, ABuildWithoutTargetMakesTheLastStage) {
  const std::string dockerfile = "ARG A=a\nFROM a AS podgpu\nFROM a AS podgpu-dcgm\n";
  EXPECT_EQ(FaultOfBuild(Words("docker build -t podgpu ."), dockerfile),
            "the Dockerfile's last stage is not podgpu; ");
  EXPECT_EQ(FaultOfBuild(Words("docker build --target podgpu ."), dockerfile), "");
}

TEST(Unrun, NoDocumentHasAFault) {
  for (const std::string& path : DocumentPaths()) {
    EXPECT_EQ(FaultsOfUnrun(ReadGuide(path)), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace podgpu::guides
