// The server with TLS: which clients it accepts, and its limits.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "http/server.h"
#include "http/testing/authority.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/tls_client.h"
#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// The incomplete start of a TLS handshake.
constexpr std::string_view kHalfHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

class TlsServerTest : public testing::Test {
 protected:
  TlsServerTest() {
    WriteServer(server_);
    files_.Write(authority_.certificate(), "ca.crt");
    Configure("");
    options_.web_config_file = files_.path();
  }

  void WriteServer(const MadeCertificate& made) const {
    files_.Write(made.certificate, "server.crt");
    files_.Write(made.key, "server.key");
  }
  // Writes a configuration with `more` lines in its TLS section.
  void Configure(std::string_view more) const {
    files_.Write("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n" +
                 std::string(more));
  }

  WebConfigFiles files_;
  Authority authority_{"authority"};
  MadeCertificate server_ = authority_.Issue("server", "DNS:localhost,IP:127.0.0.1");
  HttpServerOptions options_ = LoopbackOptions();
};

TEST_F(TlsServerTest, AnswersOverTlsAndAnnouncesTheEnd) {
  const auto server = StartServer(options_);
  TlsClient client(server->port());
  ASSERT_TRUE(client.is_connected());
  EXPECT_EQ(client.Fetch("/a"), 200);
  EXPECT_EQ(client.Fetch("/b"), 200);
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(client.AwaitAnnouncedEnd());
  EXPECT_EQ(server->stats().requests, 3U);
  EXPECT_EQ(server->stats().failed_handshakes, 0U);
}

TEST_F(TlsServerTest, SendsLargeBodiesWhole) {
  const auto server = StartServer(options_);
  TlsClient client(server->port());
  EXPECT_EQ(client.Fetch("/large", kLargeBodyBytes), 200);
}

TEST_F(TlsServerTest, ExplainsTlsToAPlainClient) {
  const auto server = StartServer(options_);
  LoopbackClient client(server->port());
  const LoopbackResponse response = client.Fetch("/metrics");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.body, "Client sent an HTTP request to an HTTPS server. Use https://\n");
  client.ShutDownSending();
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(server->stats().bad_requests, 1U);
  EXPECT_EQ(server->stats().requests, 0U);
}

TEST_F(TlsServerTest, CountsHandshakesThatFail) {
  const auto server = StartServer(options_);
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send(std::string(64, '\x16')));
  EXPECT_TRUE(client.AwaitEnd());
  Await([&] { return server->stats().failed_handshakes == 1; });
  // A connection without data, such as a TCP probe, is not a failed handshake.
  { const LoopbackClient probe(server->port()); }
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(server->stats().failed_handshakes, 1U);
}

TEST_F(TlsServerTest, ClosesAHandshakeThatStalls) {
  options_.request_timeout = milliseconds(100);
  const auto server = StartServer(options_);
  LoopbackClient client(server->port());
  ASSERT_TRUE(client.Send(kHalfHello));
  EXPECT_TRUE(client.AwaitEnd());
  Await([&] { return server->stats().open_connections == 0; });
  EXPECT_EQ(server->stats().deadlines, 1U);
}

