#include "kube/pod_list_parser.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pod_resources_v1.pb.h"

namespace podgpu {
namespace {

const PodListParser::Origin kOrigin = {.api_version = "v1", .connection = 1};

// A pod whose one container holds the devices.
v1::PodResources PodOf(const std::string& name, const std::vector<std::string>& devices) {
  v1::PodResources pod;
  pod.set_namespace_("ml");
  pod.set_name(name);
  v1::ContainerResources* container = pod.add_containers();
  container->set_name("main");
  for (const std::string& device : devices) {
    v1::ContainerDevices* one = container->add_devices();
    one->set_resource_name("nvidia.com/gpu");
    one->add_device_ids(device);
  }
  return pod;
}

std::string MessageOf(const std::vector<v1::PodResources>& pods) {
  v1::ListPodResourcesResponse response;
  for (const v1::PodResources& pod : pods) {
    *response.add_pod_resources() = pod;
  }
  return response.SerializeAsString();
}

Allocation HeldBy(const std::string& pod, const std::string& device) {
  return {"ml", pod, "main", "nvidia.com/gpu", device};
}

class PodListParserTest : public ::testing::Test {
 protected:
  std::shared_ptr<const PodAllocations> Parse(const std::vector<v1::PodResources>& pods,
                                              const PodListParser::Origin& origin = kOrigin) {
    StatusOr<std::shared_ptr<const PodAllocations>> list = parser_.Parse(MessageOf(pods), origin);
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *std::move(list) : nullptr;
  }
  // Number of pods parsed since the last call.
  uint64_t Parsed() {
    return parser_.parsed_pods() - std::exchange(before_, parser_.parsed_pods());
  }

