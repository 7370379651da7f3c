// The ways on which `podgpu top` reaches a podgpu: a Unix socket, TLS, a password, and the cluster
// role.
#include <csignal>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "http/testing/authority.h"
#include "http/testing/web_config_files.h"
#include "tests/e2e/failure_fixture.h"
#include "tests/e2e/tmux_window.h"

namespace podgpu {
namespace {

constexpr std::string_view kTopBinary = PODGPU_BINARY_DIR "/bin/podgpu";
constexpr std::string_view kOwnerOfGpu0 = "research/train-0";

// bcrypt of "secret".
constexpr std::string_view kSecretUser =
    "basic_auth_users:\n  alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";

struct TopRun {
  int exit_code = 0;
  std::string output;
  bool Has(std::string_view part) const { return output.find(part) != std::string::npos; }
};

TopRun TopOnce(std::vector<std::string> words) {
  words.insert(words.begin(), {std::string(kTopBinary), "top", "--once"});
  Child child(words, {"LC_ALL=C.UTF-8"});
  TopRun ended;
  ended.exit_code = child.Wait();
  ended.output = child.output();
  return ended;
}

class TopConnects : public FailureFixture {
 protected:
  TopConnects() : FailureFixture(kThreeGpus) {
    const MadeCertificate server = authority_.Issue("server", "IP:127.0.0.1");
    web_.Write(server.certificate, "server.crt");
    web_.Write(server.key, "server.key");
    web_.Write(authority_.certificate(), "ca.crt");
  }

  void Start(std::string_view config) {
    web_.Write(config);
    ASSERT_TRUE(node_.ready()) << node_.output();
    exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--web-config-file", web_.path()});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
  std::string https() const { return "https" + exporter_->root().substr(4); }

  // Until the node has read its devices and owners.
  static void ExpectANode(const std::vector<std::string>& words) {
    TopRun ended;
    do {
      ended = TopOnce(words);
      ASSERT_EQ(ended.exit_code, 0) << ended.output;
    } while (!ended.Has(kOwnerOfGpu0) || !ended.Has("3 GPUs: 3 ok"));
  }

  WebConfigFiles web_;
  Authority authority_{"authority"};
};

constexpr std::string_view kServerPair =
    "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";

TEST_F(TopConnects, OverAUnixSocket) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  const std::string url = "unix:" + web_.path("podgpu.sock");
  std::vector<std::string> words = ExporterProcess::Arguments(node_, {"-c=200"});
  std::ranges::replace(words, "-a=127.0.0.1:0", "-a=" + url);
  Child podgpu(words, node_.variables());
  ASSERT_TRUE(podgpu.AwaitLine("msg=\"serving\"")) << podgpu.output();
  ExpectANode({url});
  const TopRun fleet = TopOnce({"--fleet", url});
  EXPECT_EQ(fleet.output,
            "podgpu top: " + url + ": that is podgpu of one node; leave --fleet out\n");
  const TopRun none = TopOnce({url + "x"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.output, "podgpu top: " + url + "x: no such file or directory\n");
}

TEST_F(TopConnects, OverTlsWithTheAuthorityOfAFile) {
  Start(kServerPair);
  ExpectANode({https(), "--ca-file=" + web_.path("ca.crt")});
  const TopRun untrusted = TopOnce({https()});
  EXPECT_EQ(untrusted.exit_code, 1);
  EXPECT_TRUE(untrusted.Has("certificate")) << untrusted.output;
  EXPECT_EQ(std::ranges::count(untrusted.output, '\n'), 1) << untrusted.output;
}

TEST_F(TopConnects, WithAPassword) {
  Start(std::string(kServerPair) + std::string(kSecretUser));
  web_.Write("secret\n", "password");
  web_.Write("wrong\n", "other");
  web_.Write(
      "tls_config: {ca_file: ca.crt}\nbasic_auth: {username: alice, password_file: password}\n",
      "node.yaml");
  web_.Write("tls_config: {ca_file: ca.crt}\nbasic_auth: {username: alice, password_file: other}\n",
             "wrong.yaml");
  ExpectANode({https(), "--node-web-config=" + web_.path("node.yaml")});
  for (const std::string& flag :
       {"--ca-file=" + web_.path("ca.crt"), "--node-web-config=" + web_.path("wrong.yaml")}) {
    const TopRun refused = TopOnce({https(), flag});
    EXPECT_EQ(refused.exit_code, 1) << flag;
    EXPECT_TRUE(refused.Has("401")) << refused.output;
    EXPECT_EQ(std::ranges::count(refused.output, '\n'), 1) << refused.output;
  }
}

// A cluster role over a fleet whose nodes are simulated.
class TopOfAFleet : public ::testing::Test {
 protected:
  static constexpr char kNodes[] = "3";

  TopOfAFleet()
      : nodes_(folder_.path() + "/nodes"),
        fleet_({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", std::string("--nodes=") + kNodes,
                "--port=0", "--nodes-file=" + nodes_}) {}

  void SetUp() override {
    ASSERT_TRUE(fleet_.AwaitLine("ready")) << fleet_.output();
    cluster_.emplace(std::vector<std::string>{std::string(kTopBinary), "cluster", "-a=127.0.0.1:0",
                                              "--nodes=file:" + nodes_, "--node-interval=1s"});
    port_ = ServedPort(*cluster_);
    ASSERT_NE(port_, 0) << cluster_->output();
    ASSERT_TRUE(cluster_->AwaitLine("ready: 3 of 3 nodes answer")) << cluster_->output();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  const TemporaryFolder folder_;
  const std::string nodes_;
  Child fleet_;
  std::optional<Child> cluster_;
  uint16_t port_ = 0;
};

TEST_F(TopOfAFleet, OnceHasAllNodesAndPods) {
  const TopRun frame = TopOnce({"--fleet", url()});
  EXPECT_EQ(frame.exit_code, 0);
  EXPECT_TRUE(frame.Has("podgpu top  3 nodes: 3 ok  24 GPUs: ")) << frame.output;
  for (const char* const node : {"gpu-node-0001", "gpu-node-0002", "gpu-node-0003"}) {
    EXPECT_TRUE(RE2::PartialMatch(frame.output, std::string("\n ") + node + " +ok +8 ")) << node;
  }
  EXPECT_TRUE(frame.Has(" research/")) << frame.output;
  const TopRun node = TopOnce({url()});
  EXPECT_EQ(node.output, "podgpu top: " + url() + ": that is podgpu's cluster role; add --fleet\n");
}

TEST_F(TopOfAFleet, LiveItFollowsTheNodesAndCountsItsSilence) {
  TmuxWindow window(100, 24);
  window.Enter(std::string(kTopBinary) + " top --fleet " + url());
  ASSERT_TRUE(window.AwaitText("3 nodes: 3 ok")) << window.last();
  EXPECT_TRUE(window.AwaitText("[1 Pods] 2 Nodes")) << window.last();
  window.Type("2");
  EXPECT_TRUE(window.AwaitText("gpu-node-0003")) << window.last();
  fleet_.Signal(SIGKILL);
  fleet_.Wait();
  EXPECT_TRUE(window.AwaitText("3 nodes: 0 ok")) << window.last();
  EXPECT_TRUE(window.AwaitText(" degraded ")) << window.last();
  cluster_->Signal(SIGTERM);
  EXPECT_EQ(cluster_->Wait(), 0);
  EXPECT_TRUE(window.AwaitText("(connection refused), next try in")) << window.last();
  window.Type("q");
  EXPECT_TRUE(window.AwaitText("$ ")) << window.last();
}

}  // namespace
}  // namespace podgpu
