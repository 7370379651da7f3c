// The simulated NVML: GPM, profiling between two samples (Hopper and newer).
//
// A sample holds a time and a device; nvmlGpmMetricsGet takes the difference of the world's
// integrals between two samples.  A metric for which the simulated DCGM has no field returns not
// supported.  Two samples less than 100 ms apart have no data.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "abi/nvml.h"
#include "abi/nvml_gpm.h"
#include "sim/nvml/call.h"
#include "sim/nvml/faults.h"
#include "sim/nvml/objects.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

struct nvmlGpmSample_st {
  std::mutex mutex;
  bool is_taken = false;
  sim::DeviceRef device;
  sim::TimeUs at = 0;
};

}  // namespace podgpu::abi

namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

using GpmSamples = NvmlObjects<nvmlGpmSample_st>;

// Two samples from the same 100 ms are the same to the driver, which then answers 0 for each metric
// but memory activity (580.159.04, H200).  Here that holds for any two that are nearer.
constexpr TimeUs kRenewedEveryUs = 100'000;
constexpr uint16_t kMemoryActivity = 1005;  // DCGM's field.
constexpr int kFirstLinkMetric = 62;  // Received by link 0, sent by link 0, received by link 1, ...
constexpr double kBytesPerMibytes = 1 << 20;

// Two samples of one device.
struct GpmSpan {
  const NvmlTarget& on;  // The device of both samples.
  TimeUs from = 0, to = 0;
  const GpuFacts& gpu() const { return on.gpu(); }
};

// How a metric is computed.
enum class GpmKind : uint8_t {
  kActivity,       // Percent of the time.
  kOptional,       // The same, for an engine that not every board has.
  kPcieRate,       // MiB/s, of the whole GPU.
  kLinkRate,       // MiB/s of all links.
  kLinkRateOfOne,  // The same of one link, which the metric's number gives.
  kPcieTotal,      // Bytes so far.
};

struct GpmRow {
  uint16_t first, last;
  uint16_t dcgm;  // The corresponding DCGM field; 0: none.
  GpmKind kind;
  Integral integral;
  const char* name;
};

constexpr auto kGpmRows = std::to_array<GpmRow>({
    {1, 1, 1001, GpmKind::kActivity, Integral::kSmPpmUs, "GRAPHICS_UTIL"},
    {2, 2, 1002, GpmKind::kActivity, Integral::kSmPpmUs, "SM_UTIL"},
    {3, 3, 1003, GpmKind::kActivity, Integral::kSmPpmUs, "SM_OCCUPANCY"},
    {5, 5, 1004, GpmKind::kActivity, Integral::kTensorPpmUs, "ANY_TENSOR_UTIL"},
    {10, 10, 1005, GpmKind::kActivity, Integral::kDramPpmUs, "DRAM_BW_UTIL"},
    {11, 11, 1006, GpmKind::kActivity, Integral::kFp64PpmUs, "FP64_UTIL"},
    {12, 12, 1007, GpmKind::kActivity, Integral::kFp32PpmUs, "FP32_UTIL"},
    {13, 13, 1008, GpmKind::kActivity, Integral::kFp16PpmUs, "FP16_UTIL"},
    {20, 20, 1009, GpmKind::kPcieRate, Integral::kPcieTxBytes, "PCIE_TX_PER_SEC"},
    {21, 21, 1010, GpmKind::kPcieRate, Integral::kPcieRxBytes, "PCIE_RX_PER_SEC"},
    {30, 30, 1017, GpmKind::kActivity, Integral::kDecoderPpmUs, "NVDEC_0_UTIL"},
    {40, 40, 1025, GpmKind::kOptional, Integral::kJpegPpmUs, "NVJPG_0_UTIL"},
    {50, 50, 1033, GpmKind::kOptional, Integral::kOfaPpmUs, "NVOFA_0_UTIL"},
    {60, 60, 1012, GpmKind::kLinkRate, Integral::kNvlinkRxBytes, "NVLINK_TOTAL_RX_PER_SEC"},
    {61, 61, 1011, GpmKind::kLinkRate, Integral::kNvlinkTxBytes, "NVLINK_TOTAL_TX_PER_SEC"},
    {62, 97, 1040, GpmKind::kLinkRateOfOne, Integral::kNvlinkRxBytes, "NVLINK_PER_SEC"},
    {166, 166, 0, GpmKind::kActivity, Integral::kEncoderPpmUs, "NVENC_0_UTIL"},
    {255, 255, 1091, GpmKind::kPcieTotal, Integral::kPcieTxBytes, "PCIE_TX"},
    {256, 256, 1092, GpmKind::kPcieTotal, Integral::kPcieRxBytes, "PCIE_RX"},
});
static_assert(std::ranges::is_sorted(kGpmRows, {}, &GpmRow::first));