  const v1::PodResources train_ = PodOf("train-0", {"GPU-a", "GPU-b"});
  const v1::PodResources chat_ = PodOf("chat", {"GPU-c"});
  const v1::PodResources dns_ = PodOf("dns", {});
  PodListParser parser_{OwnPod{.name = "podgpu-x7k2p", .name_space = "ml"}};
  uint64_t before_ = 0;
};

TEST_F(PodListParserTest, ParsesNothingWhileTheBytesAreTheSame) {
  const auto first = Parse({train_, chat_, dns_});
  EXPECT_EQ(Parsed(), 3U);
  EXPECT_EQ(first->pod_count, 3U);
  EXPECT_EQ(first->api_version, "v1");
  EXPECT_EQ(first->allocations, (std::vector{HeldBy("chat", "GPU-c"), HeldBy("train-0", "GPU-a"),
                                             HeldBy("train-0", "GPU-b")}));
  EXPECT_EQ(Parse({train_, chat_, dns_}), first);
  EXPECT_EQ(Parsed(), 0U);
}

TEST_F(PodListParserTest, ParsesNothingWhileOnlyTheOrderOfPodsChanges) {
  const auto first = Parse({train_, chat_, dns_});
  Parsed();
  EXPECT_EQ(Parse({dns_, train_, chat_}), first);
  EXPECT_EQ(Parse({chat_, dns_, train_}), first);
  EXPECT_EQ(Parsed(), 0U);
}

TEST_F(PodListParserTest, ParsesOnlyThePodWhoseDevicesAreInAnotherOrder) {
  const auto first = Parse({train_, chat_, dns_});
  Parsed();
  EXPECT_EQ(Parse({dns_, PodOf("train-0", {"GPU-b", "GPU-a"}), chat_}), first)
      << "the content is the same";
  EXPECT_EQ(Parsed(), 1U);
}

TEST_F(PodListParserTest, SeesEachChange) {
  auto last = Parse({train_, chat_, dns_});
  const struct {
    const char* what;
    std::vector<v1::PodResources> pods;
    uint64_t parsed;
    std::vector<Allocation> allocations;
  } rows[] = {
      {"a pod ends", {train_, dns_}, 0, {HeldBy("train-0", "GPU-a"), HeldBy("train-0", "GPU-b")}},
      {"a pod begins",
       {train_, dns_, PodOf("eval", {"GPU-c"})},
       1,
       {HeldBy("eval", "GPU-c"), HeldBy("train-0", "GPU-a"), HeldBy("train-0", "GPU-b")}},
      {"a pod gets another device",
       {train_, dns_, PodOf("eval", {"GPU-d"})},
       1,
       {HeldBy("eval", "GPU-d"), HeldBy("train-0", "GPU-a"), HeldBy("train-0", "GPU-b")}},
      {"a pod without devices takes the place of another",
       {train_, PodOf("web", {}), PodOf("eval", {"GPU-d"}), dns_},
       1,
       {HeldBy("eval", "GPU-d"), HeldBy("train-0", "GPU-a"), HeldBy("train-0", "GPU-b")}},
      {"a pod is listed twice", {dns_, dns_}, 1, {}},
      {"all pods end", {}, 0, {}},
  };
  Parsed();
  for (const auto& row : rows) {
    const auto list = Parse(row.pods);
    EXPECT_NE(list, last) << row.what;
    EXPECT_EQ(Parsed(), row.parsed) << row.what;
    EXPECT_EQ(list->pod_count, row.pods.size()) << row.what;
    EXPECT_EQ(list->allocations, row.allocations) << row.what;
    last = list;
  }
}

TEST_F(PodListParserTest, FindsTheOwnPod) {
  EXPECT_FALSE(Parse({dns_})->lists_own_pod);
  EXPECT_TRUE(Parse({dns_, PodOf("podgpu-x7k2p", {})})->lists_own_pod);
  EXPECT_TRUE(Parse({PodOf("podgpu-x7k2p", {}), dns_})->lists_own_pod);
  EXPECT_FALSE(Parse({dns_, PodOf("podgpu-22222", {})})->lists_own_pod);
}

TEST_F(PodListParserTest, AnAnswerOfAnotherConnectionOrVersionIsAnotherObject) {
  const auto first = Parse({train_, dns_});
  const auto second = Parse({train_, dns_}, {.api_version = "v1", .connection = 2});
  EXPECT_NE(second, first);
  EXPECT_EQ(second->connection, 2U);
  EXPECT_EQ(second->allocations, first->allocations);
  const auto third = Parse({dns_, train_}, {.api_version = "v1alpha1", .connection = 2});
  EXPECT_NE(third, second);
  EXPECT_EQ(third->api_version, "v1alpha1");
  EXPECT_EQ(Parsed(), 2U);
}

TEST_F(PodListParserTest, AnInvalidAnswerDoesNotCountAsTheLastOne) {
  const auto first = Parse({train_, dns_});
  const std::string good = MessageOf({dns_, train_, chat_});
  EXPECT_EQ(parser_.Parse(good.substr(0, good.size() - 1), kOrigin).status().code(),
            absl::StatusCode::kDataLoss);
  // Its last pod has a container that ends too early.
  EXPECT_EQ(parser_.Parse(MessageOf({dns_, train_}) + "\x0A\x02\x1A\x05", kOrigin).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(Parse({})->pod_count, 0U);
  EXPECT_EQ(*Parse({train_, dns_}), *first);
}

TEST_F(PodListParserTest, DoesNotKeepTheBytesOfAHugeAnswer) {
  std::vector<v1::PodResources> pods;
  for (int i = 0; i < 2'000; ++i) {
    pods.push_back(PodOf(std::string(600, 'p') + std::to_string(i), {}));
  }
  ASSERT_GT(MessageOf(pods).size(), PodListParser::kMostKeptBytes);
  const auto first = Parse(pods);
  EXPECT_EQ(Parse(pods), first);
  EXPECT_EQ(Parsed(), 4'000U);
  EXPECT_EQ(Parse({dns_})->pod_count, 1U);
}

}  // namespace
}  // namespace podgpu
