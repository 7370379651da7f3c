// Reviews, patches and rights of the simulated API server, over its own connections.
#include "sim/kube/api_server.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/text.h"
#include "sim/kube/api_wire.h"

namespace podgpu::sim {
namespace {

constexpr char kService[] = "v1beta1.external.metrics.k8s.io";

// One request on a connection of its own, with the first token; the whole answer.
std::string Ask(const FakeApi& server, const std::string& method, const std::string& target,
                const std::string& body = "", const std::string& type = "application/json") {
  const openssl::Context context(SSL_CTX_new(TLS_client_method()));
  BIO* const connection = BIO_new_ssl_connect(context.get());
  BIO_set_conn_hostname(connection, ("127.0.0.1:" + std::to_string(server.port())).c_str());
  const std::string request =
      method + " " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
      std::string(kFirstToken) + "\r\nContent-Type: " + type +
      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  EXPECT_EQ(BIO_write(connection, request.data(), static_cast<int>(request.size())),
            static_cast<int>(request.size()));
  std::string answer;
  char bytes[4096];
  const auto is_whole = [&answer] {
    const size_t end = answer.find("\r\n\r\n");
    const size_t at = answer.find("Content-Length: ");
    return end != std::string::npos && at != std::string::npos &&
           answer.size() - end - 4 == ParseDecimal(answer.substr(at + 16, end - at - 16));
  };
  for (int count = 1; count > 0 && !is_whole();) {
    count = BIO_read(connection, bytes, sizeof bytes);
    answer.append(bytes, static_cast<size_t>(std::max(count, 0)));
  }
  BIO_free_all(connection);
  return answer;
}

std::string Patch(const FakeApi& server, const std::string& body,
                  const std::string& type = "application/merge-patch+json") {
  return Ask(server, "PATCH", std::string(kApiServicesPath) + "/" + kService, body, type);
}

// "409" of "HTTP/1.1 409 x".
std::string StatusOf(const std::string& answer) {
  return answer.substr(std::min<size_t>(answer.size(), 9), 3);
}

std::string VersionOf(const std::string& answer) {
  const std::string key = R"("resourceVersion":")";
  const size_t at = answer.find(key) + key.size();
  return answer.substr(at, answer.find('"', at) - at);
}

TEST(FakeApi, TakesAPatchOfTheNewestVersionOnly) {
  FakeApi server;
  server.PutApiService(kService, "gpu", "podgpu-cluster");
  const std::string before = Ask(server, "GET", std::string(kApiServicesPath) + "/" + kService);
  EXPECT_NE(before.find(R"("service":{"namespace":"gpu","name":"podgpu-cluster","port":443})"),
            std::string::npos)
      << before;
  const std::string patch = R"({"metadata":{"resourceVersion":")" + VersionOf(before) +
                            R"("},"spec":{"caBundle":"Q0E="}})";
  const std::string after = Patch(server, patch);
  EXPECT_EQ(StatusOf(after), "200") << after;
  EXPECT_NE(after.find(R"("caBundle":"Q0E=")"), std::string::npos) << after;
  EXPECT_NE(VersionOf(after), VersionOf(before));
  EXPECT_EQ(StatusOf(Patch(server, patch)), "409") << "its version is the older one";
  EXPECT_NE(server.Text(kApiServicesPath, kService).find("Q0E="), std::string::npos);
}

TEST(FakeApi, APatchThatChangesNothingKeepsTheVersion) {
  FakeApi server;
  server.PutApiService(kService, "gpu", "podgpu-cluster");
  const std::string patch = R"({"spec":{"caBundle":"Q0E="}})";
  const std::string first = Patch(server, patch);
  EXPECT_EQ(VersionOf(Patch(server, patch)), VersionOf(first));
}

TEST(FakeApi, AnotherClientCanBeFirst) {
  FakeApi server;
  server.PutApiService(kService, "gpu", "podgpu-cluster");
  server.DisturbPatches(1);
  const auto patch = [&server] {
    return R"({"metadata":{"resourceVersion":")" +
           VersionOf(server.Text(kApiServicesPath, kService)) + R"("},"spec":{"caBundle":"Q0E="}})";
  };
  EXPECT_EQ(StatusOf(Patch(server, patch())), "409");
  EXPECT_EQ(StatusOf(Patch(server, patch())), "200");
}

TEST(FakeApi, RefusesPatchesThatItCannotMerge) {
  FakeApi server;
  server.PutApiService(kService, "gpu", "podgpu-cluster");
  EXPECT_EQ(StatusOf(Patch(server, "[]", "application/json-patch+json")), "415");
  EXPECT_EQ(StatusOf(Patch(server, "no object")), "400");
  EXPECT_EQ(StatusOf(Ask(server, "PATCH", std::string(kApiServicesPath) + "/other", "{}",
                         "application/merge-patch+json")),
            "404");
  EXPECT_EQ(StatusOf(Ask(server, "DELETE", std::string(kApiServicesPath) + "/" + kService)), "405");
}

TEST(FakeApi, ReviewsTokensAndAccess) {
  FakeApi server;
  server.AcceptUser("t1", {"alice"});
  server.Permit({{"alice", "", "ml"}});
  const std::string user = Ask(
      server, "POST", std::string(kTokenReviewsPath),
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"t1"}})");
  EXPECT_NE(user.find(R"("username":"alice")"), std::string::npos) << user;
  const std::string access =
      Ask(server, "POST", std::string(kAccessReviewsPath),
          R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1",)"
          R"("spec":{"user":"alice","resourceAttributes":{"namespace":"ml"}}})");
  EXPECT_NE(access.find(R"("allowed":true)"), std::string::npos) << access;
  EXPECT_EQ(StatusOf(Ask(server, "GET", std::string(kTokenReviewsPath))), "405");
}

TEST(FakeApi, AllowsOnlyWhatIsGranted) {
  FakeApi server;
  server.PutApiService(kService, "gpu", "podgpu-cluster");
  server.PutApiService("v1.other", "gpu", "other");
  server.PutTrust({"C", "P"});
  const std::string patch = R"({"spec":{"caBundle":"Q0E="}})";
  server.SetGrants({{"", "authentication.k8s.io", "tokenreviews", "create"},
                    {"", "apiregistration.k8s.io", "apiservices", "patch", {kService}},
                    {"kube-system", "", "configmaps", "list", {std::string(kTrustName)}}});
  const std::string review =
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{}})";
  const std::string maps = "/api/v1/namespaces/kube-system/configmaps";
  const std::string services(kApiServicesPath);
  struct Row {
    std::string method, target, body, status;
  };
  const Row rows[] = {
      {"POST", std::string(kTokenReviewsPath), review, "201"},
      {"POST", std::string(kAccessReviewsPath), review, "403"},
      {"PATCH", services + "/" + kService, patch, "200"},
      {"PATCH", services + "/v1.other", patch, "403"},
      {"GET", services + "/" + kService, "", "403"},
      {"GET", maps + "?fieldSelector=metadata.name%3D" + std::string(kTrustName), "", "200"},
      {"GET", maps, "", "403"},
  };
  for (const Row& row : rows) {
    const std::string type =
        row.method == "PATCH" ? "application/merge-patch+json" : "application/json";
    EXPECT_EQ(StatusOf(Ask(server, row.method, row.target, row.body, type)), row.status)
        << row.method << " " << row.target;
  }
  EXPECT_EQ(server.used_grants(), (std::set<size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace podgpu::sim
