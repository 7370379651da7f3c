#include "http/web_config.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr std::string_view kHash = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

WebConfig Parsed(std::string_view text) {
  StatusOr<WebConfig> config = ParseWebConfig(text, "/etc/web/config.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : WebConfig();
}

TEST(WebConfig, IsEmptyForAnEmptyFile) {
  for (const std::string_view text : {"", "{}", "# only a word\n", "basic_auth_users:\n"}) {
    const WebConfig config = Parsed(text);
    EXPECT_FALSE(config.tls.has_value());
    EXPECT_TRUE(config.users.empty());
    EXPECT_TRUE(config.headers.empty());
    EXPECT_EQ(config.rate_limit, RateLimit());
    EXPECT_TRUE(config.notes.empty());
  }
}

TEST(WebConfig, HoldsEveryKey) {
  const WebConfig config = Parsed(R"(
tls_server_config:
  cert_file: server.crt
  key_file: /run/keys/server.key
  client_ca: |
    -----BEGIN CERTIFICATE-----
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.example, 10.0.0.1]
  min_version: TLS11
  max_version: TLS12
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  curve_preferences:
    - X25519
    - CurveP384
  prefer_server_cipher_suites: false
http_server_config:
  http2: false
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=31536000
rate_limit:
  interval: 200ms
  burst: 20
basic_auth_users:
  alice: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG
  "bob the builder": "$2b$12$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
)");
  TlsSettings tls;
  tls.certificate.file = "/etc/web/server.crt";
  tls.key.file = "/run/keys/server.key";
  tls.client_ca.text = "-----BEGIN CERTIFICATE-----\n";
  tls.client_auth = ClientAuth::kRequireAndVerify;
  tls.client_allowed_sans = {"prometheus.example", "10.0.0.1"};
  tls.min_version = 0x0302;
  tls.max_version = 0x0303;
  tls.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"};
  tls.curves = {"X25519", "CurveP384"};
  tls.prefer_server_cipher_suites = false;
  EXPECT_EQ(config.tls, tls);
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"X-Frame-Options", "deny"}, {"Strict-Transport-Security", "max-age=31536000"}};
  EXPECT_EQ(config.headers, headers);
  EXPECT_EQ(config.rate_limit, (RateLimit{std::chrono::milliseconds(200), 20}));
  EXPECT_EQ(config.users.size(), 2U);
  EXPECT_EQ(config.users.at("alice"), kHash);
  EXPECT_TRUE(config.notes.empty());
}

TEST(WebConfig, ReportsEntriesWithoutEffect) {
  EXPECT_EQ(Parsed("http_server_config: {http2: true}").notes.size(), 1U);
  const WebConfig config = Parsed("tls_server_config: {min_version: TLS13}");
  EXPECT_FALSE(config.tls.has_value());
  EXPECT_EQ(config.notes.size(), 1U);
}

