// The reviews and patches of the simulated API server, compared with what the real one answers.
#include "sim/kube/api_access.h"

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

ApiRequest Posting(std::string_view path, const std::string& body) {
  return ApiRequest("POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
}

std::string ReviewToken(const std::string& token) {
  return AnswerTokenReview(
      Posting(kTokenReviewsPath, R"({"kind":"TokenReview","apiVersion":)"
                                 R"("authentication.k8s.io/v1","spec":{"token":")" +
                                     token + R"("}})"),
      {{"t1", {"alice", {"team-a", "system:authenticated"}}}});
}

TEST(TokenReview, NamesTheUserOfAToken) {
  const std::string answer = ReviewToken("t1");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 ")) << answer;
  EXPECT_NE(answer.find(R"("authenticated":true)"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("username":"alice")"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("groups":["team-a","system:authenticated"])"), std::string::npos)
      << answer;
}

TEST(TokenReview, DoesNotAuthenticateAnotherToken) {
  const std::string answer = ReviewToken("t2");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 ")) << answer;
  EXPECT_EQ(answer.find("\"authenticated\""), std::string::npos) << answer;
  EXPECT_NE(answer.find("invalid bearer token"), std::string::npos) << answer;
}

// What a SubjectAccessReview with this spec is answered.
std::string Review(const std::string& spec) {
  return AnswerAccessReview(
      Posting(kAccessReviewsPath, R"({"kind":"SubjectAccessReview","apiVersion":)"
                                  R"("authorization.k8s.io/v1","spec":)" +
                                      spec + "}"),
      {{"alice", "", "ml", "external.metrics.k8s.io", "", "get"},
       {"", "admins"},
       {.user = "", .group = "team-a", .verb = "get", .path = "/apis/*"},
       {.user = "", .group = "team-a", .path = "/healthz"}});
}

TEST(AccessReview, PermitsWhatAUserOrAGroupMay) {
  const auto spec = [](const std::string& user, const std::string& groups,
                       const std::string& name_space, const std::string& verb) {
    return R"({"user":")" + user + R"(","groups":[)" + groups +
           R"(],"resourceAttributes":{"namespace":")" + name_space +
           R"(","group":"external.metrics.k8s.io","resource":"gpu_free","verb":")" + verb + "\"}}";
  };
  const auto path = [](const std::string& user, const std::string& groups,
                       const std::string& asked) {
    return R"({"user":")" + user + R"(","groups":[)" + groups +
           R"(],"nonResourceAttributes":{"path":")" + asked + R"(","verb":"get"}})";
  };
  struct Row {
    const char* what;
    std::string spec;
    bool is_allowed;
  };
  const Row rows[] = {
      {"in her namespace", spec("alice", "", "ml", "get"), true},
      {"in another namespace", spec("alice", "", "web", "get"), false},
      {"another verb", spec("alice", "", "ml", "list"), false},
      {"another user", spec("bob", "\"team-a\"", "ml", "get"), false},
      {"a group that may do everything", spec("bob", "\"admins\"", "web", "list"), true},
      {"a path", path("alice", "", "/healthz"), false},
      {"a path of her group", path("alice", "\"team-a\"", "/healthz"), true},
      {"below that path", path("alice", "\"team-a\"", "/healthz/x"), false},
      {"below a path", path("alice", "\"team-a\"", "/apis/external.metrics.k8s.io"), true},
      {"no path of resources", path("bob", "\"admins\"", "/healthz"), false},
  };
  for (const Row& row : rows) {
    const std::string answer = Review(row.spec);
    const std::string wanted = row.is_allowed ? R"("allowed":true)" : R"("allowed":false)";
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 ")) << row.what << answer;
    EXPECT_NE(answer.find(wanted), std::string::npos) << row.what << answer;
  }
}

TEST(Reviews, RefuseWhatTheRealServerRefuses) {
  struct Row {
    const char* what;
    std::string answer;
    const char* status;
  };
  const Row rows[] = {
      {"no JSON", AnswerTokenReview(Posting(kTokenReviewsPath, "token"), {}), "400"},
      {"another kind",
       AnswerTokenReview(Posting(kTokenReviewsPath, R"({"kind":"Pod","spec":{}})"), {}), "400"},
      {"no spec",
       AnswerTokenReview(
           Posting(kTokenReviewsPath,
                   R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1"})"),
           {}),
       "422"},
      {"nothing asked", Review(R"({"user":"alice"})"), "422"},
      {"both asked", Review(R"({"user":"a","resourceAttributes":{},"nonResourceAttributes":{}})"),
       "422"},
      {"no subject", Review(R"({"resourceAttributes":{"verb":"get"}})"), "422"},
  };
  for (const Row& row : rows) {
    EXPECT_TRUE(row.answer.starts_with("HTTP/1.1 " + std::string(row.status)))
        << row.what << row.answer;
  }
}

TEST(Patch, MergesMapsAndRemovesNulls) {
  ApiStored object = MakeApiStored(R"("name":"a","annotations":{"x":"1"})",
                                   R"(,"spec":{"caBundle":"old","service":{"name":"s"}},"a":[1])");
  object.version = 7;
  const std::optional<ApiStored> next =
      Patched(object, R"({"metadata":{"resourceVersion":"7","annotations":{"x":null,"y":"2"}},)"
                      R"("spec":{"caBundle":"new"},"a":[2,3],"status":{"conditions":[]}})");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->metadata, R"("name":"a","annotations":{"y":"2"})");
  EXPECT_EQ(next->rest, R"(,"spec":{"caBundle":"new","service":{"name":"s"}},"a":[2,3],)"
                        R"("status":{"conditions":[]})");
  EXPECT_EQ(next->version, 7U) << "the caller sets the next one";
  EXPECT_FALSE(Patched(object, "[]"));
  EXPECT_FALSE(Patched(object, "{"));
}

TEST(Patch, NamesTheVersionItIsFor) {
  EXPECT_EQ(VersionInPatch(R"({"metadata":{"resourceVersion":"7"}})"), "7");
  EXPECT_EQ(VersionInPatch(R"({"spec":{}})"), "");
  EXPECT_EQ(VersionInPatch("{"), "");
}

TEST(Trust, IsTextInTheMembersOfAConfigMap) {
  const std::string text = TrustText({"CLIENT", "PROXY", {"front-proxy-client"}});
  EXPECT_TRUE(text.starts_with(R"(,"data":{"client-ca-file":"CLIENT",)")) << text;
  EXPECT_NE(text.find(R"("requestheader-client-ca-file":"PROXY")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("requestheader-allowed-names":"[\"front-proxy-client\"]")"),
            std::string::npos)
      << text;
  EXPECT_NE(TrustText({"C", "P"}).find(R"("requestheader-allowed-names":"[]")"), std::string::npos);
}

}  // namespace
}  // namespace podgpu::sim
