// `podgpu top` in a terminal multiplexer at 80 x 24 and 160 x 50, in each scene: golden captures.
// PODGPU_UPDATE_GOLDEN=1 writes them.
//
// A scene runs once, on the virtual clock, and its answers are served to top with a fixed age, so
// the time on the screen is that of the scene.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "http/testing/test_server.h"
#include "report/node_status.h"
#include "tests/e2e/tmux_window.h"
#include "tests/surfaces/scenes.h"
#include "top/frame.h"

namespace podgpu {
namespace {

constexpr std::string_view kGoldenCaptures = "tests/golden/top/scenes/";

// The answers of the node at the end of a scene.
struct SceneAnswers {
  NodeStatus status;
  std::string question, explanation;  // The GPU that top explains: "gpu=3"; empty without GPUs.
};

std::string SectionOf(const NamedScene& scene, const std::vector<std::string>& words) {
  const auto sections = SectionsOf(SceneText(scene, words));
  EXPECT_EQ(sections.size(), 1U);
  return sections.empty() ? "" : sections.back().second;
}

// The samples of the first seconds depend on how fast the exporter started, so they are left out.
void TrimHistory(NodeStatus& status) {
  constexpr int64_t kStartMs = 1'772'366'404'000;  // 4 s after the scene's beginning.
  constexpr int64_t kMsPerSample = 1'000;
  const int64_t last_ms = status.sampled_at_ms.value_or(kStartMs);
  const auto most = static_cast<size_t>(std::max<int64_t>(last_ms - kStartMs, 0) / kMsPerSample);
  for (StatusHistory& gpu : status.history) {
    for (std::vector<int8_t>* const samples :
         {&gpu.sm, &gpu.memory, &gpu.power, &gpu.utilization}) {
      const size_t kept = std::min(samples->size(), most);
      samples->erase(samples->begin(), samples->end() - static_cast<std::ptrdiff_t>(kept));
    }
  }
}

void TakeAnswers(const NamedScene& scene, SceneAnswers& answers) {
  NamedScene last = scene;
  last.seconds = scene.seconds.substr(scene.seconds.find(',') + 1);
  std::erase_if(last.words, [](const std::string& word) { return word.starts_with("explain="); });
  StatusOr<NodeStatus> status = ReadNodeStatus(SectionOf(last, {"show=status"}));
  ASSERT_TRUE(status.ok()) << status.status();
  answers.status = *std::move(status);
  TrimHistory(answers.status);
  const std::optional<uint32_t> gpu =
      GpuToExplain(answers.status, TopView(), answers.status.sampled_at_ms.value_or(0));
  if (gpu) {
    answers.question = absl::StrFormat("gpu=%d", *gpu);
    answers.explanation = SectionOf(last, {"show=explain_json", "explain=" + answers.question});
  }
}

// The time is the machine's where no value has been read.
std::string Comparable(std::string text) {
  text = WithoutOwnFigures(std::move(text));
  RE2::GlobalReplace(&text, R"(((?:waiting|0 GPUs) .*)\d\d:\d\d:\d\d)", "\\1HH:MM:SS");
  return text;
}

// Returns whether the frame is complete and shows the time of the scene.
bool IsStill(const std::string& frame, std::optional<int64_t> sampled_at_ms) {
  const std::string time = sampled_at_ms ? TimeOfDay(*sampled_at_ms, 0) : "";
  return frame.find("q quit") != frame.npos && frame.find(time) != frame.npos &&
         frame.find("waiting for an answer") == frame.npos &&
         frame.find("waiting for /api") == frame.npos && frame.find("no explanation") == frame.npos;
}

void ExpectCapture(const std::string& name, std::optional<int64_t> sampled_at_ms,
                   TmuxWindow& window) {
  const std::string path = std::string(kGoldenCaptures) + name + ".txt";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    EXPECT_TRUE(window.Await([&](const std::string& text) { return IsStill(text, sampled_at_ms); }))
        << window.last();
    std::filesystem::create_directories(kGoldenCaptures);
    std::ofstream(path, std::ios::binary) << Comparable(window.last());
  }
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(window.Await([&](const std::string& text) { return Comparable(text) == golden; }))
      << "PODGPU_UPDATE_GOLDEN=1 writes " << path << "\n"
      << golden << Comparable(window.last());
}

class TopCaptures : public ::testing::TestWithParam<NamedScene> {};

INSTANTIATE_TEST_SUITE_P(Scenes, TopCaptures, ::testing::ValuesIn(Scenes()),
                         [](const auto& tested) { return TestName(tested.param); });

TEST_P(TopCaptures, AreTheGoldenOnes) {
  const NamedScene& scene = GetParam();
  SceneAnswers answers;
  ASSERT_NO_FATAL_FAILURE(TakeAnswers(scene, answers));
  const std::string status = WriteNodeStatus(answers.status);
  const auto server = StartServer(LoopbackOptions(), [&](const HttpRequest& request) {
    if (request.path == "/api/v1/explain" && request.query == answers.question) {
      return TextResponse(200, answers.explanation);
    }
    if (request.path != "/api/v1/status") {
      return TextResponse(404, "404 page not found\n");
    }
    HttpResponse response = TextResponse(200, status);
    response.headers.emplace_back("X-Podgpu-Age-Ms", "0");
    return response;
  });
  for (const auto& [columns, rows] : {std::pair(80, 24), std::pair(160, 50)}) {
    TmuxWindow window(columns, rows);
    window.Enter(PODGPU_BINARY_DIR "/bin/podgpu top http://127.0.0.1:" +
                 std::to_string(server->port()));
    ExpectCapture(absl::StrFormat("%s-%dx%d", scene.name, columns, rows),
                  answers.status.sampled_at_ms, window);
  }
}

}  // namespace
}  // namespace podgpu
