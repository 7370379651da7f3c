// GPM of the simulated NVML: metrics are the world's integrals between two samples, and equal what
// DCGM reports of the same period.
#include "abi/nvml_gpm.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using namespace podgpu::abi;

// A node with both faces; samples are taken by name.
class GpmBench {
 public:
  explicit GpmBench(const char* scenario) : bench_(4, scenario) {
    EXPECT_EQ(nvml.Call("nvmlInit_v2"), 0);
    for (nvmlGpmSample_t& sample : samples_) {
      EXPECT_EQ(nvml.Call("nvmlGpmSampleAlloc", &sample), 0);
    }
  }
  GpmBench(const GpmBench&) = delete;
  GpmBench& operator=(const GpmBench&) = delete;
  ~GpmBench() {
    for (const nvmlGpmSample_t sample : samples_) {
      EXPECT_EQ(nvml.Call("nvmlGpmSampleFree", sample), 0);
    }
    nvml.Call("nvmlShutdown");
  }
  DcgmBench& bench() { return bench_; }
  nvmlGpmSample_t sample(size_t which) const { return samples_[which]; }
  int Take(nvmlDevice_t device, size_t which) const {
    return nvml.Call("nvmlGpmSampleGet", device, samples_[which]);
  }
  // The metrics from sample 0 to sample 1; the call must return `expected`.
  std::vector<nvmlGpmMetric_t> Metrics(const std::vector<unsigned>& ids, int expected = 0) const {
    const auto get = std::make_unique<nvmlGpmMetricsGet_t>();
    get->version = NVML_GPM_METRICS_GET_VERSION;
    get->numMetrics = static_cast<uint32_t>(ids.size());
    get->sample1 = samples_[0];
    get->sample2 = samples_[1];
    for (size_t i = 0; i < ids.size(); ++i) {
      get->metrics[i].metricId = ids[i];
    }
    EXPECT_EQ(nvml.Call("nvmlGpmMetricsGet", get.get()), expected);
    return {get->metrics, get->metrics + ids.size()};
  }

  NvmlClient nvml;

 private:
  DcgmBench bench_;
  nvmlGpmSample_t samples_[2] = {};
};

