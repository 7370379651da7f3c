#include "source/nvml/call.h"

#include <array>
#include <limits>

#include "source/nvml/ask.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;
using abi::NvmlTable;

constexpr int64_t kMib = 1'048'576;
constexpr double kMilli = 1000.0;

// -- sensors

NvmlRaw AskClock(const NvmlTable& api, nvmlDevice_t device, const NvmlRecipe& recipe) {
  const int clock = recipe.argument;
  switch (recipe.call) {
    case NvmlCall::kMaxClock:
      return AskUnsigned(api.nvmlDeviceGetMaxClockInfo, device, clock);
    case NvmlCall::kApplicationClock:
      return AskUnsigned(api.nvmlDeviceGetApplicationsClock, device, clock);
    default:
      return AskUnsigned(api.nvmlDeviceGetClockInfo, device, clock);
  }
}

NvmlRaw AskClockReasons(const NvmlTable& api, nvmlDevice_t device) {
  auto* const function = api.nvmlDeviceGetCurrentClocksEventReasons != nullptr
                             ? api.nvmlDeviceGetCurrentClocksEventReasons
                             : api.nvmlDeviceGetCurrentClocksThrottleReasons;
  unsigned long long reasons = 0;
  const nvmlReturn_t code = Call(function, device, &reasons);
  return OfUnsigned64(code, reasons);
}

NvmlRaw AskTemperature(const NvmlTable& api, nvmlDevice_t device) {
  if (api.nvmlDeviceGetTemperatureV != nullptr) {
    abi::nvmlTemperature_v1_t temperature{.version = abi::nvmlTemperature_v1,
                                          .sensorType = abi::NVML_TEMPERATURE_GPU,
                                          .temperature = 0};
    const nvmlReturn_t code = api.nvmlDeviceGetTemperatureV(device, &temperature);
    if (code == abi::NVML_SUCCESS) {
      return OfSigned(code, temperature.temperature);
    }
  }
  return AskUnsigned(api.nvmlDeviceGetTemperature, device, abi::NVML_TEMPERATURE_GPU);
}

NvmlRaw AskMargin(const NvmlTable& api, nvmlDevice_t device) {
  abi::nvmlMarginTemperature_v1_t margin{.version = abi::nvmlMarginTemperature_v1,
                                         .marginTemperature = 0};
  const nvmlReturn_t code = Call(api.nvmlDeviceGetMarginTemperature, device, &margin);
  return OfSigned(code, margin.marginTemperature);
}

NvmlRaw InWatts(const NvmlRaw& milliwatts) {
  return NvmlRaw::Real(milliwatts.code, static_cast<double>(milliwatts.number) / kMilli);
}

// DCGM truncates limits to whole watts.
NvmlRaw InWholeWatts(const NvmlRaw& milliwatts) {
  const auto whole_watts = milliwatts.number / 1000;
  return NvmlRaw::Real(milliwatts.code, static_cast<double>(whole_watts));
}

NvmlRaw AskPowerLimit(const NvmlTable& api, nvmlDevice_t device, NvmlLimit limit) {
  switch (limit) {
    case NvmlLimit::kRequested:
      return InWholeWatts(AskUnsigned(api.nvmlDeviceGetPowerManagementLimit, device));
    case NvmlLimit::kDefault:
      return InWholeWatts(AskUnsigned(api.nvmlDeviceGetPowerManagementDefaultLimit, device));
    case NvmlLimit::kEnforced:
      return InWholeWatts(AskUnsigned(api.nvmlDeviceGetEnforcedPowerLimit, device));
    default:
      break;
  }
  uint32_t least = 0;
  uint32_t most = 0;
  const nvmlReturn_t code =
      Call(api.nvmlDeviceGetPowerManagementLimitConstraints, device, &least, &most);
  return InWholeWatts(OfUnsigned(code, limit == NvmlLimit::kLeast ? least : most));
}

NvmlRaw AskUtilization(const NvmlTable& api, nvmlDevice_t device, int which, NvmlAnswers& answers) {
  if (!answers.utilization) {
    abi::nvmlUtilization_t rates{};
    const nvmlReturn_t code = Call(api.nvmlDeviceGetUtilizationRates, device, &rates);
    answers.utilization = {code, rates};
  }
  const auto& [code, rates] = *answers.utilization;
  return OfUnsigned(code, which == 0 ? rates.gpu : rates.memory);
}

NvmlRaw AskCoder(const NvmlTable& api, nvmlDevice_t device, int which) {
  uint32_t percent = 0;
  uint32_t period_us = 0;
  const nvmlReturn_t code =
      Call(which == 0 ? api.nvmlDeviceGetEncoderUtilization : api.nvmlDeviceGetDecoderUtilization,
           device, &percent, &period_us);
  return OfUnsigned(code, percent);
}

