// The program's HTTP server on a simulated node, as scrapers and people use it through curl: TLS,
// client certificates, passwords, and changes of them at run time.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "http/testing/authority.h"
#include "http/testing/web_config_files.h"
#include "tests/e2e/child.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// bcrypt of "secret" and of "other".
constexpr std::string_view kSecret =
    "basic_auth_users:\n  alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";
constexpr std::string_view kOther =
    "basic_auth_users:\n  alice: $2b$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu\n";
constexpr std::string_view kPair =
    "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";

class WebTest : public FailureFixture {
 protected:
  WebTest() : FailureFixture(kThreeGpus) {
    WriteServer(authority_.Issue("server", "IP:127.0.0.1"));
    web_.Write(authority_.certificate(), "ca.crt");
    const MadeCertificate client = authority_.Issue("client", "DNS:prometheus.example");
    web_.Write(client.certificate, "client.crt");
    web_.Write(client.key, "client.key");
  }

  void WriteServer(const MadeCertificate& made) const {
    web_.Write(made.certificate, "server.crt");
    web_.Write(made.key, "server.key");
  }

  void Start(std::string_view config) {
    web_.Write(config);
    ASSERT_TRUE(node_.ready()) << node_.output();
    exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--web-config-file", web_.path()});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  struct Answer {
    int curl_exit = 0;
    std::string text;  // Head and body, then the status.
    bool Has(std::string_view part) const { return text.find(part) != std::string::npos; }
    bool is(int status) const {
      return curl_exit == 0 && text.ends_with("\n" + std::to_string(status));
    }
  };
  Answer Curl(const std::string& url, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"curl", "-sSi", "-w", "\n%{http_code}", url});
    Child curl(flags);
    Answer answer;
    answer.curl_exit = curl.Wait();
    answer.text = curl.output();
    return answer;
  }
  std::string http() const { return exporter_->root(); }
  std::string https() const { return "https" + exporter_->root().substr(4); }
  // Flags with which curl verifies the server against the test's authority.
  std::vector<std::string> Trusting(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--cacert", web_.path("ca.crt")});
    return more;
  }
  std::vector<std::string> AsClient() const {
    return Trusting({"--cert", web_.path("client.crt"), "--key", web_.path("client.key")});
  }

  WebConfigFiles web_;
  Authority authority_{"authority"};
};

TEST_F(WebTest, ServesThePageOverBothVersionsOfTls) {
  Start(kPair);
  for (const std::vector<std::string>& version :
       {std::vector<std::string>{"--tlsv1.2", "--tls-max", "1.2"}, {"--tlsv1.3"}}) {
    const Answer page = Curl(https() + "/metrics", Trusting(version));
    EXPECT_TRUE(page.is(200)) << page.text;
    EXPECT_TRUE(page.Has("\npodgpu_build_info{")) << page.text.substr(0, 500);
  }
  EXPECT_NE(Curl(https() + "/", Trusting({"--tls-max", "1.1"})).curl_exit, 0);
  EXPECT_EQ(Curl(https() + "/").curl_exit, 60)
      << "curl does not trust the test's certificate by default";
  const Answer plain = Curl(http() + "/metrics");
  EXPECT_TRUE(plain.is(400)) << plain.text;
  EXPECT_TRUE(plain.Has("Client sent an HTTP request to an HTTPS server"));
  EXPECT_FALSE(plain.Has("podgpu_build_info"));
}

