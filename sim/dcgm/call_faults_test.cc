// The effect of faults on calls of libdcgm: errors, hanging, slowness, an engine of another
// release; embedded and over a connection.
#include <array>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "sim/testing/dcgm_faults.h"
#include "sim/testing/engine.h"

namespace podgpu::sim {
namespace {

class DcgmCallFaults : public DcgmFaults {};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmCallFaults, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmCallFaults, AnErrorFaultAnswersTheNamedCalls) {
  const auto bench = Start(
      "{at: 1s, kind: error, calls: [\"dcgmGetAll*\", dcgmConnect_v2], code: -3, for: 5s}, "
      "{at: 1s, kind: error, calls: dcgmGetGpuStatus, code: -17, gpu: 2}");
  std::array<unsigned int, 32> ids{};
  int count = 0;
  int status = 0;
  abi::dcgmHandle_t handle = 0;
  abi::dcgmConnectV2Params_v2 params{};
  params.version = abi::dcgmConnectV2Params_version2;
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), 0);
  bench->Tick(kSecondUs);
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), -3);
  EXPECT_EQ(bench->On("dcgmGetAllSupportedDevices", ids.data(), &count), -3);
  EXPECT_EQ(bench->Call("dcgmConnect_v2", "127.0.0.1:1", &params, &handle), -3);
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 2U, &status), -17);
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 3U, &status), 0);
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), 0);
  bench->Tick(5 * kSecondUs);
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), 0);
}

TEST_P(DcgmCallFaults, AnEngineOfTheOtherGenerationKnowsOnlyItsOwnVersionWords) {
  const bool is_4 = GetParam() == 4;
  const auto bench =
      Start(std::string("{at: 1s, kind: engine_version, version: ") + (is_4 ? "3.x" : "4.x") + "}");
  auto info = std::make_unique<abi::dcgmGroupInfo_v3>();
  info->version = is_4 ? abi::dcgmGroupInfo_version3 : abi::dcgmGroupInfo_version2;
  const abi::dcgmGpuGrp_t group = abi::DCGM_GROUP_ALL_GPUS;
  EXPECT_EQ(bench->On("dcgmGroupGetInfo", group, info.get()), 0);
  bench->Tick(kSecondUs);
  EXPECT_EQ(bench->On("dcgmGroupGetInfo", group, info.get()), -12);
  EXPECT_STRNE(Attributes(*bench, 0)->identifiers.uuid, "")
      << "both generations know this version word";
  auto version = std::make_unique<abi::dcgmVersionInfo_v2>();
  version->version = abi::dcgmVersionInfo_version2;
  ASSERT_EQ(bench->On("dcgmHostengineVersionInfo", version.get()), 0);
  EXPECT_EQ(std::string(version->rawBuildInfoString).find(is_4 ? "version:3.3.9" : "version:4.6.0"),
            0U);
}

TEST(DcgmCallFaultsOf4, AnOlderEngineDoesNotKnowNewerFields) {
  DcgmBench bench(
      4, std::string(kEightGpus) + "faults: [{at: 0s, kind: engine_version, version: 4.0.0}]\n");
  bench.Start();
  std::array<unsigned short, 1> fields = {334};  // The field exists since 4.1.
  abi::dcgmFieldGrp_t group = 0;
  EXPECT_EQ(bench.On("dcgmFieldGroupCreate", 1, static_cast<const unsigned short*>(fields.data()),
                     "new", &group),
            -1);
  fields[0] = 150;
  EXPECT_EQ(bench.On("dcgmFieldGroupCreate", 1, static_cast<const unsigned short*>(fields.data()),
                     "old", &group),
            0);
}

TEST(DcgmReleasesOf4, KnowTheirOwnFieldsThatTheEngineKnowsToo) {
  const struct {
    const char* folder;
    const char* engine;
    unsigned short field;
    int code;
  } rows[] = {
      {"", "4.6.0", 1611, -1},       {"", "4.7.1", 1611, -1},       {"4.6.1/", "4.6.1", 1611, 0},
      {"4.6.1/", "4.6.1", 1613, -1}, {"4.7.1/", "4.7.1", 1613, 0},  {"4.7.1/", "4.7.1", 1650, 0},
      {"4.7.1/", "4.6.1", 1611, 0},  {"4.7.1/", "4.6.1", 1613, -1},
  };
  for (const auto& row : rows) {
    DcgmBench bench(4, std::string(kEightGpus) + "dcgm: {version: " + row.engine + "}\n",
                    row.folder);
    bench.Start();
    abi::dcgmFieldGrp_t group = 0;
    EXPECT_EQ(bench.On("dcgmFieldGroupCreate", 1, &row.field, "one", &group), row.code)
        << row.folder << " " << row.engine << " " << row.field;
  }
}

