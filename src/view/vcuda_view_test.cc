#include "view/vcuda_view.h"

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "fields/field.h"
#include "fields/field_ids.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

// A node of two GPUs with 24 and 40 GiB.
class VcudaView : public ::testing::Test {
 protected:
  VcudaView() {
    auto topology = std::make_shared<Topology>();
    topology->gpus.resize(2);
    NumberEntities(*topology);
    grid_ = std::make_shared<Grid>(topology,
                                   std::vector<const Field*>{FindField(field_ids::kMemoryTotal)});
    grid_->at(FieldRow{0}, {0}) = Value::OfInt64(24'576);
    grid_->at(FieldRow{0}, {1}) = Value::OfInt64(40'960);
  }

  static CardUser User(const std::string& container, std::vector<CardUser::Card> cards,
                       CardsAsked asked) {
    return {.name_space = "ml",
            .pod = "train-0",
            .container = container,
            .container_id = {},
            .is_told = true,
            .cards = std::move(cards),
            .asked = std::move(asked)};
  }
  std::string Page(const std::vector<CardUser>& users,
                   const std::vector<std::vector<CardUse>>& uses) const {
    std::vector<Value> slots(3);  // Of others.
    for (size_t i = 0; i < users.size(); ++i) {
      AppendCardUser(users[i], uses[i], *grid_, slots);
    }
    EXPECT_EQ(slots.size(), 3 + VcudaSlotCount(users));
    PlanBuilder plan;
    AddVcudaView(users, "node-a", 3, plan);
    std::string text;
    RenderText(std::move(plan).Build(), grid_.get(), slots, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status() << text;
    return text;
  }

  std::shared_ptr<Grid> grid_;
};

// C stands for the label of the container, N for the labels of namespace, node and pod.
std::string Shortened(std::string page) {
  const std::pair<std::string_view, std::string_view> words[] = {
      {R"(container_name="main")", "C"},
      {R"(namespace="ml",node="node-a",pod_name="train-0")", "N"}};
  for (const auto& [word, letter] : words) {
    for (size_t at = page.find(word); at != std::string::npos; at = page.find(word, at)) {
      page.replace(at, word.size(), letter);
    }
  }
  return page;
}

constexpr uint64_t kGibOfCard = uint64_t{1} << 30U;

TEST_F(VcudaView, HasALinePerCardAndTheirSumAsTheTotal) {
  const std::string page = Page({User("main", {{0, DeviceNumber{0}}, {1, DeviceNumber{1}}},
                                      {.cards = 2, .memory_mib = 7'680})},
                                {{{.memory_bytes = kGibOfCard, .sm_percent = 40},
                                  {.memory_bytes = 2 * kGibOfCard + 1, .sm_percent = 70}}});
  EXPECT_EQ(Shortened(page), R"(# HELP container_gpu_memory_total gpu memory usage in MiB
# TYPE container_gpu_memory_total gauge
container_gpu_memory_total{C,gpu_memory="gpu0",N} 1024
container_gpu_memory_total{C,gpu_memory="gpu1",N} 2048
container_gpu_memory_total{C,gpu_memory="total",N} 3072
# HELP container_gpu_utilization gpu utilization
# TYPE container_gpu_utilization gauge
container_gpu_utilization{C,gpu="gpu0",N} 40
container_gpu_utilization{C,gpu="gpu1",N} 70
container_gpu_utilization{C,gpu="total",N} 110
# HELP container_request_gpu_memory request of gpu memory in MiB
# TYPE container_request_gpu_memory gauge
container_request_gpu_memory{C,N,req_of_gpu_memory="total"} 7680
# HELP container_request_gpu_utilization request of gpu utilization
# TYPE container_request_gpu_utilization gauge
container_request_gpu_utilization{C,N,req_of_gpu="total"} 2
)");
}

TEST_F(VcudaView, WithoutAnAmountTheRequestIsTheMemoryOfTheCards) {
  const auto page = [&](std::vector<EntityId> of, double share) {
    return Page(
        {User("main", {}, {.cards = 0.5, .memory_of = std::move(of), .memory_share = share})},
        {{}});
  };
  const std::string end = ",req_of_gpu_memory=\"total\"} ";
  EXPECT_NE(page({{0}}, 1).find(end + "24576\n"), std::string::npos);
  EXPECT_NE(page({{0}, {1}}, 1).find(end + "65536\n"), std::string::npos);
  EXPECT_NE(page({{1}}, 0.25).find(end + "10240\n"), std::string::npos);
  EXPECT_EQ(page({}, 1).find(end), std::string::npos) << "the card is not known";
  grid_->at(FieldRow{0}, {1}) = Value::OfAbsence(Absence::kDeviceLost);
  EXPECT_EQ(page({{0}, {1}}, 1).find(end), std::string::npos) << "no partial sum";
}

TEST_F(VcudaView, AnUnknownNumberHasNoLineAndNoTotal) {
  const std::vector<CardUser::Card> cards = {{0, DeviceNumber{0}}, {1, std::nullopt}};
  const std::string page = Page({User("main", cards, {.cards = std::nullopt})},
                                {{{.memory_bytes = kGibOfCard, .sm_percent = std::nullopt},
                                  {.memory_bytes = std::nullopt, .sm_percent = std::nullopt}}});
  EXPECT_NE(page.find("gpu_memory=\"gpu0\""), std::string::npos);
  EXPECT_EQ(page.find("gpu_memory=\"total\""), std::string::npos);
  EXPECT_EQ(page.find("container_gpu_utilization"), std::string::npos) << page;
  EXPECT_EQ(page.find("container_request"), std::string::npos) << page;
  CardUser stranger = User("main", cards, {.cards = 1});
  stranger.is_told = false;
  EXPECT_EQ(Page({stranger}, {{CardUse(), CardUse()}}).find("container_gpu"), std::string::npos);
}

TEST_F(VcudaView, AContainerWithoutACardHasOnlyItsRequest) {
  const std::string page = Page({User("side", {}, {.cards = 0, .memory_mib = 0})}, {{}});
  EXPECT_EQ(page.find("container_gpu"), std::string::npos);
  EXPECT_NE(page.find(",req_of_gpu=\"total\"} 0\n"), std::string::npos) << page;
  EXPECT_NE(page.find(",req_of_gpu_memory=\"total\"} 0\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace podgpu
