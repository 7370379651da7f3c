// The simulated NVML: nvmlDeviceGetFieldValues, one call that reads many values.
//
// One table of field ids: each row gives the DCGM field that the value corresponds to, and how it
// is read.  A field that is not in the table, or that the board lacks, reports that in its own
// nvmlReturn; the call as a whole fails only when the device fails.  The scope of a link's field is
// the link's number, or all links.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "abi/nvml.h"
#include "abi/nvml_readings.h"
#include "sim/nvml/call.h"
#include "sim/nvml/faults.h"
#include "sim/nvml/generation.h"
#include "sim/world/board_counts.h"
#include "sim/world/board_readings.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

// The inputs of a value.
struct FieldQuery {
  const NvmlTarget& on;
  uint16_t dcgm = 0;  // The corresponding DCGM field.
  uint32_t scope = 0;
  int argument = 0;  // The row's argument plus the position in the row.

  const World& world() const { return *on.world; }
  const GpuFacts& gpu() const { return on.gpu(); }
  int index() const { return on.device.gpu; }
};
using FieldReader = NvmlAnswer (*)(const FieldQuery& query);

// NVML's fields first..last correspond to DCGM's fields from `dcgm` on.
struct FieldRow {
  uint16_t first, last, dcgm;
  int value_type;
  FieldReader read;
  int argument;
};

constexpr int kUint = NVML_VALUE_TYPE_UNSIGNED_INT;
constexpr int kUllong = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
constexpr int kOfAllLinks = -1;
constexpr int kBytesSince = NVML_DEVICE_ARCH_BLACKWELL;  // NVLink 5 counts bytes.

NvmlAnswer ReadEccOn(const FieldQuery& query) { return NvmlNumberIf(query.gpu().has_ecc, 1); }
NvmlAnswer ReadEcc(const FieldQuery& query) {
  return NvmlNumberIf(query.gpu().has_ecc,
                      EccCount(query.world(), query.index(), query.dcgm, query.on.now));
}

// Argument 0: counters that are always 0 here; 1: repairs; 2: whether a repair is pending.
int64_t RepairsOf(const FieldQuery& query) {
  if (query.argument == 1) {
    return DoubleBitErrors(query.world(), query.index(), query.on.now);
  }
  const bool is_pending = query.argument == 2 &&
                          DoubleBitErrorsOfDriver(query.world(), query.index(), query.on.now) > 0;
  return is_pending ? 1 : 0;
}
NvmlAnswer ReadRetired(const FieldQuery& query) {
  return NvmlNumberIf(query.gpu().has_retired_pages, RepairsOf(query));
}
NvmlAnswer ReadRemapped(const FieldQuery& query) {
  return NvmlNumberIf(query.gpu().has_row_remapping && !InMigMode(query.on), RepairsOf(query));
}

int64_t CountOfLinks(const FieldQuery& query) {
  return InMigMode(query.on) ? 0 : query.gpu().nvlink_count;
}

// The argument is the link's number, or all links.
NvmlAnswer ReadLinkErrors(const FieldQuery& query) {
  const bool is_link = query.argument == kOfAllLinks ? CountOfLinks(query) > 0
                                                     : query.argument < CountOfLinks(query);
  return NvmlNumberIf(is_link, LinkErrorCount(query.world(), query.index(), query.argument,
                                              query.dcgm, query.on.now));
}

// How many links share the value in this scope; 0 when the scope names no link.
int64_t LinksOfScope(const FieldQuery& query) {
  if (query.scope == NVML_ALL_LINKS) {
    return CountOfLinks(query) > 0 ? 1 : 0;
  }
  return query.scope < CountOfLinks(query) ? CountOfLinks(query) : 0;
}

NvmlAnswer ReadLinkKib(const FieldQuery& query) {
  const int64_t share = LinksOfScope(query);
  return NvmlNumberIf(share > 0,
                      LinkKib(query.world(), query.index(), static_cast<Integral>(query.argument),
                              static_cast<int>(share), query.on.now));
}

NvmlAnswer ReadLinkBytes(const FieldQuery& query) {
  const int64_t share = LinksOfScope(query);
  if (share == 0 || query.gpu().architecture_number < kBytesSince) {
    return NvmlRefusal();
  }
  const Int128 moved = query.world().Integrate(static_cast<Integral>(query.argument),
                                               WholeGpu(query.on), query.on.now);
  return NvmlNumber(static_cast<int64_t>(moved / kSecondUs / share));
}