// -- memory

std::pair<nvmlReturn_t, abi::nvmlMemory_v2_t> MemoryOf(const NvmlTable& api, nvmlDevice_t device) {
  constexpr unsigned long long kUnknown = std::numeric_limits<unsigned long long>::max();
  abi::nvmlMemory_v2_t memory{};
  memory.version = abi::nvmlMemory_v2;
  nvmlReturn_t code = Call(api.nvmlDeviceGetMemoryInfo_v2, device, &memory);
  if (code == abi::NVML_ERROR_FUNCTION_NOT_FOUND ||
      code == abi::NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
    abi::nvmlMemory_t old{};
    code = Call(api.nvmlDeviceGetMemoryInfo, device, &old);
    memory = {
        .version = 0, .total = old.total, .reserved = kUnknown, .free = old.free, .used = old.used};
  }
  return {code, memory};
}

// The memory that is not reserved; nothing when the driver's numbers contradict each other.
NvmlRaw UsedRatio(const abi::nvmlMemory_v2_t& memory) {
  if (memory.reserved >= memory.total || memory.used > memory.total) {
    return NvmlRaw::Failure(abi::NVML_ERROR_UNKNOWN);
  }
  return NvmlRaw::Real(abi::NVML_SUCCESS, static_cast<double>(memory.used) /
                                              static_cast<double>(memory.total - memory.reserved));
}

NvmlRaw InMib(nvmlReturn_t code, unsigned long long bytes) {
  NvmlRaw raw = OfUnsigned64(code, bytes);
  raw.number /= kMib;
  return raw;
}

NvmlRaw AskBar1(const NvmlTable& api, nvmlDevice_t device, NvmlMemoryPart part,
                NvmlAnswers& answers) {
  if (!answers.bar1) {
    abi::nvmlBAR1Memory_t memory{};
    const nvmlReturn_t code = Call(api.nvmlDeviceGetBAR1MemoryInfo, device, &memory);
    answers.bar1 = {code, memory};
  }
  const auto& [code, memory] = *answers.bar1;
  switch (part) {
    case NvmlMemoryPart::kTotal:
      return InMib(code, memory.bar1Total);
    case NvmlMemoryPart::kFree:
      return InMib(code, memory.bar1Free);
    default:
      return InMib(code, memory.bar1Used);
  }
}

// -- errors and their repair

NvmlRaw AskPcieLink(const NvmlTable& api, nvmlDevice_t device, int which) {
  const std::array functions = {
      api.nvmlDeviceGetMaxPcieLinkGeneration, api.nvmlDeviceGetMaxPcieLinkWidth,
      api.nvmlDeviceGetCurrPcieLinkGeneration, api.nvmlDeviceGetCurrPcieLinkWidth};
  return AskUnsigned(functions[static_cast<size_t>(which)], device);
}

NvmlRaw AskEccLocation(const NvmlTable& api, nvmlDevice_t device, int argument) {
  unsigned long long count = 0;
  const nvmlReturn_t code = Call(api.nvmlDeviceGetMemoryErrorCounter, device, argument % 2,
                                 argument / 2 % 2, argument / 4, &count);
  return OfUnsigned64(code, count);
}

// Called with an empty buffer: the result is the count.
NvmlRaw AskRetiredPages(const NvmlTable& api, nvmlDevice_t device, int cause) {
  uint32_t count = 0;
  unsigned long long* const no_addresses = nullptr;
  const nvmlReturn_t code =
      Call(api.nvmlDeviceGetRetiredPages, device, cause, &count, no_addresses);
  const bool is_count = code == abi::NVML_ERROR_INSUFFICIENT_SIZE && count > 0;
  return OfUnsigned(is_count ? abi::NVML_SUCCESS : code, count);
}

NvmlRaw AskSpareRows(const NvmlTable& api, nvmlDevice_t device, int which, NvmlAnswers& answers) {
  if (!answers.spare_rows) {
    abi::nvmlRowRemapperHistogramValues_t banks{};
    const nvmlReturn_t code = Call(api.nvmlDeviceGetRowRemapperHistogram, device, &banks);
    answers.spare_rows = {code, banks};
  }
  const auto& [code, banks] = *answers.spare_rows;
  const std::array counts = {banks.max, banks.high, banks.partial, banks.low, banks.none};
  return OfUnsigned(code, counts[static_cast<size_t>(which)]);
}

NvmlRaw AskLinkErrors(const NvmlTable& api, nvmlDevice_t device, int argument) {
  const auto link = static_cast<uint32_t>(argument & ((1 << kErrorShift) - 1));
  unsigned long long count = 0;
  const nvmlReturn_t code =
      Call(api.nvmlDeviceGetNvLinkErrorCounter, device, link, argument >> kErrorShift, &count);
  return OfUnsigned64(code, count);
}

