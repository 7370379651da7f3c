// The face against a remote engine: a real process over a real socket, with the failures of the
// real client library (DCGM 4.6.0).
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <netinet/in.h>
#include <semaphore>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "sim/dcgm/engine_protocol.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_names.h"
#include "sim/testing/dcgm_scenarios.h"
#include "sim/testing/engine.h"

namespace podgpu::sim {
namespace {

// Vendor functions without a handle, or that begin or end a connection.
constexpr auto kWithoutRoundTrip =
    std::to_array<std::string_view>({"DcgmFieldGetById",
                                     "DcgmFieldGetByTag",
                                     "DcgmFieldsGetEntityGroupString",
                                     "DcgmFieldsInit",
                                     "DcgmFieldsTerm",
                                     "dcgmConnect",
                                     "dcgmConnect_v2",
                                     "dcgmConnect_v3",
                                     "dcgmCpuHierarchyCpuOwnsCore",
                                     "dcgmDisconnect",
                                     "dcgmEngineRun",
                                     "dcgmErrorGetCategoryByCode",
                                     "dcgmErrorGetFormatMsgByCode",
                                     "dcgmErrorGetPriorityByCode",
                                     "dcgmGetErrorMeta",
                                     "dcgmInit",
                                     "dcgmModuleIdToName",
                                     "dcgmPowerProfileIdToName",
                                     "dcgmShutdown",
                                     "dcgmStartEmbedded",
                                     "dcgmStartEmbedded_v2",
                                     "dcgmStatusClear",
                                     "dcgmStatusCreate",
                                     "dcgmStatusDestroy",
                                     "dcgmStatusGetCount",
                                     "dcgmStatusPopError",
                                     "dcgmStopEmbedded",
                                     "dcgmVersionInfo",
                                     "errorString"});

// Calls every function that takes a handle, with zeros for all other arguments, and returns the
// distinct codes.
std::vector<int> CallEverything(const DcgmBench& bench, int& calls) {
  std::vector<int> codes;
  for (const std::string& name : DcgmNames(bench.major())) {
    if (std::ranges::find(kWithoutRoundTrip, name) != kWithoutRoundTrip.end()) {
      continue;
    }
    void* const none = nullptr;
    const int code = bench.On(name.c_str(), none, none, none, none, none);
    ++calls;
    if (std::ranges::find(codes, code) == codes.end()) {
      codes.push_back(code);
    }
  }
  return codes;
}

// An engine in this process that counts requests and can be told not to answer.
class CountingEngine {
 public:
  CountingEngine() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, length), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, generic, &length), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    server_ = std::thread([this] { Serve(); });
  }
  CountingEngine(const CountingEngine&) = delete;
  CountingEngine& operator=(const CountingEngine&) = delete;
  // Call it after the client has disconnected.
  ~CountingEngine() {
    server_.join();
    close(listener_);
  }

  const std::string& address() const { return address_; }
  int requests() const { return requests_; }
  // Takes effect with the next request.
  void FallSilent() { silent_ = true; }
  void AwaitUnanswered() { unanswered_.acquire(); }

 private:
  void Serve() {
    const int client = accept(listener_, nullptr, nullptr);
    EngineRequest request{};
    while (recv(client, &request, sizeof(request), MSG_WAITALL) ==
           static_cast<ssize_t>(sizeof(request))) {
      ++requests_;
      if (silent_) {
        unanswered_.release();
        continue;
      }
      const EngineReply reply{.magic = kEngineMagic, .number = request.number, .generation = 1};
      EXPECT_EQ(send(client, &reply, sizeof(reply), MSG_NOSIGNAL),
                static_cast<ssize_t>(sizeof(reply)));
    }
    close(client);
  }

  const int listener_;
  std::string address_;
  std::atomic<int> requests_ = 0;
  std::atomic<bool> silent_ = false;
  std::counting_semaphore<> unanswered_{0};
  std::thread server_;
};

// The parameter is the library's generation.
class DcgmRemote : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<DcgmBench> Bench() {
    auto bench = std::make_unique<DcgmBench>(GetParam(), kEightGpus);
    EXPECT_EQ(bench->Call("dcgmInit"), 0);
    return bench;
  }
  static int Connect(DcgmBench& bench, const std::string& address, bool is_unix,
                     uint32_t timeout_ms = 60'000) {
    abi::dcgmConnectV2Params_v2 params{.version = abi::dcgmConnectV2Params_version2,
                                       .persistAfterDisconnect = 0,
                                       .timeoutMs = timeout_ms,
                                       .addressIsUnixSocket = is_unix ? 1U : 0U};
    return bench.Call("dcgmConnect_v2", address.c_str(), &params, &bench.handle);
  }
  static int ConnectUnix(DcgmBench& bench, uint32_t timeout_ms = 60'000) {
    return Connect(bench, bench.node().path() + "/engine.sock", true, timeout_ms);
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmRemote, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmRemote, ValuesComeThroughTcpAndUnixSocketAsTheyDoEmbedded) {
  const auto bench = Bench();
  const TestEngine engine(bench->node().path(), 1);
  const std::array<std::pair<std::string, bool>, 2> addresses = {
      {{EngineAddressIn(bench->node().path()), false},
       {bench->node().path() + "/engine.sock", true}}};
  for (const auto& [address, is_unix] : addresses) {
    ASSERT_EQ(Connect(*bench, address, is_unix), 0);
    ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0), bench->MakeFieldGroup({156, 54})), 0);
    const std::vector<Seen> seen = bench->Read(kGpu, 0, {156, 54});
    EXPECT_EQ(seen[0].number, bench->world().EnergyCounterMj(0, bench->now()));
    EXPECT_EQ(seen[1].text, bench->world().gpu(0).uuid);
    EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
    EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -21);
  }
}