NvmlAnswer ReadViolation(const FieldQuery& query) {
  return NvmlNumber(static_cast<int64_t>(query.world().Integrate(
      static_cast<Integral>(query.argument), WholeGpu(query.on), query.on.now)));
}
NvmlAnswer ReadZero(const FieldQuery&) { return NvmlNumber(0); }

NvmlAnswer ReadMemoryTemperature(const FieldQuery& query) {
  return NvmlNumberIf(query.gpu().has_memory_temperature,
                      query.world().MemoryTemperatureC(query.index(), query.on.now));
}
NvmlAnswer ReadEnergy(const FieldQuery& query) {
  return NvmlNumber(query.world().EnergyCounterMj(query.index(), query.on.now));
}
NvmlAnswer ReadReplays(const FieldQuery& query) {
  return NvmlNumber(PcieReplays(query.world(), query.index(), query.on.now));
}
NvmlAnswer ReadAveragePower(const FieldQuery& query) {
  return NvmlNumberIf(query.gpu().power_is_average,
                      query.world().PowerAverageMw(query.index(), query.on.now));
}
NvmlAnswer ReadInstantPower(const FieldQuery& query) {
  return NvmlNumber(query.world().PowerInstantMw(query.index(), query.on.now));
}
NvmlAnswer ReadRecoveryAction(const FieldQuery& query) {
  return NvmlNumber(RecoveryAction(query.world(), query.index(), query.on.now));
}

constexpr int Of(Integral integral) { return static_cast<int>(integral); }

constexpr uint16_t kEnergyField = 83;
constexpr auto kFieldRows = std::to_array<FieldRow>({
    {1, 2, 300, kUint, ReadEccOn, 0},
    {3, 6, 310, kUllong, ReadEcc, 0},
    {29, 31, 390, kUint, ReadRetired, 0},
    {32, 37, 400, kUllong, ReadLinkErrors, 0},
    {38, 38, 409, kUllong, ReadLinkErrors, kOfAllLinks},
    {39, 44, 410, kUllong, ReadLinkErrors, 0},
    {45, 45, 419, kUllong, ReadLinkErrors, kOfAllLinks},
    {46, 51, 420, kUllong, ReadLinkErrors, 0},
    {52, 52, 429, kUllong, ReadLinkErrors, kOfAllLinks},
    {53, 58, 430, kUllong, ReadLinkErrors, 0},
    {59, 59, 439, kUllong, ReadLinkErrors, kOfAllLinks},
    {74, 74, 240, kUllong, ReadViolation, Of(Integral::kPowerViolationNs)},
    {75, 75, 241, kUllong, ReadViolation, Of(Integral::kThermalViolationNs)},
    {76, 81, 242, kUllong, ReadZero, 0},
    {82, 82, 140, kUint, ReadMemoryTemperature, 0},
    {kEnergyField, kEnergyField, 156, kUllong, ReadEnergy, 0},
    {94, 94, 202, kUint, ReadReplays, 0},
    {96, 101, 451, kUllong, ReadLinkErrors, 6},
    {102, 107, 457, kUllong, ReadLinkErrors, 6},
    {108, 113, 463, kUllong, ReadLinkErrors, 6},
    {114, 119, 469, kUllong, ReadLinkErrors, 6},
    {138, 138, 449, kUllong, ReadLinkKib, Of(Integral::kNvlinkTxBytes)},
    {139, 139, 449, kUllong, ReadLinkKib, Of(Integral::kNvlinkRxBytes)},
    {142, 142, 394, kUint, ReadRemapped, 0},
    {143, 143, 393, kUint, ReadRemapped, 1},
    {144, 144, 396, kUint, ReadRemapped, 2},
    {145, 145, 395, kUint, ReadRemapped, 0},
    {161, 161, 499, kUllong, ReadLinkErrors, kOfAllLinks},
    {162, 162, 498, kUllong, ReadLinkErrors, kOfAllLinks},
    {163, 163, 497, kUllong, ReadLinkErrors, kOfAllLinks},
    {173, 173, 1501, kUint, ReadReplays, 0},
    {185, 185, 155, kUint, ReadAveragePower, 0},
    {186, 186, 157, kUint, ReadInstantPower, 0},
    {202, 202, 1201, kUllong, ReadLinkBytes, Of(Integral::kNvlinkTxBytes)},
    {204, 204, 1203, kUllong, ReadLinkBytes, Of(Integral::kNvlinkRxBytes)},
    {230, 230, 1523, kUint, ReadRecoveryAction, 0},
    {269, 269, 1422, kUllong, ReadViolation, Of(Integral::kThermalViolationNs)},
    {270, 271, 1423, kUllong, ReadZero, 0},
});
static_assert(std::ranges::is_sorted(kFieldRows, {}, &FieldRow::first));

