// NVML's GPM: profiling metrics between two samples, on Hopper and later.
//
// Conventions as in nvml.h. Unlike NVML's other structs, these have a plain 1 as their version.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/nvml.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// A sample of the counters; from nvmlGpmSampleAlloc to nvmlGpmSampleFree.
struct nvmlGpmSample_st;
using nvmlGpmSample_t = nvmlGpmSample_st*;

constexpr uint32_t NVML_GPM_SUPPORT_VERSION = 1;
constexpr uint32_t NVML_GPM_METRICS_GET_VERSION = 1;
constexpr int NVML_GPM_METRIC_MAX = 333;

// Tells whether a GPU has GPM; nvmlGpmQueryDeviceSupport.
struct nvmlGpmSupport_t {
  uint32_t version;
  uint32_t isSupportedDevice;
};
static_assert(sizeof(nvmlGpmSupport_t) == 8);

// The library's description of a metric; the library owns the texts. The vendor nests it in the
// metric.
struct nvmlGpmMetricInfo_t {
  char* shortName;
  char* longName;
  char* unit;
};
static_assert(sizeof(nvmlGpmMetricInfo_t) == 24);

// One metric: metricId is the input, the rest is its result.
struct nvmlGpmMetric_t {
  uint32_t metricId;
  nvmlReturn_t nvmlReturn;
  double value;
  nvmlGpmMetricInfo_t metricInfo;
};
static_assert(sizeof(nvmlGpmMetric_t) == 40 && offsetof(nvmlGpmMetric_t, value) == 8 &&
              offsetof(nvmlGpmMetric_t, metricInfo) == 16);

// nvmlGpmMetricsGet: the metrics between two samples, the older one first.
struct nvmlGpmMetricsGet_t {
  uint32_t version;
  uint32_t numMetrics;
  nvmlGpmSample_t sample1;
  nvmlGpmSample_t sample2;
  nvmlGpmMetric_t metrics[NVML_GPM_METRIC_MAX];
};
static_assert(sizeof(nvmlGpmMetricsGet_t) == 13344 && offsetof(nvmlGpmMetricsGet_t, sample1) == 8 &&
              offsetof(nvmlGpmMetricsGet_t, metrics) == 24);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
