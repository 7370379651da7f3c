#include "http/web_front.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

// "alice:secret" and "alice:other" in base64.
constexpr std::string_view kRight = "YWxpY2U6c2VjcmV0";
constexpr std::string_view kOther = "YWxpY2U6b3RoZXI=";
constexpr std::string_view kUserWithSecret =
    "basic_auth_users:\n  alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";
constexpr std::string_view kUserWithOther =
    "basic_auth_users:\n  alice: $2b$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu\n";

std::shared_ptr<const Files> FilesOf(const std::string& path, const std::string& text) {
  return std::make_shared<FakeFiles>(FakeFiles::Tree{{path, text}});
}

TEST(WebFrontFiles, ReadsConfigurationAndCertificateThroughFiles) {
  const std::string path = "/in/memory/web.yaml";
  EXPECT_TRUE(WebFront::Check(path, FilesOf(path, std::string(kUserWithSecret))).ok());
  const Status missing = WebFront::Check("/other.yaml", FilesOf(path, ""));
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(missing.message().find("there is no such file"), std::string::npos);
  const Status pem = WebFront::Check(
      path, FilesOf(path, "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"));
  EXPECT_NE(pem.message().find("server.crt: there is no such file"), std::string::npos)
      << pem.message();
}

// A server with a configuration that the test may rewrite.
class WebFrontTest : public testing::Test {
 protected:
  std::string path() const { return files_.path(); }
  void Write(std::string_view text) const { files_.Write(text); }

  std::unique_ptr<HttpServer> Serve(std::string_view text, HttpHandler handler = Echo) const {
    Write(text);
    HttpServerOptions options = LoopbackOptions();
    options.web_config_file = path();
    return StartServer(options, std::move(handler));
  }

  static LoopbackResponse Ask(LoopbackClient& client, std::string_view path,
                              std::string_view credentials) {
    client.Send("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " +
                std::string(credentials) + "\r\n\r\n");
    return client.Read();
  }
  static LoopbackResponse Ask(const HttpServer& server, std::string_view credentials) {
    LoopbackClient client(server.port());
    return Ask(client, "/metrics", credentials);
  }

 private:
  WebConfigFiles files_;
};

TEST_F(WebFrontTest, RequiresAPasswordOnEveryPath) {
  const auto server = Serve(kUserWithSecret);
  for (const std::string_view path : {"/", "/metrics", "/health", "/nowhere"}) {
    LoopbackClient client(server->port());
    const LoopbackResponse response = client.Fetch(path);
    EXPECT_EQ(response.status, 401) << path;
    EXPECT_EQ(response.body, "Unauthorized\n");
    EXPECT_NE(response.head.find("\r\nWWW-Authenticate: Basic\r\n"), std::string::npos);
    EXPECT_EQ(Ask(client, path, kRight).status, 200) << "on the same connection";
  }
  EXPECT_EQ(server->stats().unauthorized, 4U);
  EXPECT_EQ(server->stats().requests, 4U);
}

TEST_F(WebFrontTest, AcceptsTheRightPassword) {
  const auto server = Serve(kUserWithSecret);
  EXPECT_EQ(Ask(*server, kRight).body, "GET /metrics  ");
  EXPECT_EQ(Ask(*server, kRight).status, 200);
  EXPECT_EQ(Ask(*server, kOther).status, 401);
  EXPECT_EQ(Ask(*server, "Y2Fyb2w6c2VjcmV0").status, 401) << "carol:secret";
  EXPECT_EQ(Ask(*server, "%%%").status, 401);
  EXPECT_EQ(server->stats().unauthorized, 3U);
}

TEST_F(WebFrontTest, AnswersPipelinedRequestsInOrderWhilePasswordsAreChecked) {
  const auto server = Serve(kUserWithSecret);
  LoopbackClient client(server->port());
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " +
                std::string(i % 2 == 0 ? kRight : kOther) + "\r\n\r\n";
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.Read().body,
              i % 2 == 0 ? "GET /" + std::to_string(i) + "  " : std::string("Unauthorized\n"));
  }
}

