// The simulated NVML: sensors, memory, clocks and modes of a device.
//
// Units are NVML's: bytes, milliwatts, millijoules, MHz, degrees Celsius, percent.  Each value
// equals what the simulated DCGM reports in its own unit at the same time.  MIG devices have their
// own memory.  Sensors belong to the whole GPU; a call for a sensor of a MIG device fails.
#include <array>
#include <string_view>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"
#include "sim/nvml/call.h"
#include "sim/world/board_readings.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

constexpr unsigned kSamplePeriodUs = 166'667;

struct MemoryBytes {
  int64_t total, reserved, used;
  int64_t free() const { return total - reserved - used; }
};

// The memory of the GPU, or of the GPU instance that the MIG device is part of.
MemoryBytes MemoryBytesOf(const NvmlTarget& on) {
  const DeviceRef device{.gpu = on.device.gpu, .instance = on.device.instance};
  const int64_t used = on.world->MemoryUsedBytes(device, on.now);
  if (!on.is_mig()) {
    return {on.gpu().memory_total_bytes, on.gpu().memory_reserved_bytes, used};
  }
  const GpuInstanceFacts facts = on.instance();
  return {facts.memory_total_bytes, facts.memory_reserved_bytes, used};
}

unsigned long long Bytes(int64_t value) { return static_cast<unsigned long long>(value); }

// Percent of the driver's last sample period; empty for a GPU in MIG mode.
NvmlAnswer UtilizationOf(const NvmlTarget& on, Integral what) {
  return NvmlNumberIf(!InMigMode(on), on.world->UtilizationPercent(what, WholeGpu(on), on.now));
}

nvmlReturn_t TellEngine(const NvmlCall& call, Integral what, unsigned* percent,
                        unsigned* period_us) {
  return AskNvml(
      call,
      [&](const NvmlTarget& on) -> nvmlReturn_t {
        const bool optional = what == Integral::kJpegPpmUs || what == Integral::kOfaPpmUs;
        const NvmlAnswer answer = UtilizationOf(on, what);
        if (answer.result != NVML_SUCCESS || (optional && !on.gpu().has_jpeg_ofa)) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *percent = static_cast<unsigned>(answer.value);
        *period_us = kSamplePeriodUs;
        return NVML_SUCCESS;
      },
      percent, period_us);
}

NvmlAnswer PowerOf(const NvmlTarget& on) {
  return NvmlNumber(on.gpu().power_is_average ? on.world->PowerAverageMw(on.device.gpu, on.now)
                                              : on.world->PowerInstantMw(on.device.gpu, on.now));
}

NvmlAnswer PowerLimitOf(const NvmlTarget& on) {
  return NvmlNumber(on.world->PowerLimitMw(on.device.gpu, on.now));
}

NvmlAnswer TemperatureOf(const NvmlTarget& on) {
  return NvmlNumber(on.world->TemperatureC(on.device.gpu, on.now));
}

NvmlAnswer ThresholdOf(const NvmlTarget& on, int threshold) {
  switch (threshold) {
    case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
      return NvmlNumber(on.gpu().shutdown_temperature_c);
    case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
      return NvmlNumber(on.gpu().slowdown_temperature_c);
    case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
      return NvmlNumberOf(MemoryMaxTemperatureC(on.gpu()));
    case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
      return NvmlNumber(GpuMaxTemperatureC(on.gpu()));
    default:
      return NvmlRefusal(threshold >= 0 && threshold < NVML_TEMPERATURE_THRESHOLD_COUNT
                             ? NVML_ERROR_NOT_SUPPORTED
                             : NVML_ERROR_INVALID_ARGUMENT);
  }
}

// The DCGM fields of a threshold, of a current clock, of its maximum, and of the requested clock.
uint16_t FieldOfThreshold(int threshold) {
  constexpr std::array<uint16_t, 4> kFields = {159, 158, 151, 152};
  return threshold >= 0 && threshold < 4 ? kFields.at(static_cast<size_t>(threshold)) : 0;
}
uint16_t FieldOfClock(int clock, std::array<uint16_t, NVML_CLOCK_COUNT> fields) {
  return clock >= 0 && clock < NVML_CLOCK_COUNT ? fields.at(static_cast<size_t>(clock)) : 0;
}

