// Small parts of who may call: the ConfigMap, the answers of reviews, the cache of verdicts, and
// the certificate files.
#include <ctime>
#include <filesystem>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>
#include <openssl/x509.h>

#include "http/testing/authority.h"
#include "http/testing/web_config_files.h"
#include "metrics_api/access/authentication_config.h"
#include "metrics_api/access/client_authorities.h"
#include "metrics_api/access/review_cache.h"
#include "metrics_api/access/serving_tls.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

TEST(AuthenticationConfig, HasTheKeysOfTheConfigMap) {
  const std::string pem = Authority("ca").certificate();
  const AuthenticationConfig config =
      ReadAuthenticationConfig({{"client-ca-file", pem},
                                {"requestheader-client-ca-file", pem},
                                {"requestheader-allowed-names", R"(["a","b"])"},
                                {"requestheader-username-headers", R"(["X-Remote-User","X-User"])"},
                                {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
                                {"requestheader-group-headers", R"(["X-Remote-Group"])"},
                                {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}})
          .value();
  EXPECT_EQ(config.allowed_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.user_headers, (std::vector<std::string>{"X-Remote-User", "X-User"}));
  EXPECT_EQ(config.uid_headers, (std::vector<std::string>{"X-Remote-Uid"}));
  EXPECT_EQ(config.group_headers, (std::vector<std::string>{"X-Remote-Group"}));
  EXPECT_EQ(config.extra_prefixes, (std::vector<std::string>{"X-Remote-Extra-"}));
  EXPECT_EQ(ReadAuthenticationConfig({{"client-ca-file", pem}})->proxy_authorities, "");
}

TEST(AuthenticationConfig, NamesTheKeyThatIsWrong) {
  const std::string pem = Authority("ca").certificate();
  struct Row {
    std::map<std::string, std::string> data;
    const char* says;
  };
  const Row rows[] = {
      {{}, "it has neither requestheader-client-ca-file nor client-ca-file"},
      {{{"client-ca-file", "x"}}, "the key client-ca-file holds no certificate"},
      {{{"client-ca-file", pem}, {"requestheader-allowed-names", "a"}},
       "the key requestheader-allowed-names is not a JSON list"},
      {{{"client-ca-file", pem}, {"requestheader-group-headers", "[1]"}},
       "the key requestheader-group-headers is not a JSON list"},
  };
  for (const Row& row : rows) {
    const Status status = ReadAuthenticationConfig(row.data).status();
    EXPECT_NE(std::string(status.message()).find(row.says), std::string::npos) << status;
  }
}

// As TLS hands the certificate on.
std::string DerOf(const std::string& pem) {
  const Certificate certificate = std::move(ReadCertificates(pem).value().front());
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate.get(), &bytes);
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

std::string UtcText(time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                         parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

int64_t ExpiryOf(const std::string& pem) {
  return ExpiresAt(*ReadCertificates(pem).value().front());
}

TEST(ClientAuthorities, SayWhichCertificateExpiredAndWhen) {
  const Authority authority("cluster-ca");  // Valid for one day.
  const auto trusted = ClientAuthorities::Make(authority.certificate()).value();
  const MadeCertificate young = authority.Issue("operator", "", 2);
  const MadeCertificate old = authority.Issue("operator", "", 0);

  const int64_t old_ends = ExpiryOf(old.certificate);
  EXPECT_TRUE(trusted->Verify(std::vector{DerOf(old.certificate)}, old_ends - 60).ok());
  const Status expired =
      trusted->Verify(std::vector{DerOf(old.certificate)}, old_ends + 60).status();
  EXPECT_TRUE(absl::IsUnauthenticated(expired));
  EXPECT_EQ(expired.message(), "it expired at " + UtcText(old_ends));

  const int64_t authority_ends = ExpiryOf(authority.certificate());
  EXPECT_EQ(trusted->Verify(std::vector{DerOf(young.certificate)}, authority_ends + 60)
                .status()
                .message(),
            "its authority \"cluster-ca\" expired at " + UtcText(authority_ends));
}

TEST(Reviews, GrantOnlyWhatTheAnswerSays) {
  struct Row {
    const char* json;
    bool is_token, is_granted;
  };
  const Row rows[] = {
      {R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"u"}}})", true,
       true},
      {R"({"kind":"TokenReview","status":{"authenticated":true}})", true, false},
      {R"({"kind":"TokenReview","status":{"authenticated":"true","user":{"username":"u"}}})", true,
       false},
      {R"({"kind":"TokenReview","status":{}})", true, false},
      {R"({"kind":"SubjectAccessReview","status":{"allowed":true}})", false, true},
      {R"({"kind":"SubjectAccessReview","status":{"allowed":true,"denied":true}})", false, false},
      {R"({"kind":"SubjectAccessReview","status":{"allowed":false}})", false, false},
  };
  for (const Row& row : rows) {
    const auto verdict = row.is_token ? ReadTokenReview(row.json) : ReadAccessReview(row.json);
    ASSERT_TRUE(verdict.ok()) << row.json;
    EXPECT_EQ(verdict->is_granted, row.is_granted) << row.json;
    EXPECT_FALSE((row.is_token ? ReadAccessReview(row.json) : ReadTokenReview(row.json)).ok())
        << "of another kind: " << row.json;
  }
  for (const char* const json : {"", "[]", R"({"kind":"TokenReview"})", "<html>"}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadTokenReview(json).status())) << json;
  }
}

