#include "ui/status_page.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/text.h"
#include "ui/html.h"
#include "ui/status_text.h"
#include "ui/testing/sample_status.h"

namespace podgpu {
namespace {

using testing::kSampleNowMs;

StatusPageFacts FactsOf(const NodeStatus& status) {
  return {"gpu-node-07", "1.0.0", &status, kSampleNowMs, {"/metrics", "/health", "/explain"}};
}

// Compares with tests/golden/page/NAME; PODGPU_UPDATE_GOLDEN rewrites the file.
void ExpectGolden(const std::string& name, const std::string& page) {
  const std::string path = std::string("tests/golden/page/") + name;
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << page;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, bytes) << path;
}

void ExpectAll(const std::string& page, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(StatusPage, OfEveryKindOfNodeEqualsItsGoldenPage) {
  const std::pair<const char*, NodeStatus> nodes[] = {
      {"healthy", testing::HealthyNode()}, {"shared", testing::SharedNode()},
      {"mig", testing::MigNode()},         {"faulty", testing::FaultyNode()},
      {"waiting", testing::WaitingNode()}, {"no-kubelet", testing::NodeWithoutKubelet()},
  };
  for (const auto& [name, status] : nodes) {
    ExpectGolden(name + std::string(".html"), RenderStatusPage(FactsOf(status)));
    ExpectGolden(name + std::string(".txt"), StatusText(FactsOf(status)));
  }
}

// Without a script, every device, state, owner and reason is there.
TEST(StatusPage, Statement18StatesEveryDeviceStateOwnerAndReason) {
  const NodeStatus faulty = testing::FaultyNode();
  ExpectAll(RenderStatusPage(FactsOf(faulty)),
            {"<title>1 lost, 1 degraded, 1 ok - gpu-node-07 - podgpu</title>",
             "GPU 3 is lost since 14:01:07: XID 79, it left the PCIe bus.", "Reboot the node.",
             "href=\"./explain?gpu=3\"", "class=\"state lost\">lost", "data-v=\"since\">2m<",
             "sw_thermal", "GPU-2f1c9a04-0000-0000-0000-000000000003", "sample 0.4 s old",
             "3,214 series"});
  const NodeStatus healthy = testing::HealthyNode();
  ExpectAll(RenderStatusPage(FactsOf(healthy)),
            {"96 %", "67.2 of 80 GiB", "652 of 700 W", "64 °C", "idle 2h14m",
             "SM activity, 1 minute: 2 to 98, now 96 percent",
             "NVLink errors, GPU 0-1: the driver says &quot;not supported&quot;"});
  const NodeStatus mig = testing::MigNode();
  ExpectAll(RenderStatusPage(FactsOf(mig)),
            {"MIG 1, 3g.20gb", "vision/batch-0 (main), 1 in namespaces that are not shown",
             "MIG 5, 1g.5gb", ">free<", "4.0 of 19.6 GiB"});
}

TEST(StatusPage, Statement16MarksExactlyTheApportionedFigures) {
  const NodeStatus shared = testing::SharedNode();
  const std::string page = RenderStatusPage(FactsOf(shared));
  ExpectAll(page, {"~300 W", "~46 W", "~0.4 Wh", ">42 W", ">120 Wh", "apportioned by SM time",
                   "idle 41m", "unattributed"});
  const NodeStatus healthy = testing::HealthyNode();
  EXPECT_EQ(RenderStatusPage(FactsOf(healthy)).find('~'), std::string::npos);
}

TEST(StatusPage, Statement25CallsNoGpuFreeWithoutTheKubelet) {
  const NodeStatus status = testing::NodeWithoutKubelet();
  const std::string page = RenderStatusPage(FactsOf(status));
  ExpectAll(page, {"not known: the kubelet does not answer", "1 ok; kubelet degraded",
                   "Utilization, 5 min", "Mount the folder of the socket."});
  EXPECT_EQ(page.find(">free"), std::string::npos);
}

TEST(StatusPage, CallsNoInstanceFreeWithoutTheKubelet) {
  NodeStatus status = testing::MigNode();
  status.owners_known = false;
  status.gpus[0].instances[0].holders.clear();
  status.gpus[0].instances[0].hidden_holders = 0;
  const std::string page = RenderStatusPage(FactsOf(status));
  EXPECT_EQ(page.find("free"), std::string::npos);
  EXPECT_NE(page.find(">not known<"), std::string::npos);
}

TEST(StatusPage, HasNoTableOfDashesWithoutGpus) {
  const NodeStatus status = testing::WaitingNode();
  const std::string page = RenderStatusPage(FactsOf(status));
  ExpectAll(page, {"<title>driver waiting - gpu-node-07 - podgpu</title>",
                   "libnvidia-ml.so.1 is in none of 6 paths; next look in 10 s", "no sample yet"});
  EXPECT_EQ(page.find("id=\"gpus\""), std::string::npos);
  EXPECT_EQ(page.find(">-<"), std::string::npos);
}

TEST(StatusPage, SaysThatItStartsBeforeTheFirstTick) {
  const std::string page = RenderStatusPage({"n", "1.0", nullptr, 0, {"/metrics"}});
  EXPECT_NE(page.find("starting: the first page is not ready yet"), std::string::npos);
  EXPECT_EQ(page.find("<table"), std::string::npos);
  EXPECT_EQ(StatusText({"n", "1.0", nullptr, 0, {"/metrics"}}),
            "podgpu 1.0 on n: starting: the first page is not ready yet\n\nPaths: /metrics\n");
}

TEST(StatusPage, FoldsManyRowsExceptThoseOfProblems) {
  const NodeStatus large = testing::LargeNode();
  const std::string page = RenderStatusPage(FactsOf(large));
  EXPECT_NE(
      page.find(
          "<details id=\"below-0\"><summary>GPU 0: its owners, infer/chat-a-5d4f, infer/rerank-0<"),
      std::string::npos);
  EXPECT_NE(page.find("<details id=\"below-5\" open>"), std::string::npos);
  const NodeStatus small = testing::SharedNode();
  EXPECT_NE(RenderStatusPage(FactsOf(small)).find("<details id=\"below-0\" open>"),
            std::string::npos);
}

TEST(StatusPage, NamesAllHoldersOfWhoseUseNothingIsKnown) {
  NodeStatus status = testing::SharedNode();
  status.gpus[0].shares.clear();
  status.gpus[0].hidden_holders = 1;
  const std::string names =
      "infer/chat-a-5d4f (server), infer/rerank-0 (server), 1 in namespaces that are not shown";
  EXPECT_NE(RenderStatusPage(FactsOf(status)).find(names), std::string::npos);
  EXPECT_NE(StatusText(FactsOf(status)).find(names), std::string::npos);
}

TEST(StatusPage, TextHasAtMost100ColumnsAndCutsNothing) {
  NodeStatus status = testing::SharedNode();
  const std::string pod = "team-with-a-long-name/" + std::string(200, 'p');
  StatusHolder& holder = *status.gpus[0].shares[0].holder;
  holder.pod_namespace = pod.substr(0, pod.find('/'));
  holder.pod = pod.substr(pod.find('/') + 1);
  status.gpus[0].owners = "research/mistral-finetune-deployment-6f9c8d7b5-x2k4p (trainer)";
  status.gpus[0].model = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition";
  status.faults = {{"degraded", std::nullopt, std::string(300, 'f'), "Do this.", ""}};
  std::string text = StatusText(FactsOf(status));
  size_t longest = 0;
  for (const std::string_view line : Split(text, '\n')) {
    longest = std::max(longest, LetterCount(line));
  }
  EXPECT_LE(longest, 100U) << text;
  EXPECT_GT(longest, 80U);
  ExpectAll(text, {"\n      research/mistral-finetune-deployment-6f9c8d7b5-x2k4p (trainer)"});
  std::erase_if(text, [](char byte) { return byte == ' ' || byte == '\n'; });
  ExpectAll(text, {pod, std::string(299, 'f'), "BlackwellMax-QWorkstationEdition"});
}

TEST(StatusPage, TextIsThatOfTheGuide) {
  const NodeStatus status = testing::SharedNode();
  std::ifstream file("docs/node-page.md", std::ios::binary);
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  ExpectAll(guide, {"```text\n" + StatusText(FactsOf(status)) + "```\n"});
}

TEST(StatusPage, ListsProcessesByPid) {
  const NodeStatus status = testing::SharedNode();
  const std::string page = RenderStatusPage(FactsOf(status));
  ExpectAll(page, {"Processes (2)", "rerank, infer/rerank-0 (server)", "~46 W", ">1m<"});
  EXPECT_LT(page.find("process-0-4190"), page.find("process-0-51201"));
}

TEST(StatusPage, DrawsInstancesAsSlicesOfTheirGpu) {
  const NodeStatus status = testing::MigNode();
  ExpectAll(RenderStatusPage(FactsOf(status)), {"class=\"slice\" x=\"0.0%\" width=\"24.6%\"",
                                                "data-whole=\"24.6\" x=\"0.0%\" width=\"12.3%\"",
                                                "class=\"slice\" x=\"24.6%\" width=\"6.0%\""});
}

TEST(StatusPage, LinksBackToItsNodeOnTheFleetPage) {
  const NodeStatus status = testing::HealthyNode();
  StatusPageFacts facts = FactsOf(status);
  EXPECT_EQ(RenderStatusPage(facts).find("Fleet"), std::string::npos);
  facts.fleet_url = "https://podgpu.example/?group=pool";
  EXPECT_NE(RenderStatusPage(facts).find(
                "<a href=\"https://podgpu.example/?group=pool&amp;node=gpu-node-07\">Fleet</a>"),
            std::string::npos);
}

TEST(StatusPage, EscapesTextFromOutside) {
  NodeStatus status = testing::FaultyNode();
  const std::string hostile = "<script>'\"&";
  for (std::string* text :
       {&status.gpus[0].model, &status.gpus[0].owners, &status.gpus[0].uuid, &status.verdict,
        &status.faults[0].text, &status.faults[0].remedy, &status.parts[0].detail,
        &status.gpus[1].throttle_reasons.emplace_back(), &status.faults[1].explain}) {
    *text = hostile;
  }
  status.missing = {{hostile, hostile, hostile, hostile}};
  status.gpus[0].shares = {{StatusHolder{hostile, hostile, hostile}, {}, std::nullopt}};
  status.gpus[0].instances = {{1, hostile, {}, {}, {}, {{hostile, hostile, hostile}}, 0}};
  const std::string page = RenderStatusPage({hostile, hostile, &status, kSampleNowMs, {}});
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(EscapeHtml("a'b"), "a&#39;b");
}

}  // namespace
}  // namespace podgpu
