// The values of fields: each follows from the world at the sample time alone.
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "fields/field.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

constexpr int kCompute = abi::DCGM_FE_GPU_CI;
constexpr int64_t kMib = 1 << 20;

struct NumberRow {
  unsigned short field;
  std::function<int64_t(const World&, TimeUs)> expected;
};

TEST(DcgmReadings, NumbersOfAGpuEqualTheWorlds) {
  DcgmBench bench(4, kEightGpus);
  bench.Start();
  const std::vector<NumberRow> rows = {
      {4, [](const World& w, TimeUs) { return w.gpu_count(); }},
      {5, [](const World& w, TimeUs) { return w.cuda_version(); }},
      {52, [](const World&, TimeUs) { return 0; }},
      {90, [](const World& w, TimeUs) { return w.gpu(0).bar1_total_bytes / kMib; }},
      {100, [](const World& w, TimeUs t) { return w.SmClockMhz(0, t); }},
      {101, [](const World& w, TimeUs t) { return w.MemoryClockMhz(0, t); }},
      {112,
       [](const World& w, TimeUs t) { return static_cast<int64_t>(w.ClockEventReasons(0, t)); }},
      {140, [](const World& w, TimeUs t) { return w.MemoryTemperatureC(0, t); }},
      {150, [](const World& w, TimeUs t) { return w.TemperatureC(0, t); }},
      {156, [](const World& w, TimeUs t) { return w.EnergyCounterMj(0, t); }},
      {203,
       [](const World& w, TimeUs t) { return w.UtilizationPercent(Integral::kSmPpmUs, {}, t); }},
      {204,
       [](const World& w, TimeUs t) { return w.UtilizationPercent(Integral::kDramPpmUs, {}, t); }},
      {206, [](const World& w,
               TimeUs t) { return w.UtilizationPercent(Integral::kEncoderPpmUs, {}, t); }},
      {207, [](const World& w,
               TimeUs t) { return w.UtilizationPercent(Integral::kDecoderPpmUs, {}, t); }},
      {240,
       [](const World& w, TimeUs t) {
         return static_cast<int64_t>(w.Integrate(Integral::kPowerViolationNs, {}, t));
       }},
      {250, [](const World& w, TimeUs) { return w.gpu(0).memory_total_bytes / kMib; }},
      {251,
       [](const World& w, TimeUs t) {
         return (w.gpu(0).memory_total_bytes - w.gpu(0).memory_reserved_bytes -
                 w.MemoryUsedBytes({}, t)) /
                kMib;
       }},
      {252, [](const World& w, TimeUs t) { return w.MemoryUsedBytes({}, t) / kMib; }},
      {253, [](const World& w, TimeUs) { return w.gpu(0).memory_reserved_bytes / kMib; }},
      {202, [](const World&, TimeUs) { return 0; }},
      {310, [](const World&, TimeUs) { return 0; }},
      {393, [](const World&, TimeUs) { return 0; }},
      {409, [](const World&, TimeUs) { return 0; }},
      {390, [](const World&, TimeUs) { return abi::DCGM_INT64_NOT_SUPPORTED; }},  // Pre-Ampere.
      {191, [](const World&, TimeUs) { return abi::DCGM_INT64_NOT_SUPPORTED; }},
      {1201, [](const World&, TimeUs) { return abi::DCGM_INT64_NOT_SUPPORTED; }},  // NVLink 5.
  };
  std::vector<unsigned short> fields;
  for (const NumberRow& row : rows) {
    fields.push_back(row.field);
  }
  for (const TimeUs step :
       {TimeUs{1}, TimeUs{1'234'567}, TimeUs{3'000'000}, TimeUs{86'400'000'001}}) {
    bench.Tick(step);
    const std::vector<Seen> seen = bench.ReadLive(kGpu, 0, fields);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(seen[i].number, rows[i].expected(bench.world(), bench.now()))
          << rows[i].field << " at " << bench.now();
      EXPECT_EQ(seen[i].status, 0) << rows[i].field;
    }
  }
}

TEST(DcgmReadings, PowerLimitsAreWholeWattsButPowerIsNot) {
  DcgmBench bench(4, kEightGpus);
  bench.Start();
  bench.Tick(1'234'567);
  const std::vector<Seen> seen = bench.ReadLive(kGpu, 0, {160, 161, 162, 163, 164, 155, 157});
  EXPECT_EQ(seen[0].real, 700.0);
  EXPECT_EQ(seen[1].real, 200.0);
  EXPECT_EQ(seen[2].real, 700.0);
  EXPECT_EQ(seen[3].real, 700.0);
  EXPECT_EQ(seen[4].real, 700.0);
  EXPECT_EQ(seen[5].real * 1000, static_cast<double>(bench.world().PowerAverageMw(0, bench.now())));
  EXPECT_EQ(seen[6].real * 1000, static_cast<double>(bench.world().PowerInstantMw(0, bench.now())));
}

TEST(DcgmReadings, ProfilingRatesAreIntegralsOverTheWatchPeriod) {
  DcgmBench bench(4, kEightGpus);
  bench.Start();
  bench.Tick(3'500'000);
  ASSERT_EQ(
      bench.Watch(bench.MakeGroupOf(kGpu, 0),
                  bench.MakeFieldGroup({1002, 1004, 1005, 1008, 1017, 1010, 1012, 449, 1040})),
      0);
  bench.Tick(kSecondUs + 400'000);  // The sample at 4.5 s covers a half busy second.
  const std::vector<Seen> seen =
      bench.Read(kGpu, 0, {1002, 1004, 1005, 1008, 1017, 1010, 1012, 449, 1040});
  EXPECT_DOUBLE_EQ(seen[0].real, 0.30);
  EXPECT_DOUBLE_EQ(seen[1].real, 0.225);
  EXPECT_DOUBLE_EQ(seen[2].real, 0.15);
  EXPECT_DOUBLE_EQ(seen[3].real, 0.10);
  EXPECT_DOUBLE_EQ(seen[4].real, 0.025);
  EXPECT_EQ(seen[5].number, 1'000'000'000);
  const Int128 received =
      bench.world().IntegrateOver(Integral::kNvlinkRxBytes, {}, 3'500'000, 4'500'000);
  const Int128 sent =
      bench.world().IntegrateOver(Integral::kNvlinkTxBytes, {}, 3'500'000, 4'500'000);
  EXPECT_EQ(seen[6].number, static_cast<int64_t>(received / kSecondUs));
  EXPECT_NEAR(static_cast<double>(seen[7].number),
              static_cast<double>((sent + received) / kSecondUs) / 1024 / 1000, 1.0);
  EXPECT_EQ(seen[8].number, static_cast<int64_t>(sent / kSecondUs / 18));
}

TEST(DcgmReadings, TheEnergyDifferenceIsTheIntegralOfPower) {
  DcgmBench bench(4, kEightGpus);
  bench.Start();
  ASSERT_EQ(bench.Watch(bench.MakeGroupOf(kGpu, 0), bench.MakeFieldGroup({156, 155})), 0);
  bench.Tick(10 * kSecondUs);
  const Seen before = bench.Read(kGpu, 0, {156})[0];
  double power_mj = 0;
  Seen after;
  for (int second = 0; second < 60; ++second) {
    bench.Tick(kSecondUs);
    const std::vector<Seen> seen = bench.Read(kGpu, 0, {155, 156});
    power_mj += seen[0].real * 1000;  // The average of the second that ends here.
    after = seen[1];
  }
  EXPECT_EQ(after.ts - before.ts, 60 * kSecondUs);
  EXPECT_NEAR(static_cast<double>(after.number - before.number), power_mj, 61);
}

TEST(DcgmReadings, AnInstanceHasItsOwnActivityAndItsParentsSensors) {
  DcgmBench bench(4, kMig);
  bench.Start();
  DeviceRef device{.gpu = 1, .instance = 0};
  while (bench.world().instance(1, device.instance, 0).profile != "3g.40gb") {
    ++device.instance;  // The busy instance; smaller profiles come first.
  }
  const auto id =
      static_cast<uint32_t>(bench.world().instance(1, device.instance, 0).dcgm_entity_id);
  const abi::dcgmGpuGrp_t group = bench.MakeGroupOf(kInstance, id);
  ASSERT_EQ(bench.On("dcgmGroupAddEntity", group, kGpu, 1U), 0);
  ASSERT_EQ(bench.Watch(group, bench.MakeFieldGroup({1002, 150, 155, 156, 252})), 0);
  bench.Tick(5 * kSecondUs);
  const std::vector<Seen> own = bench.Read(kInstance, id, {1002, 150, 155, 156, 252});
  const std::vector<Seen> parent = bench.Read(kGpu, 1, {1002, 150, 155, 156, 252});
  EXPECT_EQ(own[0].real, static_cast<double>(bench.world().IntegrateOver(
                             Integral::kSmPpmUs, device, 4 * kSecondUs, 5 * kSecondUs)) /
                             1e12);
  EXPECT_GT(own[0].real, 0.4);
  EXPECT_LT(parent[0].real, own[0].real);
  EXPECT_EQ(own[1].number, parent[1].number);
  EXPECT_EQ(own[2].real, parent[2].real);
  EXPECT_EQ(own[3].number, parent[3].number);
  EXPECT_EQ(own[4].number, bench.world().MemoryUsedBytes(device, bench.now()) / kMib);
}

TEST(DcgmReadings, ComputeInstancesHaveNamesAndUuids) {
  DcgmBench bench(4, kMig);
  bench.Start();
  const auto compute = bench.world().compute(1, 0, 0, 0);
  const std::vector<Seen> seen =
      bench.ReadLive(kCompute, static_cast<uint32_t>(compute.dcgm_entity_id), {50, 54, 68});
  EXPECT_EQ(seen[0].text, compute.profile);
  EXPECT_EQ(seen[1].text, compute.mig_uuid);
  EXPECT_EQ(seen[2].text, compute.mig_uuid);
  EXPECT_EQ(bench.ReadLive(kGpu, 0, {50})[0].text, bench.world().gpu(0).model);
}

// The parameter is the library's generation.
class DcgmEveryField : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmEveryField, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

// A number is below the blanks, or is exactly one of them.
void ExpectReadable(const Seen& value) {
  if (value.type == abi::DCGM_FT_STRING) {
    EXPECT_FALSE(value.text.empty()) << value.field;
  } else if (value.type == abi::DCGM_FT_DOUBLE) {
    EXPECT_TRUE(std::isfinite(value.real)) << value.field;
    EXPECT_LE(value.real, abi::DCGM_FP64_NOT_PERMISSIONED) << value.field;
  } else {
    EXPECT_TRUE(value.number < abi::DCGM_INT64_BLANK ||
                value.number <= abi::DCGM_INT64_NOT_PERMISSIONED)
        << value.field;
    EXPECT_GE(value.number, 0) << value.field;
  }
}

TEST_P(DcgmEveryField, CanBeWatchedAndReadOnEveryKindOfEntity) {
  DcgmBench bench(GetParam(), kMig);
  bench.Start();
  std::vector<unsigned short> fields;
  for (const Field& field : Catalogue()) {
    if (bench.client().Call<const void*>("DcgmFieldGetById",
                                         static_cast<unsigned short>(field.id)) != nullptr) {
      fields.push_back(field.id);
    }
  }
  ASSERT_GT(fields.size(), GetParam() == 4 ? 640U : 370U);
  const abi::dcgmGpuGrp_t group = bench.MakeGroup(abi::DCGM_GROUP_DEFAULT_EVERYTHING);
  const uint32_t link = 0x00000001U;  // Link 0 of GPU 0 in either layout.
  ASSERT_EQ(bench.On("dcgmGroupAddEntity", group, static_cast<int>(abi::DCGM_FE_LINK), link), 0);
  for (size_t first = 0; first < fields.size(); first += 100) {
    const std::vector<unsigned short> part(
        fields.begin() + static_cast<std::ptrdiff_t>(first),
        fields.begin() + static_cast<std::ptrdiff_t>(std::min(first + 100, fields.size())));
    const abi::dcgmFieldGrp_t field_group =
        bench.MakeFieldGroup(part, std::to_string(first).c_str());
    ASSERT_EQ(bench.Watch(group, field_group), 0);
    bench.Tick(kSecondUs);
    std::vector<Seen> seen;
    void* const user = &seen;
    long long next = 0;
    const long long since = bench.Stamp(bench.now());
    ASSERT_EQ(bench.On("dcgmGetValuesSince_v2", group, field_group, since, &next, &SeeAll, user),
              0);
    ASSERT_EQ(seen.size(), part.size() * 11);  // 2 GPUs, 4 instances, 4 compute instances, 1 link.
    for (const Seen& value : seen) {
      EXPECT_TRUE(value.status == 0 || value.status == -14 || value.status == -6) << value.field;
      EXPECT_EQ(value.ts != 0, value.status == 0) << value.field;
      if (value.type != abi::DCGM_FT_BINARY) {
        ExpectReadable(value);
      }
    }
  }
}

TEST(DcgmGenerations, FieldsOfTheOldLibraryAreThoseOfItsRelease) {
  const DcgmClient old(3);
  using Meta = const abi::dcgm_field_meta_t*;
  const auto meta = [&](unsigned short id) { return old.Call<Meta>("DcgmFieldGetById", id); };
  EXPECT_EQ(meta(1034), nullptr);  // Since 4.0.
  EXPECT_EQ(meta(1532), nullptr);  // Since 4.6.
  ASSERT_NE(meta(877), nullptr);
  EXPECT_EQ(meta(877)->fieldType, 'i');
  EXPECT_EQ(meta(1040)->entityLevel, abi::DCGM_FE_LINK);
  EXPECT_STREQ(meta(449)->tag, "nvlink_bandwidth_total");
  EXPECT_STREQ(meta(112)->tag, "current_clocks_throttle_reasons");
}

}  // namespace
}  // namespace podgpu::sim
