#include "sim/program/node_faults.h"

#include <gtest/gtest.h>

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

using Socket = KubeletBehaviour::Socket;

TestWorld With(const std::string& faults) {
  return TestWorld("format: 1\nname: faulty\ngpus: [{class: t4}]\nfaults:\n" + faults);
}

TEST(EngineOrders, KillOnceAndStartAfterTheTime) {
  const TestWorld world = With("  - {at: 2s, kind: engine_kill, restart_after: 3s}\n");
  EXPECT_EQ(EngineOrdersAt(*world, 1 * kSecondUs), EngineOrders());
  EXPECT_EQ(EngineOrdersAt(*world, 2 * kSecondUs), (EngineOrders{.kills = 1, .is_away = true}));
  EXPECT_EQ(EngineOrdersAt(*world, 5 * kSecondUs), (EngineOrders{.kills = 1}))
      << "the kill is counted also when no call came in between";
}

TEST(EngineOrders, CanKeepAnEngineDeadWithoutEnd) {
  const TestWorld world = With("  - {at: 2s, kind: engine_kill}\n");
  EXPECT_EQ(EngineOrdersAt(*world, 3600 * kSecondUs), (EngineOrders{.kills = 1, .is_away = true}));
}

TEST(EngineOrders, EndTheEngineWithTheDriver) {
  const TestWorld world = With("  - {at: 2s, kind: driver_reload, for: 4s}\n");
  EXPECT_EQ(EngineOrdersAt(*world, 3 * kSecondUs), (EngineOrders{.kills = 1, .is_away = true}));
  EXPECT_EQ(EngineOrdersAt(*world, 6 * kSecondUs), (EngineOrders{.kills = 1}));
}

TEST(EngineOrders, StopTheEngineForTheTime) {
  const TestWorld world = With("  - {at: 2s, kind: engine_hang, for: 4s}\n");
  EXPECT_EQ(EngineOrdersAt(*world, 3 * kSecondUs), (EngineOrders{.is_stopped = true}));
  EXPECT_EQ(EngineOrdersAt(*world, 6 * kSecondUs), EngineOrders());
}

TEST(KubeletFaults, EachMapToABehaviour) {
  struct Case {
    std::string fault;
    KubeletBehaviour behaviour;
  };
  const Case cases[] = {
      {"kind: kubelet_down", {.socket = Socket::kGone}},
      {"kind: kubelet_down, how: refuses", {.socket = Socket::kRefusing}},
      {"kind: kubelet_garbage", {.socket = Socket::kNoHttp2}},
      {"kind: kubelet_garbage, form: message", {.is_garbled = true}},
      {"kind: kubelet_slow, ms: 250", {.delay = std::chrono::milliseconds(250)}},
      {"kind: kubelet_huge, size: 1MiB", {.reply_bytes = 1 << 20}},
      {"kind: kubelet_huge", {.reply_bytes = 16 << 20}},
      {"kind: kubelet_v1_missing", {.is_without_v1 = true}},
      {"kind: kubelet_denied", {.is_denied = true}},
      {"kind: kubelet_rate_limited", {.is_rate_limited = true}},
      {"kind: kubelet_restart", {.socket = Socket::kRefusing, .start = 1}},
  };
  for (const Case& c : cases) {
    const TestWorld world = With("  - {at: 1s, for: 500ms, " + c.fault + "}\n");
    EXPECT_EQ(KubeletBehaviourAt(*world, 0), KubeletBehaviour()) << c.fault;
    EXPECT_EQ(KubeletBehaviourAt(*world, kSecondUs), c.behaviour) << c.fault;
    EXPECT_EQ(KubeletWordsAt(*world, kSecondUs), c.fault.substr(6, c.fault.find(',') - 6));
    const KubeletBehaviour after = KubeletBehaviourAt(*world, 3 * kSecondUs);
    EXPECT_EQ(after, (KubeletBehaviour{.start = c.behaviour.start})) << c.fault;
    EXPECT_EQ(KubeletWordsAt(*world, 3 * kSecondUs), "well");
  }
}

