// The golden pages of dcgm-exporter, byte for byte, through the whole path: raw vendor values from
// an in-process DCGM table, the kubelet's device ids, then source, join, view and text.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "abi/dcgm_health.h"
#include "abi/dcgm_links.h"
#include "tests/page_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using abi::DCGM_FE_GPU_I;

constexpr const char* kTempCsv = "DCGM_FI_DEV_GPU_TEMP,gauge,\"GPU temperature, Celsius\"\n";
constexpr const char* kUtilCsv = "DCGM_FI_DEV_GPU_UTIL,gauge,\"GPU busy, percent\"\n";
constexpr const char* kEngineCsv =
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE,gauge,Graphics engine active ratio\n";
constexpr const char* kDriverCsv = "DCGM_FI_DRIVER_VERSION,label,Driver version\n";

std::string Golden(const std::string& name) {
  std::ifstream file(std::string("tests/golden/") + name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

TEST(GoldenPage, OfOneGpuWithoutKubernetes) {
  PageNode node(1);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.dcgm.SetDouble(DCGM_FE_GPU, 0, 155, 72.123457);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 203, 0);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 230, 79);
  node.dcgm.SetDouble(DCGM_FE_GPU, 0, 1001, 0);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 251, abi::DCGM_INT64_BLANK);  // A blank value gives no row.
  EXPECT_EQ(
      node.Page(std::string(kTempCsv) + "DCGM_FI_DEV_POWER_USAGE,gauge,\"Power draw, watts\"\n" +
                kUtilCsv + "DCGM_FI_DEV_XID_ERRORS,gauge,Last XID seen\n" + kEngineCsv +
                kDriverCsv + "DCGM_FI_DEV_FB_FREE,gauge,x\n"),
      Golden("behaviour-14.1.prom"));
}

TEST(GoldenPage, OfTwoGpusWithAPodEach) {
  PageNode node(2);
  node.options.kubernetes = true;
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 150, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 203, 97);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 203, 12);
  node.allocations = {Given("serving", "infer-7", "server", node.dcgm.gpus[1].uuid),
                      Given("ml", "train-0", "main", node.dcgm.gpus[0].uuid)};
  EXPECT_EQ(node.Page(std::string(kTempCsv) + kUtilCsv + kDriverCsv),
            Golden("behaviour-14.2.prom"));
}

TEST(GoldenPage, OfPodLabelsAndUid) {
  PageNode node(2);
  node.options.kubernetes = true;
  node.options.pod_uid = true;
  node.join.pod_labels = LabelAllowlist::Compile({}).value();
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 150, 41);
  node.allocations = {Given("ml", "train-0", "main", node.dcgm.gpus[0].uuid)};
  const StatusOr<ApiEvent> event = ParseApiEvent(
      R"({"type":"ADDED","object":{"metadata":{"namespace":"ml","name":"train-0",
      "resourceVersion":"1",
      "uid":"a9c80282-3f6b-4d5b-84d5-a137a6668011",
      "labels":{"team":"nlp","app.kubernetes.io/name":"train"}}}})");
  ASSERT_TRUE(event.ok());
  node.facts.api_pods =
      std::make_shared<const ApiObjects>(ApiObjects{{"ml/train-0", event->object}});
  EXPECT_EQ(node.Page(std::string(kTempCsv) + kDriverCsv), Golden("behaviour-14.3.prom"));
}

TEST(GoldenPage, OfMigInstances) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.dcgm.gpus[0].mig_enabled = true;
  node.dcgm.instances = {{0, 0, 7, "1g.10gb", {{0, 0}}}, {1, 0, 3, "2g.20gb", {{1, 0}}}};
  node.nvml.gpus[0].mig_devices = {{true, 7, 0, "MIG-aaaaaaaa-0000-0000-0000-000000000007"},
                                   {true, 3, 0, "MIG-aaaaaaaa-0000-0000-0000-000000000003"}};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 252, 50);
  node.dcgm.SetInt64(DCGM_FE_GPU_I, 0, 252, 4);
  node.dcgm.SetInt64(DCGM_FE_GPU_I, 1, 252, 37);
  node.dcgm.SetDouble(DCGM_FE_GPU_I, 0, 1001, 0.25);
  node.dcgm.SetDouble(DCGM_FE_GPU_I, 1, 1001, 0);
  node.allocations = {Given("ml", "train-0", "main", "MIG-aaaaaaaa-0000-0000-0000-000000000007",
                            "nvidia.com/mig-1g.10gb")};
  EXPECT_EQ(node.Page(std::string("DCGM_FI_DEV_FB_USED,gauge,\"Framebuffer used, MiB\"\n") +
                      kEngineCsv + kDriverCsv),
            Golden("behaviour-14.4.prom"));
}

