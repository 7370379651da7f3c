// The cluster role against real servers as nodes: correct, failing and malicious ones.
#include "cluster/cluster.h"

#include <thread>

#include <gtest/gtest.h>

#include "exposition/gzip.h"
#include "http/listen.h"
#include "http/testing/authority.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"
#include "report/node_report.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

NodeReport ReportOf(const std::string& name, const std::string& pod) {
  NodeReport report;
  report.version = "1";
  report.node = name;
  report.ready = true;
  report.owners_known = true;
  ReportedGpu gpu;
  gpu.uuid = "GPU-of-" + name;
  gpu.model = "NVIDIA H100 80GB HBM3";
  gpu.state = "ok";
  gpu.use.owners = {{"research", pod, "main", "nvidia.com/gpu", ""}};
  report.gpus = {gpu};
  return report;
}

// A node whose answer a test may change, on any thread.
class FakeNode {
 public:
  explicit FakeNode(std::string body, std::string encoding = "") {
    Answer(std::move(body), std::move(encoding));
    server_ = StartServer(LoopbackOptions(), [this](const HttpRequest& request) {
      const auto answer = answer_.Get();
      if (request.path != "/api/v1/node") {
        return TextResponse(404, "");
      }
      const std::string etag = "\"" + std::to_string(std::hash<std::string>()(answer->body)) + "\"";
      HttpResponse response = TextResponse(answer->status, answer->body, "application/json");
      if (request.if_none_match == etag) {
        ++unchanged_;
        response = TextResponse(304, "");
      } else if (!answer->encoding.empty()) {
        response.headers.emplace_back("Content-Encoding", answer->encoding);
      }
      response.headers.emplace_back("ETag", etag);
      return response;
    });
  }

  void Answer(std::string body, std::string encoding = "", int status = 200) {
    answer_.Set(std::make_shared<const Reply>(Reply{std::move(body), std::move(encoding), status}));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  int unchanged() const { return unchanged_; }

 private:
  struct Reply {
    std::string body, encoding;
    int status = 200;
  };
  Published<Reply> answer_;
  std::atomic<int> unchanged_ = 0;
  std::unique_ptr<HttpServer> server_;
};

class ClusterTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& addresses) {
    WriteNodes(addresses);
    ClusterOptions options;
    options.http = LoopbackOptions();
    options.nodes = ParseNodesOption("file:" + files_.path("nodes")).value();
    options.poller.pace.interval = milliseconds(20);
    options.poller.pace.longest_wait = milliseconds(20);
    options.poller.publish_every = milliseconds(0);
    options.poller.client.deadline = deadline_;
    options.poller.client.max_body_bytes = 100'000;
    options.poller.max_report_bytes = 100'000;
    options.tick.withdraw_after = withdraw_after_;
    options.in_use_address = "127.0.0.1:0";
    options.poller.node_web_config = node_web_config_;
    auto cluster = Cluster::Start(options, {clock_, system_files_, ResolveBySystem});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  void WriteNodes(const std::vector<std::string>& addresses) const {
    std::string text;
    for (const std::string& address : addresses) {
      text += address + "\n";
    }
    files_.Write(text, "nodes");
  }

  LoopbackResponse Fetch(std::string_view path) const {
    return LoopbackClient(cluster_->port()).Fetch(path);
  }

  // Fetches `path` until it holds `part`.
  std::string AwaitPart(std::string_view path, std::string_view part) const {
    std::string body;
    LoopbackClient client(
        cluster_->port());  // One connection, because a loop of new ones would use up the ports.
    Await([&] {
      body = client.Fetch(path).body;
      return body.find(part) != std::string::npos;
    });
    return body;
  }

