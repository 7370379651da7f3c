#include "report/node_report.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

NodeReport TwoGpus() {
  NodeReport report;
  report.version = "1.2.3";
  report.node = "gpu-node.1";
  report.ready = true;
  report.verdict = "ready: 2 GPUs have fresh samples";
  report.owners_known = true;
  ReportedGpu whole;
  whole.uuid = "GPU-1";
  whole.model = "NVIDIA H100 80GB HBM3";
  whole.state = "ok";
  whole.use.values[static_cast<size_t>(UseMeasure::kMemoryCopy)] = UseValue{37, 120};
  whole.use.values[static_cast<size_t>(UseMeasure::kSmActive)] = UseValue{0.4321, 900};
  whole.use.owners = {{"default", "test2", "main", "nvidia.com/gpu", ""},
                      {"default", "test2", "side", "", "claim-7"}};
  whole.use.hidden_owners = 3;
  whole.use.processes = 0;
  whole.use.values[static_cast<size_t>(UseMeasure::kPower)] = UseValue{312.5, 40};
  whole.use.pods = {{"default", "test2", 12.5, 1024, 3.25}, {"default", "test3", {}, {}, {}}};
  ReportedGpu split;
  split.index = 1;
  split.uuid = "GPU-2";
  split.model = "Tesla \"T4\" \xC3\xA9";
  split.state = "lost";
  ReportedInstance instance;
  instance.gpu_instance_id = 7;
  instance.profile = "1g.10gb";
  instance.uuids = {"MIG-1", "MIG-2"};
  split.instances = {instance};
  report.gpus = {whole, split};
  return report;
}

TEST(NodeReport, SurvivesWritingAndReading) {
  const NodeReport report = TwoGpus();
  const StatusOr<NodeReport> read = ReadNodeReport(WriteNodeReport(report));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, report);
}

TEST(NodeReport, HasEveryMeasureInTheOrderOfTheEnumeration) {
  for (size_t i = 0; i < kUseMeasureCount; ++i) {
    EXPECT_EQ(static_cast<size_t>(UseMeasures()[i].measure), i);
  }
}

TEST(NodeReport, LeavesOutUnknownFacts) {
  const std::string json = WriteNodeReport(TwoGpus());
  EXPECT_NE(json.find(R"("values":{"memory_copy_utilization_percent":{"value":37,"age_ms":120},)"
                      R"("sm_active_ratio":{"value":4.321E-1,"age_ms":900},)"
                      R"("power_watts":{"value":3.125E2,"age_ms":40}})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("values":{},"owners":[])"), std::string::npos) << json;
  EXPECT_EQ(json.find("utilization_percent\":{\"value\":0"), std::string::npos);
}

// A valid report in which the first `part` is replaced by `other`.
std::string With(std::string_view part, std::string_view other) {
  std::string json = WriteNodeReport(TwoGpus());
  const size_t at = json.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return json.replace(at, part.size(), other);
}

TEST(NodeReport, AcceptsUnknownKeys) {
  EXPECT_TRUE(ReadNodeReport(With("\"schema\":1", R"("more":{"a":[1,null]},"schema":1)")).ok());
}

TEST(NodeReport, RefusesInvalidReports) {
  struct Row {
    std::string_view part, other, says;
  };
  const Row rows[] = {
      {"{\"schema\"", "[\"schema\"", "it is not a JSON object"},
      {"\"schema\":1", "\"schema\":2", "schema 2 is not supported"},
      {"\"schema\":1", "\"schema\":\"1\"", "\"schema\" is not a whole number"},
      {"\"node\":\"gpu-node.1\"", "\"node\":\"\"", "\"node\" is empty"},
      {"\"node\":\"gpu-node.1\"", "\"nodes\":\"n\"", "\"node\" is not a text"},
      {"\"ready\":true", "\"ready\":1", "\"ready\" is neither true nor false"},
      {"\"devices\":[", "\"devices\":[7,", "\"devices\" is not an object"},
      {"\"gpu\":0", "\"gpu\":-1", "\"gpu\" is not a whole number from 0 to 4294967295"},
      {"GPU-2", "GPU-1", "\"GPU-1\" is the UUID of two devices"},
      {"MIG-2", "GPU-1", "\"GPU-1\" is the UUID of two devices"},
      {"\"lost\"", "\"fine\"", "\"fine\", which is not a device state"},
      {"\"value\":37", "\"value\":101", "is not a number from 0 to 100"},
      {"\"value\":37", "\"value\":-1", "is not a number from 0 to 100"},
      {"\"value\":37", "\"value\":null", "is not a number from 0 to 100"},
      {"\"value\":37", "\"value\":1e999", "is not a number from 0 to 100"},
      {"\"age_ms\":120", "\"age_ms\":99999999999", "\"age_ms\" is not a whole number"},
      {"\"namespace\":\"default\"", "\"namespace\":{}", "\"namespace\" is not a text"},
      {"\"owners\":[{", "\"owners\":7,\"x\":[{", "\"owners\" is not a list"},
      {"\"sm_percent\":1.25E1", "\"sm_percent\":101", "\"sm_percent\" is not a number from 0 to"},
      {"\"memory_bytes\":1024", "\"memory_bytes\":-1", "\"memory_bytes\" is not a whole number"},
      {"\"pods\":[{", "\"pods\":{},\"x\":[{", "\"pods\" is not a list"},
      {"\"version\":\"1.2.3\"", "\"version\":\"\xFF\"", "it is not a JSON object"},
  };
  for (const Row& row : rows) {
    const StatusOr<NodeReport> read = ReadNodeReport(With(row.part, row.other));
    ASSERT_FALSE(read.ok()) << row.other;
    EXPECT_NE(read.status().message().find(std::string(row.says)), std::string::npos)
        << read.status();
  }
}

TEST(NodeReport, IsBounded) {
  NodeReport report = TwoGpus();
  const NodeReportLimits limits{
      .most_gpus = 2, .most_instances = 2, .most_owners = 2, .most_text_bytes = 40};
  EXPECT_TRUE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  report.gpus[1].use.owners = {{"a", "b", "c", "d", ""}};
  EXPECT_FALSE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  report = TwoGpus();
  report.gpus[0].use.pods.resize(3, report.gpus[0].use.pods[0]);
  EXPECT_FALSE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  report = TwoGpus();
  report.gpus[0].model = std::string(41, 'x');
  EXPECT_FALSE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  report = TwoGpus();
  report.gpus.push_back(report.gpus[0]);
  report.gpus.back().uuid = "GPU-3";
  EXPECT_FALSE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  report = TwoGpus();
  report.gpus[1].instances.assign(3, {});
  EXPECT_FALSE(ReadNodeReport(WriteNodeReport(report), limits).ok());
  std::string deep = R"({"schema":1,"x":)" + std::string(100, '[');
  EXPECT_FALSE(ReadNodeReport(deep + std::string(100, ']') + "}").ok());
}

}  // namespace
}  // namespace podgpu
