// The doctor as users call it: exit codes, JSON, colours, a driver that hangs, broken machines, a
// running exporter, and the support report.
#include "tests/e2e/doctor_node.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "http/testing/web_config_files.h"
#include "tests/e2e/json_schema.h"

namespace podgpu {
namespace {

constexpr std::string_view kProgram = PODGPU_BINARY_DIR "/bin/podgpu";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Returns the check with `id` of JSON output.
boost::json::object CheckIn(const std::string& text, std::string_view id) {
  const boost::json::value result = boost::json::parse(text);
  for (const boost::json::value& check : result.as_object().at("checks").as_array()) {
    if (check.as_object().at("id").as_string() == id) {
      return check.as_object();
    }
  }
  ADD_FAILURE() << "no check " << id;
  return {};
}

// "warn driver.nodes", of JSON output.
std::string StatusOf(const std::string& text, std::string_view id) {
  const boost::json::object check = CheckIn(text, id);
  return check.empty() ? "" : std::string(check.at("status").as_string());
}

TEST(Doctor, Statement7ExitCodesTellWhatIsWrong) {
  const DoctorNode good("h100x8-pods", {"10s"});
  ASSERT_TRUE(good.ready());
  const DoctorRun ok = good.Run();
  EXPECT_EQ(ok.exit_code, 0) << ok.text;
  EXPECT_TRUE(Has(ok.text, "; exit 0\n"));
  std::filesystem::remove(good.kernel().path() + "/dev/nvidia3");
  const DoctorRun warn = good.Run();
  EXPECT_EQ(warn.exit_code, 1) << warn.text;
  EXPECT_EQ(good.Run({"--collectors=/nowhere.csv"}).exit_code, 2);
  EXPECT_EQ(good.Run({"--only=gpus"}).exit_code, 2);
  const DoctorRun fail = good.Run({"--libnvidia-ml=/nowhere.so"});
  EXPECT_EQ(fail.exit_code, 3) << fail.text;
}

TEST(Doctor, Statement7JsonIsValidAndAgreesWithTheText) {
  const std::string schema = ReadFile("docs/doctor.schema.json");
  const DoctorNode node("fault-gpu-lost", {"35s"});
  ASSERT_TRUE(node.ready());
  const DoctorRun as_json = node.Run({"--json"});
  const DoctorRun as_text = node.Run({"-v"});
  const boost::json::value result = boost::json::parse(as_json.text);
  EXPECT_EQ(SchemaComplaints(as_json.text, schema), std::vector<std::string>());
  EXPECT_EQ(as_json.exit_code, as_text.exit_code);
  EXPECT_EQ(result.as_object().at("exit_code").as_int64(), as_json.exit_code);
  for (const boost::json::value& check : result.as_object().at("checks").as_array()) {
    const std::string status(check.as_object().at("status").as_string());
    const std::string line = "  " + status + std::string(6 - status.size(), ' ') +
                             std::string(check.as_object().at("id").as_string()) + " ";
    EXPECT_TRUE(Has(as_text.text, line)) << line << "\n" << as_text.text;
  }
}

TEST(JsonSchema, FindsEveryKindOfViolation) {
  constexpr std::string_view kSchema =
      R"({"type": "object", "required": ["a"], "additionalProperties": false, "properties":
         {"a": {"enum": [1]}, "b": {"type": "array", "items": {"type": "string"}}}})";
  const auto complaints = [kSchema](std::string_view text) {
    return SchemaComplaints(text, kSchema).size();
  };
  EXPECT_EQ(complaints(R"({"a": 1, "b": ["x"]})"), 0U);
  EXPECT_EQ(complaints(R"({"a": 2})"), 1U);
  EXPECT_EQ(complaints(R"({})"), 1U);
  EXPECT_EQ(complaints(R"({"a": 1, "c": 1})"), 1U);
  EXPECT_EQ(complaints(R"({"a": 1, "b": [1, 2]})"), 2U);
  EXPECT_EQ(complaints(R"([])"), 1U);
  EXPECT_EQ(SchemaComplaints("1", R"({"minimum": 1})").size(), 1U);
  EXPECT_EQ(complaints("{"), 1U);
}

