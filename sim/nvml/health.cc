// The simulated NVML: the health of a board: memory errors and their repair, links, the bus.
//
// A counter is the sum of the faults that raise it, the same faults as in the simulated DCGM
// (sim/world/board_counts.h, by DCGM's field numbers).
#include <algorithm>
#include <array>
#include <string_view>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"
#include "sim/nvml/call.h"
#include "sim/world/board_counts.h"
#include "sim/world/board_readings.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

bool IsEccChoice(int type, int counter) {
  return (type == NVML_MEMORY_ERROR_TYPE_CORRECTED || type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED) &&
         (counter == NVML_VOLATILE_ECC || counter == NVML_AGGREGATE_ECC);
}

// DCGM's fields of volatile and aggregate single-bit errors, by NVML's location; the field after
// each counts double-bit errors.
struct EccFields {
  uint16_t of_driver, ever;
};
constexpr std::array<EccFields, NVML_MEMORY_LOCATION_COUNT> kEccFields = {{{314, 324},
                                                                           {316, 326},
                                                                           {318, 328},
                                                                           {320, 330},
                                                                           {322, 332},
                                                                           {334, 338},
                                                                           {336, 340},
                                                                           {342, 344}}};
constexpr EccFields kEccTotals = {310, 312};

uint16_t EccField(const EccFields& fields, int type, int counter) {
  const uint16_t first = counter == NVML_AGGREGATE_ECC ? fields.ever : fields.of_driver;
  return static_cast<uint16_t>(first + type);
}

nvmlReturn_t TellEccCount(std::string_view call, nvmlDevice_t device, uint16_t field,
                          unsigned long long* count) {
  return AnswerNvml({call, device, {field}}, count, [field](const NvmlTarget& on) {
    if (field == 0) {
      return NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
    }
    return NvmlNumberIf(on.gpu().has_ecc, EccCount(*on.world, on.device.gpu, field, on.now));
  });
}

// The number of pages retired for `cause`; only double-bit errors retire pages.
unsigned RetiredPages(const NvmlTarget& on, int cause) {
  return cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR
             ? static_cast<unsigned>(DoubleBitErrors(*on.world, on.device.gpu, on.now))
             : 0;
}

// -- links

constexpr std::array<uint16_t, 4> kLinkErrorFields = {429, 439, 409, 419};  // By NVML's counter.

bool IsLink(const NvmlTarget& on, unsigned link) {
  return !InMigMode(on) && link < static_cast<unsigned>(on.gpu().nvlink_count);
}

NvmlAnswer LinkRefusal(unsigned link) {
  return NvmlRefusal(link < NVML_NVLINK_MAX_LINKS ? NVML_ERROR_NOT_SUPPORTED
                                                  : NVML_ERROR_INVALID_ARGUMENT);
}

// -- the bus