// Pod facts of four sources: replicas, uids of the API server, and the use by a pod's processes.
TEST(GoldenPage, OfVirtualGpus) {
  PageNode node(2);
  node.options.kubernetes = true;
  node.options.virtual_gpus = true;
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 50);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 150, 30);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 203, 80);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 203, 0);
  node.allocations = {Given("ns2", "b", "c", node.dcgm.gpus[0].uuid + "::1"),
                      Given("ns1", "a", "c", node.dcgm.gpus[0].uuid + "::0")};
  ApiObjects pods;
  pods["ns1/a"].uid = "a9c80282-3f6b-4d5b-84d5-a137a6668011";
  pods["ns2/b"].uid = "b0c80282-3f6b-4d5b-84d5-a137a6668022";
  node.facts.api_pods = std::make_shared<const ApiObjects>(std::move(pods));
  node.pod_slots = {{{203, 0, "ns1", "a"}, 0}, {{203, 0, "ns2", "b"}, 1}};
  node.pod_values = {Value::OfInt64(62), Value::OfInt64(0)};
  EXPECT_EQ(node.Page(std::string(kTempCsv) + kUtilCsv + kDriverCsv),
            Golden("behaviour-14.5.prom"));
}

TEST(GoldenPage, OfAClaim) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.join.claims = true;
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.claimed = {{"ml", "train-0", "main", "ml", "claim1", "gpu.nvidia.com", "node-a", "gpu-0"}};
  const StatusOr<ApiEvent> event = ParseApiEvent(
      R"({"type":"ADDED","object":{"metadata":{"name":"node-a-gpu","resourceVersion":"1"},
      "spec":{"driver":"gpu.nvidia.com","nodeName":"node-a",
      "pool":{"name":"node-a","generation":1,"resourceSliceCount":1},
      "devices":[{"name":"gpu-0","attributes":{"type":{"string":"gpu"},
      "uuid":{"string":"GPU-11111111-1111-1111-1111-111111111111"}}}]}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  node.facts.slices = std::make_shared<const ApiObjects>(ApiObjects{{"/slice", event->object}});
  EXPECT_EQ(node.Page(std::string(kTempCsv) + kDriverCsv), Golden("behaviour-14.9.prom"));
}

TEST(GoldenPage, OfTheJobsOfABatchSystem) {
  PageNode node(2);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, 150, 41);
  HpcJobs jobs;
  jobs.by_device["0"] = ParseJobList("1001\n1002\n").jobs;
  node.facts.jobs = std::make_shared<const HpcJobs>(std::move(jobs));
  EXPECT_EQ(node.Page(std::string(kTempCsv) + kDriverCsv), Golden("behaviour-14.6.prom"));
}

// Each of the five kinds of row, with two documented differences: a switch is named by its id, and
// a family that spans two groups has one header.
TEST(GoldenPage, OfSwitchesLinksCpusAndCores) {
  PageNode node(1);
  node.dcgm.links_up = {{0, {0}}};
  node.dcgm.switches = {{0, {}}, {1, {5}}};
  node.dcgm.cpus = {{0, {17}}};
  node.dcgm.SetInt64(abi::DCGM_FE_SWITCH, 0, 858, 38);
  node.dcgm.SetInt64(abi::DCGM_FE_LINK, abi::LinkEntityId(DCGM_FE_GPU, 0, 0), 780, 777);
  node.dcgm.SetInt64(abi::DCGM_FE_LINK, abi::LinkEntityId(abi::DCGM_FE_SWITCH, 5, 1), 780, 12345);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU, 0, 1100, 0.125);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU_CORE, 17, 1100, 0.5);
  EXPECT_EQ(node.Page(std::string("DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT,gauge,NVSwitch "
                                  "temperature\n"
                                  "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX,counter,Link TX\n"
                                  "DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,CPU utilisation\n") +
                      kDriverCsv),
            Golden("behaviour-14.10.prom"));
}

TEST(GoldenPage, OfTheOldNamespace) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.options.use_old_namespace = true;
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 34);
  node.allocations = {Given("ml", "train-0", "main", node.dcgm.gpus[0].uuid)};
  EXPECT_EQ(node.Page("dcgm_gpu_temp,gauge,\"GPU temperature, Celsius\"\n"),
            Golden("behaviour-14.7.prom"));
}

TEST(GoldenPage, OfTheExportersOwnCounters) {
  PageNode node(2);
  const int64_t now_us = ToMicroseconds(node.clock.WallNow());
  for (int i = 2; i >= 0; --i) {
    node.dcgm.AddSample(0, 230, 43, now_us - i);
  }
  for (int i = 4; i >= 0; --i) {
    node.dcgm.AddSample(0, 112, i < 2 ? 0x5 : 0x1, now_us - i);
  }
  node.dcgm.AddSample(1, 112, 0x1, now_us - 400'000'000);  // Older than the window.
  node.dcgm.incidents.push_back({.system = abi::DCGM_HEALTH_WATCH_THERMAL,
                                 .health = abi::DCGM_HEALTH_RESULT_WARN,
                                 .error = {.msg = "hot", .code = 10},
                                 .entityInfo = {DCGM_FE_GPU, 0}});
  node.dcgm.peers = {{5, 0}, {0, 5}};
  EXPECT_EQ(node.Page("DCGM_EXP_P2P_STATUS,gauge,NVLink P2P state\n"
                      "DCGM_EXP_GPU_HEALTH_STATUS,gauge,Health per watch\n"
                      "DCGM_EXP_CLOCK_EVENTS_COUNT,gauge,Clock events in window\n"
                      "DCGM_EXP_XID_ERRORS_COUNT,gauge,XID events in window\n"),
            Golden("behaviour-14.8.prom"));
}

}  // namespace
}  // namespace podgpu
