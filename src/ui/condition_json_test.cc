#include "ui/condition_json.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(ConditionJson, HasTheWordsOfTheStatusPage) {
  Condition condition;
  condition.ready = true;
  condition.verdict = "ready: 1 GPUs have fresh samples";
  condition.parts = {{"kubelet", PartState::kDegraded, "/x.sock does not \"exist\""}};
  condition.devices = {{0, "ok", "GPU-1", "NVIDIA H100", "00000000:1B:00.0", "free"}};
  const boost::json::value expected = {
      {"ready", true},
      {"verdict", "ready: 1 GPUs have fresh samples"},
      {"parts",
       {{{"part", "kubelet"}, {"state", "degraded"}, {"detail", "/x.sock does not \"exist\""}}}},
      {"devices",
       {{{"gpu", 0},
         {"state", "ok"},
         {"uuid", "GPU-1"},
         {"model", "NVIDIA H100"},
         {"pci_bus_id", "00000000:1B:00.0"},
         {"owners", "free"}}}}};
  EXPECT_EQ(boost::json::parse(ConditionJson(condition)), expected);
}

TEST(ConditionJson, ErrorsAreObjectsToo) {
  EXPECT_EQ(ErrorJson("a \"b\""), "{\"error\":\"a \\\"b\\\"\"}\n");
}

}  // namespace
}  // namespace podgpu
