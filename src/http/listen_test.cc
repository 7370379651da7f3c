#include "http/listen.h"

#include <arpa/inet.h>
#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "http/testing/loopback_client.h"

namespace podgpu {
namespace {

TEST(ListenAddress, IsParsedInEveryForm) {
  struct Row {
    std::string_view text;
    ListenAddress address;
  };
  const Row rows[] = {
      {":9400", {"", 9400, ""}},
      {"0.0.0.0:9400", {"0.0.0.0", 9400, ""}},
      {"localhost:0", {"localhost", 0, ""}},
      {"[::1]:65535", {"::1", 65535, ""}},
      {"[fe80::1%eth0]:1", {"fe80::1%eth0", 1, ""}},
      {"unix:/run/podgpu/metrics.sock", {"", 0, "/run/podgpu/metrics.sock"}},
      {"node-a.example:80", {"node-a.example", 80, ""}},
      {"[unix]:1", {"unix", 1, ""}},
  };
  for (const Row& row : rows) {
    const StatusOr<ListenAddress> address = ParseListenAddress(row.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(*address, row.address) << row.text;
    EXPECT_EQ(ToString(*address), row.text);
  }
  EXPECT_EQ(ParseListenAddress("unix:///run/p.sock"), ParseListenAddress("unix:/run/p.sock"));
}

TEST(ListenAddress, IsRefusedWithItsTextAndARemedy) {
  struct Row {
    std::string_view text;
    std::string_view why;
  };
  const Row rows[] = {
      {"", "has no port"},
      {"9400", "has no port"},
      {"[::1]", "has no port"},
      {"localhost", "has no port"},
      {":", "has no port from 0 to 65535"},
      {":65536", "has no port from 0 to 65535"},
      {":-1", "has no port from 0 to 65535"},
      {":94x0", "has no port from 0 to 65535"},
      {":http", "has no port from 0 to 65535"},
      {"::1:9400", "has an IPv6 host without brackets"},
      {"[::1:9400", "has an IPv6 host without brackets"},
      {"a b:9400", "has no valid host"},
      {"a\x01:9400", "has no valid host"},
      {"caf\xC3\xA9:9400", "has no valid host"},
      {"http//x:9400", "has no valid host"},
      {"unix:", "has no absolute path"},
      {"unix:run/x", "has no absolute path"},
      {"unix://host/x", "has no absolute path"},
      {"unix:/run/", "has no absolute path"},
  };
  for (const Row& row : rows) {
    const StatusOr<ListenAddress> address = ParseListenAddress(row.text);
    ASSERT_FALSE(address.ok()) << row.text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(address.status().message(),
              "address " + Quoted(row.text) + " " + std::string(row.why) +
                  ". Write HOST:PORT, [V6]:PORT, :PORT or unix:/PATH, such as :9400");
  }
}

// A file system made of texts.
class TableFiles : public Files {
 public:
  std::map<std::string, std::string, std::less<>> contents;
  std::map<std::string, std::vector<std::string>, std::less<>> folders;
  std::map<std::string, std::string, std::less<>> links;

  StatusOr<std::string> Read(std::string_view path) const override { return Find(contents, path); }
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    return Find(folders, path);
  }
  StatusOr<std::string> ReadLink(std::string_view path) const override { return Find(links, path); }

 private:
  template <typename Table>
  static StatusOr<typename Table::mapped_type> Find(const Table& table, std::string_view path) {
    const auto found = table.find(path);
    if (found == table.end()) {
      return absl::NotFoundError("not in the table");
    }
    return found->second;
  }
};

constexpr std::string_view kTcpHeader =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

// dcgm-exporter listens on port 9400 of every address.
class WorldWithOwner final : public TableFiles {
 public:
  WorldWithOwner() {
    // 9400 is 24B8. The first line is a connection, not a listener; the last one listens on another
    // port.
    contents["/proc/net/tcp"] = std::string(kTcpHeader) +
                                "   0: 0100007F:24B8 0100007F:D431 01 00000000:00000000 "
                                "00:00000000 00000000  0  0 111 1 0\n"
                                "   1: 0100007F:24B9 00000000:0000 0A 00000000:00000000 "
                                "00:00000000 00000000  0  0 222 1 0\n";
    contents["/proc/net/tcp6"] =
        std::string(kTcpHeader) +
        "   0: 00000000000000000000000000000000:24B8 00000000000000000000000000000000:0000 0A "
        "00000000:00000000 00:00000000 00000000  0  0 333 1 0\n";
    folders["/proc"] = {"1", "2211", "net", "self"};
    folders["/proc/2211/fd"] = {"0", "7"};
    links["/proc/2211/fd/0"] = "/dev/null";
    links["/proc/2211/fd/7"] = "socket:[333]";
    contents["/proc/2211/comm"] = "dcgm-exporter\n";
  }
};

TEST(PortOwner, IsTheProcessThatHoldsTheListeningSocket) {
  EXPECT_EQ(FindPortOwner(WorldWithOwner(), 9400), "dcgm-exporter (pid 2211)");
}

TEST(PortOwner, IsNamedByPidWhenItsNameIsHidden) {
  WorldWithOwner files;
  files.contents.erase("/proc/2211/comm");
  EXPECT_EQ(FindPortOwner(files, 9400), "pid 2211");
}

TEST(PortOwner, IsUnknownWhenItIsNotVisible) {
  WorldWithOwner files;
  EXPECT_EQ(FindPortOwner(files, 9401), std::nullopt) << "its descriptors are not visible";
  EXPECT_EQ(FindPortOwner(files, 80), std::nullopt);
  files.folders.erase("/proc");
  EXPECT_EQ(FindPortOwner(files, 9400), std::nullopt);
  EXPECT_EQ(FindPortOwner(TableFiles(), 9400), std::nullopt);
}

TEST(PortOwner, HandlesMalformedTables) {
  WorldWithOwner files;
  files.contents["/proc/net/tcp"] =
      "\n\n 0: x 0 0A\n0: nocolon 0 0A 0 0 0 0 0 9 9\n :zz : 0A 0 0 0 0";
  EXPECT_EQ(FindPortOwner(files, 9400), "dcgm-exporter (pid 2211)");
}

std::string OwnName() { return SystemFiles().Read("/proc/self/comm").value_or("?\n"); }

TEST(Listen, NamesTheOwnerOfATakenPortAndTheNextPort) {
  const StatusOr<Listener> first = Listen({.host = "", .port = 0, .path = ""}, SystemFiles());
  ASSERT_TRUE(first.ok()) << first.status();
  const uint16_t port = first->port;
  const StatusOr<Listener> second = Listen({.host = "", .port = port, .path = ""}, SystemFiles());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
  std::string name = OwnName();
  name.pop_back();
  const std::string taken = ":" + std::to_string(port);
  const std::string next = ":" + std::to_string((port + 1) % 65536);
  EXPECT_EQ(second.status().message(), taken + " is in use by " + name + " (pid " +
                                           std::to_string(::getpid()) +
                                           "). Stop it, or choose --address " + next);

  const StatusOr<Listener> third =
      Listen({.host = "127.0.0.1", .port = port, .path = ""}, TableFiles());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().message(),
            "127.0.0.1" + taken + " is in use. Choose --address 127.0.0.1" + next);
}

TEST(Listen, ServesBothFamiliesWhenNoHostIsNamed) {
  const StatusOr<Listener> listener = Listen({.host = "", .port = 0, .path = ""}, SystemFiles());
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(LoopbackClient(listener->port).connected());
  if (listener->family == AF_INET6) {
    const FileDescriptor client(::socket(AF_INET6, SOCK_STREAM, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(listener->port);
    // A container may support IPv6 and still have no IPv6 address.
    const int result =
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_TRUE(result == 0 || errno == EADDRNOTAVAIL || errno == ENETUNREACH) << errno;
  }
}

TEST(Listen, RefusesAnAddressOfAnotherMachine) {
  const StatusOr<Listener> foreign =
      Listen({.host = "192.0.2.1", .port = 9400, .path = ""}, SystemFiles());
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(foreign.status().message(),
            "192.0.2.1:9400: 192.0.2.1 is not an address of this machine. Choose one of its "
            "addresses, or :9400 for all");
  const StatusOr<Listener> nowhere =
      Listen({.host = "256.1.1.1", .port = 9400, .path = ""}, SystemFiles());
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(nowhere.status().message().find("host \"256.1.1.1\" cannot be resolved"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