TEST(Doctor, Statement8AHungCallIsNamedAndTheRunEndsWithin10S) {
  DoctorNode node("h100x8-pods", {"10s"});
  ASSERT_TRUE(node.ready());
  node.node().Command({"fault", "hang", "gpu=2"});
  node.node().Tick("+1s");
  const DoctorRun one = node.Run({"--json"});
  EXPECT_EQ(one.exit_code, 3) << one.text;
  const std::string fact(CheckIn(one.text, "driver.answers").at("fact").as_string());
  EXPECT_TRUE(Has(fact, " on GPU 2 has not answered for 1 s; the other GPUs are read")) << fact;
  // The other seven are judged.
  EXPECT_EQ(CheckIn(one.text, "gpu.states").at("status").as_string(), "warn") << one.text;
  EXPECT_EQ(CheckIn(one.text, "kube.socket").at("status").as_string(), "ok") << one.text;
}

TEST(Doctor, Statement8EveryCallBlocked) {
  DoctorNode node("h100x8-pods", {"10s"});
  ASSERT_TRUE(node.ready());
  node.node().Command({"fault", "hang"});
  node.node().Tick("+1s");
  const DoctorRun run =
      node.Run({"--json", "--source=dcgm", "--libdcgm=" + node.node().library("libdcgm.so.4"),
                "--process-metrics"});
  EXPECT_EQ(run.exit_code, 3) << run.text;
  const boost::json::value result = boost::json::parse(run.text);
  EXPECT_LE(result.as_object().at("seconds").to_number<double>(), 10) << run.text;
  EXPECT_TRUE(Has(std::string(CheckIn(run.text, "driver.answers").at("fact").as_string()), "nvml"))
      << run.text;
}

TEST(Doctor, Statement8SurvivesAMachineWithoutAnything) {
  const TemporaryFolder empty;
  DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  for (const char* const part : {"/proc", "/sys", "/dev"}) {
    std::filesystem::remove_all(node.kernel().path() + part);
  }
  const DoctorRun run = node.RunWith(
      {"-a=127.0.0.1:1", "--sysfs-root=" + empty.path(), "--proc-root=" + empty.path(),
       "--libnvidia-ml=" + node.node().library("libnvidia-ml.so.1"), "--process-metrics"});
  EXPECT_TRUE(run.exit_code == 1 || run.exit_code == 3) << run.text;
  EXPECT_TRUE(Has(run.text, "no PCI bus below")) << run.text;
  Child closed({"sh", "-c",
                std::string(kProgram) + " doctor -a=127.0.0.1:1 --libnvidia-ml=/nowhere.so >&-"});
  EXPECT_GE(closed.Wait(), 0) << closed.output();
}

TEST(Doctor, Statement9NoEscapeByteOffATerminal) {
  const DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  EXPECT_FALSE(Has(node.Run().text, "\033"));
  EXPECT_FALSE(Has(node.Run({}, {"NO_COLOR=1"}).text, "\033"));
  EXPECT_FALSE(Has(node.Run({}, {"TERM=dumb"}).text, "\033"));
  EXPECT_TRUE(Has(node.Run({"-v", "--color=always"}).text, "\033[32mok\033[0m    host.kernel"));
}

TEST(Doctor, PrintsTheChecksThatAreAskedFor) {
  const DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  const DoctorRun run = node.Run({"--only=kube,gpu.mig"});
  EXPECT_TRUE(Has(run.text, "  ok    kube.socket"));
  EXPECT_TRUE(Has(run.text, "  ok    gpu.mig"));
  EXPECT_FALSE(Has(run.text, "host.kernel"));
  const DoctorRun wrong = node.Run({"--only=kube.sock"});
  EXPECT_TRUE(Has(wrong.text, "nearest is kube.socket")) << wrong.text;
}

// Each warn and fail that no golden scenario shows.
TEST(Doctor, DistinguishesWhatAnEngineAndItsClientGive) {
  DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  const std::string engine = "--remote-hostengine-info=unix://" + node.node().engine_socket();
  const DoctorRun same =
      node.Run({"--json", engine, "--libdcgm=" + node.node().library("libdcgm.so.4")});
  EXPECT_EQ(StatusOf(same.text, "dcgm.engine"), "ok") << same.text;
  EXPECT_EQ(StatusOf(same.text, "dcgm.client"), "ok") << same.text;
  const DoctorRun gone = node.Run({"--json", "--remote-hostengine-info=unix:///nowhere.sock",
                                   "--libdcgm=" + node.node().library("libdcgm.so.4")});
  EXPECT_EQ(StatusOf(gone.text, "dcgm.engine"), "fail") << gone.text;
  EXPECT_EQ(gone.exit_code, 3);
}

TEST(Doctor, SaysThatAnotherProgramHoldsTheCounters) {
  DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  node.node().Command({"fault", "error", "calls=nvmlGpmSampleGet", "code=19"});
  node.node().Tick("+1s");
  const DoctorRun run = node.Run({"--json"});
  EXPECT_EQ(StatusOf(run.text, "gpu.profiling"), "warn") << run.text;
}

