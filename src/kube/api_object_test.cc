#include "kube/api_object.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

TEST(ApiObject, ReadsTheMetadataOfAPod) {
  const StatusOr<ApiEvent> event = ParseApiEvent(
      R"({"type":"MODIFIED","object":{"kind":"PartialObjectMetadata","metadata":{"name":"train-0",
      "namespace":"ml","uid":"a9c8","resourceVersion":"12","labels":{
      "team":"nlp","app.kubernetes.io/name":"t"},
      "managedFields":[{"x":1}],"annotations":{"k":"v"}},"status":{"phase":"Running"}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->kind, ApiEvent::Kind::kPut);
  const ApiObject& pod = event->object;
  EXPECT_EQ(pod.name_space + "/" + pod.name, "ml/train-0");
  EXPECT_EQ(pod.uid, "a9c8");
  EXPECT_EQ(pod.resource_version, "12");
  EXPECT_EQ(pod.labels, (Labels{{"team", "nlp"}, {"app.kubernetes.io/name", "t"}}));
}

TEST(ApiObject, ReadsTheContainersOfAWholePod) {
  const StatusOr<ApiObject> pod = ParseApiObject(
      R"({"metadata":{"name":"p","resourceVersion":"1"},"spec":{"containers":[
      {"name":"main","resources":{"limits":{"nvidia.com/gpu":"9"},"requests":{"cpu":"100m",
        "tencent.com/vcuda-core":"1k","tencent.com/vcuda-memory":"30"}}},
      {"name":"side","resources":{"limits":{"nvidia.com/mig-1g.10gb":"2"}}},
      {"name":"bare"}],"initContainers":[{"name":"first","resources":{"requests":{
        "nvidia.com/gpu":"-1"}}}]},
      "status":{"phase":"Failed","containerStatuses":[
      {"name":"side","containerID":"cri-o://5678"},{"name":"main","containerID":"containerd://12"},
      {"name":"bare","containerID":""}],"initContainerStatuses":[
      {"name":"first","containerID":"docker://f0"}]}})");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_TRUE(pod->has_ended);
  EXPECT_EQ(
      pod->containers,
      (std::vector<ApiContainer>{
          {"main", "12", {{"tencent.com/vcuda-core", 1000}, {"tencent.com/vcuda-memory", 30}}},
          {"side", "5678", {{"nvidia.com/mig-1g.10gb", 2}}},
          {"bare", "", {}},
          {"first", "f0", {}, {}, false},
      }));
}

TEST(ApiObject, ReadsTheConfigHashOfAMirrorPod) {
  const StatusOr<ApiObject> pod = ParseApiObject(
      R"({"metadata":{"name":"proxy-node-a","resourceVersion":"1","uid":"u-1","annotations":{
      "kubernetes.io/config.hash":"a812","kubernetes.io/config.mirror":"a812"}}})");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->config_hash, "a812");
  ApiObject other = *pod;
  EXPECT_TRUE(other.SaysTheSame(*pod));
  other.config_hash = "b000";
  EXPECT_FALSE(other.SaysTheSame(*pod));
}

