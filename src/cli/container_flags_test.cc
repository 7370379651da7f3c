// Labels of containers outside Kubernetes: a socket is needed, and settings without effect are
// named.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

constexpr char kSocket[] = "--container-runtime-socket=/run/docker.sock";

StatusOr<NodeCommand> ParseContainerFlags(const std::vector<std::string>& arguments) {
  return ParseFlags(arguments, [](const std::string&) { return std::nullopt; });
}

TEST(ContainerFlags, NameTheSocketOfTheRuntime) {
  EXPECT_EQ(ParseContainerFlags({"--container-labels", kSocket})->exporter.container_socket,
            "/run/docker.sock");
  EXPECT_EQ(
      ParseContainerFlags({"--container-labels", "--container-runtime-socket=unix:///run/p.sock"})
          ->exporter.container_socket,
      "/run/p.sock");
  const auto by_variables = ParseFlags({}, [](const std::string& name) {
    return name == "DCGM_EXPORTER_CONTAINER_LABELS"  ? std::optional<std::string>("true")
           : name == "DCGM_CONTAINER_RUNTIME_SOCKET" ? std::optional<std::string>("/d.sock")
                                                     : std::nullopt;
  });
  EXPECT_EQ(by_variables->exporter.container_socket, "/d.sock");
}

TEST(ContainerFlags, RefuseTheLabelsWithoutASocketAndOtherPaths) {
  EXPECT_EQ(ParseContainerFlags({"--container-labels"}).status().message(),
            "--container-labels requires --container-runtime-socket (or "
            "DCGM_CONTAINER_RUNTIME_SOCKET), for example /var/run/docker.sock. Add it or remove "
            "--container-labels");
  for (const std::string& wrong : {std::string("docker.sock"), "/" + std::string(107, 'x')}) {
    const Status status =
        ParseContainerFlags({"--container-labels", "--container-runtime-socket=" + wrong}).status();
    EXPECT_NE(std::string(status.message()).find("must be the path of a Unix socket"),
              std::string::npos)
        << status;
  }
}

TEST(ContainerFlags, HaveNoEffectInKubernetesAndWithoutTheOther) {
  const struct {
    std::vector<std::string> flags;
    std::string warning;
  } rows[] = {
      {{"--container-labels", "-k"},
       "--container-labels has no effect with --kubernetes (-k): the kubelet names the containers"},
      {{kSocket}, "--container-runtime-socket has no effect without --container-labels"},
  };
  for (const auto& row : rows) {
    const auto command = ParseContainerFlags(row.flags);
    ASSERT_TRUE(command.ok()) << command.status();
    EXPECT_EQ(command->exporter.container_socket, "");
    EXPECT_EQ(FlagWarnings(*command), std::vector<std::string>{row.warning});
  }
}

TEST(ContainerFlags, WarnWhereTheEngineMayBeOnAnotherMachine) {
  const auto command = ParseContainerFlags({"--container-labels", kSocket, "-r=dcgm:5555"});
  EXPECT_EQ(command->exporter.container_socket, "/run/docker.sock");
  EXPECT_EQ(FlagWarnings(*command),
            std::vector<std::string>{
                "--container-labels gives the rows of the engine that --remote-hostengine-info "
                "names the containers of this machine: right only if the engine runs here too, as "
                "in a container"});
}

}  // namespace
}  // namespace podgpu
