// What the compiler makes of a scenario: layouts, ids, pods, churns, contention, changes over time.
#include "sim/compile.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sim/gpu_classes.h"
#include "sim/mig_profiles.h"
#include "sim/test_world.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kSecond = 1'000'000;

// Pods as lines: "namespace/name", "namespace/name/container resource id".
struct PodLines {
  std::vector<std::string> lines, uids, container_ids;
  std::vector<DeviceRef> devices;
};

class PodWriter final : public PodVisitor {
 public:
  explicit PodWriter(PodLines& out) : out_(out) {}
  void Pod(const PodFacts& pod) override {
    pod_ = std::string(pod.pod_namespace) + "/" + std::string(pod.name);
    out_.lines.push_back(pod_);
    out_.uids.emplace_back(pod.uid);
  }
  void Container(const ContainerFacts& container) override {
    container_ = pod_ + "/" + std::string(container.name);
    out_.container_ids.emplace_back(container.container_id);
  }
  void Device(const PodDevice& device) override {
    out_.lines.push_back(container_ + " " + std::string(device.resource) + " " +
                         std::string(device.device_id));
    out_.devices.push_back(device.device);
  }

 private:
  PodLines& out_;
  std::string pod_, container_;
};

PodLines PodsAt(const World& world, TimeUs t) {
  PodLines pods;
  PodWriter writer(pods);
  world.VisitPods(t, writer);
  return pods;
}

std::vector<std::string> AllocatableAt(const World& world, TimeUs t) {
  PodLines devices;
  PodWriter writer(devices);
  world.VisitAllocatable(t, writer);
  return devices.lines;
}

std::string Uuid(const World& world, int gpu) { return std::string(world.gpu(gpu).uuid); }

TEST(MigLayouts, CountEntitiesInProfileOrderAndPlaceAroundEachOther) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  struct Row {
    const char* profile;
    int entity_id, gpu_instance_id, start, profile_id, compute_slices, memory_slices;
  };
  // The list says 3g, 2g, 1g, 1g: a 1g cannot begin at the last slice, so the 3g moves there.
  constexpr std::array<Row, 4> kRows = {{{"1g.10gb", 42, 9, 2, 19, 1, 1},
                                         {"1g.10gb", 43, 10, 3, 19, 1, 1},
                                         {"2g.20gb", 44, 3, 0, 14, 2, 2},
                                         {"3g.40gb", 45, 2, 4, 9, 3, 4}}};
  ASSERT_TRUE(world->mig_enabled(6, 0));
  ASSERT_FALSE(world->mig_enabled(5, 0));
  ASSERT_EQ(world->instance_count(6, 0), 4);
  for (int i = 0; i < 4; ++i) {
    const Row& row = kRows.at(static_cast<size_t>(i));
    const GpuInstanceFacts facts = world->instance(6, i, 0);
    EXPECT_EQ(facts.profile, row.profile) << i;
    EXPECT_EQ(facts.dcgm_entity_id, row.entity_id) << i;
    EXPECT_EQ(facts.gpu_instance_id, row.gpu_instance_id) << i;
    EXPECT_EQ(facts.placement_start, row.start) << i;
    EXPECT_EQ(facts.profile_id, row.profile_id) << i;
    EXPECT_EQ(facts.compute_slices, row.compute_slices) << i;
    EXPECT_EQ(facts.memory_slices, row.memory_slices) << i;
    ASSERT_EQ(world->compute_count(6, i, 0), 1) << i;
    EXPECT_EQ(world->compute(6, i, 0, 0).dcgm_entity_id, row.entity_id) << i;
    EXPECT_EQ(world->compute(6, i, 0, 0).profile, row.profile) << i;
    EXPECT_TRUE(world->compute(6, i, 0, 0).mig_uuid.starts_with("MIG-")) << i;
  }
}

