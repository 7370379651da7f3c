// How the DCGM source recovers from hung calls and from engines that give no fresh samples.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "gtest/gtest.h"

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr DcgmEndpoint::Kind kTcp = DcgmEndpoint::Kind::kTcp;

// Waits until written-off threads have ended; each decrements the tally last.
void AwaitNone(const ThreadTally& tally) {
  while (*tally != 0) {
    std::this_thread::yield();
  }
}

// Opens `connection` to an engine that accepts but does not answer, until the watchdog interrupts.
Status OpenHung(FakeDcgm& fake, DcgmConnection& connection) {
  fake.Hang("dcgmConnect_v3");
  std::jthread watchdog([&] {
    fake.AwaitHanging();
    connection.Interrupt();
  });
  return connection.Open();
}

TEST(DcgmRecovery, WritesOffAHungConnectAndTriesAgain) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  const ThreadTally written_off = NewThreadTally();
  DcgmConnection connection(library, {kTcp, "host"}, milliseconds(1), written_off);
  const Status status = OpenHung(fake, connection);
  EXPECT_EQ(
      Text(status),
      "the host engine host accepts the connection but does not answer; 1 connecting thread is "
      "written off. Restart it if it hangs");
  EXPECT_TRUE(LostConnection(status));
  EXPECT_EQ(*written_off, 1);
  EXPECT_TRUE(connection.Open().ok()) << "the next try does not wait for the first";
  connection.Close();  // Any disconnect frees the fake's hung calls.
  AwaitNone(written_off);
}

TEST(DcgmRecovery, DoesNotShutTheLibraryDownWhileAConnectHangs) {
  FakeDcgm fake;
  const abi::DcgmLibrary library = fake.Library();
  const ThreadTally written_off = NewThreadTally();
  {
    DcgmConnection connection(library, {kTcp, "host"}, milliseconds(1), written_off);
    EXPECT_FALSE(OpenHung(fake, connection).ok());
  }
  EXPECT_EQ(fake.CountOf("dcgmShutdown"), 0);
  library.api.dcgmDisconnect(1);
  AwaitNone(written_off);
}

TEST(DcgmRecovery, GivesUpAHungNvmlQueryAndKeepsItsLastAnswer) {
  Node node(2);
  node.AddMig();
  ASSERT_TRUE(node.source().Discover({}).ok());
  std::promise<void> begun;
  std::promise<void> release;
  std::atomic<bool> hangs = true;
  node.nvml.before_init = [&] {
    if (hangs.exchange(false)) {
      begun.set_value();
      release.get_future().wait();
    }
  };
  std::jthread watchdog([&] {
    begun.get_future().wait();
    node.source().Interrupt();
  });
  node.clock.Advance(seconds(10));  // UUIDs of MIG devices are cached that long.
  const StatusOr<Topology> hung = node.source().Discover({});
  watchdog.join();
  ASSERT_TRUE(hung.ok()) << hung.status();
  EXPECT_EQ(hung->nvml_absence,
            "libnvidia-ml.so.1 has not returned from a call; MIG UUIDs keep their last values "
            "until it does");
  EXPECT_EQ(hung->instances[0].compute_instances[0].mig_uuid, "MIG-x");
  EXPECT_EQ(hung->gpus[1].minor_number, 11U);
  const int asked = node.nvml.initialisations;
  node.dcgm.instances.pop_back();
  const StatusOr<Topology> later = node.source().Discover({});
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(node.nvml.initialisations, asked) << "one hanging thread is enough";
  EXPECT_EQ(later->instances[0].compute_instances[0].mig_uuid, "") << "another layout, other UUIDs";
  release.set_value();
  while (true) {  // Until the thread has returned and NVML may be queried again.
    const StatusOr<Topology> again = node.source().Discover({});
    ASSERT_TRUE(again.ok());
    if (again->nvml_absence.empty()) {
      EXPECT_EQ(again->instances[0].compute_instances[0].mig_uuid, "MIG-x");
      break;
    }
    std::this_thread::yield();
  }
}

TEST(DcgmRecovery, QueriesNvmlOnlyWhenSomethingIsUnknown) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover({}).ok());
  ASSERT_TRUE(node.source().Discover({}).ok());
  EXPECT_EQ(node.nvml.initialisations, 1);
  node.AddGpu(2);
  ASSERT_TRUE(node.source().Discover({}).ok());
  EXPECT_EQ(node.nvml.initialisations, 2);
}

TEST(DcgmRecovery, ReconnectsWithGrowingPausesWhenNoSampleIsFresh) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId, kDriver});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, abi::DCGM_INT64_BLANK);
  const auto read_after = [&](seconds pause) {
    node.clock.Advance(pause);
    return node.source().Read(*grid);
  };
  EXPECT_TRUE(read_after(seconds(0)).ok());
  EXPECT_TRUE(read_after(seconds(4)).ok());
  const Status mute = read_after(seconds(1));
  EXPECT_EQ(
      Text(mute),
      "the host engine host:5555 answers but gives no fresh sample of any device; reconnecting");
  EXPECT_TRUE(LostConnection(mute));
  ASSERT_NE(node.Start({kTemperatureId, kDriver}), nullptr);
  EXPECT_TRUE(read_after(seconds(0)).ok());
  EXPECT_TRUE(read_after(seconds(9)).ok());
  EXPECT_FALSE(read_after(seconds(1)).ok());
}

