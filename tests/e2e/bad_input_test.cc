// Each invalid input at the start: one exact line, one exit code, and nothing is left running.
#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr std::string_view kProgram = PODGPU_BINARY_DIR "/bin/podgpu";

constexpr std::string_view kCounters = "deploy/default-counters.csv";

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

// One of each kind; the rooms have the others.
TEST(BadInput, IsRefusedInOneLine) {
  struct Case {
    std::vector<std::string> arguments, variables;
    std::string line;
  };
  for (const Case& row : {
           Case{{"--adress=:1"},
                {},
                "unknown flag \"--adress\"; nearest is --address. See podgpu --help"},
           {{"nodes"},
            {},
            "unknown command \"nodes\"; nearest is \"node\"; there are \"node\", \"cluster\", "
            "\"doctor\", \"top\", \"completion\", \"version\". See podgpu --help"},
           {{},
            {"DCGM_EXPORTER_INTERVAL=soon"},
            "DCGM_EXPORTER_INTERVAL: \"soon\" is not milliseconds such as 5000, or a duration such "
            "as 5s. See podgpu --help"},
           {{"--textfile-interval=99"},
            {},
            "--textfile-interval: \"99\" is refused: must be 100 to 3600000 milliseconds, or as "
            "long a duration such as 5s"},
           {{"--validate", "--kubernetes-pod-label-allowlist-regex=^team$,[a-"},
            {},
            "--kubernetes-pod-label-allowlist-regex: \"[a-\" is not a regular expression of RE2: "
            "missing ]: [a-. Correct it (a comma begins the next pattern), or remove the flag to "
            "show all labels"},
           {{"-f", "/nowhere/counters.csv"},
            {},
            "counters file /nowhere/counters.csv: No such file or directory. Correct --collectors "
            "(-f)"},
           {{"-f", std::string(kCounters), "-a", "nonsense"},
            {},
            "address \"nonsense\" has no port. Write HOST:PORT, [V6]:PORT, :PORT or unix:/PATH, "
            "such as :9400"},
       }) {
    EXPECT_EQ(RunPodgpu(row.arguments, row.variables), (Ended{2, "podgpu: " + row.line + "\n"}));
  }
  EXPECT_EQ(RunPodgpu({"--textfile-interval=100", "--version"}).exit_code, 0);
}

// Asks a real shell for its completions.
TEST(Completion, BashOffersFlagsCommandsAndShells) {
  const auto offers = [](const std::string& words, int at) {
    Child bash({"bash", "-c",
                "source <(" + std::string(kProgram) + " completion bash) && COMP_WORDS=(" + words +
                    ") && COMP_CWORD=" + std::to_string(at) +
                    " && _podgpu && printf '%s\\n' \"${COMPREPLY[@]}\""});
    EXPECT_EQ(bash.Wait(), 0) << bash.output();
    return bash.output();
  };
  EXPECT_EQ(offers("podgpu --coll", 1), "--collect-interval\n--collectors\n");
  EXPECT_EQ(offers("podgpu node --configm", 2), "--configmap-data\n");
  EXPECT_EQ(offers("podgpu comp", 1), "completion\n");
  EXPECT_EQ(offers("podgpu completion ''", 2), "bash\nzsh\nfish\n");
  EXPECT_EQ(RunPodgpu({"completion", "tcsh"}).exit_code, 2);
  EXPECT_EQ(RunPodgpu({"completion"}).exit_code, 2);
}

TEST(BadInput, Statement37AnUnknownFieldNamesFileLineAndTheNearestName) {
  TemporaryFolder folder;
  const std::string path =
      folder.Write("counters.csv", "# ours\nDCGM_FI_DEV_GPU_TMP, gauge, temperature\n");
  EXPECT_EQ(RunPodgpu({"-f", path}),
            (Ended{2, "podgpu: " + path +
                          ":2: unknown field \"DCGM_FI_DEV_GPU_TMP\"; nearest "
                          "is DCGM_FI_DEV_GPU_TEMP. Correct the line\n"}));
}

TEST(BadInput, Statement37APortInUseNamesItsProcess) {
  Child holder({std::string(kProgram), "-a", "127.0.0.1:0", "--libdcgm=/nowhere/libdcgm.so.4"});
  const std::optional<std::string> line = holder.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(line.has_value()) << holder.output();
  const std::string port = line->substr(line->find("port=") + 5);
  EXPECT_EQ(RunPodgpu({"-f", std::string(kCounters), "-a", "127.0.0.1:" + port}),
            (Ended{2, "podgpu: 127.0.0.1:" + port + " is in use by podgpu (pid " +
                          std::to_string(holder.pid()) + "). Stop it, or choose --address " +
                          "127.0.0.1:" + std::to_string(*ParseDecimal(port) + 1) + "\n"}));
}

