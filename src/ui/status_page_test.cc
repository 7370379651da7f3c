#include "ui/status_page.h"

#include <gtest/gtest.h>

#include "ui/html.h"

namespace podgpu {
namespace {

Condition Sample() {
  Condition condition;
  condition.ready = true;
  condition.verdict = "ready: 1 of 1 GPUs has fresh samples";
  condition.parts = {{"driver", PartState::kOk, "dcgm 4.6.0, embedded"},
                     {"kubelet", PartState::kDegraded, "/x.sock does not exist"}};
  condition.devices = {
      {0, "ok", "GPU-1", "NVIDIA H100", "00000000:1B:00.0", "research/<b>&\"pod\"</b>"}};
  return condition;
}

TEST(StatusPage, ShowsEveryPartWithItsStateAndReason) {
  const Condition condition = Sample();
  const std::string page =
      RenderStatusPage({"node-1", "1.0", &condition, 12, {"/metrics", "/health"}});
  for (const std::string_view expected :
       {"<h1>podgpu on node-1</h1>", "ready: 1 of 1 GPUs has fresh samples",
        "<a href=\"./metrics\">/metrics</a>", "<a href=\"./health\">/health</a>",
        ">degraded</td><td>/x.sock does not exist", "GPU-1", "12 series"}) {
    EXPECT_NE(page.find(expected), std::string::npos) << expected;
  }
}

TEST(StatusPage, SaysTheSameToATerminalInText) {
  const Condition condition = Sample();
  EXPECT_EQ(StatusText({"node-1", "1.0", &condition, 12, {"/metrics", "/health", "/explain"}}),
            "podgpu 1.0 on node-1: ready: 1 of 1 GPUs has fresh samples\n\n"
            "driver            ok            dcgm 4.6.0, embedded\n"
            "kubelet           degraded      /x.sock does not exist\n"
            "GPU 0             ok            research/<b>&\"pod\"</b>  NVIDIA H100  GPU-1  "
            "00000000:1B:00.0\n\n"
            "12 series on /metrics; other paths: /health /explain\n");
  EXPECT_EQ(StatusText({"n", "1.0", nullptr, 0, {"/metrics"}}),
            "podgpu 1.0 on n: starting: the first page is not ready yet\n\n0 series on /metrics; "
            "other paths:"
            "\n");
}

TEST(StatusPage, EscapesTextFromOutside) {
  const Condition condition = Sample();
  const std::string page = RenderStatusPage({"<node>", "1.0", &condition, 0, {}});
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<node>"), std::string::npos);
  EXPECT_NE(page.find("research/&lt;b&gt;&amp;&quot;pod&quot;&lt;/b&gt;"), std::string::npos);
  EXPECT_EQ(EscapeHtml("a'b"), "a&#39;b");
}

TEST(StatusPage, SaysThatItStartsBeforeTheFirstTick) {
  const std::string page = RenderStatusPage({"n", "1.0", nullptr, 0, {"/metrics"}});
  EXPECT_NE(page.find("starting: the first page is not ready yet"), std::string::npos);
  EXPECT_EQ(page.find("<table>"), std::string::npos);
}

TEST(StatusPage, NamesEveryState) {
  EXPECT_EQ(PartStateName(PartState::kStarting), "starting");
  EXPECT_EQ(PartStateName(PartState::kWaiting), "waiting");
  EXPECT_EQ(PartStateName(PartState::kOk), "ok");
  EXPECT_EQ(PartStateName(PartState::kDegraded), "degraded");
  EXPECT_EQ(PartStateName(PartState::kUnresponsive), "unresponsive");
  EXPECT_EQ(PartStateName(PartState::kRecovering), "recovering");
}

}  // namespace
}  // namespace podgpu