TEST_F(WebTest, OnlyTlsBringsOpenSslIntoTheProcess) {
  const auto has_openssl = [this] {
    std::ifstream maps("/proc/" + std::to_string(exporter_->process().pid()) + "/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    EXPECT_NE(text.find("/libc.so"), std::string::npos) << text;
    return text.find("/libcrypto") != std::string::npos;
  };
  ASSERT_TRUE(node_.ready()) << node_.output();
  exporter_.emplace(node_);
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  for (const char* path : {"/metrics", "/", "/api/v1/status", "/readyz"}) {
    EXPECT_TRUE(Curl(http() + path, {"--compressed"}).curl_exit == 0) << path;
  }
  EXPECT_FALSE(has_openssl());
  Start(kPair);
  EXPECT_TRUE(Curl(https() + "/metrics", Trusting()).is(200));
  EXPECT_TRUE(has_openssl());
}

TEST_F(WebTest, UsesOnlyTheAllowedVersionsAndCiphers) {
  Start(std::string(kPair) +
        "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"
        "  curve_preferences: [CurveP384]\n");
  EXPECT_TRUE(Curl(https() + "/health", Trusting()).is(200));
  EXPECT_TRUE(Curl(https() + "/health", Trusting({"--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384",
                                                  "--curves", "P-256:P-384"}))
                  .is(200));
  EXPECT_NE(Curl(https() + "/", Trusting({"--tlsv1.3"})).curl_exit, 0);
  EXPECT_NE(Curl(https() + "/", Trusting({"--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"})).curl_exit,
            0);
  // The curve of the test's certificate, which is not allowed for the key exchange.
  EXPECT_NE(Curl(https() + "/", Trusting({"--curves", "P-256"})).curl_exit, 0);
}

TEST_F(WebTest, RequiresAClientCertificate) {
  Start(std::string(kPair) +
        "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
        "  client_allowed_sans: [prometheus.example]\n");
  EXPECT_NE(Curl(https() + "/metrics", Trusting()).curl_exit, 0);
  EXPECT_TRUE(Curl(https() + "/metrics", AsClient()).is(200));
  const MadeCertificate stranger = Authority("stranger").Issue("client", "DNS:prometheus.example");
  web_.Write(stranger.certificate, "client.crt");
  web_.Write(stranger.key, "client.key");
  EXPECT_NE(Curl(https() + "/metrics", AsClient()).curl_exit, 0);
}

TEST_F(WebTest, UsesARotatedCertificateWithoutARestart) {
  Start(kPair);
  ASSERT_TRUE(Curl(https() + "/health", Trusting()).is(200));
  const Authority next("next authority");
  web_.Write(next.certificate(), "ca.crt");
  EXPECT_EQ(Curl(https() + "/health", Trusting()).curl_exit, 60)
      << "the old certificate is still in use";
  WriteServer(next.Issue("server", "IP:127.0.0.1"));
  EXPECT_TRUE(Curl(https() + "/health", Trusting()).is(200));
  const Answer renewed = Curl(https() + "/metrics", Trusting());
  EXPECT_TRUE(renewed.Has("\npodgpu_web_config_old 0\n"));
  EXPECT_TRUE(renewed.Has("\npodgpu_tls_certificate_expiry_timestamp_seconds 1")) << renewed.text;
  // A broken certificate changes only the reported state.
  web_.Write("nothing", "server.crt");
  EXPECT_TRUE(Curl(https() + "/health", Trusting()).is(200));
  Answer page;
  while (!page.Has("\npodgpu_web_config_old 1\n")) {
    page = Curl(https() + "/metrics", Trusting());
    ASSERT_TRUE(page.is(200)) << page.text;
  }
  EXPECT_TRUE(Curl(https() + "/", Trusting()).Has("the changed web configuration cannot"));
}

TEST_F(WebTest, RequiresAPasswordOnEveryPath) {
  Start(kSecret);
  for (const std::string_view path : {"/", "/metrics", "/health", "/healthz", "/nowhere"}) {
    const Answer refused = Curl(http() + std::string(path));
    EXPECT_TRUE(refused.is(401)) << refused.text;
    EXPECT_TRUE(refused.Has("\r\nWWW-Authenticate: Basic\r\n"));
    EXPECT_TRUE(refused.Has("\r\n\r\nUnauthorized\n"));
  }
  EXPECT_TRUE(Curl(http() + "/metrics", {"-u", "alice:wrong"}).is(401));
  EXPECT_TRUE(Curl(http() + "/metrics", {"-u", "bob:secret"}).is(401));
  EXPECT_TRUE(Curl(http() + "/metrics", {"-u", "alice:secret"}).is(200));
  EXPECT_TRUE(Curl(http() + "/health", {"-u", "alice:secret"}).Has("\r\n\r\nOK"));
  web_.Write(kOther);
  EXPECT_TRUE(Curl(http() + "/metrics", {"-u", "alice:secret"}).is(401));
  EXPECT_TRUE(Curl(http() + "/metrics", {"-u", "alice:other"}).is(200));
}

// podgpu without a driver; a listener needs none.
std::vector<std::string> Driverless(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {PODGPU_BINARY_DIR "/bin/podgpu", "--libdcgm=/nowhere/libdcgm.so.4",
                               "-f", "deploy/default-counters.csv"});
  return flags;
}

