#include <string>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "top/fleet_frame.h"
#include "top/testing/golden_frame.h"

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

FleetModel ModelOf(std::string_view json) {
  FleetModel model;
  StatusOr<FleetStatus> fleet = FleetColumns().Take(json);
  EXPECT_TRUE(fleet.ok()) << fleet.status();
  model.fleet = *std::move(fleet);
  model.now_ms = 10'800'000;
  return model;
}

constexpr int64_t kDrawnFleetNowS = 1'700'057'002;  // 2023-11-15 14:03:22 UTC.

// The fleet of docs/top.md.
FleetModel DrawnFleet() {
  constexpr int64_t kHourS = 3'600, kMinuteS = 60;
  FleetStatus fleet;
  fleet.ready = true;
  fleet.verdict =
      "ready: 4 of 5 nodes answer; gpu-node-04 does not: connecting: Connection refused";
  const auto ago = [](int64_t s) { return kDrawnFleetNowS - s; };
  fleet.nodes = {{"gpu-node-01", "10.0.0.1:9400", "ok", "ok", 8, 8, 1, 0, 0, 91, 540'000, 655'360,
                  ago(3), true},
                 {"gpu-node-02", "10.0.0.2:9400", "ok", "ok", 8, 8, 8, 0, 0, 0, 310'000, 655'360,
                  ago(5), true},
                 {"gpu-node-03", "10.0.0.3:9400", "ok", "ok", 8, 5, 0, 3, 0, 58, 300'000, 655'360,
                  ago(2), true},
                 {"gpu-node-04",
                  "10.0.0.4:9400",
                  "unresponsive",
                  "connecting: Connection refused",
                  8,
                  0,
                  0,
                  0,
                  8,
                  {},
                  0,
                  0,
                  ago(131),
                  false},
                 {"gpu-node-05", "10.0.0.5:9400", "ok", "ok", 8, 7, 2, 1, 1, 44, 280'000, 655'360,
                  ago(4), true}};
  fleet.pods = {{"research", "llama-train-0", 8, 1, ago(52 * kMinuteS), ago(52 * kMinuteS), 540'000,
                 "gpu-node-01"},
                {"research", "sweep-of-last-week-0", 8, 8, ago(31 * kHourS), 8 * ago(31 * kHourS),
                 310'000, "gpu-node-02"},
                {"team-b", "notebook-7c9f", 1, 1, ago(2 * kHourS + 14 * kMinuteS),
                 ago(2 * kHourS + 14 * kMinuteS), 39'500, "gpu-node-05"},
                {"team-b", "notebook-f00d", 1, 1, ago(9 * kMinuteS), ago(9 * kMinuteS), 11'000,
                 "gpu-node-05"},
                {"infer", "chat-a-5d4f", 5, 0, {}, 0, 300'000, "gpu-node-03"}};
  FleetModel model;
  model.fleet = std::move(fleet);
  model.now_ms = kDrawnFleetNowS * 1'000;
  return model;
}

TEST(Fleet, IsAsDrawn) {
  TopView view;
  ExpectGoldenFrame("fleet-80x24", DrawFleet(DrawnFleet(), view, {80, 24}, false).Text());
  view.pane = Pane::kProcesses;
  ExpectGoldenFrame("fleet-nodes-80x24", DrawFleet(DrawnFleet(), view, {80, 24}, false).Text());
}

TEST(Fleet, PodsAreInTheOrderOfTheirIdleGpuHours) {
  const FleetModel model = ModelOf(kTwoNodes);
  const std::string text = DrawFleet(model, TopView(), {80, 24}, false).Text();
  EXPECT_LT(text.find("team-b/notebook"), text.find("research/llama")) << text;
  EXPECT_NE(text.find("2h00m    2.0G        2.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("podgpu top  2 nodes: 1 ok  3 GPUs: 1 idle 1 free 2 held"), std::string::npos)
      << text;
  const PaneTable nodes = FleetTable(Pane::kProcesses, model, TopView());
  EXPECT_EQ(nodes.rows.front().cells[0].text, "n2") << "A node in trouble comes first.";
  EXPECT_NE(DrawFleet(model, TopView(), {120, 24}, false).Text().find("2.0  n1\n"),
            std::string::npos);
}

// Past the limit no number that changes is on the screen, and no idle time counts on.
TEST(Fleet, AnOldAnswerKeepsItsNamesAlone) {
  FleetModel model = ModelOf(kTwoNodes);
  model.is_old = true;
  const std::string pods = DrawFleet(model, TopView(), {80, 24}, false).Text();
  EXPECT_NE(
      pods.find(
          " team-b/notebook                            1     -         -       -          -\n"),
      std::string::npos)
      << pods;
  TopView view;
  view.pane = Pane::kProcesses;
  const std::string nodes = DrawFleet(model, view, {80, 24}, false).Text();
  EXPECT_NE(nodes.find(" n1 "), std::string::npos);
  EXPECT_EQ(nodes.find(" ok "), std::string::npos) << nodes;
}

TEST(Fleet, EachKeyShowsSomething) {
  const FleetModel model = ModelOf(kTwoNodes);
  TopView view;
  constexpr Size kSize{80, 24};
  const auto press = [&](KeyPress key) {
    Press(key, FleetContext(model, view, kSize), view);
    return DrawFleet(model, view, kSize, false).Text();
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(press({Key::kText, '?'}), "GPU-HOURS: their idle times, added up"));
  press({Key::kEscape});
  press({Key::kText, '2'});
  for (const char key : {'3', '4', 'e'}) {
    EXPECT_TRUE(has(press({Key::kText, key}), "[2 Nodes]")) << key;
  }
  EXPECT_TRUE(has(press({Key::kText, 'n'}), " n1 ")) << "Nodes have no namespace.";
  press({Key::kDown});
  EXPECT_TRUE(has(press({Key::kEnter}), "connecting: refused  podgpu top http://10.0.0.2:9400"));
  EXPECT_TRUE(has(press({Key::kText, '1'}), "namespace research"));
  EXPECT_TRUE(has(press({Key::kTab}), "[2 Nodes]"));
  EXPECT_TRUE(has(press({Key::kTab}), "[1 Pods]"));
  EXPECT_TRUE(has(press({Key::kText, '+'}), " 2s\n"));
}

TEST(Fleet, TwoNodesOfOneNameAreTwoRows) {
  FleetModel model = DrawnFleet();
  model.fleet->nodes[1].node = "gpu-node-01";
  TopView view;
  constexpr Size kSize{80, 24};
  const auto press = [&](KeyPress key) { Press(key, FleetContext(model, view, kSize), view); };
  press({Key::kText, '2'});
  press({Key::kEnd});
  press({Key::kUp});
  press({Key::kUp});
  const std::string text = DrawFleet(model, view, kSize, false).Text();
  EXPECT_NE(text.find("podgpu top http://10.0.0.2:9400"), std::string::npos) << text;
  EXPECT_EQ(text.find('>'), text.rfind('>', text.find("q quit"))) << "one row is selected";
}

TEST(FleetColumns, TakesTheColumnsThatChange) {
  std::string whole(kTwoNodes);
  whole.insert(1, "\"epoch\":\"00ff\",");
  FleetColumns columns;
  EXPECT_EQ(columns.epoch(), "");
  ASSERT_TRUE(columns.Take(whole).ok());
  EXPECT_EQ(columns.epoch(), "00ff");
  const auto fleet = columns.Take(R"({"delta":true,"schema":1,"epoch":"00ff","ready":true,
"verdict":"later","states":["lost"],"nodes":{"state":["ok","ok"],"detail":["",""],
"read_at_s":[7300,7300],"owners_known":[true,true]},"devices":{"state":[0,0,0],
"activity_percent":[1,2,3],"memory_used_mib":[1,1,1],"idle_since_s":[3600,null,null]}})");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_EQ(fleet->verdict, "later");
  EXPECT_EQ(fleet->nodes[0].bad, 3U);
  EXPECT_EQ(fleet->nodes[1].state, "ok");
  EXPECT_EQ(fleet->pods[0].idle_gpus, 1U);
  EXPECT_FALSE(columns.Take(R"({"delta":true,"devices":{"state":[0]}})").ok());
  EXPECT_EQ(columns.epoch(), "") << "After an error the next answer must be whole.";
}

TEST(FleetColumns, RefusesWrongColumns) {
  std::string json(kTwoNodes);
  json.replace(json.find("[3,0]"), 5, "[4,0]");
  EXPECT_FALSE(FleetColumns().Take(json).ok());
  EXPECT_EQ(FleetColumns().Take(R"({"schema":2})").status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace podgpu
