// `podgpu top` in a real terminal multiplexer: frames, sizes, a server that disappears, and the
// terminal afterwards.  The numbers of the tests are those of the statements about what people see.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "http/testing/test_server.h"
#include "tests/e2e/child.h"
#include "tests/e2e/tmux_window.h"
#include "top/canvas.h"
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
  NodeStatus status = DrawnNode();
  status.stale_after_ms = 3'000;
  HttpResponse response = TextResponse(200, WriteNodeStatus(status));
  response.headers.emplace_back("X-Podgpu-Age-Ms", "400");
  return response;
}

HttpServerOptions OptionsFor(uint16_t port) {
  HttpServerOptions options;
  options.address = "127.0.0.1:" + std::to_string(port);
  return options;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string GoldenCapture(const std::string& name) {
  return BytesOf("tests/golden/top/" + name + ".txt");
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
    EXPECT_EQ(BytesOf(window.folder() + "/before"), BytesOf(window.folder() + "/after")) << end;
  }
}

TEST(Top, Statement13AClosedTerminalEndsTop) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  TmuxWindow window(80, 24);
  window.Enter("echo $$ > " + window.folder() + "/pid; exec " + TopCommandLine(server->port()));
  ASSERT_TRUE(window.AwaitText("652/700")) << window.last();
  const pid_t pid =
      static_cast<pid_t>(ParseDecimal(Trim(BytesOf(window.folder() + "/pid"))).value_or(0));
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, 0), 0);
  window.Run({"kill-server"});
  Await([pid] { return ::kill(pid, 0) != 0; });
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
  // On a terminal: script(1) notes each byte that reaches it.
  TmuxWindow window(80, 24);
  const auto begin_on_terminal = [&](const std::string& variable) {
    const std::string file = window.folder() + "/" + variable.substr(0, variable.find('='));
    window.Enter("script -qfc '" + variable + " " + TopCommandLine(server->port()) + "' " + file +
                 "; echo end''ed");
    return file;
  };
  const std::string dumb = begin_on_terminal("TERM=dumb");
  EXPECT_TRUE(window.AwaitText("ended")) << window.last();
  const std::string plain = begin_on_terminal("NO_COLOR=1");
  EXPECT_TRUE(window.AwaitText("q quit")) << window.last();
  const std::string dumb_bytes = BytesOf(dumb);
  EXPECT_EQ(dumb_bytes.find('\x1b'), std::string::npos);
  for (const std::string_view line : Split(dumb_bytes, '\n')) {
    EXPECT_TRUE(WidthOf(line) <= 81 || line.starts_with("Script ")) << line;
  }
  // A live frame needs escape sequences, but none of a colour or a mark.
  EXPECT_FALSE(RE2::PartialMatch(BytesOf(plain), "\x1b\\[0?;?[1-9][0-9;]*m"));
}

// What answers in place of podgpu, and what top says of it.
struct WrongServer {
  std::string name;
  int status = 404;
  std::string body = "404 page not found\n";
  std::string title;  // Title of its page `/`.
  std::string said;
};

class TopOfAWrongServer : public ::testing::TestWithParam<WrongServer> {
 protected:
  static HttpResponse Answer(const HttpRequest& request) {
    const WrongServer& wrong = GetParam();
    return request.path == "/" && request.accept.find("text/html") != std::string_view::npos
               ? TextResponse(200, "<html><title>" + wrong.title + "</title></html>")
               : TextResponse(wrong.status, wrong.body);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Servers, TopOfAWrongServer,
    ::testing::Values(
        WrongServer{.name = "DcgmExporter",
                    .title = "GPU Exporter",
                    .said = "that is dcgm-exporter; top needs podgpu's /api/v1"},
        WrongServer{.name = "AnOlderRelease",
                    .title = "1 ok - n1 - podgpu",
                    .said = "that podgpu has no /api/v1/status: it is older than top"},
        WrongServer{.name = "TheClusterRole",
                    .title = "podgpu fleet",
                    .said = "that is podgpu's cluster role; add --fleet"},
        WrongServer{.name = "APageInPlaceOfTheAnswer",
                    .status = 200,
                    .body = "<html><title>Sign in</title></html>",
                    .said = "that is \"Sign in\"; top needs podgpu's /api/v1"},
        WrongServer{.name = "ARedirect",
                    .status = 302,
                    .body = "moved",
                    .said = "it sends the reader to another URL (302); give top that one"},
        WrongServer{.name = "ItsOwnWords",
                    .status = 503,
                    .body = R"({"error":"the first page is not ready yet"})",
                    .said = "it answers 503: the first page is not ready yet"},
        WrongServer{.name = "AnEscapeSequence",
                    .status = 500,
                    .body = R"({"error":"evil \u001b[31m red"})",
                    .said = "it answers 500: evil ?[31m red"},
        WrongServer{
            .name = "FewerKeys",
            .status = 200,
            .body = R"({"schema":1})",
            .said = "podgpu top 0.1.0 cannot read its answer: \"version\" is missing; use the "
                    "same release on both sides"}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(TopOfAWrongServer, ItIsNamedInOneLineAndOnTheScreenWhole) {
  const auto server = StartServer(LoopbackOptions(), Answer);
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  Child child({std::string(kPodgpu), "top", "--once", url});
  EXPECT_EQ(child.Wait(), 1);
  EXPECT_EQ(child.output(), "podgpu top: " + url + ": " + GetParam().said + "\n");
  TmuxWindow window(80, 24);
  window.Enter(TopCommandLine(server->port()));
  EXPECT_TRUE(window.Await([](const std::string& text) {
    std::string line = text;
    RE2::GlobalReplace(&line, "\n *", " ");
    return line.find("no status for ") != line.npos &&
           line.find("(" + GetParam().said + "), next try in ") != line.npos;
  })) << window.last();
}

TEST(Top, TheUrlOfThePageThatPrometheusReadsIsUnderstood) {
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  Child child({std::string(kPodgpu), "top", "--once", "http://" + address + "/metrics"});
  EXPECT_EQ(child.Wait(), 0) << child.output();
  Child https({std::string(kPodgpu), "top", "--once", "https://" + address});
  EXPECT_EQ(https.Wait(), 1);
  EXPECT_TRUE(
      RE2::FullMatch(https.output(), ".*: it does not speak TLS .*; write http:// for it\n"))
      << https.output();
}

TEST(Top, JsonIsNeverAnotherProgramsPageAndAFullDiskIsSaid) {
  const auto page = StartServer(LoopbackOptions(), [](const HttpRequest&) {
    return TextResponse(200, "<html><title>Sign in</title></html>");
  });
  Child wrong(
      {std::string(kPodgpu), "top", "--json", "http://127.0.0.1:" + std::to_string(page->port())});
  EXPECT_EQ(wrong.Wait(), 1);
  EXPECT_EQ(wrong.output().find("<html>"), std::string::npos) << wrong.output();
  const auto server = StartServer(LoopbackOptions(), ServeDrawnNode);
  Child full({"/bin/sh", "-c", TopCommandLine(server->port()) + " --once > /dev/full"});
  EXPECT_EQ(full.Wait(), 1);
  EXPECT_EQ(full.output(), "podgpu top: standard output: No space left on device\n");
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