TEST(ApiObject, ReadsTheGpusThatAShareSchedulerChose) {
  struct Row {
    std::string label, annotations;
    std::vector<std::string> first, second;
    std::string resource = "example.com/none";  // Which the first container requests.
  };
  const Row rows[] = {
      {"gpu-manager",
       R"("tencent.com/predicate-gpu-idx-0":"0,3","tencent.com/predicate-gpu-idx-1":" 2 ")",
       {"0", "3"},
       {"2"}},
      {"HAMi",
       R"("hami.io/vgpu-devices-allocated":"GPU-a,NVIDIA,30,5:GPU-b,NVIDIA,1,2:;;GPU-z,N,1,1:;")",
       {"GPU-a", "GPU-b"},
       {}},
      {"HAMi, the second",
       R"("hami.io/vgpu-devices-allocated":";GPU-a,NVIDIA,0,0:;")",
       {},
       {"GPU-a"}},
      {"no GPU", R"("a":"b","hami.io/vgpu-devices-allocated":7)", {}, {}},
      {"Volcano",
       R"("volcano.sh/vgpu-ids-new":"GPU-a,NVIDIA,3000,50:;GPU-b,NVIDIA,10,1:GPU-c,NVIDIA,1,1:")",
       {"GPU-a"},
       {"GPU-b", "GPU-c"}},
      {"Volcano, older", R"("volcano.sh/gpu-index":"1")", {"1"}, {}, "volcano.sh/gpu-memory"},
      {"Volcano, older, cards",
       R"("volcano.sh/gpu-index":"0, 2")",
       {"0", "2"},
       {},
       "volcano.sh/gpu-number"},
      {"gpushare",
       R"("ALIYUN_COM_GPU_MEM_IDX":"3","ALIYUN_COM_GPU_MEM_ASSIGNED":"true")",
       {"3"},
       {},
       "aliyun.com/gpu-mem"},
      {"gpushare, not assigned yet",
       R"("ALIYUN_COM_GPU_MEM_IDX":"3","ALIYUN_COM_GPU_MEM_ASSIGNED":"false")",
       {},
       {},
       "aliyun.com/gpu-mem"},
      {"gpushare's note on a pod that asks for another resource",
       R"("ALIYUN_COM_GPU_MEM_IDX":"3")",
       {},
       {}},
  };
  for (const Row& row : rows) {
    const StatusOr<ApiObject> pod = ParseApiObject(
        R"({"metadata":{"name":"p","resourceVersion":"1","annotations":{)" + row.annotations +
        R"(}},"spec":{"containers":[{"name":"a","resources":{"limits":{")" + row.resource +
        R"(":"4"}}},{"name":"b"}],"initContainers":[{"name":"c"}]}})");
    ASSERT_TRUE(pod.ok()) << pod.status();
    ASSERT_EQ(pod->containers.size(), 3U);
    EXPECT_EQ(pod->containers[0].gpus, row.first) << row.label;
    EXPECT_EQ(pod->containers[1].gpus, row.second) << row.label;
    EXPECT_TRUE(pod->containers[2].gpus.empty()) << row.label;
  }
}

TEST(ApiObject, TellsHowManyUnitsOfMemoryAGpuOfGpushareHas) {
  const auto units = [](const std::string& value) {
    return ParseApiObject(R"({"metadata":{"name":"p","resourceVersion":"1","annotations":{)"
                          R"("ALIYUN_COM_GPU_MEM_IDX":"0","ALIYUN_COM_GPU_MEM_DEV":")" +
                          value +
                          R"("}},"spec":{"containers":[{"name":"a","resources":{"limits":)"
                          R"({"aliyun.com/gpu-mem":"4"}}}]}})")
        .value()
        .containers[0]
        .gpu_memory_units;
  };
  EXPECT_EQ(units("79"), 79U);
  EXPECT_EQ(units(""), 0U);
  EXPECT_EQ(units("-3"), 0U);
  EXPECT_EQ(units("x"), 0U);
}

TEST(ApiObject, AQuantityIsAWholeNumber) {
  struct Row {
    std::string text;
    std::optional<uint64_t> number;
  };
  const Row rows[] = {
      {"0", 0},
      {"2", 2},
      {"1k", 1'000},
      {"3M", 3'000'000},
      {"2Ki", 2'048},
      {"1Gi", 1 << 30},
      {"9T", 9'000'000'000'000},
      {"-1", {}},
      {"0.5", {}},
      {"100m", {}},
      {"", {}},
      {"k", {}},
      {"1e3", {}},
      {"9007199254740993", {}},
      {"99999999T", {}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ParseQuantity(row.text), row.number) << row.text;
  }
}

TEST(ApiObject, ReadsEqualSlicesInAllVersions) {
  const std::string attributes =
      R"("attributes":{"type":{"string":"mig"},"gpu.nvidia.com/uuid":{"string":"MIG-1"},
      "parentUUID":{"string":"GPU-0"},"profile":{"string":"1g.10gb"},"index":{"int":3}})";
  for (const std::string& device : {"\"name\":\"gpu-0-mig\"," + attributes,
                                    "\"name\":\"gpu-0-mig\",\"basic\":{" + attributes + "}"}) {
    const StatusOr<ApiEvent> event = ParseApiEvent(
        R"({"type":"ADDED","object":{"metadata":{"name":"s","resourceVersion":"1"},"spec":{
        "driver":"gpu.nvidia.com","pool":{"name":"node-a","generation":4,"resourceSliceCount":1},
        "devices":[{)" +
        device + R"(},{"name":"gpu-1"}]}}})");
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->object.driver, "gpu.nvidia.com");
    EXPECT_EQ(event->object.pool, "node-a");
    EXPECT_EQ(event->object.pool_generation, 4);
    EXPECT_EQ(event->object.devices,
              (std::vector<SliceDevice>{{"gpu-0-mig", "mig", "MIG-1", "GPU-0", "1g.10gb"},
                                        {"gpu-1", "", "", "", ""}}));
  }
}