NvmlAnswer ClockOf(const NvmlTarget& on, int clock) {
  switch (clock) {
    case NVML_CLOCK_GRAPHICS:
    case NVML_CLOCK_SM:
      return NvmlNumber(on.world->SmClockMhz(on.device.gpu, on.now));
    case NVML_CLOCK_MEM:
      return NvmlNumber(on.world->MemoryClockMhz(on.device.gpu, on.now));
    case NVML_CLOCK_VIDEO:
      return NvmlNumber(VideoClockMhz(*on.world, on.device.gpu, on.now));
    default:
      return NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
  }
}

NvmlAnswer MaxClockOf(const NvmlTarget& on, int clock) {
  switch (clock) {
    case NVML_CLOCK_GRAPHICS:
    case NVML_CLOCK_SM:
      return NvmlNumber(on.gpu().max_sm_clock_mhz);
    case NVML_CLOCK_MEM:
      return NvmlNumber(on.gpu().max_memory_clock_mhz);
    case NVML_CLOCK_VIDEO:
      return NvmlNumber(MaxVideoClockMhz(on.gpu()));
    default:
      return NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
  }
}

// Applications can request the clocks of SMs and memory only.
NvmlAnswer ApplicationsClockOf(const NvmlTarget& on, int clock) {
  return clock == NVML_CLOCK_VIDEO ? NvmlRefusal() : MaxClockOf(on, clock);
}

nvmlReturn_t TellConstant(const NvmlCall& call, int64_t value, int* place) {
  return AnswerNvml(call, place, [value](const NvmlTarget&) { return NvmlNumber(value); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  return AskNvml(
      {__func__, device, {203, 204}},
      [&](const NvmlTarget& on) {
        const NvmlAnswer gpu = UtilizationOf(on, Integral::kSmPpmUs);
        const NvmlAnswer memory = UtilizationOf(on, Integral::kDramPpmUs);
        *rates = {static_cast<uint32_t>(gpu.value), static_cast<uint32_t>(memory.value)};
        return gpu.result;
      },
      rates);
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned* percent,
                                             unsigned* period_us) {
  return TellEngine({__func__, device, {206}}, Integral::kEncoderPpmUs, percent, period_us);
}
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned* percent,
                                             unsigned* period_us) {
  return TellEngine({__func__, device, {207}}, Integral::kDecoderPpmUs, percent, period_us);
}
nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned* percent,
                                         unsigned* period_us) {
  return TellEngine({__func__, device}, Integral::kJpegPpmUs, percent, period_us);
}
nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned* percent,
                                         unsigned* period_us) {
  return TellEngine({__func__, device}, Integral::kOfaPpmUs, percent, period_us);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return AskNvml(
      {__func__, device, {250, 251, 252, 254}, NvmlScope::kAny},
      [&](const NvmlTarget& on) {
        const MemoryBytes bytes = MemoryBytesOf(on);
        *memory = {.total = Bytes(bytes.total),
                   .free = Bytes(bytes.free()),
                   .used = Bytes(bytes.used + bytes.reserved)};
        return NVML_SUCCESS;
      },
      memory);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return AskNvml(
      {__func__, device, {250, 251, 252, 253, 254}, NvmlScope::kAny},
      [&](const NvmlTarget& on) {
        if (memory->version != nvmlMemory_v2) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        const MemoryBytes bytes = MemoryBytesOf(on);
        *memory = {.version = nvmlMemory_v2,
                   .total = Bytes(bytes.total),
                   .reserved = Bytes(bytes.reserved),
                   .free = Bytes(bytes.free()),
                   .used = Bytes(bytes.used)};
        return NVML_SUCCESS;
      },
      memory);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  return AskNvml(
      {__func__, device, {90, 92, 93}},
      [&](const NvmlTarget& on) {
        const int64_t total = on.gpu().bar1_total_bytes;
        *memory = {.bar1Total = Bytes(total),
                   .bar1Free = Bytes(total - Bar1UsedBytes()),
                   .bar1Used = Bytes(Bar1UsedBytes())};
        return NVML_SUCCESS;
      },
      memory);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned* temperature) {
  return AnswerNvml({__func__, device, {150}}, temperature, [sensor](const NvmlTarget& on) {
    return sensor == NVML_TEMPERATURE_GPU ? TemperatureOf(on)
                                          : NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
  });
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t* temperature) {
  return AskNvml(
      {__func__, device, {150}},
      [&](const NvmlTarget& on) {
        if (temperature->version != nvmlTemperature_v1) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        if (temperature->sensorType != NVML_TEMPERATURE_GPU) {
          return NVML_ERROR_INVALID_ARGUMENT;
        }
        temperature->temperature = static_cast<int>(TemperatureOf(on).value);
        return NVML_SUCCESS;
      },
      temperature);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, int threshold,
                                               unsigned* temperature) {
  return AnswerNvml({__func__, device, {FieldOfThreshold(threshold)}}, temperature,
                    [threshold](const NvmlTarget& on) { return ThresholdOf(on, threshold); });
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device,
                                            nvmlMarginTemperature_v1_t* margin) {
  return AskNvml(
      {__func__, device, {153}},
      [&](const NvmlTarget& on) {
        if (margin->version != nvmlMarginTemperature_v1) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        const auto margin_c = MarginTemperatureC(*on.world, on.device.gpu, on.now);
        margin->marginTemperature = margin_c.value_or(0);
        return margin_c ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
      },
      margin);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* power_mw) {
  return AnswerNvml({__func__, device, {155}}, power_mw, PowerOf);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* energy_mj) {
  return AnswerNvml({__func__, device, {156}}, energy_mj, [](const NvmlTarget& on) {
    return NvmlNumber(on.world->EnergyCounterMj(on.device.gpu, on.now));
  });
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* limit_mw) {
  return AnswerNvml({__func__, device, {164}}, limit_mw, PowerLimitOf);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* limit_mw) {
  return AnswerNvml({__func__, device, {160}}, limit_mw, PowerLimitOf);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* limit_mw) {
  return AnswerNvml({__func__, device, {163}}, limit_mw,
                    [](const NvmlTarget& on) { return NvmlNumber(on.gpu().default_limit_mw); });
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* min_mw,
                                                          unsigned* max_mw) {
  return AskNvml(
      {__func__, device, {161, 162}},
      [&](const NvmlTarget& on) {
        *min_mw = static_cast<unsigned>(on.gpu().min_limit_mw);
        *max_mw = static_cast<unsigned>(on.gpu().max_limit_mw);
        return NVML_SUCCESS;
      },
      min_mw, max_mw);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned* clock_mhz) {
  return AnswerNvml({__func__, device, {FieldOfClock(clock, {100, 100, 101, 102})}}, clock_mhz,
                    [clock](const NvmlTarget& on) { return ClockOf(on, clock); });
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int clock, unsigned* clock_mhz) {
  return AnswerNvml({__func__, device, {FieldOfClock(clock, {113, 113, 114, 115})}}, clock_mhz,
                    [clock](const NvmlTarget& on) { return MaxClockOf(on, clock); });
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, int clock, unsigned* clock_mhz) {
  return AnswerNvml({__func__, device, {FieldOfClock(clock, {110, 110, 111, 0})}}, clock_mhz,
                    [clock](const NvmlTarget& on) { return ApplicationsClockOf(on, clock); });
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, int clock,
                                                   unsigned* clock_mhz) {
  return AnswerNvml({__func__, device}, clock_mhz,
                    [clock](const NvmlTarget& on) { return ApplicationsClockOf(on, clock); });
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned* percent) {
  return AnswerNvml({__func__, device, {191}}, percent, [](const NvmlTarget& on) {
    return NvmlNumberOf(FanPercent(*on.world, on.device.gpu, on.now));
  });
}