TEST_F(TlsServerTest, ClosesASilentClientBehindAGoodHandshake) {
  options_.request_timeout = milliseconds(2'000);
  const auto server = StartServer(options_);
  TlsClient client(server->port());
  ASSERT_TRUE(client.is_connected());
  client.AwaitAnnouncedEnd();
  Await([&] { return server->stats().deadlines == 1; });
}

TEST_F(TlsServerTest, ClosesAReaderThatTakesTooLong) {
  options_.response_timeout = milliseconds(100);
  const auto server = StartServer(options_);
  TlsClient client(server->port(), 4096);
  ASSERT_TRUE(client.Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  Await([&] { return server->stats().deadlines == 1; });
}

TEST_F(TlsServerTest, ReplacesStalledHandshakesByNewClients) {
  options_.max_connections = 4;
  const auto server = StartServer(options_);
  std::vector<std::unique_ptr<LoopbackClient>> stalled;
  for (size_t i = 0; i < options_.max_connections; ++i) {
    stalled.push_back(std::make_unique<LoopbackClient>(server->port()));
    ASSERT_TRUE(stalled.back()->Send(kHalfHello));
  }
  Await([&] { return server->stats().open_connections == options_.max_connections; });
  EXPECT_EQ(TlsClient(server->port()).Fetch("/metrics"), 200);
  EXPECT_TRUE(stalled.front()->AwaitEnd());
  EXPECT_EQ(server->stats().turned_away, 0U);
}

TEST_F(TlsServerTest, AcceptsOnlyProbesWhileEveryConnectionIsBusy) {
  options_.max_connections = 1;
  options_.stalled_after = std::chrono::hours(1);  // None may be cut off.
  const auto server = StartServer(options_);
  TlsClient slow(server->port(), 4096);
  ASSERT_TRUE(slow.Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_FALSE(slow.Read().empty());
  EXPECT_EQ(TlsClient(server->port()).Fetch("/metrics"), 503);
  EXPECT_EQ(TlsClient(server->port()).Fetch("/healthz"), 200);
}

TEST_F(TlsServerTest, StopsDuringHandshakesAndResponses) {
  options_.drain = milliseconds(50);
  auto server = StartServer(options_);
  LoopbackClient stalled(server->port());
  ASSERT_TRUE(stalled.Send(kHalfHello));
  TlsClient slow(server->port(), 4096);
  ASSERT_TRUE(slow.Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_FALSE(slow.Read().empty());
  server.reset();
  EXPECT_TRUE(stalled.AwaitEnd());
}

TEST_F(TlsServerTest, RequiresAClientCertificateAsConfigured) {
  const Authority stranger("stranger");
  const MadeCertificate good = authority_.Issue("client", "DNS:prometheus.example,IP:10.0.0.1");
  const MadeCertificate named_otherwise = authority_.Issue("client", "DNS:other.example");
  const MadeCertificate foreign = stranger.Issue("client", "DNS:prometheus.example");
  const std::string with_ca = "  client_ca_file: ca.crt\n  client_auth_type: ";
  const std::string named = "\n  client_allowed_sans: [10.0.0.1, x.example]\n";
  struct Row {
    std::string config;
    const MadeCertificate* identity;
    bool is_let_in;
  };
  const Row rows[] = {
      {"  client_auth_type: RequestClientCert", nullptr, true},
      {"  client_auth_type: RequestClientCert", &foreign, true},
      {"  client_auth_type: RequireAnyClientCert", nullptr, false},
      {"  client_auth_type: RequireAnyClientCert", &foreign, true},
      {"  client_auth_type: RequireAnyClientCert" + named, &good, true},
      {"  client_auth_type: RequireAnyClientCert" + named, &foreign, false},
      {with_ca + "VerifyClientCertIfGiven", nullptr, true},
      {with_ca + "VerifyClientCertIfGiven", &good, true},
      {with_ca + "VerifyClientCertIfGiven", &foreign, false},
      {with_ca + "RequireAndVerifyClientCert", nullptr, false},
      {with_ca + "RequireAndVerifyClientCert", &good, true},
      {with_ca + "RequireAndVerifyClientCert", &foreign, false},
      {with_ca + "RequireAndVerifyClientCert" + named, &good, true},
      {with_ca + "RequireAndVerifyClientCert" + named, &named_otherwise, false},
      {with_ca + "RequireAndVerifyClientCert" + named, &foreign, false},
  };
  for (const Row& row : rows) {
    Configure(row.config + "\n");
    const auto server = StartServer(options_);
    // With TLS 1.3 a client learns of its refusal only when it reads the answer.
    TlsClient client(server->port(), 0, row.identity);
    EXPECT_EQ(client.is_connected() && client.Fetch("/") == 200, row.is_let_in) << row.config;
    Await([&] { return server->stats().failed_handshakes == (row.is_let_in ? 0U : 1U); });
  }
}

TEST_F(TlsServerTest, NamesFileKeyAndRemedyOfInvalidSettings) {
  struct Row {
    std::string_view certificate, key, authority;
    std::string_view complaint;  // After the configuration's path; FOLDER: its folder.
  };
  const MadeCertificate other = authority_.Issue("other", "");
  const std::string good_certificate = server_.certificate;
  const Row rows[] = {
      {"nothing", server_.key, "",
       "tls_server_config.cert_file: FOLDER/server.crt holds no certificate. PEM begins "
       "-----BEGIN CERTIFICATE"},
      {good_certificate, "nothing", "",
       "tls_server_config.key_file: FOLDER/server.key holds no private key. PEM "
       "begins -----BEGIN PRIVATE KEY"},
      {good_certificate, other.key, "",
       "tls_server_config.key_file: FOLDER/server.key does not belong to the certificate. Replace "
       "both together"},
      {good_certificate, server_.key, "nothing",
       "tls_server_config.client_ca_file: FOLDER/ca.crt holds no certificate. PEM begins "
       "-----BEGIN CERTIFICATE"},
  };
  Configure("  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n");
  const std::string folder = std::filesystem::path(files_.path()).parent_path().string();
  for (const Row& row : rows) {
    WriteServer({std::string(row.certificate), std::string(row.key)});
    files_.Write(row.authority, "ca.crt");
    const StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options_, Echo);
    std::string complaint = files_.path() + ": " + std::string(row.complaint);
    complaint.replace(complaint.find("FOLDER"), 6, folder);
    EXPECT_EQ(server.status(), absl::InvalidArgumentError(complaint));
  }
  std::filesystem::remove(files_.path("server.crt"));
  EXPECT_EQ(HttpServer::Start(options_, Echo).status(),
            absl::InvalidArgumentError(
                files_.path() + ": tls_server_config.cert_file: " + files_.path("server.crt") +
                ": No such file or directory. Correct the path"));
}

TEST_F(TlsServerTest, UsesCbcSuitesOnlyWhenConfigured) {
  struct Row {
    std::string_view config;
    const char* suites;
    bool is_let_in;
  };
  constexpr const char* kCbc =
      "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:"
      "ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:AES128-SHA:AES256-SHA";
  constexpr const char* kGcm = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
  const Row rows[] = {
      {"", kGcm, true},
      {"", kCbc, false},
      {"  min_version: TLS11\n", kCbc, true},
      {"  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, "
       "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]\n",
       kCbc, true},
  };
  for (const Row& row : rows) {
    Configure(std::string(row.config));
    const auto server = StartServer(options_);
    TlsClient client(server->port(), 0, nullptr, row.suites);
    EXPECT_EQ(client.is_connected() && client.Fetch("/") == 200, row.is_let_in)
        << row.config << row.suites;
  }
}

TEST_F(TlsServerTest, AcceptsInlinePem) {
  const auto indented = [](std::string text) {
    std::string block = " |\n    ";
    for (const char c : text.substr(0, text.size() - 1)) {
      block += c == '\n' ? "\n    " : std::string(1, c);
    }
    return block + "\n";
  };
  files_.Write("tls_server_config:\n  cert:" + indented(server_.certificate) +
               "  key:" + indented(server_.key));
  const auto server = StartServer(options_);
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 200);
}

TEST_F(TlsServerTest, ChangesWithItsFiles) {
  const auto server = StartServer(options_);
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 200);
  // A new key without its certificate: the old pair is kept.
  const MadeCertificate next = authority_.Issue("next", "DNS:localhost");
  files_.Write(next.key, "server.key");
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 200);
  EXPECT_TRUE(server->stats().web_config_is_old);
  files_.Write(next.certificate, "server.crt");
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 200);
  EXPECT_FALSE(server->stats().web_config_is_old);
  // From here on a certificate is required; existing connections stay open.
  TlsClient early(server->port());
  Configure("  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n");
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 0);
  EXPECT_EQ(early.Fetch("/"), 200);
}

TEST_F(TlsServerTest, CountsTheExpiryOfItsCertificate) {
  constexpr int64_t kDayS = 86'400;
  const auto now_s = [] { return ToMicroseconds(SystemClock().WallNow()) / 1'000'000; };
  const auto is_in_days = [](int64_t expires_s, int days, int64_t since, int64_t until) {
    return expires_s >= since + days * kDayS && expires_s <= until + days * kDayS;
  };
  const int64_t before = now_s();
  WriteServer(authority_.Issue("server", "DNS:localhost", 7));
  const int64_t after = now_s();
  const auto server = StartServer(options_);
  EXPECT_TRUE(is_in_days(server->stats().certificate_expires_s, 7, before, after));
  const MadeCertificate next = authority_.Issue("server", "DNS:localhost", 90);
  const int64_t later = now_s();
  WriteServer(next);
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 200);
  EXPECT_TRUE(is_in_days(server->stats().certificate_expires_s, 90, after, later));
  files_.Write("");  // Without TLS.
  EXPECT_EQ(TlsClient(server->port()).Fetch("/"), 0);
  EXPECT_EQ(server->stats().certificate_expires_s, 0);
}

}  // namespace
}  // namespace podgpu