TEST(ApiObject, ReadsEvents) {
  struct Row {
    std::string text;
    std::string outcome;
  };
  const auto outcome = [](const std::string& text) -> std::string {
    const StatusOr<ApiEvent> event = ParseApiEvent(text);
    if (!event.ok()) {
      return absl::StatusCodeToString(event.status().code());
    }
    switch (event->kind) {
      case ApiEvent::Kind::kPut:
        return "put " + event->object.name;
      case ApiEvent::Kind::kDelete:
        return "delete " + event->object.name;
      case ApiEvent::Kind::kBookmark:
        return "bookmark " + event->object.resource_version;
      case ApiEvent::Kind::kError:
        return "error " + std::to_string(event->failure.code) + " " + event->failure.reason;
    }
    return "";
  };
  const std::string pod = R"({"metadata":{"name":"p","resourceVersion":"7"}})";
  const Row rows[] = {
      {R"({"type":"ADDED","object":)" + pod + "}", "put p"},
      {R"({"object":)" + pod + R"(,"type":"DELETED"})", "delete p"},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})", "bookmark 9"},
      {R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})",
       "error 410 Expired"},
      {R"({"type":"ERROR","object":{}})", "error 0 "},
      {R"({"type":"SYNCED","object":)" + pod + "}", "DATA_LOSS"},
      {R"({"type":"ADDED","object":{"metadata":{"name":"p"}}})", "DATA_LOSS"},
      {R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}})", "DATA_LOSS"},
      {R"({"type":"ADDED","object":[]})", "DATA_LOSS"},
      {R"({"type":1,"object":)" + pod + "}", "DATA_LOSS"},
      {R"({"type":"ADDED","object":{"metadata":{"name":3,"resourceVersion":7}}})", "DATA_LOSS"},
      {"{}", "DATA_LOSS"},
      {"[]", "DATA_LOSS"},
      {"{\"type\"", "DATA_LOSS"},
      {"", "DATA_LOSS"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(outcome(row.text), row.outcome) << row.text;
  }
}

TEST(ApiObject, ReadsVersionAndNextPageOfAList) {
  const StatusOr<ApiListHead> page =
      ParseApiListHead(R"({"metadata":{"resourceVersion":"5","continue":"abc"},"items":[]})");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->resource_version + " " + page->next_page, "5 abc");
  EXPECT_TRUE(ParseApiListHead(R"({"metadata":{"resourceVersion":"5"},"items":null})").ok());
  EXPECT_FALSE(ParseApiListHead(R"({"metadata":{"resourceVersion":"5"}})").ok());
  EXPECT_FALSE(ParseApiListHead(R"({"metadata":{"resourceVersion":"5"},"items":7})").ok());
  EXPECT_FALSE(ParseApiListHead(R"({"items":[]})").ok());
  EXPECT_FALSE(ParseApiListHead("<html>").ok());
  EXPECT_EQ(ParseApiItem(R"({"metadata":{"name":"p"}})")->name, "p");
  EXPECT_FALSE(ParseApiItem(R"({"metadata":{}})").ok());
  EXPECT_FALSE(ParseApiItem(R"({"metadata":{"name":"p")").ok());
}

TEST(ApiObject, RefusesInvalidUtf8) {
  EXPECT_FALSE(
      ParseApiEvent("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}").ok());
}

TEST(ApiObject, ReadsAFailure) {
  const ApiFailure failure = ParseApiFailure(
      R"({"kind":"Status","code":403,"reason":"Forbidden","message":"pods is forbidden"})");
  EXPECT_EQ(failure.code, 403);
  EXPECT_EQ(failure.message, "pods is forbidden");
  EXPECT_EQ(ParseApiFailure("Too many requests, please try again later.\n").message,
            "Too many requests, please try again later.");
  EXPECT_EQ(ParseApiFailure("<html>a proxy's page</html>").message, "");
  EXPECT_EQ(ParseApiFailure(R"({"kind":"PodList"})").message, "");
}

TEST(ApiObject, ReadsTheVersionsOfAGroup) {
  EXPECT_EQ(*ParseApiVersions(
                R"({"kind":"APIGroup","versions":[{"version":"v1"},{"version":"v1beta1"}]})"),
            (std::vector<std::string>{"v1", "v1beta1"}));
  EXPECT_FALSE(ParseApiVersions("{}").ok());
}

}  // namespace
}  // namespace podgpu
