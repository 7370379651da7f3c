// Each invalid input at the start: one exact line, one exit code, and nothing is left running.
#include <csignal>
#include <filesystem>
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

TEST(BadInput, UnknownFlagsAreRefused) {
  EXPECT_EQ(
      RunPodgpu({"--adress=:1"}),
      (Ended{2, "podgpu: unknown flag \"--adress\"; nearest is --address. See podgpu --help\n"}));
}

TEST(BadInput, UnknownCommandsAreRefused) {
  EXPECT_EQ(RunPodgpu({"nodes"}),
            (Ended{2,
                   "podgpu: unknown command \"nodes\"; nearest is \"node\"; "
                   "there are \"node\", \"cluster\", "
                   "\"doctor\", \"top\", \"completion\", \"version\". See podgpu "
                   "--help\n"}));
}

TEST(BadInput, AnInvalidDeviceSelectionIsRefused) {
  EXPECT_EQ(
      RunPodgpu({"-d", "g:one"}),
      (Ended{2,
             "podgpu: --devices: \"g:one\" is refused: \"one\" is not a number. It must be f, "
             "g, i, g+i, or g or i with ids, such as g:0,2-3\n"}));
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

TEST(BadInput, BadVariablesAreNamed) {
  EXPECT_EQ(
      RunPodgpu({}, {"DCGM_EXPORTER_INTERVAL=soon"}),
      (Ended{2,
             "podgpu: DCGM_EXPORTER_INTERVAL: \"soon\" is not milliseconds such as 5000, or a "
             "duration such as 5s. See podgpu --help\n"}));
}

TEST(BadInput, ATextFileIntervalBelowATenthOfASecondIsRefused) {
  EXPECT_EQ(RunPodgpu({"--textfile-interval=99"}),
            (Ended{2,
                   "podgpu: --textfile-interval: \"99\" is refused: must be 100 to 3600000 "
                   "milliseconds, or as long a duration such as 5s\n"}));
  EXPECT_EQ(RunPodgpu({"--textfile-interval=100", "--version"}).exit_code, 0);
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

TEST(BadInput, AnUnknownTypeNamesFileAndLine) {
  TemporaryFolder folder;
  const std::string path = folder.Write("counters.csv", "DCGM_FI_DEV_GPU_TEMP, gage, t\n");
  EXPECT_EQ(RunPodgpu({"-f", path}),
            (Ended{2, "podgpu: " + path +
                          ":1: unknown type \"gage\" of DCGM_FI_DEV_GPU_TEMP; types are gauge, "
                          "counter, histogram, summary and label. Correct the line\n"}));
}

TEST(BadInput, MalformedCsvNamesFileAndLine) {
  struct Case {
    std::string_view content, complaint;
  };
  constexpr Case kCases[] = {
      {"DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_GPU_UTIL, gauge\n",
       ":2: 2 columns, must be 3: field, type, help. Add the missing columns\n"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a \"quoted\" word\n",
       ":1: a quotation mark inside an unquoted column. Quote the whole column, directly after the "
       "comma, and write the mark twice\n"},
  };
  for (const Case& row : kCases) {
    TemporaryFolder folder;
    const std::string path = folder.Write("counters.csv", row.content);
    EXPECT_EQ(RunPodgpu({"-f", path}), (Ended{2, "podgpu: " + path + std::string(row.complaint)}));
  }
}

TEST(BadInput, AnInvalidPatternOfThePodLabelAllowlistIsRefused) {
  const Ended refused = {
      2,
      "podgpu: --kubernetes-pod-label-allowlist-regex: \"[a-\" is not a regular expression of RE2: "
      "missing ]: [a-. Correct it (a comma begins the next pattern), or remove the flag to show "
      "all labels\n"};
  const std::string pattern = "--kubernetes-pod-label-allowlist-regex=^team$,[a-";
  EXPECT_EQ(RunPodgpu({"-k", "--kubernetes-enable-pod-labels", pattern}), refused);
  EXPECT_EQ(RunPodgpu({"--validate", "-f", std::string(kCounters), pattern}), refused);
  EXPECT_EQ(RunPodgpu({"--validate"}, {"DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX=[a-"}),
            refused);
}

TEST(BadInput, AnUnreadableFileIsNamed) {
  EXPECT_EQ(RunPodgpu({"-f", "/nowhere/counters.csv"}),
            (Ended{2,
                   "podgpu: counters file /nowhere/counters.csv: No such file or directory. "
                   "Correct --collectors "
                   "(-f)\n"}));
}

// The paths of dcgm-exporter's image: an old command line works also where they do not exist.
TEST(BadInput, AListOfTheImageNeedsNoFile) {
  const std::string folder = "/etc/dcgm-exporter/";
  if (std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " exists on this machine";
  }
  const auto validated = [&](const std::string& name) {
    const Ended ended = RunPodgpu({"--validate", "-f", folder + name});
    return std::to_string(ended.exit_code) + " " +
           ended.output.substr(ended.output.rfind("built-in"));
  };
  EXPECT_EQ(validated("default-counters.csv").substr(0, 32), "0 built-in counters: 26 metrics,");
  EXPECT_EQ(validated("dcp-metrics-included.csv").substr(0, 59),
            "0 built-in counters (dcp-metrics-included.csv): 26 metrics,");
  EXPECT_EQ(validated("1.x-compatibility-metrics.csv").substr(0, 64),
            "0 built-in counters (1.x-compatibility-metrics.csv): 20 metrics,");
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

TEST(BadInput, ABadAddressIsNamed) {
  EXPECT_EQ(RunPodgpu({"-f", std::string(kCounters), "-a", "nonsense"}),
            (Ended{2,
                   "podgpu: address \"nonsense\" has no port. Write HOST:PORT, [V6]:PORT, "
                   ":PORT or unix:/PATH, such as :9400\n"}));
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
