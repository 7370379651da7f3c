#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

constexpr char kPodsAt[] = "--kubelet-pods-url=https://10.0.0.7:10250/pods";

StatusOr<NodeCommand> ParsePodsFlags(const std::vector<std::string>& arguments,
                                     const std::string& url = "") {
  return ParseFlags(arguments, [&](const std::string& name) {
    return name == "PODGPU_KUBELET_PODS_URL" && !url.empty() ? std::optional(url) : std::nullopt;
  });
}

TEST(KubeletPodsFlags, SetTheAddressOfTheKubeletsPodList) {
  EXPECT_FALSE(ParsePodsFlags({}).value().exporter.kubelet_pods.has_value());
  const NodeCommand command =
      ParsePodsFlags({"--service-account-dir=/x"}, "https://10.0.0.7/pods").value();
  ASSERT_TRUE(command.exporter.kubelet_pods.has_value());
  EXPECT_EQ(command.exporter.kubelet_pods->server.host, "10.0.0.7");
  EXPECT_EQ(command.exporter.kubelet_pods->server.port, "10250");
  EXPECT_EQ(command.exporter.kubelet_pods->server.token_path, "/x/token");
  EXPECT_TRUE(command.exporter.kubelet_pods->server.verifies);
  EXPECT_FALSE(ParsePodsFlags({"--kubelet-pods-url="}, "https://10.0.0.7/pods")
                   ->exporter.kubelet_pods.has_value())
      << "the command line turns it off";
  EXPECT_FALSE(ParsePodsFlags({kPodsAt, "--kubelet-pods-insecure-skip-tls-verify"})
                   ->exporter.kubelet_pods->server.verifies);
}

TEST(KubeletPodsFlags, RefuseAnInvalidAddressAndNameTheFlag) {
  const Status status = ParsePodsFlags({"--kubelet-pods-url=http://10.0.0.7:10255/pods"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part : {"kubelet-pods-url", "it must begin with https://"}) {
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos) << status;
  }
}

TEST(KubeletPodsFlags, WarnAboutMissingEffectAndAboutTheToken) {
  const auto warnings = [](std::vector<std::string> arguments) {
    return FlagWarnings(ParsePodsFlags(arguments).value());
  };
  EXPECT_TRUE(warnings({"-k", "--process-metrics=on", kPodsAt}).empty());
  EXPECT_TRUE(warnings({"-k", "--kubernetes-enable-pod-uid", kPodsAt}).empty());
  EXPECT_EQ(warnings({"-k", kPodsAt}).size(), 1U);
  EXPECT_EQ(warnings({"--process-metrics=on", kPodsAt}).size(), 1U);
  EXPECT_EQ(warnings({"--kubelet-pods-insecure-skip-tls-verify"}).size(), 1U);
  const auto open =
      warnings({"-k", "--process-metrics=on", kPodsAt, "--kubelet-pods-insecure-skip-tls-verify"});
  ASSERT_EQ(open.size(), 1U);
  EXPECT_NE(open[0].find("gets the token of the service account"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