TEST_F(WebFrontTest, ClosesAConnectionAfterThreeWrongPasswords) {
  const auto server = Serve(kUserWithSecret);
  LoopbackClient client(server->port());
  EXPECT_EQ(client.Fetch("/").status, 401);
  EXPECT_EQ(Ask(client, "/", kOther).status, 401);
  EXPECT_EQ(Ask(client, "/", kRight).status, 200) << "a right password resets the count";
  for (int i = 0; i < 40; ++i) {
    client.Get("/");
  }
  EXPECT_EQ(client.Read().status, 401);
  EXPECT_EQ(client.Read().status, 401);
  const LoopbackResponse last = client.Read();
  EXPECT_EQ(last.status, 401);
  EXPECT_NE(last.head.find("\r\nConnection: close\r\n"), std::string::npos) << last.head;
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(server->stats().unauthorized, 5U);
}

TEST_F(WebFrontTest, UsesAChangedFileAtOnce) {
  const auto server = Serve(kUserWithSecret);
  LoopbackClient client(server->port());
  EXPECT_EQ(Ask(client, "/", kRight).status, 200);
  Write(kUserWithOther);
  EXPECT_EQ(Ask(client, "/", kRight).status, 401);
  EXPECT_EQ(Ask(client, "/", kOther).status, 200);
  Write("");
  EXPECT_EQ(client.Fetch("/").status, 200) << "no users: no password";
}

TEST_F(WebFrontTest, KeepsTheLastValidFileAndReportsIt) {
  const auto server = Serve(kUserWithSecret);
  EXPECT_FALSE(server->stats().web_config_is_old);
  for (const std::string_view broken : {"basic_auth_users: {alice: secret}", "colour: blue"}) {
    Write(broken);
    EXPECT_EQ(Ask(*server, kRight).status, 200);
    EXPECT_EQ(Ask(*server, kOther).status, 401);
    EXPECT_TRUE(server->stats().web_config_is_old);
  }
  std::filesystem::remove(path());
  EXPECT_EQ(Ask(*server, kRight).status, 200);
  EXPECT_TRUE(server->stats().web_config_is_old);
  Write(kUserWithOther);
  EXPECT_EQ(Ask(*server, kOther).status, 200);
  EXPECT_FALSE(server->stats().web_config_is_old);
}

TEST_F(WebFrontTest, IsRefusedAtTheStartWhenItsFileIsInvalid) {
  HttpServerOptions options = LoopbackOptions();
  options.web_config_file = path();
  const StatusOr<std::unique_ptr<HttpServer>> missing = HttpServer::Start(options, Echo);
  EXPECT_EQ(missing.status(),
            absl::InvalidArgumentError("web configuration " + path() +
                                       ": No such file or directory. Correct --web-config-file"));
  Write("colour: blue");
  const StatusOr<std::unique_ptr<HttpServer>> bad = HttpServer::Start(options, Echo);
  EXPECT_EQ(bad.status(), absl::InvalidArgumentError(
                              path() + ":1: unknown key \"colour\". Correct or remove it"));
}

TEST_F(WebFrontTest, AddsHeadersThatTheAnswerLacks) {
  const auto server = Serve(
      "http_server_config:\n  headers:\n    X-Frame-Options: deny\n"
      "    X-Content-Type-Options: nosniff\n    Content-Security-Policy: default-src 'none'\n",
      [](const HttpRequest& /*request*/) {
        HttpResponse response = TextResponse(200, "page");
        response.headers.emplace_back("content-security-policy", "own");
        return response;
      });
  const std::string head = LoopbackClient(server->port()).Fetch("/").head;
  EXPECT_NE(head.find("\r\nX-Frame-Options: deny\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("default-src"), std::string::npos) << head;
}

TEST_F(WebFrontTest, LimitsTheRate) {
  const auto server = Serve("rate_limit: {interval: 24h, burst: 2}");
  LoopbackClient client(server->port());
  EXPECT_EQ(client.Fetch("/").status, 200);
  EXPECT_EQ(client.Fetch("/").status, 200);
  const LoopbackResponse response = client.Fetch("/");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.body, "Too Many Requests\n");
  EXPECT_EQ(server->stats().rate_limited, 1U);
  Write("rate_limit: {interval: 24h, burst: 1}");
  EXPECT_EQ(client.Fetch("/").status, 200) << "a changed limit starts with a full bucket";
  EXPECT_EQ(client.Fetch("/").status, 429);
}

TEST_F(WebFrontTest, StopsWhileAPasswordIsChecked) {
  auto server = Serve(kUserWithSecret);
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " +
                          std::string(kOther) + "\r\n\r\n"));
  server.reset();
  EXPECT_TRUE(client.AwaitEnd());
}

}  // namespace
}  // namespace podgpu