TEST(DcgmRecovery, ReconnectsWhenASampleOnlyGetsOlder) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.sample_time_us = ToMicroseconds(node.clock.WallNow());
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  node.clock.Advance(seconds(6));
  ASSERT_TRUE(node.source().Read(*grid).ok()) << "stale from now on";
  node.clock.Advance(seconds(5));
  EXPECT_TRUE(LostConnection(node.source().Read(*grid)));
}

TEST(DcgmRecovery, StaysConnectedWhileOneDeviceHasFreshSamples) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId});
  for (int i = 0; i < 20; ++i) {
    node.dcgm.sample_time_us = ToMicroseconds(node.clock.WallNow());
    node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperatureId, 41);
    EXPECT_TRUE(node.source().Read(*grid).ok());
    node.clock.Advance(seconds(1));
  }
}

TEST(DcgmRecovery, RestartsTheEmbeddedEngineWhileThereIsNoGpu) {
  Node node(0, {});
  const auto gpus_after = [&](seconds pause) {
    node.clock.Advance(pause);
    const StatusOr<Topology> topology = node.source().Discover({});
    EXPECT_TRUE(topology.ok()) << topology.status();
    return topology.ok() ? topology->gpus.size() : 99;
  };
  EXPECT_EQ(gpus_after(seconds(0)), 0U);
  EXPECT_EQ(gpus_after(seconds(10)), 0U);
  EXPECT_EQ(node.dcgm.CountOf("dcgmStartEmbedded_v2"), 1);
  EXPECT_EQ(gpus_after(seconds(1)), 0U);
  EXPECT_EQ(node.dcgm.CountOf("dcgmStartEmbedded_v2"), 2);
  node.AddGpu(0);
  EXPECT_EQ(gpus_after(seconds(1)), 1U);
}

TEST(DcgmRecovery, RestartsAnEmbeddedEngineThatConfusesInstances) {
  Node node(2, {});
  node.AddMig();
  node.dcgm.instances[0].entity_id = 0;  // Numbered as if it were on GPU 0.
  const auto is_misread_after = [&](seconds pause) {
    node.clock.Advance(pause);
    const StatusOr<Topology> topology = node.source().Discover({});
    EXPECT_TRUE(topology.ok()) << topology.status();
    return topology.ok() && std::ranges::all_of(topology->instances, &GpuInstance::is_misread);
  };
  EXPECT_TRUE(is_misread_after(seconds(0)));
  EXPECT_TRUE(is_misread_after(seconds(9)));
  EXPECT_EQ(node.dcgm.CountOf("dcgmStartEmbedded_v2"), 1);
  EXPECT_TRUE(is_misread_after(seconds(1))) << "the new engine confuses them too";
  EXPECT_EQ(node.dcgm.CountOf("dcgmStartEmbedded_v2"), 2);
  EXPECT_TRUE(is_misread_after(seconds(19)));
  EXPECT_EQ(node.dcgm.CountOf("dcgmStartEmbedded_v2"), 2) << "the pauses grow";
  node.dcgm.instances[0].entity_id = 7;
  EXPECT_FALSE(is_misread_after(seconds(1)));
}

TEST(DcgmRecovery, KeepsItsConnectionWhileTelemetryIsPaused) {
  Node node(1);
  node.dcgm.gpus[0].status = abi::DcgmEntityStatusDisabled;
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, abi::DCGM_INT64_BLANK);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(node.source().Read(*grid).ok());
    node.clock.Advance(seconds(5));
  }
}

TEST(DcgmRecovery, LeavesARemoteEngineWithoutGpusAlone) {
  Node node(0);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(node.source().Discover({}).ok());
    node.clock.Advance(seconds(10));
  }
  EXPECT_EQ(node.dcgm.CountOf("dcgmConnect_v3"), 1);
}

TEST(DcgmRecovery, RetriesOnlyTheRefusedField) {
  Node node(1);
  node.dcgm.unwatchable = {kPowerId};
  node.Start({kTemperatureId, kPowerId});
  ASSERT_NE(node.watched.reason, "");
  const auto topology = std::make_shared<const Topology>(*node.source().Discover({}));
  const auto retry = [&] {
    return node.source().Watch(*topology, Fields({kTemperatureId, kPowerId}), seconds(1));
  };
  node.dcgm.ForgetCalls();
  StatusOr<WatchResult> again = retry();
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->reason, "") << "still refused";
  EXPECT_EQ(node.dcgm.CountOf("dcgmGroupCreate"), 0);
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kTemperatureId));
  node.dcgm.unwatchable.clear();
  again = retry();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->reason, "");
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kPowerId));
}

TEST(DcgmRecovery, WatchesProfilingFieldsWhenTheModuleIsLoaded) {
  Node node(1);
  node.Start({kTemperatureId, kGraphicsActive});
  ASSERT_TRUE(node.watched.profiling_refused);
  const auto topology = std::make_shared<const Topology>(*node.source().Discover({}));
  node.dcgm.profiling_fields = {kGraphicsActive};
  const StatusOr<WatchResult> again =
      node.source().Watch(*topology, Fields({kTemperatureId, kGraphicsActive}), seconds(1));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->profiling_refused);
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kGraphicsActive));
}

}  // namespace
}  // namespace podgpu