TEST_P(DcgmRemote, ConnectionStringsNameTheirScheme) {
  if (GetParam() == 3) {
    EXPECT_FALSE(DcgmClient(3).Has("dcgmConnect_v3"));
    return;
  }
  const auto bench = Bench();
  const TestEngine engine(bench->node().path(), 1);
  abi::dcgmConnectV3Params_v1 params{.version = abi::dcgmConnectV3Params_version1,
                                     .persistAfterDisconnect = 0,
                                     .timeoutMs = 60'000};
  for (const std::string& address :
       {"tcp://" + EngineAddressIn(bench->node().path()), EngineAddressIn(bench->node().path()),
        "unix://" + bench->node().path() + "/engine.sock"}) {
    EXPECT_EQ(bench->Call("dcgmConnect_v3", address.c_str(), &params, &bench->handle), 0)
        << address;
    EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), 0) << address;
  }
}

TEST_P(DcgmRemote, EveryCallOnAHandleIsExactlyOneRoundTrip) {
  CountingEngine engine;
  const auto bench = Bench();
  ASSERT_EQ(Connect(*bench, engine.address(), false), 0);
  EXPECT_EQ(engine.requests(), 1);  // The hello.
  int calls = 0;
  CallEverything(*bench, calls);
  EXPECT_GT(calls, GetParam() == 4 ? 100 : 90);
  EXPECT_EQ(engine.requests(), 1 + calls);
  EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
}

TEST_P(DcgmRemote, NothingListeningEndsWithTheTimeOut) {
  const auto bench = Bench();
  EXPECT_EQ(ConnectUnix(*bench, 1), -21);
  EXPECT_EQ(Connect(*bench, "no-such-host.invalid:5555", false, 1), -21);
}

TEST_P(DcgmRemote, Row33AKilledEngineEndsItsConnectionAndItsGroups) {
  const auto bench = Bench();
  abi::dcgmGpuGrp_t group = 0;
  abi::dcgmFieldGrp_t fields = 0;
  {
    TestEngine engine(bench->node().path(), 1);
    ASSERT_EQ(ConnectUnix(*bench), 0);
    group = bench->MakeGroupOf(kGpu, 0);
    fields = bench->MakeFieldGroup({150});
    ASSERT_EQ(bench->Watch(group, fields), 0);
    engine.Kill();
    int calls = 0;
    EXPECT_EQ(CallEverything(*bench, calls), std::vector<int>{-21});
    EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
    EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
    EXPECT_EQ(ConnectUnix(*bench, 1), -21);
  }
  const TestEngine successor(bench->node().path(), 2);
  ASSERT_EQ(ConnectUnix(*bench), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, 0LL, &next, &SeeAll, user), -5);
  EXPECT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0), fields), -14);
  const abi::dcgmGpuGrp_t rebuilt = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t rebuilt_fields = bench->MakeFieldGroup({150});
  ASSERT_EQ(bench->Watch(rebuilt, rebuilt_fields), 0);
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", rebuilt, rebuilt_fields, 0LL, &next, &SeeAll, user),
            0);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_P(DcgmRemote, Row34NoCallReturnsAValueWhileTheEngineIsStopped) {
  const auto bench = Bench();
  const TestEngine engine(bench->node().path(), 1);
  ASSERT_EQ(ConnectUnix(*bench), 0);
  engine.Stop();
  std::array<unsigned int, 32> ids{};
  int count = 77;
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), -11);
  EXPECT_EQ(count, 77);
  engine.Continue();
  int code = -11;
  while (code == -11) {
    code = bench->On("dcgmGetAllDevices", ids.data(), &count);
  }
  EXPECT_EQ(code, 0);
  EXPECT_EQ(count, 8);
}

TEST_P(DcgmRemote, Row34DisconnectFromAnotherThreadReleasesABlockedCallAtOnce) {
  CountingEngine engine;
  const auto bench = Bench();
  ASSERT_EQ(Connect(*bench, engine.address(), false), 0);
  engine.FallSilent();
  int code = 0;
  std::thread blocked([&] { code = bench->On("dcgmUpdateAllFields", 1); });
  engine.AwaitUnanswered();
  EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
  blocked.join();
  EXPECT_EQ(code, -21);
}

TEST_P(DcgmRemote, ConnectingToAStoppedEngineSucceedsWithADeadHandle) {
  const auto bench = Bench();
  const TestEngine engine(bench->node().path(), 1);
  engine.Stop();
  EXPECT_EQ(ConnectUnix(*bench, 1'000), 0);
  engine.Continue();
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -21);
}

TEST_P(DcgmRemote, LiveDataOfAProfilingFieldKillsTheEngineForAllClients) {
  const auto bench = Bench();
  TestEngine engine(bench->node().path(), 1);
  ASSERT_EQ(ConnectUnix(*bench), 0);
  const abi::dcgmHandle_t mine = bench->handle;
  ASSERT_EQ(ConnectUnix(*bench), 0);
  bench->ReadLive(kGpu, 0, {1001}, -21);
  EXPECT_EQ(engine.Wait(), 139);
  bench->handle = mine;
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -21);
}

TEST_P(DcgmRemote, ConnectingNeedsAWorld) {
  const auto bench = Bench();
  const TestEngine engine(bench->node().path(), 1);
  setenv("PODGPU_SIM_DIR", "/nonexistent", 1);
  EXPECT_EQ(ConnectUnix(*bench, 1), -21);
  EXPECT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), -7);
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -1);
}

}  // namespace
}  // namespace podgpu::sim
