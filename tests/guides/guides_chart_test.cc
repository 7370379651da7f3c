// The helm, kubectl and oc commands of the guides, with the real Helm: what they install is
// rendered, and each name, port and label in the other commands is one of a rendered object.
//
// The program in a rendered pod starts on a simulated node, so that its arguments and variables are
// those that podgpu accepts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"
#include "tests/guides/cluster_model.h"
#include "tests/guides/guide.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

// Kinds that the operators of a cluster add; the chart makes such objects only where they exist.
const std::vector<std::string> kOperators = {
    "--api-versions", "monitoring.coreos.com/v1",
    "--api-versions", "monitoring.coreos.com/v1/ServiceMonitor",
    "--api-versions", "security.openshift.io/v1",
    "--api-versions", "route.openshift.io/v1",
    "--api-versions", "route.openshift.io/v1/Route"};

// The objects that Helm renders; a failure of Helm fails the running test.
std::string Render(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string errors = folder.path() + "/errors";
  std::vector<std::string> words = {"sh", "-c", "exec \"$0\" \"$@\" 2>" + errors, PODGPU_HELM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), kOperators.begin(), kOperators.end());
  Child helm(words);
  const int exit_code = helm.Wait();
  std::ifstream file(errors);
  EXPECT_EQ(exit_code, 0) << std::string(std::istreambuf_iterator<char>(file), {});
  return exit_code == 0 ? helm.output() : "";
}

class GuidesWithHelm : public ::testing::TestWithParam<std::string> {
 protected:
  GuidesWithHelm() : guide_(ReadGuide(GetParam())), cluster_(guide_, Render) {}

  const Guide guide_;
  ClusterModel cluster_;
};

// The guides, and the other documents that install the chart.
std::vector<std::string> PathsWithHelm() {
  std::vector<std::string> paths = GuidePaths();
  for (const std::string& path : ReferencePaths()) {
    for (const Command& command : ReadGuide(path).Commands()) {
      if (command.text.starts_with("helm ") && std::ranges::find(paths, path) == paths.end()) {
        paths.push_back(path);
      }
    }
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Docs, GuidesWithHelm, ::testing::ValuesIn(PathsWithHelm()),
                         [](const auto& path) { return TestNameOf(path.param); });

TEST_P(GuidesWithHelm, NamesOnlyRenderedObjects) {
  std::vector<Program> started;
  for (const Command& command : guide_.Commands()) {
    const std::vector<std::string> words = Words(command.text);
    if (words.empty() || !ClusterModel::Knows(words.front())) {
      continue;
    }
    cluster_.Check(command);
    for (const Object& object : cluster_.objects()) {
      for (const Program& program : ProgramsOf(object.content)) {
        if (std::ranges::find(started, program) == started.end()) {
          started.push_back(program);
        }
      }
    }
  }
  World world;
  for (const Program& program : started) {
    if (program.ServesAnApiServer()) {
      continue;  // The tests of the metrics APIs start it.
    }
    SCOPED_TRACE(guide_.path);
    world.Start(program);
  }
}

}  // namespace
}  // namespace podgpu::guides