struct BadConfig {
  std::string_view text;
  std::string_view complaint;  // The text after the path.
};
constexpr BadConfig kBadConfigs[] = {
    {"users: {}", "1: unknown key \"users\". Correct or remove it"},
    {"rate_limit: {}\nbasic_auth_user: {}",
     "2: unknown key \"basic_auth_user\"; nearest is basic_auth_users. Correct or remove it"},
    {"tls_server_config:\n  certfile: x",
     "2: tls_server_config: unknown key \"certfile\"; nearest is cert_file. Correct or remove "
     "it"},
    {"rate_limit: {}\nrate_limit: {}", "2: \"rate_limit\" is there twice. Remove one"},
    {"[1, 2]", "1: must hold keys with values. Write KEY: VALUE"},
    {"? [a]\n: b", "1: has a key that is not a text. Write KEY: VALUE"},
    {"a: &x b", "1: anchors are not allowed; write the value out"},
    {"a: [", "1: not YAML: end of sequence flow not found"},
    {"tls_server_config: {cert_file: [a]}",
     "1: tls_server_config.cert_file: must be a single text. Write it on one line, or as a block "
     "after |"},
    {"tls_server_config: {cert_file: a}",
     "1: tls_server_config: has no key. Add key_file, or key with the PEM text"},
    {"tls_server_config: {key_file: a}",
     "1: tls_server_config: has no certificate. Add cert_file, or cert with the PEM text"},
    {"tls_server_config: {client_auth_type: RequestClientCert}",
     "1: tls_server_config: has no certificate. Add cert_file, or cert with the PEM text"},
    {"tls_server_config: {cert: a, key: b, client_ca_file: c}",
     "1: tls_server_config: has a client CA but requests no client certificate. Add "
     "client_auth_type: RequireAndVerifyClientCert"},
    {"tls_server_config: {cert: a, key: b, client_auth_type: VerifyClientCertIfGiven, "
     "client_allowed_sans: [x]}",
     "1: tls_server_config: has client_allowed_sans but requires no certificate. Add "
     "client_auth_type: RequireAndVerifyClientCert"},
    {"tls_server_config: {cert: a, key: b, min_version: TLS13, max_version: TLS12}",
     "1: tls_server_config: has a min_version above its max_version. Exchange them"},
    {"tls_server_config: {min_version: TLS1.2}",
     "1: tls_server_config.min_version: \"TLS1.2\" is not known. Write one of TLS10, TLS11, "
     "TLS12, TLS13"},
    {"tls_server_config:\n  curve_preferences:\n    - P256",
     "3: tls_server_config.curve_preferences: \"P256\" is not known. Write one of CurveP256, "
     "CurveP384, CurveP521, X25519"},
    {"tls_server_config: {client_auth_type: Always}",
     "1: tls_server_config.client_auth_type: \"Always\" is not known. Write one of "
     "NoClientCert, RequestClientCert, RequireAnyClientCert, RequireClientCert, "
     "VerifyClientCertIfGiven, RequireAndVerifyClientCert"},
    {"tls_server_config: {client_allowed_sans: x}",
     "1: tls_server_config.client_allowed_sans: must be a list. Write each item on its own "
     "line after a dash"},
    {"http_server_config: {http2: maybe}",
     "1: http_server_config.http2: \"maybe\" is neither true nor false. Write one of them"},
    {"http_server_config:\n  headers:\n    Server: x",
     "3: http_server_config.headers: \"Server\" may not be set. Allowed are "
     "Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, "
     "X-Frame-Options and X-XSS-Protection"},
    {"http_server_config: {headers: {X-Frame-Options: DENY}}",
     "1: http_server_config.headers.X-Frame-Options: \"DENY\" is not allowed. Write deny or "
     "sameorigin"},
    {"http_server_config: {headers: {X-Content-Type-Options: sniff}}",
     "1: http_server_config.headers.X-Content-Type-Options: \"sniff\" is not allowed. Write "
     "nosniff"},
    {"rate_limit: {interval: 5, burst: 1}",
     "1: rate_limit.interval: must be a duration. Write 1s or 200ms, for example"},
    {"rate_limit: {burst: many}",
     "1: rate_limit.burst: must be a whole number of requests. Write 20, for example"},
    {"rate_limit: {interval: 1s}",
     "1: rate_limit: has no burst, so every request would be refused. Add burst: 20"},
};

TEST(WebConfig, IsRefusedWithFileLineKeyAndRemedy) {
  for (const BadConfig& row : kBadConfigs) {
    const StatusOr<WebConfig> config = ParseWebConfig(row.text, "/etc/web.yaml");
    ASSERT_FALSE(config.ok()) << row.text;
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(config.status().message(), "/etc/web.yaml:" + std::string(row.complaint));
  }
}

// Without it the list would be empty, and every certificate of the CA would do.
TEST(WebConfig, AnEmptyNameOfAClientStaysInItsList) {
  const StatusOr<WebConfig> config = ParseWebConfig(
      "tls_server_config:\n  cert: c\n  key: k\n  client_ca: a\n"
      "  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: [null]\n",
      "w.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->tls->client_allowed_sans, std::vector<std::string>{""});
}

TEST(WebConfig, NeverQuotesAHash) {
  const StatusOr<WebConfig> plain =
      ParseWebConfig("basic_auth_users:\n  \"a\\nb\": hunter2", "w.yaml");
  EXPECT_EQ(plain.status().message(),
            "w.yaml:2: basic_auth_users: the value for \"a b\" is not a bcrypt hash. Make a "
            "hash with htpasswd -nBC 10 NAME");
  const std::string costly = "$2b$16$" + std::string(53, 'x');
  const StatusOr<WebConfig> slow =
      ParseWebConfig("basic_auth_users: {a: " + costly + "}", "w.yaml");
  EXPECT_EQ(slow.status().message(),
            "w.yaml:1: basic_auth_users: the value for \"a\" has cost 16; above 15 a check "
            "takes longer than scrapers wait. Make a hash with htpasswd -nBC 10 NAME");
}

TEST(WebConfig, RecognizesBcryptHashes) {
  EXPECT_TRUE(IsBcryptHash(kHash));
  EXPECT_EQ(BcryptCost(kHash), 10);
  std::string other(kHash);
  for (const auto& [at, symbol] : {std::pair<size_t, char>{0, 'x'},
                                   {2, 'x'},
                                   {4, '9'},
                                   {5, 'a'},
                                   {6, '1'},
                                   {20, '$'},
                                   {59, '='}}) {
    std::string broken = other;
    broken[at] = symbol;
    EXPECT_FALSE(IsBcryptHash(broken)) << broken;
  }
  EXPECT_FALSE(IsBcryptHash(other + "a"));
  EXPECT_FALSE(IsBcryptHash(other.substr(1)));
}

}  // namespace
}  // namespace podgpu