// Simulated boards stay in P0.
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, int* state) {
  return TellConstant({__func__, device, {190}}, 0, state);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons) {
  return AnswerNvml({__func__, device, {112}}, reasons, [](const NvmlTarget& on) {
    return NvmlNumber(static_cast<int64_t>(on.world->ClockEventReasons(on.device.gpu, on.now)));
  });
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

// Default compute mode, persistence on, no display, not virtualised.
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int* mode) {
  return TellConstant({__func__, device, {65}}, 0, mode);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int* mode) {
  return TellConstant({__func__, device, {66}}, NVML_FEATURE_ENABLED, mode);
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, int* mode) {
  return TellConstant({__func__, device}, NVML_FEATURE_DISABLED, mode);
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, int* active) {
  return TellConstant({__func__, device}, NVML_FEATURE_DISABLED, active);
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, int* mode) {
  return TellConstant({__func__, device, {500}}, 0, mode);
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device,
                                                    nvmlGridLicensableFeatures_t* features) {
  return AskNvml(
      {__func__, device, {526}},
      [&](const NvmlTarget&) {
        *features = {};
        return NVML_SUCCESS;
      },
      features);
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, int object, char* version,
                                         unsigned length) {
  return AnswerNvmlText({__func__, device}, version, length, [object](const NvmlTarget& on) {
    return InforomVersion(on.gpu(), object);
  });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