TEST_F(WebTest, ServesASocketInTheFileSystem) {
  const std::string path = web_.path("metrics.sock");
  const auto serves = [&](Child& podgpu) {
    EXPECT_TRUE(podgpu.AwaitLine("address=unix:" + path).has_value()) << podgpu.output();
    return Curl("http://podgpu/health", {"--unix-socket", path}).is(200);
  };
  {
    Child killed(Driverless({"-a", "unix:" + path}));
    EXPECT_TRUE(serves(killed));
    killed.Signal(SIGKILL);
    killed.Wait();
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  Child podgpu(Driverless({"-a", "unix://" + path}));
  EXPECT_TRUE(podgpu.AwaitLine("address=unix://" + path).has_value()) << podgpu.output();
  EXPECT_TRUE(Curl("http://podgpu/metrics", {"--unix-socket", path}).is(200));
  Child second(Driverless({"-a", "unix:" + path}));
  EXPECT_EQ(second.Wait(), 2);
  EXPECT_NE(second.output().find("is in use by another process"), std::string::npos);
  podgpu.Signal(SIGTERM);
  EXPECT_EQ(podgpu.Wait(), 0) << podgpu.output();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(WebTest, ServesTheSocketThatSystemdPasses) {
  const FileDescriptor made(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::listen(made.get(), 16), 0);  // The system chooses the port.
  // Like systemd: the socket is descriptor 3, and the variables name the process.
  const std::string command =
      "exec env LISTEN_FDS=1 LISTEN_PID=$$ \"$@\" 3<&" + std::to_string(made.get());
  std::vector<std::string> arguments = {"sh", "-c", command, "sh"};
  for (const std::string& argument : Driverless({"--web-systemd-socket"})) {
    arguments.push_back(argument);
  }
  Child podgpu(arguments);
  const std::optional<std::string> line = podgpu.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(line.has_value()) << podgpu.output();
  const std::string port = line->substr(line->find("port=") + 5);
  EXPECT_TRUE(Curl("http://127.0.0.1:" + port + "/health").is(200));
  Child without(Driverless({"--web-systemd-socket"}));
  EXPECT_EQ(without.Wait(), 2);
  EXPECT_NE(without.output().find("systemd has passed no socket"), std::string::npos);
}

TEST_F(WebTest, RefusesABadFileAtTheStartWithOneLine) {
  web_.Write("tls_server_config:\n  certfile: x\n");
  Child podgpu({PODGPU_BINARY_DIR "/bin/podgpu", "-a", "127.0.0.1:0", "--web-config-file",
                web_.path(), "-f", "deploy/default-counters.csv"});
  EXPECT_EQ(podgpu.Wait(), 2);
  EXPECT_EQ(podgpu.output(), "podgpu: " + web_.path() +
                                 ":2: tls_server_config: unknown key \"certfile\"; nearest is "
                                 "cert_file. Correct or remove it\n");
  // --validate also checks the certificates.
  web_.Write(kPair);
  web_.Write("nothing", "server.key");
  Child validate({PODGPU_BINARY_DIR "/bin/podgpu", "--validate", "--web-config-file", web_.path(),
                  "-f", "deploy/default-counters.csv"});
  EXPECT_EQ(validate.Wait(), 2);
  EXPECT_EQ(validate.output(), "podgpu: " + web_.path() +
                                   ": tls_server_config.key_file: " + web_.path("server.key") +
                                   " holds no private key. PEM begins -----BEGIN PRIVATE KEY\n");
}

}  // namespace
}  // namespace podgpu