class ReviewCacheTest : public testing::Test {
 protected:
  static Review Access(int number) { return {ReviewKind::kAccess, std::to_string(number)}; }
  void AnswerNext(ReviewResult result) {
    const std::optional<ReviewCache::Open> open = cache_.Next();
    ASSERT_TRUE(open.has_value());
    cache_.Finish(open->key, std::move(result), now_);
  }

  ReviewCache cache_{{.most_verdicts = 3, .most_waiting = 2}};
  Instant now_{};
};

TEST_F(ReviewCacheTest, KeepsAVerdictForTenSecondsAndAFailureForOne) {
  EXPECT_EQ(cache_.Ask(Access(1), now_).kind, ReviewState::Kind::kWaiting);
  EXPECT_EQ(cache_.Ask(Access(1), now_).kind, ReviewState::Kind::kWaiting);
  AnswerNext(ReviewVerdict{.is_granted = true});
  EXPECT_FALSE(cache_.Next().has_value()) << "two callers wait for one question";
  EXPECT_TRUE((*cache_.Ask(Access(1), now_).result)->is_granted);
  now_ += seconds(10);
  EXPECT_EQ(cache_.Ask(Access(1), now_).kind, ReviewState::Kind::kWaiting);
  AnswerNext(absl::UnavailableError("away"));
  EXPECT_FALSE(cache_.Ask(Access(1), now_).result->ok());
  now_ += seconds(1);
  EXPECT_EQ(cache_.Ask(Access(1), now_).kind, ReviewState::Kind::kWaiting);
}

TEST_F(ReviewCacheTest, RefusesQuestionsAboveItsLimitAndDropsOldVerdicts) {
  cache_.Ask(Access(1), now_);
  cache_.Ask(Access(2), now_);
  EXPECT_EQ(cache_.Ask(Access(3), now_).kind, ReviewState::Kind::kTooMany);
  AnswerNext(ReviewVerdict{});
  for (int i = 3; i < 9; ++i) {
    now_ += seconds(1);
    cache_.Ask(Access(i), now_);
    AnswerNext(ReviewVerdict{});
    EXPECT_LE(cache_.verdicts(), 3U);
  }
  EXPECT_EQ(cache_.Ask(Access(1), now_).kind, ReviewState::Kind::kWaiting) << "it was due first";
}

TEST_F(ReviewCacheTest, TellsTokensFromAccesses) {
  cache_.Ask({ReviewKind::kToken, "x"}, now_);
  AnswerNext(ReviewVerdict{.is_granted = true});
  EXPECT_EQ(cache_.Ask({ReviewKind::kAccess, "x"}, now_).kind, ReviewState::Kind::kWaiting);
}

TEST(ServingTls, UsesChangedFilesAndKeepsTheOldOnesIfTheyAreBad) {
  const WebConfigFiles files;
  const SystemFiles system;
  const Authority authority("ca");
  const MadeCertificate one = authority.Issue("one", "DNS:x", 1);
  const MadeCertificate two = authority.Issue("two", "DNS:x", 2);
  files.Write(one.certificate, "tls.crt");
  files.Write(one.key, "tls.key");
  auto tls = ServingTls::OfFiles(files.path("tls.crt"), files.path("tls.key"), system).value();
  const int64_t first_s = tls->expires_s();
  files.Write(two.certificate, "tls.crt");  // The key does not belong to it yet.
  tls->Context();
  EXPECT_TRUE(tls->is_old());
  EXPECT_EQ(tls->expires_s(), first_s);
  files.Write(two.key, "tls.key");
  tls->Context();
  EXPECT_FALSE(tls->is_old());
  EXPECT_GT(tls->expires_s(), first_s);
}

TEST(ServingTls, RefusesBadFilesAtTheStart) {
  const WebConfigFiles files;
  const SystemFiles system;
  const MadeCertificate one = Authority("ca").Issue("one", "DNS:x");
  const MadeCertificate two = Authority("ca").Issue("two", "DNS:x");
  struct Row {
    std::string certificate, key;
    const char* says;
  };
  const Row rows[] = {
      {"", one.key, "--metrics-api-cert-file: "},
      {one.key, one.key, "holds no certificate"},
      {one.certificate, one.certificate, "--metrics-api-key-file: "},
      {one.certificate, two.key, "Replace both together"},
  };
  for (const Row& row : rows) {
    files.Write(row.certificate, "tls.crt");
    files.Write(row.key, "tls.key");
    const Status status =
        ServingTls::OfFiles(files.path("tls.crt"), files.path("tls.key"), system).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(row.says), std::string::npos) << status;
  }
  EXPECT_FALSE(ServingTls::OfFiles(files.path("none"), files.path("tls.key"), system).ok());
}

}  // namespace
}  // namespace podgpu
