#include "sim/program/engine.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sim/dcgm/engine_link.h"
#include "sim/testing/engine.h"
#include "sim/testing/node.h"

namespace podgpu::sim {
namespace {

using std::chrono::milliseconds;

// A short time where a test waits for a deadline to end, a long one where it waits for an answer.
constexpr EngineDeadlines kShort{
    .connect = milliseconds(1), .login = milliseconds(50), .request = milliseconds(50)};
constexpr EngineDeadlines kLong{.connect = milliseconds(60'000),
                                .login = milliseconds(60'000),
                                .request = milliseconds(60'000)};

EngineAddress UnixAddress(const std::string& directory) {
  return {.is_unix = true, .path = directory + "/engine.sock", .host = "", .port = ""};
}

EngineAddress TcpAddress(const std::string& directory) {
  EngineAddress address;
  EXPECT_TRUE(ParseEngineAddress(EngineAddressIn(directory), false, address));
  return address;
}

TEST(Engine, EchoesTheRequestWithItsGenerationOverTcpAndUnixSocket) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  const TestEngine engine(directory, 7);
  for (const EngineAddress& address : {TcpAddress(directory), UnixAddress(directory)}) {
    const auto link = EngineLink::Connect(address, kLong);
    ASSERT_NE(link, nullptr);
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(link->Ask(EngineCall("dcgmGetAllDevices")), LinkResult::kAnswered);
    }
    EXPECT_EQ(link->generation(), 7U);
  }
}

TEST(Engine, ConnectingIsRetriedUntilTheTimeOut) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  EXPECT_EQ(EngineLink::Connect(UnixAddress(directory), kShort), nullptr);
}

TEST(Engine, ConnectingSucceedsWhenTheEngineComesUpMeanwhile) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  std::shared_ptr<EngineLink> link;
  std::thread client([&] { link = EngineLink::Connect(UnixAddress(directory), kLong); });
  const TestEngine engine(directory, 1);
  client.join();
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->Ask(1), LinkResult::kAnswered);
}

TEST(Engine, AStoppedEngineTimesOutAndAnswersAfterItContinues) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  const TestEngine engine(directory, 1);
  EngineDeadlines deadlines = kLong;
  deadlines.request = milliseconds(50);
  const auto link = EngineLink::Connect(UnixAddress(directory), deadlines);
  ASSERT_NE(link, nullptr);
  engine.Stop();
  EXPECT_EQ(link->Ask(1), LinkResult::kTimedOut);
  EXPECT_EQ(link->Ask(2), LinkResult::kTimedOut);
  engine.Continue();
  LinkResult result = LinkResult::kTimedOut;
  while (result == LinkResult::kTimedOut) {
    result = link->Ask(3);  // Replies to 1 and 2 come first and are dropped.
  }
  EXPECT_EQ(result, LinkResult::kAnswered);
}

TEST(Engine, ConnectingToAStoppedEngineGivesADeadLink) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  const TestEngine engine(directory, 1);
  engine.Stop();
  const auto link = EngineLink::Connect(TcpAddress(directory), kShort);
  ASSERT_NE(link, nullptr);
  engine.Continue();
  EXPECT_EQ(link->Ask(1), LinkResult::kClosed);
}

TEST(Engine, ShutReleasesABlockedRequestAndTheNextOne) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  const TestEngine engine(directory, 1);
  const auto link = EngineLink::Connect(UnixAddress(directory), kLong);
  ASSERT_NE(link, nullptr);
  engine.Stop();
  std::array<LinkResult, 2> results{};
  std::thread first([&] { results[0] = link->Ask(1); });
  std::thread second([&] { results[1] = link->Ask(2); });
  link->Shut();
  first.join();
  second.join();
  EXPECT_EQ(results[0], LinkResult::kClosed);
  EXPECT_EQ(results[1], LinkResult::kClosed);
}

TEST(Engine, AKilledEngineClosesItsConnectionsAndItsSuccessorHasAnotherGeneration) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  TestEngine engine(directory, 1);
  const auto link = EngineLink::Connect(UnixAddress(directory), kLong);
  ASSERT_NE(link, nullptr);
  engine.Kill();
  EXPECT_EQ(link->Ask(1), LinkResult::kClosed);
  EXPECT_EQ(link->Ask(2), LinkResult::kClosed);
  const TestEngine successor(directory, 2);  // Replaces the socket file of the first engine.
  const auto again = EngineLink::Connect(UnixAddress(directory), kLong);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->generation(), 2U);
}

TEST(Engine, TheCrashRequestEndsTheProcessAsASegmentationFaultWould) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  TestEngine engine(directory, 1);
  const auto link = EngineLink::Connect(UnixAddress(directory), kLong);
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->Ask(kEngineCrashCall), LinkResult::kClosed);
  EXPECT_EQ(engine.Wait(), 139);
}

TEST(Engine, AnUnusableAddressGivesExitCodeTwo) {
  const TestFolder temporary;
  const std::string& directory = temporary.path();
  const TestEngine engine(directory, 1);
  const std::string taken = TcpAddress(directory).host + ":" + TcpAddress(directory).port;
  const TestFolder temporary_too;
  const std::string& other = temporary_too.path();
  EXPECT_EQ(RunEngine({.run_directory = other, .tcp = taken, .on_listening = {}}), 2);
  EXPECT_EQ(RunEngine({.run_directory = other, .tcp = "nonsense", .on_listening = {}}), 2);
  EXPECT_EQ(RunEngine({.run_directory = other + "/absent", .tcp = "", .on_listening = {}}), 2);
  EXPECT_EQ(RunEngine({.run_directory = std::string(120, 'x'), .tcp = "", .on_listening = {}}), 2);
}

TEST(Engine, ServingEndsWhenTheStopDescriptorIsReadable) {
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe(stop.data()), 0);
  close(stop[1]);
  const TestFolder temporary;
  EXPECT_EQ(RunEngine({.run_directory = temporary.path(),
                       .tcp = "",
                       .on_listening = {},
                       .stop_descriptor = stop[0]}),
            0);
  close(stop[0]);
}

struct AddressCase {
  const char* text;
  bool is_unix;
  bool valid;
  const char* host;
  const char* port;
};

TEST(Engine, ParsesAddressesAsTheVendorDoes) {
  constexpr std::array<AddressCase, 10> kCases = {{
      {"localhost", false, true, "localhost", "5555"},
      {"10.0.0.1:5556", false, true, "10.0.0.1", "5556"},
      {"[::1]:7", false, true, "::1", "7"},
      {"[::1]", false, true, "::1", "5555"},
      {"", false, false, "", ""},
      {":5555", false, false, "", ""},
      {"host:", false, false, "", ""},
      {"host:port", false, false, "", ""},
      {"[::1", false, false, "", ""},
      {"", true, false, "", ""},
  }};
  for (const AddressCase& row : kCases) {
    EngineAddress address;
    ASSERT_EQ(ParseEngineAddress(row.text, row.is_unix, address), row.valid) << row.text;
    if (row.valid) {
      EXPECT_EQ(address.host, row.host) << row.text;
      EXPECT_EQ(address.port, row.port) << row.text;
    }
  }
}

}  // namespace
}  // namespace podgpu::sim
