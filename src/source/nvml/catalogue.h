// Which DCGM fields NVML can give, and by which call.
//
// DCGM computes its device fields from NVML. This table is the reverse of that mapping, so a page
// has the same numbers from either library.  Taken from DCGM 4.6.0: its table of NVML field values
// (fields/field.h, nvml_field_id) and the calls that it makes.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fields/base_units.h"
#include "fields/field.h"

namespace podgpu {

// The kind of call that gives a value.  The comments tell what the recipe's argument means.
enum class NvmlCall : uint8_t {
  kFieldValue,        // NVML's id of the field value.
  kFieldMilliwatts,   // The same; the value is in mW.
  kLinkRate,          // The link or kAllLinks, with kSent and kReceived.
  kGpm,               // GPM's id of a metric in percent; converted to a ratio.
  kGpmPercent,        // The same; unchanged.
  kGpmBytes,          // GPM's id of a metric in MiB; converted to bytes.
  kGpmCount,          // GPM's id of a count.
  kXid,               // No argument: the value comes from events (events.h).
  kClock,             // nvmlClockType_t.
  kMaxClock,          // nvmlClockType_t.
  kApplicationClock,  // nvmlClockType_t.
  kClockReasons,
  kTemperature,
  kThreshold,  // nvmlTemperatureThresholds_t.
  kMargin,
  kPower,
  kPowerLimit,   // NvmlLimit.
  kUtilization,  // 0 of the SMs, 1 of memory.
  kCoder,        // 0 of the encoder, 1 of the decoder.
  kMemory,       // NvmlMemoryPart.
  kBar1,         // NvmlMemoryPart.
  kPerformanceState,
  kFan,
  kPcieReplays,
  kPcieLink,      // 0 largest generation, 1 largest width, 2 generation, 3 width.
  kEccLocation,   // type + 2 * counter + 4 * location.
  kRetiredPages,  // nvmlPageRetirementCause_t.
  kSpareRows,     // Member of nvmlRowRemapperHistogramValues_t.
  kLinkErrors,    // The link, and nvmlNvLinkErrorCounter_t << kErrorShift.
  kLicense,       // No argument: the licence of a virtual GPU.
  kMode,          // NvmlMode.
  kGpuText,       // NvmlText.
  kSystemText,    // 0 driver's version, 1 NVML's.
  kSystemNumber,  // 0 GPUs, 1 CUDA's version.
};

enum class NvmlLimit : uint8_t { kRequested, kLeast, kMost, kDefault, kEnforced };
enum class NvmlMemoryPart : uint8_t { kTotal, kFree, kUsed, kReserved, kUsedRatio };
enum class NvmlMode : uint8_t {
  kIndex,
  kMinorNumber,
  kPciIds,
  kPciSubsystem,
  kComputeCapability,
  kCompute,
  kPersistence,
  kMig,
  kVirtualization,
  kGpmSupport
};
enum class NvmlText : uint8_t {
  kName,
  kBrand,
  kSerial,
  kUuid,
  kPciBusId,
  kOemInforom,
  kEccInforom,
  kPowerInforom,
  kInforomImage,
  kVbios
};

// Flags in the argument of kLinkRate, in addition to the number of the link.
inline constexpr uint16_t kSent = 0x100;
inline constexpr uint16_t kReceived = 0x200;
inline constexpr uint16_t kAllLinks = 0xff;
inline constexpr int kErrorShift = 8;

// The way in which one field is read.
struct NvmlRecipe {
  NvmlCall call = NvmlCall::kFieldValue;
  uint16_t argument = 0;
  bool is_slow = false;  // Changes rarely or is expensive: read every 10 s.
  // The recipe gives the old field of this row, from which the field follows; null: the field.
  const BaseUnit* unit = nullptr;
};

// Returns nothing when NVML cannot give the field.
std::optional<NvmlRecipe> NvmlRecipeOf(const Field& field);

// Returns whether the field needs GPM, which only Hopper and later have.
bool NeedsGpm(const NvmlRecipe& recipe);

// Returns where the field comes from in a few words, for the reference documents: "GPM", "event",
// "driver"; empty when NVML cannot give it.
std::string_view NvmlOrigin(const Field& field);

}  // namespace podgpu
