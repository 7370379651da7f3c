#include "source/dcgm/connection.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "source/source.h"
#include "source/testing/fake_dcgm_table.h"

namespace podgpu {
namespace {

using Kind = DcgmEndpoint::Kind;
using std::chrono::milliseconds;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(DcgmAddress, AcceptsHostsAndSockets) {
  const struct {
    std::string text;
    DcgmEndpoint expected;
  } rows[] = {
      {"nvidia-dcgm:5555", {Kind::kTcp, "nvidia-dcgm:5555"}},
      {"localhost", {Kind::kTcp, "localhost"}},
      {"tcp://10.0.0.1:5555", {Kind::kTcp, "10.0.0.1:5555"}},
      {"[::1]:5555", {Kind::kTcp, "[::1]:5555"}},
      {"[::1]", {Kind::kTcp, "[::1]"}},
      {"fe80::1", {Kind::kTcp, "fe80::1"}},
      {"unix:///tmp/nv-hostengine", {Kind::kUnixSocket, "/tmp/nv-hostengine"}},
      {"/tmp/nv-hostengine", {Kind::kUnixSocket, "/tmp/nv-hostengine"}},
      {"/tmp/a://b", {Kind::kUnixSocket, "/tmp/a://b"}},
      {"TCP://host:5555", {Kind::kTcp, "host:5555"}},
      {"Unix:///run/x", {Kind::kUnixSocket, "/run/x"}},
      {"vsock://2:5555", {Kind::kVsock, "2:5555"}},
      {"VSOCK://4294967295:1", {Kind::kVsock, "4294967295:1"}},
  };
  for (const auto& row : rows) {
    const StatusOr<DcgmEndpoint> endpoint = ParseDcgmAddress(row.text);
    ASSERT_TRUE(endpoint.ok()) << row.text << ": " << endpoint.status();
    EXPECT_EQ(*endpoint, row.expected) << row.text;
  }
}

TEST(DcgmAddress, RefusesOtherAddresses) {
  const struct {
    std::string text;
    std::string why;
  } rows[] = {
      {"", "is empty"},
      {"host name:5555", "contains a blank"},
      {"unix://tmp/socket", "names no absolute path"},
      {"unix://", "names no absolute path"},
      {":5555", "names no host"},
      {"tcp://", "names no host"},
      {"tcp:///run/dcgm.sock", "names no host"},
      {"http://host:5555", "has an unknown scheme"},
      {"://host:5555", "has an unknown scheme"},
      {"vsock://3:0", "has no two numbers after vsock://"},
      {"vsock://3", "has no two numbers after vsock://"},
      {"vsock://host:5555", "has no two numbers after vsock://"},
      {"vsock://3:5555:1", "has no two numbers after vsock://"},
      {"vsock://4294967296:5555", "has no two numbers after vsock://"},
      {"tcp://unix:///x", "has an unknown scheme"},
      {"host:", "has a port outside 1 to 65535"},
      {"host:0", "has a port outside 1 to 65535"},
      {"host:65536", "has a port outside 1 to 65535"},
      {"host:http", "has a port outside 1 to 65535"},
      {"[::1", "has a port outside 1 to 65535"},
      {"[::1]:x", "has a port outside 1 to 65535"},
  };
  for (const auto& row : rows) {
    const StatusOr<DcgmEndpoint> endpoint = ParseDcgmAddress(row.text);
    EXPECT_EQ(endpoint.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_EQ(Text(endpoint.status()),
              "engine address \"" + row.text + "\" " + row.why +
                  ". Give host:port, unix:///path, /path or vsock://CID:port");
  }
}

TEST(DcgmVersion, IsFoundAmongTheKeys) {
  EXPECT_EQ(ParseDcgmVersion("arch:x86_64;version:4.6.0;crc:1"), "4.6.0");
  EXPECT_EQ(ParseDcgmVersion("version:3.3.9"), "3.3.9");
  EXPECT_EQ(ParseDcgmVersion("buildversion:1"), "");
  EXPECT_EQ(ParseDcgmVersion(""), "");
}

TEST(DcgmConnection, UsesAConnectionStringWhenTheLibraryAcceptsOne) {
  const struct {
    const char* label;
    DcgmEndpoint endpoint;
    bool has_v3;
    std::string address;
  } rows[] = {
      {"tcp, 4.5", {Kind::kTcp, "host:5555"}, true, "tcp://host:5555"},
      {"socket, 4.5", {Kind::kUnixSocket, "/run/x"}, true, "unix:///run/x"},
      {"vsock, 4.5", {Kind::kVsock, "2:5555"}, true, "vsock://2:5555"},
      {"tcp, older", {Kind::kTcp, "host:5555"}, false, "host:5555"},
      {"socket, older", {Kind::kUnixSocket, "/run/x"}, false, "socket /run/x"},
  };
  for (const auto& row : rows) {
    FakeDcgm fake;
    if (!row.has_v3) {
      fake.without = {abi::DcgmCapability::kConnection};
    }
    const abi::DcgmLibrary library = fake.Library();
    DcgmConnection connection(library, row.endpoint, milliseconds(700));
    ASSERT_TRUE(connection.Open().ok()) << row.label;
    EXPECT_EQ(fake.last_address(), row.address) << row.label;
    EXPECT_EQ(fake.last_timeout_ms(), 700U) << row.label;
    EXPECT_TRUE(connection.is_open());
  }
}

TEST(DcgmConnection, NamesTheReleaseThatVsockNeeds) {
  FakeDcgm fake;
  fake.without = {abi::DcgmCapability::kConnection};
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection connection(library, {Kind::kVsock, "2:5555"}, milliseconds(700));
  const Status status = connection.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(Text(status).find("older than DCGM 4.5"), std::string::npos) << status;
  EXPECT_EQ(fake.last_address(), "");
}

TEST(DcgmConnection, DescribesLibraryAndEngine) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection remote(library, {Kind::kTcp, "host:5555"}, milliseconds(1));
  EXPECT_EQ(remote.Describe(), "dcgm (libdcgm.so.4), remote engine host:5555");
  ASSERT_TRUE(remote.Open().ok());
  EXPECT_EQ(remote.Describe(), "dcgm 4.6.0, remote engine host:5555");
  remote.Close();
  fake.version = "4.4.2";
  ASSERT_TRUE(remote.Open().ok());
  EXPECT_EQ(remote.Describe(), "dcgm 4.4.2 (library 4.6.0), remote engine host:5555");
}

TEST(DcgmConnection, WarnsOnceOfReleasesThatDoNotFit) {
  const auto warnings = [](const std::vector<std::string>& engines) {
    FakeDcgm fake;
    const abi::DcgmLibrary library = fake.Library();
    DcgmConnection connection(library, {Kind::kTcp, "host:5555"}, milliseconds(1));
    testing::internal::CaptureStderr();
    for (const std::string& engine : engines) {
      fake.version = engine;
      EXPECT_TRUE(connection.Open().ok());
      connection.Close();
    }
    const std::string log = testing::internal::GetCapturedStderr();
    return std::ranges::count(log, '\n');
  };
  EXPECT_EQ(warnings({"4.6.0", "4.4.2", "4.7.0", "4.5.3"}), 0);
  EXPECT_EQ(warnings({"4.7.1", "4.7.1", "4.7.1"}), 1);
  EXPECT_EQ(warnings({"4.7.1", "4.8.0"}), 2);
}

TEST(DcgmConnection, DescribesWithoutVersions) {
  FakeDcgm fake;
  fake.without = {abi::DcgmCapability::kVersion};
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection embedded(library, {}, milliseconds(1));
  ASSERT_TRUE(embedded.Open().ok());
  EXPECT_EQ(embedded.Describe(), "dcgm (libdcgm.so.4), embedded engine");
}

TEST(DcgmConnection, DescribesWithTheOnlyKnownVersion) {
  FakeDcgm fake;
  fake.Fail("dcgmHostengineVersionInfo", abi::DCGM_ST_GENERIC_ERROR);
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection embedded(library, {}, milliseconds(1));
  ASSERT_TRUE(embedded.Open().ok());
  EXPECT_EQ(embedded.Describe(), "dcgm 4.6.0, embedded engine");
}

TEST(DcgmConnection, StartsTheEmbeddedEngineAndShutsItDownOnce) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  {
    DcgmConnection connection(library, {}, milliseconds(1));
    ASSERT_TRUE(connection.Open().ok());
    EXPECT_EQ(connection.handle(), uintptr_t{abi::DCGM_EMBEDDED_HANDLE});
    connection.Interrupt();
    EXPECT_EQ(fake.CountOf("dcgmDisconnect"), 0) << "an embedded engine has nothing to disconnect";
  }
  EXPECT_EQ(fake.CountOf("dcgmShutdown"), 1);
}

TEST(DcgmConnection, Statement37ReportsWhyItCannotOpen) {
  const struct {
    const char* label;
    DcgmEndpoint endpoint;
    std::string symbol;
    abi::dcgmReturn_t code;
    absl::StatusCode expected;
    std::string message;
  } rows[] = {
      {"library",
       {},
       "dcgmInit",
       -7,
       absl::StatusCode::kFailedPrecondition,
       "libdcgm.so.4 cannot be initialised (DCGM -7: as the fake says)"},
      {"embedded",
       {},
       "dcgmStartEmbedded_v2",
       -7,
       absl::StatusCode::kFailedPrecondition,
       "the embedded DCGM engine does not start (DCGM -7: as the fake says). Check that nvidia-smi "
       "works here; with MIG the engine needs root"},
      {"nothing listens",
       {Kind::kTcp, "host:5555"},
       "dcgmConnect_v3",
       -21,
       absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not answer (DCGM -21: The connection to the host engine is "
       "not valid any longer). Start nv-hostengine there, or correct the address"},
      {"a dead handle",
       {Kind::kTcp, "host:5555"},
       "dcgmGetAllDevices",
       -11,
       absl::StatusCode::kUnavailable,
       "the host engine host:5555 accepts the connection but fails the first request (DCGM -11: as "
       "the fake says). Restart it if it hangs"},
  };
  for (const auto& row : rows) {
    FakeDcgm fake;
    fake.Fail(row.symbol, row.code, 1);
    const abi::DcgmLibrary library = fake.Library();
    DcgmConnection connection(library, row.endpoint, milliseconds(1));
    const Status status = connection.Open();
    EXPECT_EQ(status.code(), row.expected) << row.label;
    EXPECT_EQ(Text(status), row.message) << row.label;
    EXPECT_FALSE(connection.is_open()) << row.label;
    EXPECT_TRUE(connection.Open().ok()) << row.label << ": the next try succeeds";
  }
}

TEST(DcgmConnection, InitialisesTheLibraryAgainAfterAFailedStart) {
  FakeDcgm fake;
  fake.Fail("dcgmStartEmbedded_v2", abi::DCGM_ST_INIT_ERROR, 1);
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection connection(library, {}, milliseconds(1));
  EXPECT_FALSE(connection.Open().ok());
  EXPECT_TRUE(connection.Open().ok());
  const std::vector<std::string> expected = {"dcgmInit", "dcgmStartEmbedded_v2", "dcgmShutdown",
                                             "dcgmInit", "dcgmStartEmbedded_v2"};
  const std::vector<std::string> calls = fake.calls();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), calls.begin()));
}

TEST(DcgmConnection, OpensOnce) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection connection(library, {Kind::kTcp, "host"}, milliseconds(1));
  ASSERT_TRUE(connection.Open().ok());
  ASSERT_TRUE(connection.Open().ok());
  EXPECT_EQ(fake.CountOf("dcgmConnect_v3"), 1);
  connection.Close();
  connection.Close();
  EXPECT_EQ(fake.CountOf("dcgmDisconnect"), 1);
  EXPECT_EQ(fake.CountOf("dcgmShutdown"), 0) << "shutting down would wait behind a hung call";
}

TEST(DcgmConnection, AnotherThreadCanInterruptAHungCall) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  DcgmConnection connection(library, {Kind::kTcp, "host"}, milliseconds(1));
  fake.Hang("dcgmGetAllDevices");
  Status status;
  std::jthread source([&] { status = connection.Open(); });
  fake.AwaitHanging();
  connection.Interrupt();
  source.join();
  EXPECT_TRUE(LostConnection(status)) << status;
  EXPECT_TRUE(connection.Open().ok());
}

}  // namespace
}  // namespace podgpu
