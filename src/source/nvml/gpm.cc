#include "source/nvml/gpm.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace podgpu {
namespace {

using abi::nvmlReturn_t;

// The driver renews a sample every 100 ms.  Of two samples from the same 100 ms it reports success
// and 0 for each metric but memory activity, which is NaN (580.159.04, H200, measured 2026-11-27).
// The rest is for the time between the start of a reading and its sample.
constexpr std::chrono::milliseconds kLeastInterval{150};

}  // namespace

abi::nvmlReturn_t NvmlSamples::Take(const abi::NvmlTable& api, abi::nvmlGpmSample_t& sample) {
  {
    MutexLock lock(mutex_);
    if (!unused_.empty()) {
      sample = unused_.back();
      unused_.pop_back();
      return abi::NVML_SUCCESS;
    }
  }
  return api.nvmlGpmSampleAlloc(&sample);
}

void NvmlSamples::Give(abi::nvmlGpmSample_t sample) {
  MutexLock lock(mutex_);
  unused_.push_back(sample);
}

void NvmlSamples::Free(const abi::NvmlTable& api) {
  std::vector<abi::nvmlGpmSample_t> unused;
  {
    MutexLock lock(mutex_);
    unused.swap(unused_);
  }
  for (abi::nvmlGpmSample_t sample : unused) {
    api.nvmlGpmSampleFree(sample);
  }
}

NvmlGpm::NvmlGpm(std::shared_ptr<const abi::NvmlLibrary> library,
                 std::shared_ptr<NvmlSamples> samples, abi::nvmlDevice_t gpu,
                 std::optional<uint32_t> gpu_instance_id)
    : library_(std::move(library)),
      samples_(std::move(samples)),
      gpu_(gpu),
      gpu_instance_id_(gpu_instance_id) {}

void NvmlGpm::Read(std::span<const uint32_t> metrics, Instant now,
                   abi::nvmlGpmMetricsGet_t& request) {
  if (taken_at_ && now - *taken_at_ < kLeastInterval && told_.size() == metrics.size()) {
    return;
  }
  nvmlReturn_t code = CheckSupport();
  if (code == abi::NVML_SUCCESS) {
    code = Take();
  }
  const bool has_older = std::exchange(taken_at_, now).has_value();
  if (code != abi::NVML_SUCCESS) {
    taken_at_.reset();
    TellAll(metrics.size(), code);
    return;
  }
  if (!has_older) {
    TellAll(metrics.size(), abi::NVML_ERROR_NO_DATA);
  } else if (code = Compare(metrics, request); code != abi::NVML_SUCCESS) {
    TellAll(metrics.size(), code);
  }
  std::swap(older_, newer_);
}

void NvmlGpm::Pause() {
  older_.reset();
  newer_.reset();
  taken_at_.reset();
}

void NvmlGpm::Pause(size_t count) {
  Pause();
  const nvmlReturn_t support = CheckSupport();
  TellAll(count, support == abi::NVML_SUCCESS ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_NO_DATA)
                                              : support);
}

// Asked once: it is a property of the board.
nvmlReturn_t NvmlGpm::CheckSupport() {
  if (!library_->Has(abi::NvmlCapability::kProfiling) ||
      (gpu_instance_id_ && library_->api.nvmlGpmMigSampleGet == nullptr)) {
    return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  if (!support_ || (*support_ != abi::NVML_SUCCESS && *support_ != abi::NVML_ERROR_NOT_SUPPORTED)) {
    abi::nvmlGpmSupport_t support{.version = abi::NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 0};
    const nvmlReturn_t code = library_->api.nvmlGpmQueryDeviceSupport(gpu_, &support);
    support_ = code == abi::NVML_SUCCESS && support.isSupportedDevice == 0
                   ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_NOT_SUPPORTED)
                   : code;
  }
  return *support_;
}

nvmlReturn_t NvmlGpm::Allocate(Sample& sample) const {
  if (sample != nullptr) {
    return abi::NVML_SUCCESS;
  }
  abi::nvmlGpmSample_t made = nullptr;
  const nvmlReturn_t code = samples_->Take(library_->api, made);
  sample = Sample(code == abi::NVML_SUCCESS ? made : nullptr, GiveBack{samples_});
  return code == abi::NVML_SUCCESS && made == nullptr
             ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_UNKNOWN)
             : code;
}

// Takes a sample into newer_.
nvmlReturn_t NvmlGpm::Take() {
  for (Sample* sample : {&older_, &newer_}) {
    if (const nvmlReturn_t code = Allocate(*sample); code != abi::NVML_SUCCESS) {
      return code;
    }
  }
  return gpu_instance_id_ ? library_->api.nvmlGpmMigSampleGet(gpu_, *gpu_instance_id_, newer_.get())
                          : library_->api.nvmlGpmSampleGet(gpu_, newer_.get());
}

nvmlReturn_t NvmlGpm::Compare(std::span<const uint32_t> metrics,
                              abi::nvmlGpmMetricsGet_t& request) {
  const size_t count = std::min(metrics.size(), size_t{abi::NVML_GPM_METRIC_MAX});
  request.version = abi::NVML_GPM_METRICS_GET_VERSION;
  request.numMetrics = static_cast<uint32_t>(count);
  request.sample1 = older_.get();
  request.sample2 = newer_.get();
  for (size_t i = 0; i < count; ++i) {
    request.metrics[i] = {};
    request.metrics[i].metricId = metrics[i];
    request.metrics[i].nvmlReturn = abi::NVML_ERROR_NO_DATA;
  }
  const nvmlReturn_t code = library_->api.nvmlGpmMetricsGet(&request);
  if (code == abi::NVML_SUCCESS) {
    told_.resize(metrics.size());
    for (size_t i = 0; i < count; ++i) {
      told_[i] = {request.metrics[i].nvmlReturn, request.metrics[i].value};
    }
  }
  return code;
}

void NvmlGpm::TellAll(size_t count, nvmlReturn_t code) {
  told_.assign(count, Metric{.code = code});
}

}  // namespace podgpu
