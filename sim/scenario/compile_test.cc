// What the compiler makes of a scenario: ids, pods, churns, contention, changes over time.
#include "sim/scenario/compile.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

std::string Uuid(const World& world, int gpu) { return std::string(world.gpu(gpu).uuid); }

TEST(ControlLog, StartsANewEraAndChangesNothingBeforeIt) {
  const std::string text = ShippedScenario("demo");
  const TestWorld plain(text);
  const TestWorld cut(text,
                      "- {at: 100s, kind: mig_set, gpu: 6, layout: [7g.80gb]}\n"
                      "- {at: 100s, kind: power_limit, gpu: 0, watts: 300}\n");
  constexpr TimeUs kCut = 100 * kSecondUs;
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
  EXPECT_LE(cut->PowerAverageMw(0, kCut + 5 * kSecondUs), 300'000 + 1'500);
  EXPECT_EQ(cut->ClockEventReasons(0, kCut + 5 * kSecondUs), 4U);
  EXPECT_EQ(plain->ClockEventReasons(0, kCut + 5 * kSecondUs), 0U);
  EXPECT_LT(cut->SmClockMhz(0, kCut + 5 * kSecondUs), 1'980);
  EXPECT_GT(cut->Integrate(Integral::kPowerViolationNs, {0}, kCut + 5 * kSecondUs), 0);
}

TEST(ControlLog, AMigChangeEndsProcessesButPodsKeepTheOldIds) {
  const TestWorld cut(ShippedScenario("demo"), "- {at: 100s, kind: mig_set, gpu: 6, layout: []}");
  constexpr TimeUs kCut = 100 * kSecondUs;
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

TEST(PowerLimits, LastForTheirTimeAndLowerClocksByTheCubeRoot) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  // 388 W asked on GPU 0 under a limit of 300 W: (300 - 70) / (388 - 70) of the dynamic power, and
  // its cube root of the clock: 0.8976 x 1980 MHz.
  constexpr TimeUs kBusy = 61 * kSecondUs;
  EXPECT_EQ(world->PowerLimitMw(0, kBusy), 300'000);
  EXPECT_EQ(world->PowerInstantMw(0, kBusy), 300'000);
  EXPECT_EQ(world->SmClockMhz(0, kBusy), 1'770);
  EXPECT_EQ(world->PowerLimitMw(0, 90 * kSecondUs), 700'000);
  EXPECT_EQ(world->SmClockMhz(0, 91 * kSecondUs), 1'980);
  EXPECT_EQ(static_cast<int64_t>(
                world->IntegrateOver(Integral::kPowerViolationNs, {0}, kBusy, kBusy + kSecondUs)),
            102'365'000);
}

TEST(Contention, GrantsInProportionAboveTheCapacity) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  const auto ppm = [&](int pid) {
    return static_cast<int64_t>(world->IntegrateProcess(Integral::kSmPpmUs, pid, kSecondUs) /
                                kSecondUs);
  };
  EXPECT_EQ(ppm(4301), 571'428);
  EXPECT_EQ(ppm(4302), 428'571);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {7}, kSecondUs), 100);
}

TEST(Contention, LimitsMpsClientsToTheirThreadsFirst) {
  const TestWorld world(ShippedScenario("time-slicing"));
  const auto ppm = [&](Integral what, int pid) {
    return static_cast<int64_t>(world->IntegrateProcess(what, pid, kSecondUs) / kSecondUs);
  };
  EXPECT_EQ(ppm(Integral::kSmPpmUs, 4311), 500'000);  // 80 % were requested,
  EXPECT_EQ(ppm(Integral::kDramPpmUs, 4311),
            250'000);  // and 40 % bandwidth, reduced in proportion.
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
      "  - {class: h100-sxm5-80gb, uuid: GPU-00000000-0000-4000-8000-000000000003, "
      "mig: [1g.10gb+me]}\n");
  std::vector<std::string> ids = AllocatableAt(*world, 0);
  const std::string mig(world->compute(2, 0, 0, 0).mig_uuid);
  for (std::string& id : ids) {
    const size_t at = id.find(mig);
    id = at == std::string::npos ? id : id.replace(at, mig.size(), "MIG");
  }
  return ids;
}

TEST(Allocators, WriteDeviceIdsInTheirOwnForm) {
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
  const std::string third = "GPU-00000000-0000-4000-8000-000000000003";
  EXPECT_EQ(
      IdsUnder("{allocator: volcano}"),
      (Ids{" volcano.sh/vgpu-number " + second + "-0", " volcano.sh/vgpu-number " + third + "-0",
           " volcano.sh/vgpu-number " + third + "-1", " volcano.sh/vgpu-number " + first + "-0"}));
  EXPECT_EQ(IdsUnder("{allocator: gpushare}")[2], " aliyun.com/gpu-mem " + third + "-_-1");
  EXPECT_EQ(IdsUnder("{allocator: dra}"),
            (Ids{" gpu.nvidia.com gpu-4", " gpu.nvidia.com gpu-1", " gpu.nvidia.com gpu-1",
                 " gpu.nvidia.com gpu-2-mig-1g10gbme-20-0"}));
}

TEST(Pods, ExistFromStartToStop) {
  const TestWorld world(ShippedScenario("worked-example"));
  const std::string gpu = Uuid(*world, 0);
  const std::vector<std::string> one = {"example/a", "example/a/main nvidia.com/gpu " + gpu};
  const std::vector<std::string> both = {"example/a", "example/a/main nvidia.com/gpu " + gpu,
                                         "example/b", "example/b/main nvidia.com/gpu " + gpu};
  EXPECT_EQ(PodsAt(*world, 0).lines, one);
  EXPECT_EQ(PodsAt(*world, 10 * kSecondUs - 1).lines, one);
  EXPECT_EQ(PodsAt(*world, 10 * kSecondUs).lines, both);
  EXPECT_EQ(PodsAt(*world, 50 * kSecondUs).lines, one);
  EXPECT_EQ(world->NextPodChange(0), 10 * kSecondUs);
  EXPECT_EQ(world->NextPodChange(10 * kSecondUs), 50 * kSecondUs);
  EXPECT_EQ(world->NextPodChange(50 * kSecondUs), INT64_MAX);
  EXPECT_EQ(world->process_count(10 * kSecondUs), 2);
  const ProcessFacts process = world->process(1, 10 * kSecondUs);
  EXPECT_EQ(process.pid, 4102);
  EXPECT_EQ(process.pod.view(), "b");
  EXPECT_EQ(process.pod_namespace, "example");
  EXPECT_EQ(process.container, "main");
  EXPECT_EQ(process.started, 10 * kSecondUs);
  EXPECT_EQ(process.memory_bytes, INT64_C(5) << 30);
}

TEST(Churn, ReturnsUnderANewNameWithTheSameLoad) {
  const TestWorld world(ShippedScenario("churn"));
  // "job": from 5 s on, every 6 s for 4 s.
  const auto jobs = [&](TimeUs t) {
    const PodLines pods = PodsAt(*world, t);
    return pods.lines.back().starts_with("ci/") ? pods : PodLines();
  };
  EXPECT_TRUE(jobs(5 * kSecondUs - 1).lines.empty());
  ASSERT_EQ(jobs(5 * kSecondUs).lines.back(), "ci/job-0/main nvidia.com/gpu " + Uuid(*world, 2));
  EXPECT_TRUE(jobs(9 * kSecondUs).lines.empty());
  ASSERT_EQ(jobs(11 * kSecondUs).lines.back(), "ci/job-1/main nvidia.com/gpu " + Uuid(*world, 2));
  EXPECT_NE(jobs(5 * kSecondUs).uids.back(), jobs(11 * kSecondUs).uids.back());
  EXPECT_EQ(jobs(11 * kSecondUs).uids.back(), jobs(13 * kSecondUs).uids.back());
  EXPECT_NE(jobs(5 * kSecondUs).container_ids.back(), jobs(11 * kSecondUs).container_ids.back());
  const auto energy = [&](TimeUs from) {
    return world->IntegrateOver(Integral::kEnergyNj, {2}, from, from + 6 * kSecondUs);
  };
  EXPECT_EQ(energy(5 * kSecondUs), energy(600'005 * kSecondUs));
}

TEST(Churn, GivesEachCycleItsOwnPidsAndEnergy) {
  const TestWorld world(ShippedScenario("churn"));
  const auto last = [&](TimeUs t) { return world->process(world->process_count(t) - 1, t); };
  const ProcessFacts first = last(6 * kSecondUs);
  const ProcessFacts second = last(12 * kSecondUs);
  EXPECT_EQ(second.pid, first.pid + 1);
  EXPECT_EQ(second.started, 11 * kSecondUs);
  EXPECT_EQ(second.pod.view(), "job-1");
  // (0.85 x 480 + 0.5 x 100) and (0.4 x 480 + 0.2 x 100) W for a second each, twice.
  constexpr int64_t kLifeNj = INT64_C(2) * (458 + 212) * 1'000'000'000;
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(first.pid, 7 * kSecondUs)), kLifeNj / 2);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(first.pid, 100 * kSecondUs)), kLifeNj);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(second.pid, 10 * kSecondUs)), 0);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(second.pid, 100 * kSecondUs)), kLifeNj);
}

TEST(Churn, ReturnsTheNextTimeWhenPodsChange) {
  const TestWorld world(ShippedScenario("churn"));
  std::vector<TimeUs> changes;
  for (TimeUs t = world->NextPodChange(0); t < 31 * kSecondUs; t = world->NextPodChange(t)) {
    changes.push_back(t / kSecondUs);
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

TEST(Nodes, HaveTheFactsOfTheScenario) {
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
  EXPECT_EQ(world->cgroup_seen_from(), "");
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

TEST(Nodes, LackTheFeaturesThatTheirClassesLack) {
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

TEST(Nodes, UseChangedClasses) {
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
  EXPECT_EQ(world->PowerAverageMw(0, kSecondUs), 12'500);
}

}  // namespace
}  // namespace podgpu::sim