TEST(NvmlGpm, SmUtilisationIsTheBusyShareBetweenTwoSamples) {
  GpmBench gpm(kEightGpus);
  const nvmlDevice_t device = gpm.nvml.ByIndex(0);
  nvmlGpmSupport_t support{.version = 1, .isSupportedDevice = 0};
  EXPECT_EQ(gpm.nvml.Call("nvmlGpmQueryDeviceSupport", device, &support), 0);
  EXPECT_EQ(support.isSupportedDevice, 1U);
  gpm.bench().Tick(3'500'000);
  ASSERT_EQ(gpm.Take(device, 0), 0);
  gpm.bench().Tick(kSecondUs);  // Busy at 60 % for half of it.
  ASSERT_EQ(gpm.Take(device, 1), 0);
  const std::vector<nvmlGpmMetric_t> metrics = gpm.Metrics({2, 10, 999, 4});
  EXPECT_DOUBLE_EQ(metrics[0].value, 30.0);
  EXPECT_DOUBLE_EQ(metrics[1].value, 15.0);
  EXPECT_STREQ(metrics[0].metricInfo.shortName, "SM_UTIL");
  EXPECT_STREQ(metrics[0].metricInfo.unit, "%");
  EXPECT_EQ(metrics[2].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(std::isnan(metrics[2].value));
  EXPECT_EQ(metrics[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

TEST(NvmlGpm, AnAmpereBoardHasNoGpm) {
  GpmBench gpm(kAmpere);
  nvmlGpmSupport_t support{.version = 1, .isSupportedDevice = 9};
  EXPECT_EQ(gpm.nvml.Call("nvmlGpmQueryDeviceSupport", gpm.nvml.ByIndex(0), &support), 0);
  EXPECT_EQ(support.isSupportedDevice, 0U);
  EXPECT_EQ(gpm.Take(gpm.nvml.ByIndex(0), 0), NVML_ERROR_NOT_SUPPORTED);
}

TEST(NvmlGpm, MetricsEqualDcgmsOfTheSamePeriod) {
  GpmBench gpm(kEightGpus);
  gpm.bench().Start();
  gpm.bench().Tick(1'500'000);
  const std::vector<std::pair<unsigned, unsigned short>> pairs = {
      {1, 1001},  {2, 1002},  {3, 1003},  {5, 1004},  {10, 1005}, {11, 1006},  {12, 1007},
      {13, 1008}, {20, 1009}, {21, 1010}, {61, 1011}, {60, 1012}, {30, 1017},  {40, 1025},
      {50, 1033}, {63, 1040}, {62, 1041}, {97, 1074}, {96, 1075}, {255, 1091}, {256, 1092}};
  std::vector<unsigned> ids;
  std::vector<unsigned short> fields;
  for (const auto& [metric, field] : pairs) {
    ids.push_back(metric);
    fields.push_back(field);
  }
  ASSERT_EQ(gpm.bench().Watch(gpm.bench().MakeGroupOf(kGpu, 0), gpm.bench().MakeFieldGroup(fields)),
            0);
  const nvmlDevice_t device = gpm.nvml.ByIndex(0);
  ASSERT_EQ(gpm.Take(device, 0), 0);
  gpm.bench().Tick(kSecondUs);
  ASSERT_EQ(gpm.Take(device, 1), 0);
  const std::vector<Seen> seen = gpm.bench().Read(kGpu, 0, fields);
  const std::vector<nvmlGpmMetric_t> metrics = gpm.Metrics(ids);
  for (size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_EQ(metrics[i].nvmlReturn, 0) << ids[i];
    const bool is_share = seen[i].type == DCGM_FT_DOUBLE;
    const bool is_total = ids[i] >= 255;
    const double told = is_share ? seen[i].real : static_cast<double>(seen[i].number);
    const double converted = is_share   ? metrics[i].value / 100
                             : is_total ? metrics[i].value
                                        : std::trunc(metrics[i].value * (1 << 20));
    EXPECT_DOUBLE_EQ(converted, told) << ids[i] << " and " << fields[i];
  }
}

TEST(NvmlGpm, AnInstanceIsSampledByItsIdOrByItsMigDevice) {
  GpmBench gpm(kMig);
  const nvmlDevice_t parent = gpm.nvml.ByIndex(1);
  unsigned busy = 9;
  for (unsigned i = 0; i < 4; ++i) {
    if (gpm.nvml.Text("nvmlDeviceGetName", gpm.nvml.Mig(1, i)).ends_with("3g.40gb")) {
      busy = i;
    }
  }
  const nvmlDevice_t mig = gpm.nvml.Mig(1, busy);
  const unsigned id = gpm.nvml.Number("nvmlDeviceGetGpuInstanceId", mig);
  for (const size_t which : {size_t{0}, size_t{1}}) {
    gpm.bench().Tick(kSecondUs);
    ASSERT_EQ(gpm.nvml.Call("nvmlGpmMigSampleGet", parent, id, gpm.sample(which)), 0);
  }
  EXPECT_DOUBLE_EQ(gpm.Metrics({2})[0].value, 50.0)
      << "the metric is that of the instance, not of the GPU";
  for (const size_t which : {size_t{0}, size_t{1}}) {
    gpm.bench().Tick(kSecondUs);
    ASSERT_EQ(gpm.Take(mig, which), 0);
  }
  EXPECT_DOUBLE_EQ(gpm.Metrics({2})[0].value, 50.0);
  EXPECT_EQ(gpm.nvml.Call("nvmlGpmMigSampleGet", parent, 99U, gpm.sample(0)), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(gpm.nvml.Call("nvmlGpmMigSampleGet", gpm.nvml.ByIndex(0), 0U, gpm.sample(0)),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST(NvmlGpm, RefusesSamplesThatDoNotBelongTogether) {
  GpmBench gpm(kEightGpus);
  gpm.Metrics({2}, NVML_ERROR_INVALID_ARGUMENT);  // The samples are not taken yet.
  ASSERT_EQ(gpm.Take(gpm.nvml.ByIndex(0), 1), 0);
  gpm.bench().Tick(99'999);
  ASSERT_EQ(gpm.Take(gpm.nvml.ByIndex(0), 0), 0);
  gpm.Metrics({2}, NVML_ERROR_INVALID_ARGUMENT);  // The newer sample comes first.
  gpm.bench().Tick(99'999);
  ASSERT_EQ(gpm.Take(gpm.nvml.ByIndex(0), 1), 0);
  const std::vector<nvmlGpmMetric_t> near = gpm.Metrics({2, 10});
  EXPECT_EQ(near[0].nvmlReturn, NVML_SUCCESS) << "less than 100 ms apart";
  EXPECT_EQ(near[0].value, 0);
  EXPECT_TRUE(std::isnan(near[1].value)) << "memory activity";
  gpm.bench().Tick(1);
  ASSERT_EQ(gpm.Take(gpm.nvml.ByIndex(0), 1), 0);
  EXPECT_EQ(gpm.Metrics({2})[0].nvmlReturn, NVML_SUCCESS);
  ASSERT_EQ(gpm.Take(gpm.nvml.ByIndex(1), 1), 0);
  gpm.Metrics({2}, NVML_ERROR_INVALID_ARGUMENT);  // The samples are of two GPUs.
  nvmlGpmSample_t freed = nullptr;
  ASSERT_EQ(gpm.nvml.Call("nvmlGpmSampleAlloc", &freed), 0);
  ASSERT_EQ(gpm.nvml.Call("nvmlGpmSampleFree", freed), 0);
  EXPECT_EQ(gpm.nvml.Call("nvmlGpmSampleGet", gpm.nvml.ByIndex(0), freed),
            NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace podgpu::sim