const FieldRow* FindFieldRow(uint32_t field) {
  const auto* const found = std::ranges::lower_bound(kFieldRows, field, {}, &FieldRow::last);
  const bool is_known = found != kFieldRows.end() && found->first <= field;
  return is_known && field < kFieldValuesEnd ? found : nullptr;
}

// The answer after the faults on values were applied.
NvmlAnswer ReadFieldValue(const NvmlTarget& on, const FieldRow& row, nvmlFieldValue_t& value) {
  const int offset = static_cast<int>(value.fieldId) - row.first;
  const FieldQuery query{.on = on,
                         .dcgm = static_cast<uint16_t>(row.dcgm + offset),
                         .scope = value.scopeId,
                         .argument = row.argument + offset};
  const std::span<const uint16_t> fed(&query.dcgm, 1);
  const nvmlReturn_t refused = NvmlValueFault(*on.world, on.device.gpu, fed, on.now);
  NvmlAnswer answer = refused == NVML_SUCCESS ? row.read(query) : NvmlRefusal(refused);
  if (answer.result == NVML_SUCCESS &&
      IsNvmlGarbage(*on.world, "nvmlDeviceGetFieldValues", on.device.gpu, fed, on.now)) {
    answer.value = -1;
  }
  return answer;
}

void FillFieldValue(const NvmlTarget& on, nvmlFieldValue_t& value) {
  value.latencyUsec = 0;
  value.value.ullVal = 0;
  value.timestamp = NvmlSession::Get().StampUs(on.now);
  const FieldRow* const row = on.is_mig() ? nullptr : FindFieldRow(value.fieldId);
  if (row == nullptr) {
    value.valueType = kUint;
    value.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return;
  }
  const NvmlAnswer answer = ReadFieldValue(on, *row, value);
  value.valueType = row->value_type;
  value.nvmlReturn = answer.result;
  if (answer.result != NVML_SUCCESS) {
    return;
  }
  if (row->value_type == kUint) {
    value.value.uiVal = static_cast<uint32_t>(answer.value);
  } else {
    value.value.ullVal = static_cast<unsigned long long>(answer.value);
  }
  if (value.fieldId == kEnergyField) {
    value.timestamp =
        NvmlSession::Get().StampUs(on.world->EnergyCounterTime(on.device.gpu, on.now));
  }
}

// Whether a list with this field gets no answer for power and limits of temperature on a board
// without C2C links, which all simulated boards are (580.159.04, H200).
bool HidesOthers(uint32_t field) {
  constexpr uint32_t kC2cMaximumBandwidth = 172;
  constexpr uint32_t kC2cPowerState = 234;
  return field == kC2cMaximumBandwidth || field == kC2cPowerState;
}
bool IsHidden(uint32_t field) {
  constexpr std::array<std::pair<uint32_t, uint32_t>, 5> kHidden = {
      {{187, 190}, {192, 196}, {251, 268}, {270, 273}, {275, 288}}};
  return std::ranges::any_of(kHidden, [field](const auto& range) {
    return range.first <= field && field <= range.second;
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  const NvmlTarget on = BeginNvmlCall({__func__, device, {}, NvmlScope::kAny});
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (values == nullptr || count <= 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const std::span list(values, static_cast<size_t>(count));
  const bool hides = std::ranges::any_of(list, HidesOthers, &nvmlFieldValue_t::fieldId);
  for (nvmlFieldValue_t& value : list) {
    if (!hides || !IsHidden(value.fieldId)) {
      FillFieldValue(on, value);
    }
  }
  return NVML_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