TEST(MigLayouts, AnswerNothingForInstancesThatAreNotThere) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  EXPECT_EQ(world->instance(6, 4, 0).profile, "");
  EXPECT_EQ(world->compute_count(6, 4, 0), 0);
  EXPECT_EQ(world->compute(6, 0, 1, 0).mig_uuid, "");
  EXPECT_EQ(world->MemoryUsedBytes({.gpu = 6, .instance = 9}, 0), 0);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {6, 0, 3}, kSecond), 0);
}

TEST(MigLayouts, FitEveryProfileAsOftenAsTheChipAllows) {
  for (const GpuClass& row : GpuClasses()) {
    for (const MigProfile* profile : MigProfilesOf(row.mig_table)) {
      size_t most = 0;
      while (most < 8 && PlaceInstances(std::vector<MigRequest>(most + 1, {profile, {}}))) {
        ++most;
      }
      const size_t by_memory = static_cast<size_t>(8 / profile->memory_slices);
      const size_t by_compute = static_cast<size_t>(7 / profile->compute_slices);
      // A 1g with twice the memory, and a 2g: starts 0, 2, 4 (and 6); a 4g: start 0 alone.
      EXPECT_EQ(most, profile->compute_slices == 4 ? 1U : std::min(by_memory, by_compute))
          << row.name << " " << profile->name;
      EXPECT_LE(static_cast<int64_t>(most) * profile->memory_mib, row.memory_total_mib)
          << row.name << " " << profile->name;
    }
  }
}

TEST(MigLayouts, NumberEveryPlacementOfAChipDifferently) {
  for (const GpuClass& row : GpuClasses()) {
    for (const MigProfile* profile : MigProfilesOf(row.mig_table)) {
      std::set<int> ids;
      size_t count = 0;
      for (int start = 0; start < kMemorySlicesPerChip; ++start) {
        const std::vector<MigRequest> request = {{profile, start}};
        if (PlaceInstances(request)) {
          ids.insert(GpuInstanceId(*profile, start));
          ++count;
        }
      }
      EXPECT_EQ(ids.size(), count) << row.name << " " << profile->name;
      EXPECT_GT(count, 0U) << row.name << " " << profile->name;
    }
  }
}

TEST(MigLayouts, ShareComputeInstancesOfOneInstance) {
  const TestWorld world(ShippedScenario("mig-mixed"));
  ASSERT_EQ(world->compute_count(0, 2, 0), 2);
  EXPECT_EQ(world->compute(0, 2, 0, 0).profile, "1c.3g.40gb");
  EXPECT_EQ(world->compute(0, 2, 1, 0).profile, "2c.3g.40gb");
  EXPECT_EQ(world->compute(0, 2, 1, 0).compute_instance_id, 1);
  // 90 % of one slice and 30 % of two, of the three that the instance has, of the chip's seven.
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2, 0}, kSecond), 90);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2, 1}, kSecond), 30);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2}, kSecond), 50);
  // The others: a 2g at 90 % and a 1g at 30 %: (1.5 + 1.8 + 0.3) / 7.
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0}, kSecond), 51);
}

TEST(MigLayouts, ChangeWithNewNamesAndLeaveTheRestAlone) {
  const TestWorld world(ShippedScenario("mig-mixed"));
  constexpr TimeUs kCut = 120 * kSecond;
  EXPECT_EQ(world->instance_count(2, kCut - 1), 2);
  ASSERT_EQ(world->instance_count(2, kCut), 3);
  EXPECT_EQ(world->instance(2, 0, kCut).profile, "2g.20gb");
  EXPECT_EQ(world->instance(2, 0, kCut).dcgm_entity_id, 14);
  EXPECT_EQ(world->instance(2, 2, kCut).profile, "3g.40gb");
  EXPECT_NE(world->compute(2, 2, 0, kCut).mig_uuid, world->compute(2, 0, 0, kCut - 1).mig_uuid);
  EXPECT_EQ(world->instance_count(1, kCut), 7);
}

