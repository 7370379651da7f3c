// The simulated NVML: the driver's buffers of samples.
//
// The buffers hold the last 16 s: utilisation and clocks once per sample period (six per second),
// and power at each refresh of the energy counter.  Samples come oldest first; samples at or before
// the client's stamp are left out.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"
#include "sim/nvml/call.h"
#include "sim/world/sample_periods.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

constexpr TimeUs kSampleBufferUs = 16 * kSecondUs;

// By nvmlSamplingType_t: the DCGM field of the same quantity, and the integral of a utilisation.
struct SampleKind {
  uint16_t field = 0;
  std::optional<Integral> use;
};
constexpr int kPowerSamples = 0, kSmClockSamples = 5, kModuleSamples = 7;
constexpr std::array<SampleKind, 10> kSampleKinds = {{{157, std::nullopt},
                                                      {203, Integral::kSmPpmUs},
                                                      {204, Integral::kDramPpmUs},
                                                      {206, Integral::kEncoderPpmUs},
                                                      {207, Integral::kDecoderPpmUs},
                                                      {100, std::nullopt},
                                                      {101, std::nullopt},
                                                      {0, std::nullopt},
                                                      {0, Integral::kJpegPpmUs},
                                                      {0, Integral::kOfaPpmUs}}};

const SampleKind* FindSampleKind(int type) {
  return type >= 0 && type < static_cast<int>(kSampleKinds.size())
             ? &kSampleKinds.at(static_cast<size_t>(type))
             : nullptr;
}

// Whether the device has such samples.
nvmlReturn_t SampleSupport(const NvmlTarget& on, int type) {
  const SampleKind* const kind = FindSampleKind(type);
  if (kind == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const bool is_media = kind->use == Integral::kJpegPpmUs || kind->use == Integral::kOfaPpmUs;
  const bool lacks = type == kModuleSamples || (kind->use && InMigMode(on)) ||
                     (is_media && !on.gpu().has_jpeg_ofa);
  return lacks ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

int64_t SampleAt(const NvmlTarget& on, int type, TimeUs t) {
  const int gpu = on.device.gpu;
  const SampleKind* const kind = FindSampleKind(type);
  if (kind != nullptr && kind->use) {
    return on.world->UtilizationPercent(*kind->use, WholeGpu(on), t);
  }
  if (type == kPowerSamples) {
    return on.world->PowerInstantMw(gpu, t);
  }
  return type == kSmClockSamples ? on.world->SmClockMhz(gpu, t) : on.world->MemoryClockMhz(gpu, t);
}

// The time of the newest sample at or before t; 0 before the first one.
TimeUs SampleBefore(const NvmlTarget& on, int type, TimeUs t) {
  return type == kPowerSamples ? on.world->EnergyCounterTime(on.device.gpu, t)
                               : SampleBoundary(SampleCount(t));
}

std::vector<nvmlSample_t> SamplesAfter(const NvmlTarget& on, int type,
                                       unsigned long long last_seen_us) {
  std::vector<nvmlSample_t> samples;
  const TimeUs oldest = std::max<TimeUs>(on.now - kSampleBufferUs, 0);
  for (TimeUs t = SampleBefore(on, type, on.now); t > oldest; t = SampleBefore(on, type, t - 1)) {
    const auto stamp_us = static_cast<unsigned long long>(NvmlSession::Get().StampUs(t));
    if (stamp_us <= last_seen_us) {
      break;
    }
    nvmlSample_t sample{.timeStamp = stamp_us, .sampleValue = {}};
    sample.sampleValue.uiVal = static_cast<uint32_t>(SampleAt(on, type, t));
    samples.push_back(sample);
  }
  std::ranges::reverse(samples);
  return samples;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Without an array the call returns the size; an array that is too small gets the oldest samples.
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, int type, unsigned long long last_seen_us,
                                  int* value_type, unsigned* count, nvmlSample_t* place) {
  const SampleKind* const kind = FindSampleKind(type);
  const uint16_t field = kind == nullptr ? uint16_t{0} : kind->field;
  const NvmlCall call{__func__, device, {field}};
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (value_type == nullptr || count == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (const nvmlReturn_t support = SampleSupport(on, type); support != NVML_SUCCESS) {
    return support;
  }
  std::vector<nvmlSample_t> samples = SamplesAfter(on, type, last_seen_us);
  if (samples.empty()) {
    return NVML_ERROR_NOT_FOUND;
  }
  if (place != nullptr) {
    samples.resize(std::min<size_t>(samples.size(), *count));
    std::ranges::copy(samples, place);
    if (IsAnswerGarbage(call, on)) {
      std::for_each(place, place + samples.size(),
                    [](nvmlSample_t& one) { FillNvmlWithGarbage(one); });
    }
  }
  *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
  *count = static_cast<unsigned>(samples.size());
  return NVML_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
