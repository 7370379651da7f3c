#include "kube/kubelet_pods.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

constexpr char kTwoPods[] =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)"
    R"({"metadata":{"namespace":"ml","name":"a","uid":"u-a","labels":{"team":"nlp"}},)"
    R"("spec":{"nodeName":"n","containers":[{"name":"main"}]},"status":{"phase":"Running",)"
    R"("containerStatuses":[{"name":"main","containerID":"containerd://c-a"}]}},)"
    R"({"metadata":{"namespace":"kube-system","name":"etcd-n","uid":"0123456789abcdef",)"
    R"("annotations":{"kubernetes.io/config.hash":"0123456789abcdef"}}}]})";

// The server of the API server's tests plays the kubelet's port.
class KubeletPodsTest : public ::testing::Test {
 protected:
  KubeletPodsTest() {
    const ApiServerOptions server = server_.Options();
    options_ = ParseKubeletPodsUrl("https://127.0.0.1:" + std::to_string(server_.port()) + "/pods")
                   .value();
    options_.server.token_path = server.token_path;
    options_.server.certificate_path = server.certificate_path;
  }

  StatusOr<ApiObjects> List() {
    round_ = {};
    return ListKubeletPods(options_, files_, {}, round_);
  }
  // Returns the message of a failure with this code.
  std::string Failure(absl::StatusCode code) {
    const Status status = List().status();
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }

  FakeApiServer server_;
  SystemFiles files_;
  KubeletPodsOptions options_;
  ApiRound round_;
};

TEST_F(KubeletPodsTest, ReadsWholePodsAndStaticPodsWithTheUidOfTheirCgroup) {
  server_.Serve("/pods", kTwoPods);
  const StatusOr<ApiObjects> pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 2U);
  const ApiObject& pod = pods->at("ml/a");
  EXPECT_EQ(pod.uid, "u-a");
  EXPECT_EQ(pod.labels.at(0).second, "nlp");
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.containers[0].id, "c-a");
  EXPECT_EQ(pods->at("kube-system/etcd-n").uid, "0123456789abcdef");
  EXPECT_EQ(server_.requests(), std::vector<std::string>{"GET /pods"});
}

TEST_F(KubeletPodsTest, AcceptsAnEmptyListAndRefusesOtherAnswers) {
  server_.Serve("/pods", R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":null})");
  ASSERT_TRUE(List().ok());
  EXPECT_TRUE(List()->empty());
  for (const char* body : {"", "<html>", "{}", R"({"metadata":{},"items":[{"metadata":{}}]})"}) {
    server_.Serve("/pods", body);
    EXPECT_EQ(List().status().code(), absl::StatusCode::kDataLoss) << body;
  }
}

TEST_F(KubeletPodsTest, NamesTheRemedyOfARefusal) {
  server_.RefuseInText(1, 403, "Forbidden (user=u, verb=get, resource=nodes)\n");
  EXPECT_EQ(Failure(absl::StatusCode::kPermissionDenied),
            "the kubelet answers 403 to GET /pods: \"Forbidden (user=u, verb=get, "
            "resource=nodes)\". Grant get of nodes/pods by a ClusterRole (Kubernetes 1.33 and "
            "newer)");
  server_.RefuseInText(1, 401, "Unauthorized");
  EXPECT_NE(Failure(absl::StatusCode::kUnauthenticated).find("authentication.webhook.enabled"),
            std::string::npos);
  server_.Refuse(1, 503, "Retry-After: 7\r\n");
  Failure(absl::StatusCode::kUnavailable);
  EXPECT_EQ(round_.retry_after, std::chrono::seconds(7));
  server_.SetDown(true);
  EXPECT_TRUE(Failure(absl::StatusCode::kUnavailable).starts_with("the kubelet at 127.0.0.1:"));
}

TEST_F(KubeletPodsTest, AcceptsASelfSignedCertificateOnlyWhenConfigured) {
  server_.Serve("/pods", kTwoPods);
  const sim::FakeApi other;
  ASSERT_TRUE(other.WriteCredentials(server_.folder().path()));
  EXPECT_NE(Failure(absl::StatusCode::kUnauthenticated)
                .find("--kubelet-pods-insecure-skip-tls-verify takes any"),
            std::string::npos);
  options_.server.verifies = false;
  options_.server.certificate_path = "/nowhere";
  EXPECT_TRUE(List().ok());
}

TEST_F(KubeletPodsTest, RefusesATooLargeList) {
  std::string list = R"({"metadata":{},"items":[)";
  const std::string padding(1 << 20, 'x');
  for (int i = 0; i < 33; ++i) {
    list += std::string(i == 0 ? "" : ",") + R"({"metadata":{"name":"p)" + std::to_string(i) +
            R"("},"spec":{"x":")" + padding + R"("}})";
  }
  server_.Serve("/pods", list + "]}");
  EXPECT_NE(Failure(absl::StatusCode::kResourceExhausted).find("is larger than 33554432 bytes"),
            std::string::npos);
}

TEST(KubeletPodsUrl, HasHostPortAndPath) {
  const auto read = [](std::string_view url) {
    const StatusOr<KubeletPodsOptions> options = ParseKubeletPodsUrl(url);
    return options.ok() ? options->server.host + " " + options->server.port + " " + options->path
                        : std::string(options.status().message());
  };
  EXPECT_EQ(read("https://10.0.0.7:10250/pods"), "10.0.0.7 10250 /pods");
  EXPECT_EQ(read("https://10.0.0.7"), "10.0.0.7 10250 /pods");
  EXPECT_EQ(read("https://[fd00::7]:443/"), "fd00::7 443 /pods");
  EXPECT_EQ(read("https://node-a/api/pods"), "node-a 10250 /api/pods");
  EXPECT_NE(read("https://$(HOST_IP):10250/pods").find("Set HOST_IP"), std::string::npos);
  for (const char* url :
       {"", "http://10.0.0.7:10255/pods", "https://", "https://fd00::7:10250/pods", "https://h:0",
        "https://h:70000", "https://u@h", "https://h/a b", "https://[::1"}) {
    EXPECT_TRUE(read(url).starts_with("must be an address such as https://10.0.0.7:10250/pods"))
        << url << ": " << read(url);
  }
}

}  // namespace
}  // namespace podgpu
