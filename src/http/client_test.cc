#include "http/client.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "http/listen.h"
#include "http/testing/authority.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

StatusOr<HttpAnswer> AskOne(HttpClient& client, HttpQuestion question) {
  std::optional<StatusOr<HttpAnswer>> outcome;
  client.Ask(std::move(question),
             [&outcome](StatusOr<HttpAnswer> answer) { outcome = std::move(answer); });
  while (!outcome) {
    client.Run(Instant::max());
  }
  EXPECT_EQ(client.running(), 0U);
  return *std::move(outcome);
}

HttpQuestion To(uint16_t port, std::string path = "/x") {
  HttpQuestion question;
  question.ip = "127.0.0.1";
  question.port = port;
  question.host = "localhost";
  question.path = std::move(path);
  question.certificate_name = "localhost";
  return question;
}

HttpResponse Headers(const HttpRequest& request) {
  HttpResponse response =
      TextResponse(request.if_none_match == "\"7\"" ? 304 : 200,
                   std::string(request.authorization) + "|" + std::string(request.accept_encoding));
  response.headers.emplace_back("ETag", "\"7\"");
  response.headers.emplace_back("Age", "12");
  return response;
}

TEST(HttpClient, SendsARequestAndReturnsTheAnswer) {
  const auto server = StartServer(LoopbackOptions(), Headers);
  HttpClient client({});
  HttpQuestion question = To(server->port());
  question.authorization = "Bearer t";
  const auto answer = AskOne(client, question);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "Bearer t|gzip");
  EXPECT_EQ(answer->etag, "\"7\"");
  EXPECT_EQ(answer->age, std::chrono::seconds(12));
  question.etag = "\"7\"";
  EXPECT_EQ(AskOne(client, question)->status, 304);
}

TEST(HttpClient, QueriesManyServersAtOnce) {
  const auto server = StartServer();
  HttpClient client({});
  size_t answers = 0;
  for (int i = 0; i < 100; ++i) {
    client.Ask(To(server->port(), "/" + std::to_string(i)), [&](const auto& answer) {
      ASSERT_TRUE(answer.ok()) << answer.status();
      ++answers;
    });
  }
  EXPECT_EQ(client.running(), 100U);
  while (answers < 100) {
    client.Run(Instant::max());
  }
  EXPECT_EQ(client.running(), 0U);
}

TEST(HttpClient, RefusesAnAnswerAboveTheLimit) {
  const auto server = StartServer();
  HttpClient client({.max_body_bytes = 1000});
  EXPECT_EQ(AskOne(client, To(server->port(), "/large")).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// Returns a port that listens and never answers.
Listener SilentListener() {
  return Listen({.host = "127.0.0.1", .port = 0, .path = {}}, SystemFiles()).value();
}

TEST(HttpClient, GivesUpAtTheDeadline) {
  const Listener mute = SilentListener();
  HttpClient client({.deadline = milliseconds(30)});
  EXPECT_EQ(AskOne(client, To(mute.port)).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(HttpClient, ReportsARefusedConnection) {
  uint16_t port = 0;
  { port = SilentListener().port; }
  HttpClient client({});
  EXPECT_EQ(AskOne(client, To(port)).status().code(), absl::StatusCode::kUnavailable);
  HttpQuestion question = To(port);
  question.ip = "node-1";
  EXPECT_EQ(AskOne(client, question).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HttpClient, CanBeInterruptedAndDropsRunningRequests) {
  const Listener mute = SilentListener();
  bool told = false;
  {
    HttpClient client({});
    client.Ask(To(mute.port), [&told](const auto& /*answer*/) { told = true; });
    std::jthread other([&client] { client.Interrupt(); });
    other.join();
    client.Run(Instant::max());  // Ends, since it was interrupted.
    EXPECT_EQ(client.running(), 1U);
  }
  EXPECT_FALSE(told);
}

TEST(HttpClient, AcceptsOnlyCertificatesOfTheAuthority) {
  const Authority authority("nodes");
  const MadeCertificate made = authority.Issue("node", "DNS:localhost");
  const WebConfigFiles files;
  files.Write(made.certificate, "server.crt");
  files.Write(made.key, "server.key");
  files.Write("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n");
  HttpServerOptions options = LoopbackOptions();
  options.web_config_file = files.path();
  const auto server = StartServer(options);
  HttpClient client({});
  HttpClientTls tls{.authorities = authority.certificate(), .certificate = {}, .key = {}};
  ASSERT_TRUE(client.UseTls(&tls).ok());
  EXPECT_EQ(AskOne(client, To(server->port()))->status, 200);
  HttpQuestion misnamed = To(server->port());
  misnamed.certificate_name = "elsewhere";
  EXPECT_EQ(AskOne(client, misnamed).status().code(), absl::StatusCode::kUnauthenticated);
  tls.authorities = Authority("others").certificate();
  ASSERT_TRUE(client.UseTls(&tls).ok());
  EXPECT_EQ(AskOne(client, To(server->port())).status().code(), absl::StatusCode::kUnauthenticated);
  tls.trusts_anyone = true;
  ASSERT_TRUE(client.UseTls(&tls).ok());
  EXPECT_EQ(AskOne(client, To(server->port()))->status, 200);
  tls.authorities = "nothing";
  EXPECT_EQ(client.UseTls(&tls).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace podgpu