TEST(KubeletFaults, ARestartedKubeletGetsItsPodsInThreeSteps) {
  using Listing = KubeletBehaviour::Listing;
  struct Case {
    int64_t at_ms;
    Listing listing;
    std::string_view words;
  };
  const Case cases[] = {{1'999, Listing::kAll, "kubelet_restart"},
                        {2'000, Listing::kNoPods, "starting, lists no pods"},
                        {2'999, Listing::kNoPods, "starting, lists no pods"},
                        {3'000, Listing::kStaticPods, "starting, lists static pods"},
                        {4'999, Listing::kStaticPods, "starting, lists static pods"},
                        {5'000, Listing::kAll, "well"}};
  const TestWorld world = With("  - {at: 1s, for: 1s, kind: kubelet_restart, sync: 3s}\n");
  for (const Case& c : cases) {
    EXPECT_EQ(KubeletBehaviourAt(*world, c.at_ms * 1'000).listing, c.listing) << c.at_ms;
    EXPECT_EQ(KubeletWordsAt(*world, c.at_ms * 1'000), c.words) << c.at_ms;
    EXPECT_EQ(HasServerFaultsAfter(*world, c.at_ms * 1'000), c.at_ms < 5'000) << c.at_ms;
  }
  // Without the API server it knows only its static pods.
  const TestWorld alone = With(
      "  - {at: 1s, for: 1s, kind: kubelet_restart}\n  - {at: 0s, for: 60s, kind: api_down}\n");
  EXPECT_EQ(KubeletBehaviourAt(*alone, 59 * kSecondUs).listing, Listing::kStaticPods);
  EXPECT_EQ(KubeletBehaviourAt(*alone, 60 * kSecondUs).listing, Listing::kAll);
}

// The port is closed while the kubelet is down, and by its own faults.
TEST(KubeletHttpsFaults, EachMapToABehaviour) {
  struct Case {
    std::string fault;
    KubeletHttpsBehaviour behaviour;
  };
  const Case cases[] = {{"kubelet_https_down", {.is_down = true}},
                        {"kubelet_https_forbidden", {.is_forbidden = true}},
                        {"kubelet_https_unauthorized", {.is_unauthorized = true}},
                        {"kubelet_down", {.is_down = true}},
                        {"kubelet_garbage", {}}};
  for (const Case& c : cases) {
    const TestWorld world = With("  - {at: 1s, for: 500ms, kind: " + c.fault + "}\n");
    EXPECT_EQ(KubeletHttpsBehaviourAt(*world, 0), KubeletHttpsBehaviour()) << c.fault;
    EXPECT_EQ(KubeletHttpsBehaviourAt(*world, kSecondUs), c.behaviour) << c.fault;
    EXPECT_EQ(KubeletHttpsBehaviourAt(*world, 2 * kSecondUs), KubeletHttpsBehaviour()) << c.fault;
  }
}

TEST(ApiFaults, EachMapToABehaviour) {
  struct Case {
    std::string fault;
    ApiBehaviour behaviour;
  };
  const Case cases[] = {
      {"kind: api_down", {.is_down = true}},
      {"kind: api_forbidden", {.is_forbidden = true}},
      {"kind: api_garbage", {.is_garbled = true}},
      {"kind: api_rate_limited", {.is_rate_limited = true}},
      {"kind: api_silent", {.is_silent = true}},
      {"kind: api_slow, ms: 250", {.delay = std::chrono::milliseconds(250)}},
      {"kind: api_token_expired", {.is_token_old = true, .tokens = 1}},
  };
  for (const Case& c : cases) {
    const TestWorld world = With("  - {at: 1s, for: 500ms, " + c.fault + "}\n");
    EXPECT_EQ(ApiBehaviourAt(*world, 0), ApiBehaviour()) << c.fault;
    EXPECT_EQ(ApiBehaviourAt(*world, kSecondUs), c.behaviour) << c.fault;
    EXPECT_EQ(ApiWordsAt(*world, kSecondUs), c.fault.substr(6, c.fault.find(',') - 6));
    EXPECT_EQ(KubeletWordsAt(*world, kSecondUs), "well");
    EXPECT_EQ(ApiBehaviourAt(*world, 2 * kSecondUs), (ApiBehaviour{.tokens = c.behaviour.tokens}))
        << c.fault;
    EXPECT_EQ(ApiWordsAt(*world, 2 * kSecondUs), "well");
    EXPECT_TRUE(HasServerFaultsAfter(*world, 0));
  }
}

TEST(ApiFaults, CountMomentaryFaults) {
  const TestWorld world = With("  - {at: 1s, kind: api_gone}\n  - {at: 3s, kind: api_gone}\n");
  EXPECT_EQ(ApiBehaviourAt(*world, 0), ApiBehaviour());
  EXPECT_EQ(ApiBehaviourAt(*world, kSecondUs), (ApiBehaviour{.forgotten = 1}));
  EXPECT_EQ(ApiBehaviourAt(*world, 4 * kSecondUs), (ApiBehaviour{.forgotten = 2}));
  EXPECT_EQ(ApiWordsAt(*world, 4 * kSecondUs), "well");
}

TEST(ServerFaults, ArePolledOnlyWhileAnyIsAhead) {
  const TestWorld none = With("  - {at: 2s, kind: xid, gpu: 0, number: 63}\n");
  EXPECT_FALSE(HasServerFaultsAfter(*none, 0));
  const TestWorld some = With("  - {at: 2s, kind: kubelet_down, for: 1s}\n");
  EXPECT_TRUE(HasServerFaultsAfter(*some, 0));
  EXPECT_TRUE(HasServerFaultsAfter(*some, 2 * kSecondUs));
  EXPECT_FALSE(HasServerFaultsAfter(*some, 3 * kSecondUs));
}

}  // namespace
}  // namespace podgpu::sim