TEST(ControlLog, CutsAnEraAndChangesNothingBeforeIt) {
  const std::string text = ShippedScenario("demo");
  const TestWorld plain(text);
  const TestWorld cut(text,
                      "- {at: 100s, kind: mig_set, gpu: 6, layout: [7g.80gb]}\n"
                      "- {at: 100s, kind: power_limit, gpu: 0, watts: 300}\n");
  constexpr TimeUs kCut = 100 * kSecond;
  EXPECT_NE(plain->scenario_hash(), cut->scenario_hash());
  for (const TimeUs t : {TimeUs{0}, 33'333'333 * TimeUs{1}, kCut - 1, kCut}) {
    for (int gpu = 0; gpu < 8; ++gpu) {
      EXPECT_EQ(plain->Integrate(Integral::kEnergyNj, {gpu}, t),
                cut->Integrate(Integral::kEnergyNj, {gpu}, t))
          << gpu << " at " << t;
    }
  }
  EXPECT_EQ(cut->PowerLimitMw(0, kCut - 1), 700'000);
  EXPECT_EQ(cut->PowerLimitMw(0, kCut), 300'000);
  EXPECT_LE(cut->PowerAverageMw(0, kCut + 5 * kSecond), 300'000 + 1'500);
  EXPECT_EQ(cut->ClockEventReasons(0, kCut + 5 * kSecond), 4U);
  EXPECT_EQ(plain->ClockEventReasons(0, kCut + 5 * kSecond), 0U);
  EXPECT_LT(cut->SmClockMhz(0, kCut + 5 * kSecond), 1'980);
  EXPECT_GT(cut->Integrate(Integral::kPowerViolationNs, {0}, kCut + 5 * kSecond), 0);
}

TEST(ControlLog, EndsTheProcessesOfALayoutAndLeavesTheirPodsTheOldIds) {
  const TestWorld cut(ShippedScenario("demo"), "- {at: 100s, kind: mig_set, gpu: 6, layout: []}");
  constexpr TimeUs kCut = 100 * kSecond;
  EXPECT_EQ(cut->process_count(kCut - 1), 11);
  EXPECT_EQ(cut->process_count(kCut), 9);
  EXPECT_EQ(cut->NextPodChange(0), kCut);
  EXPECT_FALSE(cut->mig_enabled(6, kCut));
  const PodLines before = PodsAt(*cut, kCut - 1);
  const PodLines after = PodsAt(*cut, kCut);
  EXPECT_EQ(before.lines, after.lines);
  EXPECT_EQ(before.devices.back().gpu, 6);
  EXPECT_EQ(after.devices.back().gpu, -1);
  EXPECT_EQ(cut->ProcessEnergyNj(4130, kCut), cut->ProcessEnergyNj(4130, 2 * kCut));
  EXPECT_EQ(AllocatableAt(*cut, kCut).size(), AllocatableAt(*cut, 0).size() - 3);
}

TEST(ControlLog, NamesItsOwnFileInErrors) {
  const auto result =
      CompileScenario(ShippedScenario("demo"), "demo.yaml",
                      "- {at: 1s, kind: power_limit, gpu: 8, watts: 300}\n", "control.yaml");
  EXPECT_EQ(result.errors, (std::vector<std::string>{
                               "control.yaml:1:36: [0].gpu: found '8'; must be a whole number "
                               "from 0 to 7"}));
  EXPECT_TRUE(result.image.empty());
}

TEST(PowerLimits, HoldForTheirTimeAndSolveClocksByTheCubeRoot) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  // 388 W asked on GPU 0 under a limit of 300 W: (300 - 70) / (388 - 70) of the dynamic power, and
  // its cube root of the clock: 0.8976 x 1980 MHz.
  constexpr TimeUs kBusy = 61 * kSecond;
  EXPECT_EQ(world->PowerLimitMw(0, kBusy), 300'000);
  EXPECT_EQ(world->PowerInstantMw(0, kBusy), 300'000);
  EXPECT_EQ(world->SmClockMhz(0, kBusy), 1'770);
  EXPECT_EQ(world->PowerLimitMw(0, 90 * kSecond), 700'000);
  EXPECT_EQ(world->SmClockMhz(0, 91 * kSecond), 1'980);
  EXPECT_EQ(static_cast<int64_t>(
                world->IntegrateOver(Integral::kPowerViolationNs, {0}, kBusy, kBusy + kSecond)),
            102'365'000);
}

TEST(Contention, GrantsInProportionBeyondTheWhole) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  const auto ppm = [&](int pid) {
    return static_cast<int64_t>(world->IntegrateProcess(Integral::kSmPpmUs, pid, kSecond) /
                                kSecond);
  };
  EXPECT_EQ(ppm(4301), 571'428);
  EXPECT_EQ(ppm(4302), 428'571);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {7}, kSecond), 100);
}

TEST(Contention, CutsMpsClientsToTheirThreadsFirst) {
  const TestWorld world(ShippedScenario("time-slicing"));
  const auto ppm = [&](Integral what, int pid) {
    return static_cast<int64_t>(world->IntegrateProcess(what, pid, kSecond) / kSecond);
  };
  EXPECT_EQ(ppm(Integral::kSmPpmUs, 4311), 500'000);    // Of 80 % asked,
  EXPECT_EQ(ppm(Integral::kDramPpmUs, 4311), 250'000);  // and of 40 % bandwidth as much less.
  EXPECT_EQ(ppm(Integral::kSmPpmUs, 4312), 500'000);
}

// One GPU of each kind, under an allocator.
std::vector<std::string> IdsUnder(const std::string& kubelet) {
  const TestWorld world(
      "format: 1\nname: ids\nkubelet: " + kubelet +
      "\ngpus:\n"
      "  - {class: h100-sxm5-80gb, uuid: GPU-00000000-0000-4000-8000-000000000001, minor: 4}\n"
      "  - {class: h100-sxm5-80gb, uuid: GPU-00000000-0000-4000-8000-000000000002, "
      "sharing: {kind: time_slicing, replicas: 2}}\n"
      "  - {class: h100-sxm5-80gb, mig: [1g.10gb+me]}\n");
  std::vector<std::string> ids = AllocatableAt(*world, 0);
  const std::string mig(world->compute(2, 0, 0, 0).mig_uuid);
  for (std::string& id : ids) {
    const size_t at = id.find(mig);
    id = at == std::string::npos ? id : id.replace(at, mig.size(), "MIG");
  }
  return ids;
}

TEST(Allocators, SpellDeviceIdsTheirOwnWay) {
  const std::string first = "GPU-00000000-0000-4000-8000-000000000001";
  const std::string second = "GPU-00000000-0000-4000-8000-000000000002";
  using Ids = std::vector<std::string>;
  EXPECT_EQ(IdsUnder("{allocator: nvidia}"),
            (Ids{" nvidia.com/gpu " + first, " nvidia.com/gpu " + second + "::0",
                 " nvidia.com/gpu " + second + "::1", " nvidia.com/mig-1g.10gb.me MIG"}));
  EXPECT_EQ(IdsUnder("{mig_strategy: single, rename_shared: true}"),
            (Ids{" nvidia.com/gpu " + first, " nvidia.com/gpu.shared " + second + "::0",
                 " nvidia.com/gpu.shared " + second + "::1", " nvidia.com/gpu MIG"}));
  EXPECT_EQ(IdsUnder("{allocator: gke}"),
            (Ids{" nvidia.com/gpu nvidia4", " nvidia.com/gpu nvidia1/vgpu0",
                 " nvidia.com/gpu nvidia1/vgpu1", " nvidia.com/gpu nvidia2/gi7"}));
  EXPECT_EQ(IdsUnder("{allocator: hami}"),
            (Ids{" nvidia.com/gpu " + first + "-0", " nvidia.com/gpu " + second + "-0",
                 " nvidia.com/gpu " + second + "-1", " nvidia.com/gpu MIG"}));
}

TEST(Pods, AreThereFromStartToStop) {
  const TestWorld world(ShippedScenario("worked-example"));
  const std::string gpu = Uuid(*world, 0);
  const std::vector<std::string> one = {"example/a", "example/a/main nvidia.com/gpu " + gpu};
  const std::vector<std::string> both = {"example/a", "example/a/main nvidia.com/gpu " + gpu,
                                         "example/b", "example/b/main nvidia.com/gpu " + gpu};
  EXPECT_EQ(PodsAt(*world, 0).lines, one);
  EXPECT_EQ(PodsAt(*world, 10 * kSecond - 1).lines, one);
  EXPECT_EQ(PodsAt(*world, 10 * kSecond).lines, both);
  EXPECT_EQ(PodsAt(*world, 50 * kSecond).lines, one);
  EXPECT_EQ(world->NextPodChange(0), 10 * kSecond);
  EXPECT_EQ(world->NextPodChange(10 * kSecond), 50 * kSecond);
  EXPECT_EQ(world->NextPodChange(50 * kSecond), INT64_MAX);
  EXPECT_EQ(world->process_count(10 * kSecond), 2);
  const ProcessFacts process = world->process(1, 10 * kSecond);
  EXPECT_EQ(process.pid, 4102);
  EXPECT_EQ(process.pod.view(), "b");
  EXPECT_EQ(process.pod_namespace, "example");
  EXPECT_EQ(process.container, "main");
  EXPECT_EQ(process.started, 10 * kSecond);
  EXPECT_EQ(process.memory_bytes, INT64_C(5) << 30);
}

TEST(Churn, ComesBackUnderANewNameWithTheSameLoad) {
  const TestWorld world(ShippedScenario("churn"));
  // "job": from 5 s on, every 6 s for 4 s.
  const auto jobs = [&](TimeUs t) {
    const PodLines pods = PodsAt(*world, t);
    return pods.lines.back().starts_with("ci/") ? pods : PodLines();
  };
  EXPECT_TRUE(jobs(5 * kSecond - 1).lines.empty());
  ASSERT_EQ(jobs(5 * kSecond).lines.back(), "ci/job-0/main nvidia.com/gpu " + Uuid(*world, 2));
  EXPECT_TRUE(jobs(9 * kSecond).lines.empty());
  ASSERT_EQ(jobs(11 * kSecond).lines.back(), "ci/job-1/main nvidia.com/gpu " + Uuid(*world, 2));
  EXPECT_NE(jobs(5 * kSecond).uids.back(), jobs(11 * kSecond).uids.back());
  EXPECT_EQ(jobs(11 * kSecond).uids.back(), jobs(13 * kSecond).uids.back());
  EXPECT_NE(jobs(5 * kSecond).container_ids.back(), jobs(11 * kSecond).container_ids.back());
  const auto energy = [&](TimeUs from) {
    return world->IntegrateOver(Integral::kEnergyNj, {2}, from, from + 6 * kSecond);
  };
  EXPECT_EQ(energy(5 * kSecond), energy(600'005 * kSecond));
}

TEST(Churn, GivesEachCycleItsOwnPidsAndEnergy) {
  const TestWorld world(ShippedScenario("churn"));
  const auto last = [&](TimeUs t) { return world->process(world->process_count(t) - 1, t); };
  const ProcessFacts first = last(6 * kSecond);
  const ProcessFacts second = last(12 * kSecond);
  EXPECT_EQ(second.pid, first.pid + 1);
  EXPECT_EQ(second.started, 11 * kSecond);
  EXPECT_EQ(second.pod.view(), "job-1");
  // (0.85 x 480 + 0.5 x 100) and (0.4 x 480 + 0.2 x 100) W for a second each, twice.
  constexpr int64_t kLifeNj = INT64_C(2) * (458 + 212) * 1'000'000'000;
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(first.pid, 7 * kSecond)), kLifeNj / 2);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(first.pid, 100 * kSecond)), kLifeNj);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(second.pid, 10 * kSecond)), 0);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(second.pid, 100 * kSecond)), kLifeNj);
}

TEST(Churn, TellsWhenPodsChange) {
  const TestWorld world(ShippedScenario("churn"));
  std::vector<TimeUs> changes;
  for (TimeUs t = world->NextPodChange(0); t < 31 * kSecond; t = world->NextPodChange(t)) {
    changes.push_back(t / kSecond);
  }
  EXPECT_EQ(changes, (std::vector<TimeUs>{5, 9, 11, 15, 17, 21, 23, 25, 27, 29, 30}));
}

TEST(Churn, AccountsForEveryNanojouleOverItsLives) {
  const TestWorld world(ShippedScenario("churn"));
  constexpr TimeUs kAt = 299'999'999;
  for (int gpu = 0; gpu < 3; ++gpu) {
    std::set<int> pids;
    for (TimeUs t = 0; t < kAt; t = world->NextPodChange(t)) {
      for (int i = 0; i < world->process_count(t); ++i) {
        if (world->process(i, t).device.gpu == gpu) {
          pids.insert(world->process(i, t).pid);
        }
      }
    }
    Int128 parts = world->IdleEnergyNj(gpu, kAt);
    for (const int pid : pids) {
      parts += world->ProcessEnergyNj(pid, kAt);
    }
    EXPECT_GE(pids.size(), 10U);
    EXPECT_EQ(world->Integrate(Integral::kEnergyNj, {gpu}, kAt), parts) << gpu;
  }
}

TEST(Nodes, TellWhatTheScenarioSays) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  EXPECT_EQ(world->node_name(), "gpu-node-0");
  EXPECT_EQ(world->scenario_name(), "h100x8-pods");
  EXPECT_EQ(world->driver_version(), "570.124.06");
  EXPECT_EQ(world->nvml_version(), "12.570.124.06");
  EXPECT_EQ(world->dcgm_version(), "4.6.0");
  EXPECT_EQ(world->cuda_version(), 12'080);
  EXPECT_EQ(world->engine_tcp(), "127.0.0.1:5555");
  EXPECT_EQ(world->engine_unix(), "engine.sock");
  EXPECT_EQ(world->cgroup_driver(), "systemd");
  EXPECT_EQ(world->cgroup_runtime(), "containerd");
  EXPECT_EQ(world->cgroup_version(), 2);
  EXPECT_TRUE(world->kubelet_has("v1"));
  EXPECT_TRUE(world->kubelet_has("v1alpha1"));
  EXPECT_FALSE(world->kubelet_has("v2"));
  EXPECT_TRUE(world->kubelet_has_inventory());
  EXPECT_FALSE(world->has_profiling_module());
  EXPECT_EQ(world->epoch_unix_us(), 0);
  EXPECT_EQ(world->gpu(0).pci_bus_id, "00000000:1B:00.0");
  EXPECT_EQ(world->gpu(5).pci_bus_id, "00000000:20:00.0");
  EXPECT_EQ(world->gpu(7).minor_number, 7);
  EXPECT_EQ(world->gpu(0).model, "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(world->gpu(0).has_gpm);
  EXPECT_TRUE(world->gpu(0).mig_capable);
  EXPECT_EQ(world->gpu(0).nvlink_count, 18);
}

TEST(Nodes, MayHaveNoGpu) {
  const TestWorld world(ShippedScenario("no-gpu"));
  EXPECT_EQ(world->gpu_count(), 0);
  EXPECT_EQ(world->process_count(0), 0);
  EXPECT_TRUE(PodsAt(*world, 0).lines.empty());
}

TEST(Nodes, KnowWhatTheirClassesCannot) {
  const TestWorld world(ShippedScenario("a100x2"));
  EXPECT_FALSE(world->gpu(0).has_gpm);
  EXPECT_FALSE(world->gpu(0).power_is_average);
  EXPECT_TRUE(world->gpu(0).mig_capable);
  EXPECT_EQ(world->process(0, 0).pid, 999);
  EXPECT_EQ(world->process(0, 0).pod.view(), "");
}

TEST(Nodes, TakeTheEpochFromTheScenario) {
  const TestWorld world("format: 1\nname: e\nepoch: 2025-03-01T12:00:01Z\ngpus: []\n");
  EXPECT_EQ(world->epoch_unix_us(), 1'740'830'401'000'000);
}

TEST(Nodes, TakeChangedClasses) {
  const TestWorld world(
      "format: 1\nname: e\nnoise_mw: 0\nclasses: {mine: {base: t4, model: My T4, idle_w: 12.5, "
      "limit_w: 60, memory: 8GiB, features: [fan, gpm], sm_clock_mhz: 1500}}\n"
      "gpus: [{class: mine}]\n");
  EXPECT_EQ(world->gpu(0).model, "My T4");
  EXPECT_EQ(world->gpu(0).idle_mw, 12'500);
  EXPECT_EQ(world->gpu(0).limit_mw, 60'000);
  EXPECT_EQ(world->gpu(0).memory_total_bytes, INT64_C(8) << 30);
  EXPECT_EQ(world->gpu(0).max_sm_clock_mhz, 1'500);
  EXPECT_TRUE(world->gpu(0).has_fan);
  EXPECT_TRUE(world->gpu(0).has_gpm);
  EXPECT_FALSE(world->gpu(0).has_ecc);
  EXPECT_EQ(world->PowerAverageMw(0, kSecond), 12'500);
}

// The fenced yaml blocks of docs/scenarios.md.
std::vector<std::string> DocumentedScenarios() {
  std::ifstream file(std::string(PODGPU_SOURCE_DIR) + "/docs/scenarios.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kOpen = "```yaml\n";
  std::vector<std::string> blocks;
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(Documents, ShowScenariosThatCompile) {
  const auto blocks = DocumentedScenarios();
  EXPECT_EQ(blocks.size(), 4U);
  for (const std::string& block : blocks) {
    EXPECT_EQ(CompileScenario(block, "docs/scenarios.md").errors, std::vector<std::string>())
        << block;
  }
}

TEST(Documents, NameEveryClassAndEveryShippedScenario) {
  std::ifstream file(std::string(PODGPU_SOURCE_DIR) + "/docs/scenarios.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const GpuClass& row : GpuClasses()) {
    EXPECT_NE(text.find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
  const std::string folder = std::string(PODGPU_SOURCE_DIR) + "/sim/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    EXPECT_TRUE(CompileScenario(ShippedScenario(name), name).errors.empty()) << name;
  }
}

TEST(Images, AreRefusedWhenTheyAreNotOne) {
  const TestWorld world(ShippedScenario("one-gpu"));
  const auto error_of = [](std::vector<std::byte> image) {
    std::string error;
    EXPECT_EQ(World::Open(image, error), nullptr);
    return error;
  };
  EXPECT_EQ(error_of({}), "world image: 0 bytes are too few for a header");
  auto image = world.image();
  image[0] = std::byte{'X'};
  EXPECT_EQ(error_of(image), "world image: not one; compile the scenario again");
  image = world.image();
  image[8] = std::byte{9};
  EXPECT_EQ(error_of(image),
            "world image: format version 9, this program reads 1; compile the scenario again");
  image = world.image();
  image.pop_back();
  EXPECT_EQ(error_of(image), "world image: " + std::to_string(image.size()) +
                                 " bytes, its header says " + std::to_string(image.size() + 1) +
                                 "; it is cut short or still being written");
}

TEST(Images, WithAnyByteBrokenAreRefusedOrReadWithoutHarm) {
  const TestWorld world(ShippedScenario("worked-example"));
  for (size_t i = 40; i < world.image().size(); ++i) {
    auto image = world.image();
    image[i] ^= std::byte{0xff};
    std::string error;
    const auto broken = World::Open(image, error);
    if (broken == nullptr) {
      EXPECT_EQ(error, "world image: damaged; compile the scenario again") << i;
      continue;
    }
    for (const TimeUs t : {TimeUs{0}, 12 * kSecond, 3'600 * kSecond}) {
      PodsAt(*broken, t);
      EXPECT_GE(broken->process_count(t), 0);
      EXPECT_GE(broken->gpu_count(), 0);
    }
  }
}

}  // namespace
}  // namespace podgpu::sim
