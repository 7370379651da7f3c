#include "top/frame.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "top/gpu_table.h"
#include "top/testing/drawn_node.h"
#include "top/testing/golden_frame.h"

namespace podgpu {
namespace {

constexpr Size kSmall{80, 24}, kLarge{160, 50};

TopModel DrawnModel() {
  TopModel model;
  model.status = DrawnNode();
  model.url = "http://localhost:9400";
  model.now_ms = kDrawnNowMs;
  model.has_processes = true;
  return model;
}

Explanation DrawnExplanation() {
  Explanation explanation;
  explanation.devices = {
      {3,
       std::nullopt,
       "GPU-2f1c9a03-0000-4000-8000-000000000000",
       "NVIDIA H100 80GB HBM3",
       "00000000:06:00.0",
       "",
       {{"device", "lost",
         "the driver answers \"GPU is lost\" (NVML 15); last good sample 14:01:06"},
        {"allocation", "ok",
         "the kubelet gives nvidia.com/gpu GPU-2f1c9a03-0000-4000-8000-000000000000 to "
         "research/llama-train-1 (trainer), 2 s ago"},
        {"match", "ok", "by UUID; DCGM rows carry namespace, pod and container"},
        {"processes", "absent",
         "cannot be read while the device is lost; last seen: 40213 python3"},
        {"values", "withdrawn", "58 of 61 fields since 14:01:16 (older than 10 s)"}},
       "drain the node and reboot it. If the GPU does not return, reseat or replace it (XID 79)",
       {}}};
  return explanation;
}

std::string LineWith(const std::string& text, std::string_view part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) {
    return "no line has " + std::string(part);
  }
  const size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(TopFrame, At80Times24IsAsDrawn) {
  const Canvas canvas = DrawTop(DrawnModel(), TopView(), kSmall);
  ExpectGoldenFrame("h100-80x24", canvas.Text());
}

TEST(TopFrame, At160Times50HasPlotsContainersAndAllPanes) {
  TopModel model = DrawnModel();
  model.explanation = DrawnExplanation();
  model.explained_gpu = 3;
  const std::string text = DrawTop(model, TopView(), kLarge).Text();
  ExpectGoldenFrame("h100-160x50", text);
  // The rows of the specification.
  for (const char* const line :
       {"podgpu top  gpu-node-07  driver 570.133.20, source nvml, sample 0.4 s old   8 GPUs: 6 ok, "
        "1 degraded, 1 lost   1 idle   3.10 kW of 5.60   14:03:22  every 1s\n",
        "GPU STATE   SM% SM, LAST 60 s                  TEN% DRM% MEMORY            TEMP    "
        "W/LIMIT    MHz THROTTLED   OWNER (namespace/pod/container)             IDLE\n",
        "0   ok       96 ▇▇█▇▇███▇▇█▇▇▇██▇▇█▇▇███▇▇█▇▇▇   61   58 ████████▍  67.2G  64/87   "
        "652/700   1965             research/llama-train-0/trainer\n",
        "3   lost      - ▇▇█▇▇███▇▇█▇▇                     -    - -                 -       -      "
        "      -             research/llama-train-1/trainer                 -\n",
        "5   ok        0 ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁    0    0 ████▉      38.6G  38/87   "
        "121/700    345             team-b/notebook-7c9f/jupyter               2h14m\n",
        "6   degr     88 ▆▇▆▇▇▆▆▇▇▆▆▇▆▇▇▆▆▇▇▆▆▇▆▇▇▆▆▇▇▆   52   49 ███"
        "████▋   60.9G  84/87   561/700   1410 sw_thermal  vision/resnet-sweep-12/main\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(TopFrame, EachPaneHasItsGolden) {
  TopView view;
  view.pane = Pane::kProcesses;
  ExpectGoldenFrame("h100-processes", DrawTop(DrawnModel(), view, kSmall).Text());
  view.pane = Pane::kEnergy;
  ExpectGoldenFrame("h100-energy", DrawTop(DrawnModel(), view, kSmall).Text());
  view.pane = Pane::kExplain;
  TopModel model = DrawnModel();
  model.explanation = DrawnExplanation();
  model.explained_gpu = 3;
  ExpectGoldenFrame("h100-explain", DrawTop(model, view, kSmall).Text());
  view.shows_help = true;
  ExpectGoldenFrame("h100-help", DrawTop(model, view, kSmall).Text());
  view = TopView();
  view.selection() = "infer/chat-a-5d4f";
  view.shows_detail = true;
  ExpectGoldenFrame("h100-detail", DrawTop(model, view, kSmall).Text());
  ExpectGoldenFrame("h100-once", DrawOnce(model, TopView(), 120, {}));
}

TEST(TopFrame, NarrowerTerminalsLoseColumnsInTheStatedOrder) {
  struct Case {
    size_t columns;
    bool plot, clock, throttle, tensor, dram, limit;
  };
  constexpr Case kCases[] = {
      {160, true, true, true, true, true, true},     {150, false, true, true, true, true, true},
      {119, false, false, true, true, true, true},   {112, false, false, false, true, true, true},
      {80, false, false, false, true, true, true},   {73, false, false, false, false, true, true},
      {68, false, false, false, false, false, true}, {62, false, false, false, false, false, false},
  };
  for (const Case& c : kCases) {
    const std::string text = DrawTop(DrawnModel(), TopView(), {c.columns, 24}).Text();
    const std::string head = LineWith(text, "GPU STATE");
    const auto has = [&head](std::string_view part) { return head.find(part) != head.npos; };
    EXPECT_EQ(has("LAST 60 s"), c.plot) << c.columns;
    EXPECT_EQ(has("MHz"), c.clock) << c.columns;
    EXPECT_EQ(has("THROTTLED"), c.throttle) << c.columns;
    EXPECT_EQ(has("TEN%"), c.tensor) << c.columns;
    EXPECT_EQ(has("DRM%"), c.dram) << c.columns;
    EXPECT_EQ(has("W/LIM"), c.limit) << c.columns;
    EXPECT_TRUE(has("OWNER"));
    EXPECT_EQ(ShowsPlot(c.columns), c.plot);
  }
}

TEST(TopFrame, NoSizeDrawsOutsideItself) {
  TopModel model = DrawnModel();
  for (const bool has_answer : {true, false}) {
    for (size_t columns = 1; columns < 170; columns += 7) {
      for (size_t rows = 1; rows < 60; rows += 3) {
        const Canvas canvas = DrawTop(model, TopView(), {columns, rows});
        EXPECT_EQ(canvas.size(), (Size{columns, rows}));
      }
    }
    model.silence.failure = has_answer ? "connection refused" : "";
  }
}

TEST(TopFrame, Statement11ATooSmallTerminalShowsOneSentenceAndLosesNothing) {
  TopView view;
  view.selection() = "infer/embed-0";
  const std::string before = DrawTop(DrawnModel(), view, kSmall).Text();
  const std::string small = DrawTop(DrawnModel(), view, {59, 11}).Text();
  EXPECT_EQ(small, "podgpu top needs 60 x 12; this is 59 x 11\n" + std::string(10, '\n'));
  EXPECT_EQ(DrawTop(DrawnModel(), view, kSmall).Text(), before);
}

TEST(TopFrame, Statement12ASilentExporterIsCountedAndDimmed) {
  TopModel model = DrawnModel();
  model.silence = {"", "connection refused", false, 7'200, 1'400};
  const Canvas canvas = DrawTop(model, TopView(), kSmall);
  EXPECT_EQ(LineWith(canvas.Text(), "no answer"),
            "podgpu top gpu-node-07  no answer for 7 s (connection refused), next try in 2 s");
  EXPECT_NE(canvas.Text().find("652/700"), std::string::npos);
  for (size_t row = 1; row < kSmall.rows; ++row) {
    EXPECT_EQ(canvas.at(row, 0).ink, Ink::kDim);
  }
  model.status = WithoutValues(*model.status);
  ExpectGoldenFrame("h100-silent", DrawTop(model, TopView(), kSmall).Text());
}

TEST(TopFrame, Statement25OwnersThatAreNotKnownAreNeverCalledFree) {
  TopModel model = DrawnModel();
  model.status->owners_known = false;
  for (StatusGpu& gpu : model.status->gpus) {
    gpu.holders.clear();
    gpu.owners = "not known: the kubelet does not answer";
  }
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_EQ(text.find("free"), std::string::npos);
  EXPECT_NE(text.find("not known: the kubelet"), std::string::npos);
}

TEST(TopFrame, AnInstanceInAContainerOutsideKubernetesIsNotCalledFree) {
  TopModel model = DrawnModel();
  StatusGpu& gpu = model.status->gpus.front();
  model.status->owners_known = false;
  model.status->gpus.resize(1);
  gpu.holders.clear();
  gpu.instances = {{7, "1g.10gb", .5, 1'073'741'824, 10'737'418'240, {}, 0}};
  for (const char* owners : {"container train", "2 containers"}) {
    gpu.owners = owners;
    const std::string text = DrawTop(model, TopView(), kSmall).Text();
    EXPECT_NE(text.find(owners), std::string::npos) << text;
    EXPECT_EQ(text.find("free"), std::string::npos) << text;
    EXPECT_NE(text.find("not known"), std::string::npos) << text;
  }
}

TEST(TopFrame, ANodeWithoutGpusSaysWhy) {
  TopModel model = DrawnModel();
  model.status->gpus.clear();
  model.status->pods.clear();
  model.status->faults.clear();
  model.status->node = "laptop";
  model.status->verdict = "no NVIDIA device on PCI.";
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_NE(text.find("no GPU on laptop: no NVIDIA device on PCI. podgpu doctor says more"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("14.2 MiB resident, 0.03 % of a core, 3214 series"), std::string::npos);
  model.status->ready = false;
  model.status->verdict = "not ready: the driver is not loaded; expected GPUs: 8";
  const std::string waiting = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_NE(
      waiting.find("\nwaiting for the GPUs on laptop: the driver is not loaded; expected GPUs: 8."),
      std::string::npos)
      << waiting;
  EXPECT_EQ(waiting.find("no GPU"), std::string::npos) << waiting;
}

TEST(TopFrame, AFailureThatIsTooLongForTheHeadStandsAboveTheKeys) {
  TopModel model = DrawnModel();
  model.silence = {"", "that is dcgm-exporter; top needs podgpu's /api/v1", true, 3'000, 2'000};
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_EQ(LineWith(text, "podgpu top"),
            "podgpu top gpu-node-07  no status for 3 s, next try in 2 s");
  EXPECT_NE(text.find("\nThat is dcgm-exporter; top needs podgpu's /api/v1.\nq quit"),
            std::string::npos)
      << text;
  model.status.reset();
  EXPECT_EQ(DrawTop(model, TopView(), kSmall).Text().substr(0, 123),
            "podgpu top http://localhost:9400  no status for 3 s (that is dcgm-exporter; top\n"
            "  needs podgpu's /api/v1), next try in 2 s\n");
}

TEST(TopFrame, ALongNameLeavesRoomForWhatMatters) {
  TopModel model = DrawnModel();
  model.status->node = "ip-10-0-112-34-gpu-pool-a.eu-central-1.compute.internal.example";
  TopView view;
  view.is_paused = true;
  const std::string wide = LineWith(DrawTop(model, view, kLarge).Text(), "podgpu top");
  EXPECT_TRUE(wide.ends_with("14:03:22 paused")) << wide;
  model.silence = {"", "connection refused", false, 7'200, 1'400};
  EXPECT_EQ(LineWith(DrawTop(model, view, kSmall).Text(), "podgpu top"),
            "podgpu top ip-10-0-112-34-gpu-pool-a.eu-cen…  no answer for 7 s, next try in 2 s");
  EXPECT_EQ(LineWith(DrawTop(model, view, {60, 12}).Text(), "podgpu top"),
            "podgpu top ip-10-0-112-…  no answer for 7 s, next try in 2 s");
}

TEST(TopFrame, ALongCauseIsCutWithAMark) {
  TopModel model = DrawnModel();
  model.silence = {"", std::string(60, 'a') + " " + std::string(60, 'b'), true, 0, 0};
  const std::string text = DrawTop(model, TopView(), {60, 12}).Text();
  EXPECT_NE(text.find("…\nq quit"), std::string::npos) << text;
}

TEST(TopFrame, EExplainsTheGpuOfTheSelectedRow) {
  const TopModel model = DrawnModel();
  TopView view;
  view.selected[static_cast<size_t>(Pane::kExplain)] = "1";
  view.selected[static_cast<size_t>(Pane::kPods)] = "vision/resnet-sweep-12";
  view.pane = Pane::kEnergy;
  view.selection() = "team-b/notebook-7c9f";
  Press({Key::kText, 'e'}, ContextOf(model, view, kSmall), view);
  EXPECT_EQ(view.pane, Pane::kExplain);
  EXPECT_EQ(GpuToExplain(*model.status, view, kDrawnNowMs), 5U);
}

TEST(TopFrame, HelpScrollsWhereItHasNoRoom) {
  const TopModel model = DrawnModel();
  TopView view;
  view.shows_help = true;
  constexpr Size kLeast{60, 12};
  const auto text = [&] { return DrawTop(model, view, kLeast).Text(); };
  EXPECT_NE(text().find(" 1-8 of "), std::string::npos) << text();
  Press({Key::kEnd}, ContextOf(model, view, kLeast), view);
  EXPECT_NE(text().find("docs/top.md"), std::string::npos) << text();
  EXPECT_EQ(view.selection(), "") << "Help has no rows to select.";
}

TEST(TopFrame, ALongFaultIsWholeAndTheOthersAreInExplain) {
  TopModel model = DrawnModel();
  model.status->faults[0].remedy =
      "Read the kernel log for NVRM: Xid; drain the node, then reset or reboot it";
  model.status->faults.push_back({"degraded", {}, "the kubelet does not answer", "Start it.", ""});
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_NE(
      text.find(
          "\nGPU 3 lost 2m15s: XID 79, left the PCIe bus. Read the kernel log for NVRM: Xid;\n"
          "  drain the node, then reset or reboot it.  +1 more  (4 explains)\nq quit"),
      std::string::npos)
      << text;
  TopView view;
  view.pane = Pane::kExplain;
  model.explanation = DrawnExplanation();
  model.explained_gpu = 3;
  const Size tall{80, 40};
  EXPECT_NE(DrawTop(model, view, tall).Text().find(" Also: the kubelet does not answer. Start it."),
            std::string::npos)
      << DrawTop(model, view, tall).Text();
}

TEST(TopFrame, AnExplanationScrollsAndItsFailureStaysInItsPane) {
  TopModel model = DrawnModel();
  model.explanation = DrawnExplanation();
  model.explained_gpu = 3;
  TopView view;
  view.pane = Pane::kExplain;
  EXPECT_NE(DrawTop(model, view, kSmall).Text().find(" lines 1-11 of 13, PgUp PgDn\n"),
            std::string::npos)
      << DrawTop(model, view, kSmall).Text();
  Press({Key::kPageDown}, ContextOf(model, view, kSmall), view);
  const std::string text = DrawTop(model, view, kSmall).Text();
  EXPECT_NE(text.find(" lines 3-13 of 13"), std::string::npos) << text;
  EXPECT_NE(text.find("What helps: drain the node"), std::string::npos) << text;
  Press({Key::kPageUp}, ContextOf(model, view, kSmall), view);
  EXPECT_EQ(view.scroll, 0U);
  model.explanation.reset();
  model.explanation_failure = "it answers 404: no GPU 3";
  EXPECT_NE(
      DrawTop(model, view, kSmall).Text().find("\n no explanation: it answers 404: no GPU 3\n"),
      std::string::npos);
}

TEST(TopFrame, WhatLimitsTheRowsIsSaidAt80Columns) {
  TopView view;
  view.filter = "a-rather-long-name-of-a-pod-of-another-node";
  view.idle_only = true;
  std::string text = DrawTop(DrawnModel(), view, kSmall).Text();
  EXPECT_NE(text.find("4 Explain - filter a-rather-long-name-of-a-pod…\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n no row: the filter, the namespace or \"idle only\" hides all 9\n"),
            std::string::npos)
      << text;
  view = TopView();
  view.filter = "~(";
  view.is_typing_filter = true;
  text = DrawTop(DrawnModel(), view, kSmall).Text();
  EXPECT_NE(text.find("\n/~(_  not used yet: missing ): ("), std::string::npos) << text;
  view = TopView();
  view.pane = Pane::kProcesses;
  text = DrawTop(DrawnModel(), view, {80, 20}).Text();
  EXPECT_NE(text.find(" 1-6 of 9, sort: SM%, descending\n"), std::string::npos) << text;
  TopModel model = DrawnModel();
  model.status->processes.clear();
  text = DrawTop(model, view, kSmall).Text();
  EXPECT_NE(text.find("\n processes are not read; --process-metrics=on reads them\n"),
            std::string::npos)
      << text;
  model.has_processes = false;
  text = DrawTop(model, view, kSmall).Text();
  EXPECT_NE(text.find("\n waiting for the processes\n"), std::string::npos) << text;
}

TEST(TopFrame, NamesStayAtTheSmallestSize) {
  for (const Pane pane : {Pane::kPods, Pane::kProcesses, Pane::kEnergy}) {
    TopView view;
    view.pane = pane;
    const std::string text = DrawTop(DrawnModel(), view, {60, 12}).Text();
    EXPECT_NE(text.find(pane == Pane::kEnergy ? "llama-train-0" : "llama-train-1"),
              std::string::npos)
        << text;
  }
}

TEST(TopFrame, MigInstancesStandUnderTheirGpu) {
  TopModel model = DrawnModel();
  StatusGpu& gpu = model.status->gpus[7];
  gpu.instances = {{7, "1g.10gb", .5, 1'073'741'824, 10'737'418'240, {{"a", "b", "c"}}, 0},
                   {8, "1g.10gb", {}, {}, {}, {}, 1}};
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_EQ(LineWith(text, "7:7 "), "7:7 1g.10gb  50    -    -   1.0/10G    -       -  a/b");
  EXPECT_EQ(LineWith(text, "7:8 "),
            "7:8 1g.10gb   -    -    -         -    -       -  1 container");
}

TEST(TopFrame, WithoutProfilingTheResidencyHasItsOwnHead) {
  TopModel model = DrawnModel();
  for (StatusGpu& gpu : model.status->gpus) {
    gpu.sm_active_ratio.reset();
  }
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_NE(text.find("GPU STATE  UTL% TEN%"), std::string::npos) << text;
  EXPECT_NE(LineWith(text, "0   ok").find("96"), std::string::npos);
}

TEST(TopFrame, ManyGpusLeaveRoomForAPane) {
  TopModel model = DrawnModel();
  for (uint32_t i = 8; i < 40; ++i) {
    model.status->gpus.push_back(model.status->gpus[0]);
    model.status->gpus.back().index = i;
  }
  const std::string text = DrawTop(model, TopView(), kSmall).Text();
  EXPECT_NE(text.find("... 27 more rows; a selected row brings its GPU here"), std::string::npos)
      << text;
  TopView view;
  view.pane = Pane::kExplain;
  view.selection() = "31";
  EXPECT_NE(DrawTop(model, view, kSmall).Text().find("\n31  ok "), std::string::npos);
  EXPECT_NE(text.find("research/llama-train-0             0,1"), std::string::npos);
}

TEST(TopFrame, InkSaysWhatTheWordsSay) {
  const Canvas canvas = DrawTop(DrawnModel(), TopView(), kSmall);
  constexpr size_t kState = 4, kIdle = 76, kTemperature = 38;
  EXPECT_EQ(canvas.at(2, kState).ink, Ink::kPlain);
  EXPECT_EQ(canvas.at(5, kState).ink, Ink::kAlarm);
  EXPECT_EQ(canvas.at(8, kState).ink, Ink::kWarning);
  EXPECT_EQ(canvas.at(8, kTemperature).ink, Ink::kWarning);
  EXPECT_EQ(canvas.at(7, kIdle).ink, Ink::kIdle);
}

TEST(TopFrame, WithoutUtf8EverythingIsAscii) {
  TopModel model = DrawnModel();
  model.status->processes.front().name = "caf\xc3\xa9\x1b[31m";
  for (const char c : DrawTop(model, TopView(), kLarge, {.ascii = true}).Text()) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  }
  const std::string text = DrawTop(model, TopView(), kLarge, {.ascii = true}).Text();
  EXPECT_NE(text.find("**#**###"), std::string::npos) << text;
}

TEST(TopFrame, TheMostInterestingGpuIsExplained) {
  const NodeStatus status = DrawnNode();
  TopView view;
  EXPECT_EQ(GpuToExplain(status, view, kDrawnNowMs), 3U);
  view.selection() = "team-b/notebook-7c9f";
  EXPECT_EQ(GpuToExplain(status, view, kDrawnNowMs), 5U);
  view.pane = Pane::kExplain;
  EXPECT_EQ(GpuToExplain(status, view, kDrawnNowMs), 5U);
  view.selection() = "6";
  EXPECT_EQ(GpuToExplain(status, view, kDrawnNowMs), 6U);
  view.selection() = "17";
  EXPECT_EQ(GpuToExplain(status, view, kDrawnNowMs), 5U) << "The node has no GPU 17 any more.";
  EXPECT_EQ(GpuToExplain(NodeStatus(), view, kDrawnNowMs), std::nullopt);
}

}  // namespace

void ExpectGoldenFrame(const std::string& name, const std::string& text) {
  const std::string path = "tests/golden/top/" + name + ".txt";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, golden) << "PODGPU_UPDATE_GOLDEN=1 writes " << path;
}

}  // namespace podgpu