const GpmRow* FindGpmRow(uint32_t metric) {
  const auto* const found = std::ranges::lower_bound(kGpmRows, metric, {}, &GpmRow::last);
  return found != kGpmRows.end() && found->first <= metric ? found : nullptr;
}

const char* UnitOf(GpmKind kind) {
  if (kind == GpmKind::kActivity || kind == GpmKind::kOptional) {
    return "%";
  }
  return kind == GpmKind::kPcieTotal ? "B" : "MiB/s";
}

// DCGM's integrals list sent bytes before received ones.
uint16_t FedField(const GpmRow& row, uint32_t metric) {
  return row.kind == GpmKind::kLinkRateOfOne
             ? static_cast<uint16_t>(row.dcgm + ((metric - kFirstLinkMetric) ^ 1U))
             : row.dcgm;
}

double PercentOver(const GpmSpan& span, Integral what) {
  const Int128 active = span.on.world->IntegrateOver(what, span.on.device, span.from, span.to);
  return static_cast<double>(active) * 100 / (static_cast<double>(span.to - span.from) * 1e6);
}

// Rounds to whole bytes per second, so a client that multiplies gets the bytes back exactly.
double MibPerSecond(const GpmSpan& span, Integral what, int share) {
  const Int128 moved = span.on.world->IntegrateOver(what, WholeGpu(span.on), span.from, span.to);
  const auto bytes_per_s = static_cast<int64_t>(moved / (Int128{span.to - span.from} * share));
  return static_cast<double>(bytes_per_s) / kBytesPerMibytes;
}

// The value; empty where the board has none.
std::optional<double> GpmValue(const GpmSpan& span, const GpmRow& row, uint32_t metric) {
  const int links =
      span.on.world->mig_enabled(span.on.device.gpu, span.to) ? 0 : span.gpu().nvlink_count;
  switch (row.kind) {
    case GpmKind::kOptional:
      return span.gpu().has_jpeg_ofa ? std::optional(PercentOver(span, row.integral))
                                     : std::nullopt;
    case GpmKind::kPcieRate:
      return MibPerSecond(span, row.integral, 1);
    case GpmKind::kLinkRate:
      return links > 0 ? std::optional(MibPerSecond(span, row.integral, 1)) : std::nullopt;
    case GpmKind::kLinkRateOfOne: {
      const uint32_t number = metric - kFirstLinkMetric;
      const Integral what = number % 2 == 0 ? Integral::kNvlinkRxBytes : Integral::kNvlinkTxBytes;
      return number / 2 < static_cast<uint32_t>(links)
                 ? std::optional(MibPerSecond(span, what, links))
                 : std::nullopt;
    }
    case GpmKind::kPcieTotal: {
      const Int128 moved = span.on.world->Integrate(row.integral, WholeGpu(span.on), span.to);
      return static_cast<double>(static_cast<int64_t>(moved / kSecondUs));
    }
    default:
      return PercentOver(span, row.integral);
  }
}

void RefuseMetric(nvmlGpmMetric_t& metric, nvmlReturn_t code) {
  metric.nvmlReturn = code;
  metric.value = std::numeric_limits<double>::quiet_NaN();
}

char* LibraryText(const char* text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the vendor's struct lends it so.
  return const_cast<char*>(text);
}