  const WebConfigFiles files_;
  const SystemFiles system_files_;
  SystemClock clock_;
  milliseconds deadline_{5'000};
  milliseconds withdraw_after_{3'600'000};
  std::string node_web_config_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ClusterTest, ServesTheMapOfAllNodes) {
  FakeNode one(WriteNodeReport(ReportOf("gpu-node.1", "a")));
  FakeNode two(Gzip(WriteNodeReport(ReportOf("gpu-node-2", "b"))), "gzip");
  Start({one.address(), two.address()});
  AwaitPart("/readyz", "ready: 2 of 2 nodes answer, with 2 GPUs");
  EXPECT_EQ(Fetch("/readyz").status, 200);
  EXPECT_EQ(Fetch("/healthz").status, 200);
  const std::string page = Fetch("/metrics").body;
  for (const std::string_view line :
       {"pod_and_gpu_map_info{gpu_id=\"GPU-of-gpu-node.1\",gpu_model=\"NVIDIA H100 80GB HBM3\","
        "namespace=\"research\",node=\"gpu-node.1\",pod_name=\"a\"} 1.0\n",
        "node=\"gpu-node-2\",pod_name=\"b\"} 1.0\n", "podgpu_cluster_nodes{state=\"ok\"} 2\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << page;
  }
  const std::string families = Fetch("/metrics/nodes").body;
  EXPECT_NE(families.find("# TYPE gpu_node_1_info gauge\n"), std::string::npos) << families;
  EXPECT_NE(families.find("# TYPE gpu_node_2_info gauge\n"), std::string::npos) << families;
  EXPECT_NE(Fetch("/").body.find("/metrics/nodes"), std::string::npos);
  const std::string fleet = Fetch("/api/v1/fleet").body;
  for (const std::string_view part : {"\"gpu-node.1\"", "\"gpu-node-2\"", "[0,\"b\"]"}) {
    EXPECT_NE(fleet.find(part), std::string::npos) << fleet;
  }
  EXPECT_EQ(Fetch("/api/v1/fleet?namespace=A").status, 400);
  EXPECT_EQ(Fetch("/assets/fleet.js").status, 200);
  EXPECT_EQ(Fetch("/assets/nothing.js").status, 404);
  EXPECT_EQ(Fetch("/nowhere").status, 404);
  Await([&] { return one.unchanged() > 1; });  // An unchanged report is not sent again.
  one.Answer(WriteNodeReport(ReportOf("gpu-node.1", "c")));
  AwaitPart("/metrics", "node=\"gpu-node.1\",pod_name=\"c\"} 1.0\n");
}

// It starts without any node and without a mean; the mean appears with the first node.
TEST_F(ClusterTest, ServesTheMeanOfGpusInUseUnderEveryPath) {
  NodeReport used = ReportOf("n1", "train-0");
  used.gpus[0].use.values[static_cast<size_t>(UseMeasure::kMemoryCopy)] = UseValue{37.5, 0};
  FakeNode node("nothing yet");
  Start({node.address()});
  AwaitPart("/readyz", "ready: 0 of 1 nodes answer");
  EXPECT_EQ(LoopbackClient(cluster_->in_use_port()).Fetch("/metrics").body, "");
  node.Answer(WriteNodeReport(used));
  AwaitPart("/metrics", "\navg_GPU_utilization 37.5\n");
  for (const std::string_view path : {"/", "/metrics", "/any/path"}) {
    const LoopbackResponse page = LoopbackClient(cluster_->in_use_port()).Fetch(path);
    EXPECT_EQ(page.status, 200);
    EXPECT_NE(page.body.find("\navg_GPU_utilization 37.5\n"), std::string::npos) << page.body;
    EXPECT_EQ(page.body.find("pod_and_gpu_map_info"), std::string::npos);
  }
}

// A node with a bad answer is named, and the good node is served unchanged.
TEST_F(ClusterTest, AnswersAnAutoscalerThatAsksForTheMeanInUse) {
  NodeReport report = ReportOf("gpu-node-1", "llm-0");
  report.gpus[0].use.values[static_cast<size_t>(UseMeasure::kMemoryCopy)] = UseValue{40, 0};
  FakeNode one(WriteNodeReport(report));
  Start({one.address()});
  EXPECT_NE(Fetch("/").body.find("/api/v1/in-use\n"), std::string::npos);
  AwaitPart("/readyz", "ready: 1 of 1 nodes answer");
  const LoopbackResponse mean = Fetch("/api/v1/in-use?namespace=research&workload=llm&window=10s");
  EXPECT_EQ(mean.status, 200) << mean.body;
  EXPECT_EQ(mean.body.substr(0, mean.body.find("\"oldest")),
            "{\"value\":40,\n\"unit\":\"percent\",\n\"measure\":\"memory_copy\",\n"
            "\"gpus_in_use\":1,\n\"gpus\":1,\n");
  const LoopbackResponse absent = Fetch("/api/v1/in-use?workload=web");
  EXPECT_EQ(absent.status, 404);
  EXPECT_EQ(absent.body, "{\"error\":\"no pod holds a GPU with workload=\\\"web\\\"\"}\n");
  EXPECT_EQ(Fetch("/api/v1/in-use?gpu=1").status, 400);
}

TEST_F(ClusterTest, ServesGoodNodesBesideNodesWithBadAnswers) {
  NodeReport twins = ReportOf("twins", "p");
  twins.gpus.push_back(twins.gpus[0]);
  NodeReport bomb = ReportOf("bomb", std::string(5'000, 'x'));
  struct Row {
    std::string body, encoding;
    int status;
    std::string_view reason;
  };
  const Row rows[] = {
      {WriteNodeReport(twins), "", 200, "not_understood"},
      {WriteNodeReport(bomb), "", 200, "not_understood"},
      {"{\"schema\":2}", "", 200, "schema"},
      {"<html>", "", 200, "not_understood"},
      {"", "", 401, "refused"},
      {"", "", 500, "refused"},
      {std::string(200'000, ' '), "", 200, "too_large"},
      {Gzip(std::string(200'000, ' ')), "gzip", 200, "too_large"},
      {"no gzip", "gzip", 200, "broken"},
  };
  FakeNode honest(WriteNodeReport(ReportOf("honest", "a")));
  FakeNode liar(WriteNodeReport(ReportOf("liar", "b")));
  Start({honest.address(), liar.address()});
  AwaitPart("/readyz", "ready: 2 of 2 nodes answer");
  for (const Row& row : rows) {
    liar.Answer(row.body, row.encoding, row.status);
    const std::string line = "podgpu_cluster_node_state{address=\"" + liar.address() +
                             "\",node=\"liar\",state=\"degraded\",reason=\"" +
                             std::string(row.reason) + "\"} 1\n";
    const std::string page = AwaitPart("/metrics", line);
    EXPECT_NE(page.find("node=\"honest\",pod_name=\"a\"} 1.0\n"), std::string::npos);
    EXPECT_NE(page.find("node=\"liar\",pod_name=\"b\"} 1.0\n"), std::string::npos)
        << "its last report counts for a while";
    liar.Answer(WriteNodeReport(ReportOf("liar", "b")));
    AwaitPart("/metrics", "node=\"liar\",state=\"ok\",reason=\"\"} 1\n");
  }
}

// A node that stops answering is unresponsive after the limit; its values do not stay.
TEST_F(ClusterTest, WithdrawsAHungNodeAndServesItAgainLater) {
  FakeNode node(WriteNodeReport(ReportOf("n1", "a")));
  withdraw_after_ = milliseconds(200);
  Start({node.address()});
  AwaitPart("/metrics", "pod_name=\"a\"} 1.0\n");
  node.Answer("", "", 503);
  const std::string page = AwaitPart("/metrics", "state=\"unresponsive\",reason=\"refused\"} 1\n");
  EXPECT_EQ(page.find("pod_name"), std::string::npos) << page;
  node.Answer(WriteNodeReport(ReportOf("n1", "b")));
  AwaitPart("/metrics", "pod_name=\"b\"} 1.0\n");
}

TEST_F(ClusterTest, NamesNodesThatHangOrDoNotExist) {
  const Listener hung = Listen({.host = "127.0.0.1", .port = 0, .path = {}}, system_files_).value();
  std::string closed;
  { closed = FakeNode("").address(); }
  deadline_ = milliseconds(50);
  Start({"127.0.0.1:" + std::to_string(hung.port), closed});
  AwaitPart("/metrics", "state=\"unresponsive\",reason=\"timeout\"} 1\n");
  AwaitPart("/metrics", "state=\"unresponsive\",reason=\"no_connection\"} 1\n");
  AwaitPart("/readyz", "ready: 0 of 2 nodes answer, with 0 GPUs; 2 unresponsive");
}

TEST_F(ClusterTest, AsksWithTheCertificatesAndTokenOfItsConfiguration) {
  const Authority authority("nodes");
  const MadeCertificate made = authority.Issue("node", "DNS:gpu-nodes");
  files_.Write(made.certificate, "server.crt");
  files_.Write(made.key, "server.key");
  files_.Write("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n");
  HttpServerOptions secure = LoopbackOptions();
  secure.web_config_file = files_.path();
  const auto node = StartServer(secure, [](const HttpRequest& request) {
    return request.authorization == "Bearer t0ken"
               ? TextResponse(200, WriteNodeReport(ReportOf("n1", "a")))
               : TextResponse(401, "");
  });
  files_.Write(authority.certificate(), "ca.crt");
  files_.Write("t0ken\n", "token");
  files_.Write(
      "tls_config: {ca_file: ca.crt, server_name: gpu-nodes}\n"
      "authorization: {credentials_file: token}\n",
      "access.yaml");
  node_web_config_ = files_.path("access.yaml");
  Start({"127.0.0.1:" + std::to_string(node->port())});
  AwaitPart("/metrics", "node=\"n1\",pod_name=\"a\"} 1.0\n");
}

TEST_F(ClusterTest, RefusesToSendATokenInClear) {
  WriteNodes({"a"});
  files_.Write("t0ken", "token");
  files_.Write("authorization: {credentials_file: token}\n", "access.yaml");
  ClusterOptions options;
  options.http = LoopbackOptions();
  options.nodes = ParseNodesOption("file:" + files_.path("nodes")).value();
  options.poller.node_web_config = files_.path("access.yaml");
  EXPECT_EQ(Cluster::Start(options, {clock_, system_files_, ResolveBySystem}).status().message(),
            files_.path("access.yaml") +
                ": the token or password would be sent over plain HTTP, where others on the "
                "network can read it. Add tls_config, or write insecure_http: true");
}

TEST_F(ClusterTest, SendsATokenInClearIfTheFileAllowsIt) {
  const auto node = StartServer(LoopbackOptions(), [](const HttpRequest& request) {
    return request.authorization == "Bearer t0ken"
               ? TextResponse(200, WriteNodeReport(ReportOf("n1", "a")))
               : TextResponse(401, "");
  });
  files_.Write("t0ken\n", "token");
  files_.Write("insecure_http: true\nauthorization: {credentials_file: token}\n", "access.yaml");
  node_web_config_ = files_.path("access.yaml");
  testing::internal::CaptureStderr();
  Start({"127.0.0.1:" + std::to_string(node->port())});
  AwaitPart("/metrics", "node=\"n1\",pod_name=\"a\"} 1.0\n");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a token or password is sent over plain HTTP"), std::string::npos) << log;
}

TEST_F(ClusterTest, RefusesToStartWithUnusableCredentials) {
  WriteNodes({"a"});
  files_.Write("no certificate", "ca.crt");
  files_.Write("tls_config: {ca_file: ca.crt}\n", "access.yaml");
  ClusterOptions options;
  options.http = LoopbackOptions();
  options.nodes = ParseNodesOption("file:" + files_.path("nodes")).value();
  options.poller.node_web_config = files_.path("access.yaml");
  EXPECT_EQ(Cluster::Start(options, {clock_, system_files_, ResolveBySystem}).status().message(),
            files_.path("access.yaml") +
                ": tls_config: it contains no certificate of an authority. Name PEM files");
}

TEST_F(ClusterTest, RefusesToStartOnAFileWithAMistake) {
  WriteNodes({"a", "b:x"});
  ClusterOptions options;
  options.http = LoopbackOptions();
  options.nodes = ParseNodesOption("file:" + files_.path("nodes")).value();
  const auto cluster = Cluster::Start(options, {clock_, system_files_, ResolveBySystem});
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cluster.status().message(),
            files_.path("nodes") +
                ":2: \"b:x\" has no port from 1 to 65535. Write HOST, HOST:PORT or [IPV6]:PORT");
  options.nodes.path = "/nowhere/nodes";
  EXPECT_EQ(Cluster::Start(options, {clock_, system_files_, ResolveBySystem}).status().message(),
            "--nodes: /nowhere/nodes: No such file or directory. Mount the file, with one address "
            "a line");
}

TEST_F(ClusterTest, StartsAndStopsManyTimes) {
  FakeNode node(WriteNodeReport(ReportOf("n1", "a")));
  for (int i = 0; i < 20; ++i) {
    Start({node.address()});
    EXPECT_TRUE(cluster_->Stop(std::chrono::hours(1)));
  }
}

}  // namespace
}  // namespace podgpu