int64_t NumberIn(const abi::nvmlFieldValue_t& value) {
  switch (value.valueType) {
    case abi::NVML_VALUE_TYPE_UNSIGNED_INT:
      return value.value.uiVal;
    case abi::NVML_VALUE_TYPE_SIGNED_INT:
      return value.value.siVal;
    case abi::NVML_VALUE_TYPE_UNSIGNED_SHORT:
      return value.value.usVal;
    default:
      return value.value.sllVal;
  }
}

}  // namespace

NvmlRaw OfFieldValue(const NvmlRecipe& recipe, const abi::nvmlFieldValue_t& value) {
  if (value.nvmlReturn != abi::NVML_SUCCESS) {
    return NvmlRaw::Failure(value.nvmlReturn);
  }
  NvmlRaw raw;
  raw.code = abi::NVML_SUCCESS;
  raw.stamp_us = value.timestamp;
  if (value.valueType == abi::NVML_VALUE_TYPE_DOUBLE) {
    raw.kind = NvmlRaw::Kind::kReal;
    raw.real = value.value.dVal;
  } else {
    raw.number = NumberIn(value);
  }
  if (recipe.call == NvmlCall::kFieldMilliwatts) {
    raw.real = static_cast<double>(raw.number) / kMilli;
    raw.kind = NvmlRaw::Kind::kReal;
  }
  return raw;
}

NvmlRaw AskNvmlMemory(const NvmlTable& api, nvmlDevice_t device, NvmlMemoryPart part,
                      NvmlAnswers& answers) {
  if (!answers.memory) {
    answers.memory = MemoryOf(api, device);
  }
  const auto& [code, memory] = *answers.memory;
  switch (part) {
    case NvmlMemoryPart::kTotal:
      return InMib(code, memory.total);
    case NvmlMemoryPart::kFree:
      return InMib(code, memory.free);
    case NvmlMemoryPart::kUsed:
      return InMib(code, memory.used);
    case NvmlMemoryPart::kReserved:
      return InMib(code, memory.reserved);
    case NvmlMemoryPart::kUsedRatio:
      return code == abi::NVML_SUCCESS ? UsedRatio(memory) : NvmlRaw::Failure(code);
  }
  return {};
}

NvmlRaw AskNvml(const NvmlTable& api, const NvmlTarget& device, const NvmlRecipe& recipe,
                NvmlAnswers& answers) {
  const nvmlDevice_t handle = device.handle;
  const int argument = recipe.argument;
  switch (recipe.call) {
    case NvmlCall::kClock:
    case NvmlCall::kMaxClock:
    case NvmlCall::kApplicationClock:
      return AskClock(api, handle, recipe);
    case NvmlCall::kClockReasons:
      return AskClockReasons(api, handle);
    case NvmlCall::kTemperature:
      return AskTemperature(api, handle);
    case NvmlCall::kThreshold:
      return AskUnsigned(api.nvmlDeviceGetTemperatureThreshold, handle, argument);
    case NvmlCall::kMargin:
      return AskMargin(api, handle);
    case NvmlCall::kPower:
      return InWatts(AskUnsigned(api.nvmlDeviceGetPowerUsage, handle));
    case NvmlCall::kPowerLimit:
      return AskPowerLimit(api, handle, static_cast<NvmlLimit>(argument));
    case NvmlCall::kUtilization:
      return AskUtilization(api, handle, argument, answers);
    case NvmlCall::kCoder:
      return AskCoder(api, handle, argument);
    case NvmlCall::kMemory:
      return AskNvmlMemory(api, handle, static_cast<NvmlMemoryPart>(argument), answers);
    case NvmlCall::kBar1:
      return AskBar1(api, handle, static_cast<NvmlMemoryPart>(argument), answers);
    case NvmlCall::kPerformanceState:
      return AskState(api.nvmlDeviceGetPerformanceState, handle);
    case NvmlCall::kFan:
      return AskUnsigned(api.nvmlDeviceGetFanSpeed, handle);
    case NvmlCall::kPcieReplays:
      return AskUnsigned(api.nvmlDeviceGetPcieReplayCounter, handle);
    case NvmlCall::kPcieLink:
      return AskPcieLink(api, handle, argument);
    case NvmlCall::kEccLocation:
      return AskEccLocation(api, handle, argument);
    case NvmlCall::kRetiredPages:
      return AskRetiredPages(api, handle, argument);
    case NvmlCall::kSpareRows:
      return AskSpareRows(api, handle, argument, answers);
    case NvmlCall::kLinkErrors:
      return AskLinkErrors(api, handle, argument);
    default:
      return AskNvmlIdentity(api, device, recipe);
  }
}

}  // namespace podgpu