void FillMetric(const GpmSpan& span, nvmlGpmMetric_t& metric) {
  const GpmRow* const row = FindGpmRow(metric.metricId);
  metric.metricInfo = {};
  if (row == nullptr) {
    RefuseMetric(metric, NVML_ERROR_NOT_SUPPORTED);
    return;
  }
  metric.metricInfo = {.shortName = LibraryText(row->name),
                       .longName = LibraryText(row->name),
                       .unit = LibraryText(UnitOf(row->kind))};
  const uint16_t field = FedField(*row, metric.metricId);
  const std::span<const uint16_t> fed(&field, field == 0 ? 0 : 1);
  const int gpu = span.on.device.gpu;
  if (const nvmlReturn_t refused = NvmlValueFault(*span.on.world, gpu, fed, span.to);
      refused != NVML_SUCCESS) {
    RefuseMetric(metric, refused);
    return;
  }
  if (span.to - span.from < kRenewedEveryUs) {
    metric.nvmlReturn = NVML_SUCCESS;
    metric.value = field == kMemoryActivity ? std::numeric_limits<double>::quiet_NaN() : 0;
    return;
  }
  const std::optional<double> value = GpmValue(span, *row, metric.metricId);
  if (!value) {
    RefuseMetric(metric, NVML_ERROR_NOT_SUPPORTED);
    return;
  }
  const bool garbage = IsNvmlGarbage(*span.on.world, "nvmlGpmMetricsGet", gpu, fed, span.to);
  metric.nvmlReturn = NVML_SUCCESS;
  metric.value = garbage ? std::numeric_limits<double>::quiet_NaN() : *value;
}

// The device and the time of a sample.
struct TakenSample {
  DeviceRef device;
  TimeUs at = 0;
};
std::optional<TakenSample> Taken(nvmlGpmSample_t sample) {
  const std::shared_ptr<nvmlGpmSample_st> found = GpmSamples::Get().Find(sample);
  if (found == nullptr) {
    return std::nullopt;
  }
  const std::lock_guard<std::mutex> lock(found->mutex);
  return found->is_taken ? std::optional(TakenSample{found->device, found->at}) : std::nullopt;
}

bool IsSameDevice(const DeviceRef& a, const DeviceRef& b) {
  return a.gpu == b.gpu && a.instance == b.instance && a.compute == b.compute;
}

nvmlReturn_t Take(nvmlGpmSample_t sample, const NvmlTarget& on, const DeviceRef& device) {
  const std::shared_ptr<nvmlGpmSample_st> found = GpmSamples::Get().Find(sample);
  if (found == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (!on.gpu().has_gpm) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  const std::lock_guard<std::mutex> lock(found->mutex);
  found->is_taken = true;
  found->device = device;
  found->at = on.now;
  return NVML_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  return AskNvml(
      {__func__, device, {}, NvmlScope::kAny},
      [&](const NvmlTarget& on) {
        if (support->version != NVML_GPM_SUPPORT_VERSION) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        support->isSupportedDevice = on.gpu().has_gpm ? 1 : 0;
        return NVML_SUCCESS;
      },
      support);
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  if (sample == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *sample = GpmSamples::Get().Make();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  return GpmSamples::Get().Free(sample) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
  return AskNvml({__func__, device, {}, NvmlScope::kAny},
                 [&](const NvmlTarget& on) { return Take(sample, on, on.device); });
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned gpu_instance_id,
                                 nvmlGpmSample_t sample) {
  return AskNvml({__func__, device}, [&](const NvmlTarget& on) -> nvmlReturn_t {
    const int count = on.world->instance_count(on.device.gpu, on.now);
    for (int instance = 0; instance < count; ++instance) {
      const GpuInstanceFacts facts = on.world->instance(on.device.gpu, instance, on.now);
      if (facts.gpu_instance_id == static_cast<int>(gpu_instance_id)) {
        return Take(sample, on, {.gpu = on.device.gpu, .instance = instance});
      }
    }
    return InMigMode(on) ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED;
  });
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* metrics) {
  NvmlTarget on = BeginNvmlSystemCall(__func__);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (metrics == nullptr || metrics->numMetrics == 0 ||
      metrics->numMetrics > static_cast<uint32_t>(NVML_GPM_METRIC_MAX)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (metrics->version != NVML_GPM_METRICS_GET_VERSION) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  const std::optional<TakenSample> older = Taken(metrics->sample1);
  const std::optional<TakenSample> newer = Taken(metrics->sample2);
  if (!older || !newer || !IsSameDevice(older->device, newer->device) || newer->at < older->at) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  on.device = newer->device;
  const GpmSpan span{.on = on, .from = older->at, .to = newer->at};
  for (nvmlGpmMetric_t& metric : std::span(metrics->metrics).first(metrics->numMetrics)) {
    FillMetric(span, metric);
  }
  return NVML_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