TEST(Doctor, SaysThatAllGpusAreLost) {
  DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  node.node().Command({"fault", "gpu_lost", "gpu=0", "xid=79"});
  node.node().Tick("+5s");
  const DoctorRun run = node.Run({"--json"});
  EXPECT_EQ(run.exit_code, 3) << run.text;
}

// The node of the GPU Operator: podgpu in its own pid namespace.
TEST(Doctor, NamesTheMissingHostPid) {
  DoctorNode node("h100x8-pods", {"10s"});
  ASSERT_TRUE(node.ready());
  const std::string proc_flag = "--proc-root=" + node.own_proc();
  const DoctorRun run = node.Run({"--process-metrics", proc_flag});
  EXPECT_EQ(run.exit_code, 1) << run.text;
  EXPECT_TRUE(Has(run.text, "  warn  process.namespace     own PID namespace: the driver lists"))
      << run.text;
  EXPECT_TRUE(Has(run.text,
                  "        do:   kubectl patch clusterpolicy cluster-policy --type merge "
                  "\\\n              -p '{\"spec\":{\"dcgmExporter\":{\"hostPID\":true}}}'\n"))
      << run.text;
  EXPECT_TRUE(Has(run.text, "  skip  process.cgroups       because of process.namespace\n"));
  EXPECT_TRUE(Has(run.text, "Gives not: process and pod energy (process.namespace).\n"));
  EXPECT_TRUE(Has(run.text, "Most useful change: hostPID for the exporter (process.namespace).\n"));
  const DoctorRun off = node.Run({proc_flag});
  EXPECT_TRUE(Has(off.text, "  note  process.namespace")) << off.text;
}

TEST(Doctor, SaysThatTheGpusBelongToAnotherDriver) {
  DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  namespace fs = std::filesystem;
  const std::string devices = node.node().directory() + "/sys/bus/pci/devices";
  for (const fs::directory_entry& device : fs::directory_iterator(devices)) {
    if (ReadFile(device.path().string() + "/vendor").starts_with("0x10de")) {
      fs::remove(device.path() / "driver");
      fs::create_symlink("../../drivers/vfio-pci", device.path() / "driver");
    }
  }
  const DoctorRun run = node.Run();
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_TRUE(Has(run.text, "belong to the driver vfio-pci")) << run.text;
}

TEST(Doctor, NamesAnotherProgramAtTheAddress) {
  const DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(socket.get(), 8), 0);  // It never answers.
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const DoctorRun run =
      node.Run({"--json", "-a=127.0.0.1:" + std::to_string(ntohs(address.sin_port))});
  EXPECT_EQ(StatusOf(run.text, "net.listen"), "warn") << run.text;
}

TEST(Doctor, RefusesAnAddressWithWhichTheExporterWouldNotStart) {
  const DoctorNode node("one-gpu", {"10s"});
  ASSERT_TRUE(node.ready());
  const DoctorRun run = node.Run({"--json", "-a=127.0.0.1:port"});
  EXPECT_EQ(StatusOf(run.text, "net.listen"), "fail") << run.text;
  EXPECT_EQ(run.exit_code, 2);
}

class DoctorBesideAnExporter : public ::testing::Test {
 protected:
  DoctorBesideAnExporter() : node_("one-gpu", {"10s"}) {}
  DoctorNode node_;
};

TEST_F(DoctorBesideAnExporter, ShowsItsStateAndCost) {
  ASSERT_TRUE(node_.ready());
  const ExporterProcess exporter(node_.node(), {"--source=nvml"});
  ASSERT_TRUE(exporter.ready());
  ASSERT_TRUE(exporter.Await("/readyz", "fresh"));
  const DoctorRun run = node_.Run({"--json", "-a=127.0.0.1:" + std::to_string(exporter.port())});
  EXPECT_TRUE(Has(std::string(CheckIn(run.text, "net.listen").at("fact").as_string()), "ready"))
      << run.text;
  EXPECT_TRUE(Has(std::string(CheckIn(run.text, "self.cost").at("fact").as_string()), "series"))
      << run.text;
}

