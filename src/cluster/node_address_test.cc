#include "cluster/node_address.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(NodeAddress, IsReadInEveryForm) {
  struct Row {
    std::string_view text;
    HostAndPort address;
    std::string_view again;
  };
  const Row rows[] = {
      {"gpu-node-1", {"gpu-node-1", 9400}, "gpu-node-1:9400"},
      {"gpu_node.example.com:80", {"gpu_node.example.com", 80}, "gpu_node.example.com:80"},
      {"10.0.0.7:65535", {"10.0.0.7", 65535}, "10.0.0.7:65535"},
      {"[fd00::7]:9400", {"fd00::7", 9400}, "[fd00::7]:9400"},
      {"[::1]", {"::1", 9400}, "[::1]:9400"},
  };
  for (const Row& row : rows) {
    const StatusOr<HostAndPort> address = ParseHostAndPort(row.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(*address, row.address) << row.text;
    EXPECT_EQ(ToString(*address), row.again);
  }
}

TEST(NodeAddress, OfAPodMustBeOnAPodNetwork) {
  for (const std::string_view ip : {"10.0.0.1", "192.168.1.1", "100.64.0.1", "169.253.0.1",
                                    "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(MayBeAPods(ip)) << ip;
  }
  for (const std::string_view ip :
       {"127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255",
        "::1", "::", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "",
        "localhost", "10.0.0.1:80"}) {
    EXPECT_FALSE(MayBeAPods(ip)) << ip;
  }
}

TEST(NodeAddress, SaysWhatIsWrong) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", "\"\" is not an address. Write HOST, HOST:PORT or [IPV6]:PORT"},
      {"a:", "\"a:\" has no port from 1 to 65535"},
      {"a:0", "\"a:0\" has no port"},
      {"a:65536", "\"a:65536\" has no port"},
      {"a:x", "\"a:x\" has no port"},
      {"a b", "\"a b\" is not an address"},
      {"http://a", "\"http://a\" has no port"},
      {"[::1", "\"[::1\" is not an address"},
      {"[::1]9400", "\"[::1]9400\" is not an address"},
      {"::1", "\"::1\" is not an address"},
      {"-a", "\"-a\" is not an address"},
      {"a/../b", "is not an address"},
  };
  for (const auto& [text, says] : rows) {
    const StatusOr<HostAndPort> address = ParseHostAndPort(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_NE(std::string(address.status().message()).find(says), std::string::npos)
        << address.status();
  }
}

TEST(NodeFile, HasAnAddressALine) {
  const auto addresses =
      ParseNodeFile("# GPU nodes\n\ngpu-1:9400   # rack 1\r\n  gpu-2\n[fd00::7]:80", "nodes");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(*addresses,
            (std::vector<HostAndPort>{{"gpu-1", 9400}, {"gpu-2", 9400}, {"fd00::7", 80}}));
  EXPECT_TRUE(ParseNodeFile("", "nodes")->empty());
}

TEST(NodeFile, NamesFileLineAndRemedyOfAMistake) {
  EXPECT_EQ(ParseNodeFile("a\nb:x\n", "/etc/nodes").status().message(),
            "/etc/nodes:2: \"b:x\" has no port from 1 to 65535. Write HOST, HOST:PORT or "
            "[IPV6]:PORT");
  EXPECT_EQ(ParseNodeFile("a\n#\na:9400\n", "/etc/nodes").status().message(),
            "/etc/nodes:3: \"a:9400\" is already in line 1. Remove one of them");
}

TEST(NodeFile, IsBounded) {
  std::string text;
  for (size_t i = 0; i <= kMostNodes; ++i) {
    text += "n" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(ParseNodeFile(text, "f").status().message(),
            "f:20001: more than 20000 nodes. Split them over several instances of the cluster "
            "role");
}

}  // namespace
}  // namespace podgpu
