// `podgpu top` in a real terminal multiplexer: frames, sizes, a server that disappears, and the
// terminal afterwards.  The numbers of the tests are those of the statements about what people see.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "http/testing/test_server.h"
#include "tests/e2e/child.h"
#include "tests/e2e/tmux_window.h"
#include "top/testing/drawn_node.h"

namespace podgpu {
namespace {

constexpr std::string_view kPodgpu = PODGPU_BINARY_DIR "/bin/podgpu";

// Serves the drawn node; its age fixes the clock of top.
HttpResponse ServeDrawnNode(const HttpRequest& request) {
  if (request.path == "/api/v1/explain") {
    return TextResponse(200, R"({"devices":[],"notes":["explained"]})");
  }
  if (request.path != "/api/v1/status") {
    return TextResponse(404, "404 page not found\n");
  }
  HttpResponse response = TextResponse(200, WriteNodeStatus(DrawnNode()));
  response.headers.emplace_back("X-Podgpu-Age-Ms", "400");
  return response;
}

HttpServerOptions OptionsFor(uint16_t port) {
  HttpServerOptions options;
  options.address = "127.0.0.1:" + std::to_string(port);
  return options;
}

std::string GoldenCapture(const std::string& name) {
  std::ifstream file("tests/golden/top/" + name + ".txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TopCommandLine(uint16_t port) {
  return std::string(kPodgpu) + " top http://127.0.0.1:" + std::to_string(port);
}

TEST(Top, Statement10At80Times24TheCaptureIsTheGolden) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  TmuxWindow window(80, 24);
  window.Enter(TopCommandLine(server->port()));
  const std::string golden = GoldenCapture("h100-80x24");
  EXPECT_TRUE(window.Await([&](const std::string& text) { return text == golden; }))
      << window.last();
}

TEST(Top, Statement11ATooSmallTerminalLosesNothing) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  TmuxWindow window(160, 50);
  window.Enter(TopCommandLine(server->port()));
  EXPECT_TRUE(window.AwaitText("SM, LAST 60 s")) << window.last();
  EXPECT_TRUE(window.AwaitText("research/llama-train-0/trainer")) << window.last();
  window.Type("jj");
  window.Resize(59, 11);
  EXPECT_TRUE(window.AwaitText("podgpu top needs 60 x 12; this is 59 x 11")) << window.last();
  window.Resize(80, 24);
  EXPECT_TRUE(window.AwaitText(">research/llama-train-1")) << window.last();
}

TEST(Top, Statement12ASilentExporterIsCountedAndItsValuesGo) {
  auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  const uint16_t port = server->port();
  TmuxWindow window(80, 24);
  window.Enter(TopCommandLine(port));
  ASSERT_TRUE(window.AwaitText("652/700")) << window.last();
  server = nullptr;
  EXPECT_TRUE(window.AwaitText("(connection refused), next try in")) << window.last();
  EXPECT_TRUE(window.Await([](const std::string& text) {
    return text.find("652/700") == text.npos && text.find("research/llama-train-0") != text.npos;
  })) << window.last();
  server = StartServer(OptionsFor(port), ServeDrawnNode);
  EXPECT_TRUE(window.AwaitText("652/700")) << window.last();
}

TEST(Top, Statement13EveryEndRestoresTheTerminal) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  for (const std::string end : {"q", "INT", "TERM", "HUP", "ABRT"}) {
    TmuxWindow window(80, 24);
    window.Enter("stty -a > " + window.folder() + "/before");
    window.Enter("sh -c 'echo $$ > " + window.folder() + "/pid; exec " +
                 TopCommandLine(server->port()) + "'; stty -a > " + window.folder() +
                 "/after; echo end''ed");
    ASSERT_TRUE(window.AwaitText("652/700")) << window.last();
    EXPECT_EQ(window.Ask("#{alternate_on} #{cursor_flag}"), "1 0\n") << end;
    if (end == "q") {
      window.Type("q");
    } else {
      std::ifstream file(window.folder() + "/pid");
      pid_t pid = 0;
      file >> pid;
      ASSERT_GT(pid, 0);
      constexpr std::pair<std::string_view, int> kSignals[] = {
          {"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"ABRT", SIGABRT}};
      for (const auto& [name, signal] : kSignals) {
        if (name == end) {
          ::kill(pid, signal);
        }
      }
    }
    EXPECT_TRUE(window.AwaitText("ended")) << end << window.last();
    EXPECT_EQ(window.Ask("#{alternate_on} #{cursor_flag}"), "0 1\n") << end;
    const auto read = [&](const char* name) {
      std::ifstream file(window.folder() + name);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(read("/before"), read("/after")) << end;
  }
}

TEST(Top, Statement14OnceIsPlainTextAndADeadPortIsOneLine) {
  auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  Child once({std::string(kPodgpu), "top", "--once", url}, {"LC_ALL=C.UTF-8", "TZ=UTC"});
  EXPECT_EQ(once.Wait(), 0);
  EXPECT_EQ(once.output(), GoldenCapture("h100-once"));
  server = nullptr;
  Child dead({std::string(kPodgpu), "top", url, "--once"});
  EXPECT_EQ(dead.Wait(), 1);
  EXPECT_EQ(dead.output(), "podgpu top: " + url + ": connection refused\n");
}

TEST(Top, Statement9PlainSurfacesHaveNoEscapeByte) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  for (const char* const variable : {"NO_COLOR=1", "TERM=dumb", "TERM=xterm"}) {
    Child child({std::string(kPodgpu), "top", url}, {variable});
    EXPECT_EQ(child.Wait(), 0);
    EXPECT_EQ(child.output().find('\x1b'), std::string::npos) << variable;
    EXPECT_NE(child.output().find("(unattributed)"), std::string::npos) << child.output();
  }
}

TEST(Top, AnotherProgramIsNamed) {
  const auto server = StartServer(LoopbackOptions(), [](const HttpRequest& request) {
    return request.path == "/" ? TextResponse(200, "<html><title>GPU Exporter</title></html>")
                               : TextResponse(404, "404 page not found");
  });
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  Child child({std::string(kPodgpu), "top", "--once", url});
  EXPECT_EQ(child.Wait(), 1);
  EXPECT_EQ(child.output(),
            "podgpu top: " + url + ": that is dcgm-exporter; top needs podgpu's /api/v1\n");
}

TEST(Top, WrongUseIsOneLineAndExitCode2) {
  for (const char* const url : {"ftp://node", "http://:1", "http://node:70000", "unix:relative"}) {
    Child child({std::string(kPodgpu), "top", url});
    EXPECT_EQ(child.Wait(), 2) << url;
    EXPECT_EQ(std::ranges::count(child.output(), '\n'), 1) << child.output();
  }
}

}  // namespace
}  // namespace podgpu
