#include <string>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "top/fleet_frame.h"

namespace podgpu {
namespace {

constexpr std::string_view kTwoNodes = R"({"schema":1,"version":"0.1.0","ready":true,
"verdict":"ok","namespaces":["research","team-b"],"pods":[[0,"llama"],[1,"notebook"]],
"models":["H100"],"states":["ok","lost"],"nodes":{"node":["n1","n2"],
"address":["10.0.0.1:9400","10.0.0.2:9400"],"state":["ok","unresponsive"],"reason":["","connect"],
"detail":["ok","connecting: refused"],"read_at_s":[7200,null],"owners_known":[true,false],
"devices":[3,0]},"devices":{"gpu":[0,1,2],"model":[0,0,0],"state":[0,0,0],
"activity_percent":[97,0,0],"memory_used_mib":[1024,2048,null],"memory_total_mib":[1000,1000,null],
"instances":[0,0,0],"pods":[[0],[1],[]],"hidden_owners":[0,0,0],"idle_since_s":[null,3600,null]}})";

TEST(Fleet, PodsAreInTheOrderOfTheirIdleGpuHours) {
  FleetModel model;
  const auto fleet = ReadFleet(kTwoNodes);
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  model.fleet = *fleet;
  model.now_ms = 10'800'000;
  const std::string text = DrawFleet(model, TopView(), {80, 24}, false).Text();
  EXPECT_LT(text.find("team-b/notebook"), text.find("research/llama")) << text;
  EXPECT_NE(text.find("2h00m    2.0G        2.0"), std::string::npos) << text;
  EXPECT_NE(text.find("2 nodes: 1 ok  3 GPUs: 2 held"), std::string::npos) << text;
  const PaneTable nodes = FleetTable(Pane::kProcesses, *model.fleet, TopView(), model.now_ms);
  EXPECT_EQ(nodes.rows.front().key, "n2") << "A node in trouble comes first.";
}

TEST(Fleet, WrongColumnsAreRefused) {
  std::string json(kTwoNodes);
  json.replace(json.find("[3,0]"), 5, "[4,0]");
  EXPECT_FALSE(ReadFleet(json).ok());
  EXPECT_EQ(ReadFleet(R"({"schema":2})").status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace podgpu