TEST_F(DoctorBesideAnExporter, AsksOnAUnixSocket) {
  ASSERT_TRUE(node_.ready());
  const TemporaryFolder folder;
  const std::string address = "-a=unix:" + folder.path() + "/podgpu.sock";
  std::vector<std::string> words =
      ExporterProcess::Arguments(node_.node(), {"--source=nvml", "-c=200"});
  std::ranges::replace(words, "-a=127.0.0.1:0", address);
  Child exporter(words, node_.node().variables());
  ASSERT_TRUE(exporter.AwaitLine("msg=\"serving\"")) << exporter.output();
  DoctorRun run;
  do {  // Until the node is ready.
    run = node_.Run({"--json", address});
    ASSERT_EQ(StatusOf(run.text, "net.listen"), "ok") << run.text;
  } while (!Has(std::string(CheckIn(run.text, "net.listen").at("fact").as_string()), ", ready: "));
  EXPECT_EQ(StatusOf(run.text, "self.cost"), "ok") << run.text;
  exporter.Signal(SIGKILL);
  exporter.Wait();
  const DoctorRun gone = node_.Run({"--json", address});
  EXPECT_TRUE(Has(std::string(CheckIn(gone.text, "net.listen").at("fact").as_string()), "is free"))
      << gone.text;
}

TEST_F(DoctorBesideAnExporter, SendsThePasswordThatItIsGiven) {
  ASSERT_TRUE(node_.ready());
  WebConfigFiles web;
  // bcrypt of "secret".
  web.Write(
      "basic_auth_users:\n  alice: "
      "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n");
  web.Write("secret\n", "password");
  web.Write("wrong\n", "other");
  web.Write("basic_auth: {username: alice, password_file: password}\n", "good.yaml");
  web.Write("basic_auth: {username: alice, password_file: other}\n", "wrong.yaml");
  const ExporterProcess exporter(node_.node(), {"--source=nvml", "--web-config-file", web.path()});
  ASSERT_TRUE(exporter.ready());
  const std::string address = "-a=127.0.0.1:" + std::to_string(exporter.port());
  const DoctorRun without = node_.Run({"--json", address});
  EXPECT_TRUE(Has(std::string(CheckIn(without.text, "net.listen").at("fact").as_string()),
                  "asks for a password (--node-web-config has one)"))
      << without.text;
  const DoctorRun with =
      node_.Run({"--json", address, "--node-web-config=" + web.path("good.yaml")});
  EXPECT_EQ(StatusOf(with.text, "net.listen"), "ok") << with.text;
  EXPECT_EQ(StatusOf(with.text, "self.cost"), "ok") << with.text;
  const DoctorRun wrong =
      node_.Run({"--json", address, "--node-web-config=" + web.path("wrong.yaml")});
  EXPECT_EQ(StatusOf(wrong.text, "net.listen"), "warn") << wrong.text;
  EXPECT_EQ(node_.Run({"--node-web-config=/nowhere.yaml"}).exit_code, 2);
  EXPECT_FALSE(Has(with.text + wrong.text, "secret"));
}

TEST_F(DoctorBesideAnExporter, WritesAReportWithoutNamesAndSecrets) {
  ASSERT_TRUE(node_.ready());
  const ExporterProcess exporter(node_.node(), {"--source=nvml"});
  ASSERT_TRUE(exporter.ready());
  const std::string pod = "\",pod=\"";
  std::string page;
  ASSERT_TRUE(exporter.AwaitPage("/metrics", [&](const std::string& body) {
    page = body;
    return Has(body, pod);
  }));
  const size_t begin = page.find(pod) + pod.size();
  const std::string name = page.substr(begin, page.find('"', begin) - begin);
  const TemporaryFolder folder;
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--report=" + folder.path() + "/report", "--report-for=0s",
                                      "-a=127.0.0.1:" + std::to_string(exporter.port()),
                                      "--hpc-job-mapping-dir=nfs://user:secret@host/jobs"};
    flags.insert(flags.end(), more.begin(), more.end());
    const DoctorRun run = node_.Run(flags);
    EXPECT_TRUE(Has(run.text, "report: " + folder.path() + "/report\n")) << run.text;
    return ReadFile(folder.path() + "/report");
  };
  const std::string veiled = report({});
  for (const char* const part :
       {"== versions\npodgpu ", "== configuration\n", "== checks\n", "driver.answers",
        "== states of the running exporter\n", "process_resident_memory_bytes", "pod-1"}) {
    EXPECT_TRUE(Has(veiled, part)) << part << "\n" << veiled;
  }
  EXPECT_FALSE(Has(veiled, name)) << name;
  EXPECT_FALSE(Has(veiled, "secret")) << veiled;
  EXPECT_TRUE(Has(report({"--report-pods"}), name));
}

}  // namespace
}  // namespace podgpu
