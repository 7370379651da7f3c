// Each bad input that a person can give at the start: one exact line, one exit code, nothing
// half-started.
#include <algorithm>
#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr std::string_view kProgram = PODGPU_BINARY_DIR "/bin/podgpu";

struct Ended {
  int exit_code;
  std::string output;
  bool operator==(const Ended&) const = default;
};
void PrintTo(const Ended& ended, std::ostream* out) {
  *out << "exit " << ended.exit_code << ", output:\n" << ended.output;
}

Ended RunPodgpu(std::vector<std::string> arguments,
                const std::vector<std::string>& variables = {}) {
  arguments.insert(arguments.begin(), std::string(kProgram));
  Child child(arguments, variables);
  const int exit_code = child.Wait();
  return {exit_code, child.output()};
}

TEST(BadInput, UnknownFlagsAreRefused) {
  EXPECT_EQ(
      RunPodgpu({"--adress=:1"}),
      (Ended{2, "podgpu: unknown flag \"--adress\"; nearest is --address. See podgpu --help\n"}));
}

TEST(BadInput, UnknownCommandsAreRefused) {
  EXPECT_EQ(
      RunPodgpu({"nodes"}),
      (Ended{2,
             "podgpu: unknown command \"nodes\"; the only one is \"node\". See podgpu --help\n"}));
}

TEST(BadInput, BadVariablesAreNamed) {
  EXPECT_EQ(
      RunPodgpu({}, {"DCGM_EXPORTER_INTERVAL=soon"}),
      (Ended{
          2,
          "podgpu: DCGM_EXPORTER_INTERVAL: \"soon\" is not a whole number. See podgpu --help\n"}));
}

TEST(BadInput, AnUnknownFieldNamesFileLineAndTheNearestName) {
  TemporaryFolder folder;
  const std::string path =
      folder.Write("counters.csv", "# ours\nDCGM_FI_DEV_GPU_TMP, gauge, temperature\n");
  EXPECT_EQ(RunPodgpu({"-f", path}),
            (Ended{2, "podgpu: " + path +
                          ":2: unknown field \"DCGM_FI_DEV_GPU_TMP\"; nearest "
                          "is DCGM_FI_DEV_GPU_TEMP. Correct the line\n"}));
}

TEST(BadInput, AnUnknownTypeNamesFileAndLine) {
  TemporaryFolder folder;
  const std::string path =
      folder.Write("counters.csv", "DCGM_FI_DEV_GPU_TEMP, gage, temperature\n");
  const Ended ended = RunPodgpu({"-f", path});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_TRUE(ended.output.starts_with("podgpu: " + path + ":1: ")) << ended.output;
  EXPECT_NE(ended.output.find("\"gage\""), std::string::npos) << ended.output;
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
}

TEST(BadInput, MalformedCsvNamesFileAndLine) {
  TemporaryFolder folder;
  const std::string path = folder.Write(
      "counters.csv", "DCGM_FI_DEV_GPU_TEMP, gauge, temperature\nDCGM_FI_DEV_GPU_UTIL, gauge\n");
  const Ended ended = RunPodgpu({"-f", path});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_TRUE(ended.output.starts_with("podgpu: " + path + ":2: ")) << ended.output;
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
}

TEST(BadInput, AnUnreadableFileIsNamed) {
  EXPECT_EQ(RunPodgpu({"-f", "/nowhere/counters.csv"}),
            (Ended{2,
                   "podgpu: counters file /nowhere/counters.csv: No such file or directory. "
                   "Correct --collectors "
                   "(-f)\n"}));
}

TEST(BadInput, ATakenPortNamesItsHolder) {
  Child holder({std::string(kProgram), "-a", "127.0.0.1:0", "--libdcgm=/nowhere/libdcgm.so.4"});
  const std::optional<std::string> line = holder.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(line.has_value()) << holder.output();
  const std::string port = line->substr(line->find("port=") + 5);
  const Ended ended = RunPodgpu({"-a", "127.0.0.1:" + port});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.output.find("podgpu: 127.0.0.1:" + port + " is taken by podgpu (pid " +
                              std::to_string(holder.pid()) + ")"),
            std::string::npos)
      << ended.output;
  EXPECT_NE(ended.output.find("--address"), std::string::npos) << ended.output;
}

TEST(BadInput, ABadAddressIsNamed) {
  const Ended ended = RunPodgpu({"-a", "nonsense"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.output.find("\"nonsense\""), std::string::npos) << ended.output;
}

TEST(GoodInput, HelpAndVersionEndWithZero) {
  EXPECT_EQ(RunPodgpu({"--help"}).exit_code, 0);
  EXPECT_EQ(RunPodgpu({"--version"}), (Ended{0, "podgpu version " PODGPU_VERSION "\n"}));
}

TEST(GoodInput, WithoutDriverAndKubeletItServesTheReasonAndStopsOnASignal) {
  Child child({std::string(kProgram), "node", "-k", "-a", "127.0.0.1:0",
               "--libdcgm=/nowhere/libdcgm.so.4",
               "--pod-resources-kubelet-socket=/nowhere/kubelet.sock"});
  const std::optional<std::string> line = child.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(line.has_value()) << child.output();
  const std::string root = "http://127.0.0.1:" + line->substr(line->find("port=") + 5);
  ASSERT_TRUE(child.AwaitLine("state=waiting").has_value());
  Child ready({"curl", "-sS", "-w", "%{http_code}", root + "/readyz"});
  EXPECT_EQ(ready.Wait(), 0);
  EXPECT_NE(ready.output().find("/nowhere/libdcgm.so.4"), std::string::npos) << ready.output();
  EXPECT_TRUE(ready.output().ends_with("503")) << ready.output();
  Child page({"curl", "-sSf", root + "/metrics"});
  EXPECT_EQ(page.Wait(), 0);
  EXPECT_NE(page.output().find("podgpu_ready 0\n"), std::string::npos);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(), 0) << child.output();
}

}  // namespace
}  // namespace podgpu