// KB/s over the last 20 ms.
NvmlAnswer PcieThroughputOf(const NvmlTarget& on, int counter) {
  constexpr TimeUs kWindowUs = 20'000;
  constexpr int64_t kBytesPerKb = 1000;
  if (counter != NVML_PCIE_UTIL_TX_BYTES && counter != NVML_PCIE_UTIL_RX_BYTES) {
    return NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
  }
  const Integral what =
      counter == NVML_PCIE_UTIL_TX_BYTES ? Integral::kPcieTxBytes : Integral::kPcieRxBytes;
  const TimeUs from = std::max<TimeUs>(on.now - kWindowUs, 0);
  const Int128 moved = on.world->IntegrateOver(what, WholeGpu(on), from, on.now);
  return NvmlNumber(static_cast<int64_t>(moved / std::max<TimeUs>(on.now - from, 1) / kBytesPerKb));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int* current, int* pending) {
  return AskNvml(
      {__func__, device, {300, 301}},
      [&](const NvmlTarget& on) {
        *current = *pending = NVML_FEATURE_ENABLED;
        return on.gpu().has_ecc ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
      },
      current, pending);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter,
                                         unsigned long long* count) {
  const uint16_t field = IsEccChoice(type, counter) ? EccField(kEccTotals, type, counter) : 0;
  return TellEccCount(__func__, device, field, count);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, int type, int counter,
                                             int location, unsigned long long* count) {
  const bool known =
      IsEccChoice(type, counter) && location >= 0 && location < NVML_MEMORY_LOCATION_COUNT;
  const uint16_t field =
      known ? EccField(kEccFields.at(static_cast<size_t>(location)), type, counter) : 0;
  return TellEccCount(__func__, device, field, count);
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, int cause, unsigned* count,
                                       unsigned long long* addresses) {
  constexpr unsigned long long kPageBytes = 1 << 16;
  return AskNvml(
      {__func__, device, {cause == 0 ? uint16_t{390} : uint16_t{391}}},
      [&](const NvmlTarget& on) {
        if (!on.gpu().has_retired_pages) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        if (cause != 0 && cause != 1) {
          return NVML_ERROR_INVALID_ARGUMENT;
        }
        const unsigned capacity = *count;
        *count = RetiredPages(on, cause);
        if (capacity < *count || (*count > 0 && addresses == nullptr)) {
          return NVML_ERROR_INSUFFICIENT_SIZE;
        }
        for (unsigned i = 0; i < *count; ++i) {
          addresses[i] = (i + 1) * kPageBytes;
        }
        return NVML_SUCCESS;
      },
      count);
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, int* pending) {
  return AnswerNvml({__func__, device, {392}}, pending, [](const NvmlTarget& on) {
    return NvmlNumberIf(on.gpu().has_retired_pages,
                        DoubleBitErrorsOfDriver(*on.world, on.device.gpu, on.now) > 0 ? 1 : 0);
  });
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* correctable,
                                       unsigned* uncorrectable, unsigned* pending,
                                       unsigned* failed) {
  return AskNvml(
      {__func__, device, {393, 394, 395, 396}},
      [&](const NvmlTarget& on) {
        if (!on.gpu().has_row_remapping || InMigMode(on)) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *correctable = *failed = 0;
        *uncorrectable = static_cast<unsigned>(DoubleBitErrors(*on.world, on.device.gpu, on.now));
        *pending = DoubleBitErrorsOfDriver(*on.world, on.device.gpu, on.now) > 0 ? 1 : 0;
        return NVML_SUCCESS;
      },
      correctable, uncorrectable, pending, failed);
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                               nvmlRowRemapperHistogramValues_t* values) {
  return AskNvml(
      {__func__, device, {385, 386, 387, 388, 389}},
      [&](const NvmlTarget& on) {
        const auto spare = SpareRowsOf(*on.world, on.device.gpu, on.now);
        if (!spare) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *values = {.max = static_cast<uint32_t>(spare->max),
                   .high = static_cast<uint32_t>(spare->high),
                   .partial = static_cast<uint32_t>(spare->partial),
                   .low = static_cast<uint32_t>(spare->low),
                   .none = static_cast<uint32_t>(spare->none)};
        return NVML_SUCCESS;
      },
      values);
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned* kb_per_s) {
  return AnswerNvml({__func__, device}, kb_per_s,
                    [counter](const NvmlTarget& on) { return PcieThroughputOf(on, counter); });
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned* count) {
  return AnswerNvml({__func__, device, {202}}, count, [](const NvmlTarget& on) {
    return NvmlNumber(PcieReplays(*on.world, on.device.gpu, on.now));
  });
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return AnswerNvml({__func__, device, {235}}, generation,
                    [](const NvmlTarget& on) { return NvmlNumber(on.gpu().pcie_generation); });
}
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return AnswerNvml({__func__, device, {236}}, width,
                    [](const NvmlTarget& on) { return NvmlNumber(on.gpu().pcie_width); });
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return AnswerNvml({__func__, device, {237}}, generation, [](const NvmlTarget& on) {
    return NvmlNumber(PcieNow(*on.world, on.device.gpu, FaultNumber::kGeneration,
                              on.gpu().pcie_generation, on.now));
  });
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return AnswerNvml({__func__, device, {238}}, width, [](const NvmlTarget& on) {
    return NvmlNumber(
        PcieNow(*on.world, on.device.gpu, FaultNumber::kWidth, on.gpu().pcie_width, on.now));
  });
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, int counter,
                                             unsigned long long* count) {
  constexpr int kEccData = 4;
  const bool counted = counter >= 0 && counter < kEccData;
  const uint16_t field = counted ? kLinkErrorFields.at(static_cast<size_t>(counter)) : 0;
  return AnswerNvml({__func__, device, {field}}, count, [&](const NvmlTarget& on) {
    if (!IsLink(on, link)) {
      return LinkRefusal(link);
    }
    if (!counted) {  // No board here has the last of NVML's counters.
      return NvmlRefusal(counter == kEccData ? NVML_ERROR_NOT_SUPPORTED
                                             : NVML_ERROR_INVALID_ARGUMENT);
    }
    return NvmlNumber(
        LinkErrorCount(*on.world, on.device.gpu, static_cast<int>(link), field, on.now));
  });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