// A call in its own thread; the test can see that it is blocked.
class Waiting {
 public:
  template <typename Call>
  explicit Waiting(Call call)
      : result_(std::async(std::launch::async, [this, call] {
          thread_.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
          return call();
        })) {
    const pid_t id = thread_.get_future().get();
    while (!IsAsleep(id)) {
      std::this_thread::yield();
    }
  }
  bool IsOver() const {
    return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  int Result() { return result_.get(); }

 private:
  static bool IsAsleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("State:")) {
        return line.find("S (sleeping)") != std::string::npos;
      }
    }
    return true;  // It has ended.
  }

  std::promise<pid_t> thread_;
  std::future<int> result_;
};

TEST_P(DcgmCallFaults, AHungCallReturnsWhenTheFaultEnds) {
  const auto bench = Start(
      "{at: 1s, kind: hang, calls: dcgmEntitiesGetLatestValues, for: 9s}, "
      "{at: 1s, kind: hang, calls: dcgmGetGpuStatus, gpu: 3, for: 9s}");
  WatchAll(*bench, {150});
  bench->Tick(2 * kSecondUs);
  int status = 0;
  int hung_status = 0;
  abi::dcgmGroupEntityPair_t pair{kGpu, 0};
  std::array<unsigned short, 1> fields = {150};
  const auto value = std::make_unique<abi::dcgmFieldValue_v2>();
  Waiting bulk([&] {
    return bench->On("dcgmEntitiesGetLatestValues", &pair, 1U, fields.data(), 1U, 0U, value.get());
  });
  Waiting of_gpu_3([&] { return bench->On("dcgmGetGpuStatus", 3U, &hung_status); });
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 2U, &status), 0) << "other GPUs answer";
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].status, 0) << "other calls answer";
  EXPECT_FALSE(bulk.IsOver());
  EXPECT_FALSE(of_gpu_3.IsOver());
  bench->Tick(8 * kSecondUs);
  EXPECT_EQ(bulk.Result(), 0);
  EXPECT_EQ(of_gpu_3.Result(), 0);
  EXPECT_EQ(value->ts, bench->Stamp(10 * kSecondUs))
      << "the value has the time when the fault ends";
}

TEST_P(DcgmCallFaults, WhileTheDriverHangsTheCacheIsNotUpdatedAndLiveReadsBlock) {
  const auto bench = Start("{at: 5500ms, kind: hang, gpu: 1, for: 10s}");
  WatchAll(*bench, {150});
  bench->Tick(8 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(5 * kSecondUs));
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 0), 0) << "without the wait flag the call returns";
  Waiting update([&] { return bench->On("dcgmUpdateAllFields", 1); });
  Waiting live([&] {
    abi::dcgmGroupEntityPair_t pair{kGpu, 0};
    std::array<unsigned short, 1> fields = {150};
    const auto value = std::make_unique<abi::dcgmFieldValue_v2>();
    return bench->On("dcgmEntitiesGetLatestValues", &pair, 1U, fields.data(), 1U, 1U, value.get());
  });
  EXPECT_FALSE(update.IsOver());
  EXPECT_FALSE(live.IsOver());
  bench->Tick(8 * kSecondUs);
  EXPECT_EQ(update.Result(), 0);
  EXPECT_EQ(live.Result(), 0);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(16 * kSecondUs));
}

TEST_P(DcgmCallFaults, OverAConnectionAHungCallTimesOutOrIsReleased) {
  const auto bench = Node("{at: 1s, kind: hang, calls: dcgmGetAllDevices}");
  const TestEngine engine(bench->node().path(), 1);
  ASSERT_EQ(bench->Call("dcgmInit"), 0);
  const std::string address = bench->node().path() + "/engine.sock";
  abi::dcgmConnectV2Params_v2 params{};
  params.version = abi::dcgmConnectV2Params_version2;
  params.addressIsUnixSocket = 1;
  ASSERT_EQ(bench->Call("dcgmConnect_v2", address.c_str(), &params, &bench->handle), 0);
  bench->Tick(2 * kSecondUs);
  std::array<unsigned int, 32> ids{};
  int count = 0;
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), -11)
      << "the request times out after a minute";
  int status = 0;
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 0U, &status), 0) << "other calls answer during the fault";
  Waiting hung([&] { return bench->On("dcgmGetAllDevices", ids.data(), &count); });
  EXPECT_EQ(bench->On("dcgmDisconnect"), 0);
  EXPECT_EQ(hung.Result(), -21);
}

TEST_P(DcgmCallFaults, ASlowCallIsDelayedAndThenAnswers) {
  const auto bench = Start("{at: 1s, kind: slow, calls: dcgmGetGpuStatus, ms: 400, gpu: 1}");
  bench->Tick(kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusOk);
  int status = 0;
  Waiting slow([&] { return bench->On("dcgmGetGpuStatus", 1U, &status); });
  EXPECT_EQ(slow.Result(), 0);
  EXPECT_EQ(status, abi::DcgmEntityStatusOk);
}

}  // namespace
}  // namespace podgpu::sim
