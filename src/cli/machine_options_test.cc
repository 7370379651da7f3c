#include "cli/machine_options.h"

#include <map>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"

namespace podgpu {
namespace {

Environment EnvironmentFrom(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

TEST(MachineOptions, NamesTheNodeAndThePod) {
  const FakeFiles files;
  const Environment environment = EnvironmentFrom({{"NODE_NAME", "node-a"},
                                                   {"POD_NAME", "exporter-x"},
                                                   {"POD_NAMESPACE", "gpu-operator"},
                                                   {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}});
  NodeCommand command;
  ASSERT_TRUE(
      TakeMachine(command,
                  {.environment = environment, .hostname = "system", .pid = 7, .files = files})
          .ok());
  EXPECT_EQ(command.exporter.view.hostname, "node-a");
  EXPECT_EQ(command.exporter.node, "node-a");
  EXPECT_EQ(command.exporter.http.guard.own_names,
            (std::vector<std::string>{"system", "node-a", "exporter-x"}));
  EXPECT_EQ(command.exporter.join.ignored.own.name, "exporter-x");
  EXPECT_EQ(command.kubelet.own_pod.name_space, "gpu-operator");
  EXPECT_EQ(command.source.stale_after, StaleAfter(command.exporter));
}

TEST(MachineOptions, NamesTheNodeEvenWithoutTheHostnameLabel) {
  const FakeFiles files;
  const Environment environment = EnvironmentFrom({});
  NodeCommand command;
  command.no_hostname = true;
  ASSERT_TRUE(
      TakeMachine(command,
                  {.environment = environment, .hostname = "system", .pid = 7, .files = files})
          .ok());
  EXPECT_EQ(command.exporter.view.hostname, "");
  EXPECT_EQ(command.exporter.node, "system");
}

TEST(MachineOptions, RefusesAMissingSocketOfSystemd) {
  const FakeFiles files;
  const Environment environment = EnvironmentFrom({});
  NodeCommand command;
  command.systemd_socket = true;
  const Status status = TakeMachine(
      command, {.environment = environment, .hostname = "system", .pid = 7, .files = files});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(MachineOptions, GivesClusterRolesOnSeveralMachinesDifferentSeeds) {
  ClusterCommand one;
  ClusterCommand other;
  TakeMachine(one, "node-a");
  TakeMachine(other, "node-b");
  EXPECT_NE(one.cluster.poller.seed, other.cluster.poller.seed);
  EXPECT_EQ(one.cluster.nodes.api.seed, one.cluster.poller.seed);
  EXPECT_EQ(one.cluster.groups.seed, one.cluster.poller.seed);
}

}  // namespace
}  // namespace podgpu
