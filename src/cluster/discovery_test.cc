#include "cluster/discovery.h"

#include <map>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"
#include "base/testing/manual_clock.h"

namespace podgpu {
namespace {

// Resolves these names, and returns numeric addresses unchanged.
Resolver Knowing(std::map<std::string, std::vector<std::string>> names) {
  return [names = std::move(names)](const std::string& host) -> StatusOr<std::vector<std::string>> {
    if (const auto found = names.find(host); found != names.end()) {
      return found->second;
    }
    return host.find_first_not_of("0123456789.") == std::string::npos
               ? StatusOr<std::vector<std::string>>(std::vector<std::string>{host})
               : absl::UnavailableError("\"" + host + "\" cannot be looked up: unknown name");
  };
}

TEST(NodesOption, IsAFileOrAName) {
  EXPECT_EQ(ParseNodesOption("file:/nodes")->path, "/nodes");
  EXPECT_EQ(ParseNodesOption("dns:gpu.svc:80")->dns, (HostAndPort{"gpu.svc", 80}));
  for (const std::string_view wrong : {"", "/nodes", "file:", "dns:", "dns:a:b", "http://x"}) {
    EXPECT_FALSE(ParseNodesOption(wrong).ok()) << wrong;
  }
}

TEST(FindNodes, LooksUpEachHostOfAFile) {
  FakeFiles files;
  files.files["/nodes"] = "gpu-2:80\ngpu-1\n10.0.0.7\nlost\n";
  const auto found =
      FindNodes(ParseNodesOption("file:/nodes").value(), files,
                Knowing({{"gpu-1", {"10.0.0.1", "10.1.0.1"}}, {"gpu-2", {"10.0.0.2"}}}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->addresses,
            (std::vector<NodeAddress>{{"10.0.0.7:9400", "10.0.0.7", 9400, "10.0.0.7", ""},
                                      {"gpu-1:9400", "10.0.0.1", 9400, "gpu-1", ""},
                                      {"gpu-2:80", "10.0.0.2", 80, "gpu-2", ""}}));
  EXPECT_EQ(found->complaints,
            std::vector<std::string>{"/nodes: \"lost\" cannot be looked up: unknown name"});
}

TEST(FindNodes, FindsEveryAddressOfAName) {
  const auto found =
      FindNodes(ParseNodesOption("dns:gpu.svc:80").value(), FakeFiles(),
                Knowing({{"gpu.svc", {"10.0.0.2", "10.0.0.1", "10.0.0.2", "fd00::1"}}}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->addresses,
            (std::vector<NodeAddress>{{"10.0.0.1:80", "10.0.0.1", 80, "gpu.svc", ""},
                                      {"10.0.0.2:80", "10.0.0.2", 80, "gpu.svc", ""},
                                      {"[fd00::1]:80", "fd00::1", 80, "gpu.svc", ""}}));
}

TEST(FindNodes, TheSystemResolverAcceptsNumericAddresses) {
  EXPECT_EQ(ResolveBySystem("127.0.0.1").value(), std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(ResolveBySystem("::1").value(), std::vector<std::string>{"::1"});
}

// The found nodes stay while a search fails, and the failure is reported.
TEST(NodeDiscovery, KeepsItsNodesWhileTheFileIsBroken) {
  FakeFiles files;
  files.files["/nodes"] = "10.0.0.7\n";
  ManualClock clock;
  int changes = 0;
  NodeDiscovery discovery(ParseNodesOption("file:/nodes").value(), files, Knowing({}), clock,
                          [&changes] { ++changes; });
  EXPECT_FALSE(discovery.nodes().Get()->is_found);
  discovery.SearchOnce();
  EXPECT_EQ(discovery.nodes().Get()->detail, "1 nodes are known");
  EXPECT_TRUE(discovery.nodes().Get()->is_ok);
  discovery.SearchOnce();
  EXPECT_EQ(changes, 1) << "nothing is new";
  files.files["/nodes"] = "10.0.0.7:x\n";
  discovery.SearchOnce();
  const auto broken = discovery.nodes().Get();
  EXPECT_EQ(broken->addresses.size(), 1U);
  EXPECT_FALSE(broken->is_ok);
  EXPECT_EQ(broken->failures, 1U);
  EXPECT_EQ(broken->detail,
            "/nodes:1: \"10.0.0.7:x\" has no port from 1 to 65535. Write HOST, HOST:PORT or "
            "[IPV6]:PORT; the 1 nodes found before stay");
  files.files["/nodes"] = "";
  discovery.SearchOnce();
  EXPECT_TRUE(discovery.nodes().Get()->addresses.empty());
  EXPECT_EQ(changes, 3);
}

}  // namespace
}  // namespace podgpu