TEST(GoodInput, EntriesWithoutEffectAreReportedAtTheStart) {
  TemporaryFolder folder;
  const std::string path = folder.Write(
      "counters.csv", "DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DRIVER_VERSION, gauge, p\n");
  Child program({std::string(kProgram), "-a", "127.0.0.1:0", "-f", path,
                 "--libdcgm=/nowhere/libdcgm.so.4", "extra", "-k"});
  ASSERT_TRUE(program.AwaitLine("msg=\"serving\"").has_value()) << program.output();
  const std::string output = program.output();
  for (const std::string& line :
       {"what=\"" + path + ":2: DCGM_FI_DRIVER_VERSION is a text, not a number",
        std::string(
            "what=\"argument \\\"extra\\\" ends the flags; it is ignored, with the 1 behind it")}) {
    EXPECT_NE(output.find(line), std::string::npos) << output;
  }
}

// What --validate says of the configuration, without the forecast of the page.
Ended ValidateConfiguration(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--validate", "--libdcgm=/nowhere/libdcgm.so.4"});
  Ended ended = RunPodgpu(arguments);
  const size_t forecast = ended.output.find("note: the page is that of an assumed node");
  EXPECT_NE(forecast, std::string::npos) << ended.output;
  ended.output.resize(std::min(forecast, ended.output.size()));
  return ended;
}

TEST(GoodInput, ValidateReportsTheMetricsAndTheErrors) {
  TemporaryFolder folder;
  const std::string path = folder.Write(
      "counters.csv", "DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_SM_CLOCK, gauge, c\n");
  EXPECT_EQ(ValidateConfiguration({"-f", path, "--metrics-views=dcgm", "--metrics-exclude=*CLOCK",
                                   "--metrics-include=DCGM_FI_DEV_*_UTIL"}),
            (Ended{0, path + ": 5 metrics, 5 fields to read\n"}));
  EXPECT_EQ(ValidateConfiguration({"-f", path, "--metrics-views=dcgm", "--metrics-exclude=NONE"}),
            (Ended{0,
                   "warning: --metrics-exclude: \"NONE\" matches nothing. Correct it, or remove "
                   "it\n" +
                       path + ": 2 metrics, 2 fields to read\n"}));
  EXPECT_EQ(
      RunPodgpu({"--validate", "-f", folder.Write("bad.csv", "DCGM_FI_DEV_GPU_TEMP\n")}).exit_code,
      2);
  EXPECT_EQ(
      RunPodgpu({"--validate", "-f", path, "--web-config-file=" + folder.Write("w.yml", "x: 1\n")})
          .exit_code,
      2);
}

TEST(GoodInput, HelpAndVersionEndWithZero) {
  EXPECT_EQ(RunPodgpu({"--help"}).exit_code, 0);
  EXPECT_EQ(RunPodgpu({"--version"}), (Ended{0, "podgpu version " PODGPU_VERSION "\n"}));
}

TEST(GoodInput, WithoutDriverAndKubeletItServesTheReasonAndStopsOnASignal) {
  Child child({std::string(kProgram), "node", "-k", "-a", "127.0.0.1:0",
               "--libdcgm=/nowhere/libdcgm.so.4", "--sysfs-root=/nowhere",
               "--pod-resources-kubelet-socket=/nowhere/kubelet.sock"});
  const std::optional<std::string> line = child.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(line.has_value()) << child.output();
  const std::string root = "http://127.0.0.1:" + line->substr(line->find("port=") + 5);
  // Waits for the source thread's first attempt; the order of its lines is not defined.
  std::string ready;
  while (ready.find("/nowhere/libdcgm.so.4") == std::string::npos) {
    Child curl({"curl", "-sS", "-w", "%{http_code}", root + "/readyz"});
    ASSERT_EQ(curl.Wait(), 0) << curl.output();
    ready = curl.output();
  }
  EXPECT_TRUE(ready.ends_with("503")) << ready;
  Child page({"curl", "-sSf", root + "/metrics"});
  EXPECT_EQ(page.Wait(), 0);
  EXPECT_NE(page.output().find("podgpu_ready 0\n"), std::string::npos);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(), 0) << child.output();
}

}  // namespace
}  // namespace podgpu
