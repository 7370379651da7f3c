#include "source/nvml/catalogue.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "abi/nvml_readings.h"

namespace podgpu {
namespace {

enum class Pace : uint8_t { kQuick, kSlow };
using enum Pace;

// Recipes of the fields `first` to `last`; the argument increases by `step` from field to field.
struct RecipeRow {
  uint16_t first = 0;
  uint16_t last = 0;
  NvmlCall call = {};
  int argument = 0;
  int step = 0;
  Pace pace = kQuick;
};

constexpr int Of(NvmlLimit limit) { return static_cast<int>(limit); }
constexpr int Of(NvmlMemoryPart part) { return static_cast<int>(part); }
constexpr int Of(NvmlMode mode) { return static_cast<int>(mode); }
constexpr int Of(NvmlText text) { return static_cast<int>(text); }
constexpr int kBoth = kSent | kReceived;

constexpr int kVolatile = 0;
constexpr int kAggregate = 2;
constexpr int kPerLocation = 4;

constexpr int kReplay = abi::NVML_NVLINK_ERROR_DL_REPLAY << kErrorShift;
constexpr int kRecovery = abi::NVML_NVLINK_ERROR_DL_RECOVERY << kErrorShift;
constexpr int kFlit = abi::NVML_NVLINK_ERROR_DL_CRC_FLIT << kErrorShift;
constexpr int kData = abi::NVML_NVLINK_ERROR_DL_CRC_DATA << kErrorShift;

using enum NvmlCall;
constexpr RecipeRow kRows[] = {
    {1, 2, kSystemText, 0, 1, kSlow},
    {4, 5, kSystemNumber, 0, 1, kSlow},
    {50, 50, kGpuText, Of(NvmlText::kName), 0, kSlow},
    {51, 51, kGpuText, Of(NvmlText::kBrand), 0, kSlow},
    {52, 52, kMode, Of(NvmlMode::kIndex), 0, kSlow},
    {53, 53, kGpuText, Of(NvmlText::kSerial), 0, kSlow},
    {54, 54, kGpuText, Of(NvmlText::kUuid), 0, kSlow},
    {55, 55, kMode, Of(NvmlMode::kMinorNumber), 0, kSlow},
    {56, 56, kGpuText, Of(NvmlText::kOemInforom), 0, kSlow},
    {57, 57, kGpuText, Of(NvmlText::kPciBusId), 0, kSlow},
    {58, 58, kMode, Of(NvmlMode::kPciIds), 0, kSlow},
    {59, 59, kMode, Of(NvmlMode::kPciSubsystem), 0, kSlow},
    {63, 63, kMode, Of(NvmlMode::kComputeCapability), 0, kSlow},
    {65, 65, kMode, Of(NvmlMode::kCompute), 0, kSlow},
    {66, 66, kMode, Of(NvmlMode::kPersistence), 0, kSlow},
    {67, 67, kMode, Of(NvmlMode::kMig), 0, kSlow},
    {80, 80, kGpuText, Of(NvmlText::kEccInforom), 0, kSlow},
    {81, 81, kGpuText, Of(NvmlText::kPowerInforom), 0, kSlow},
    {82, 82, kGpuText, Of(NvmlText::kInforomImage), 0, kSlow},
    {85, 85, kGpuText, Of(NvmlText::kVbios), 0, kSlow},
    {90, 90, kBar1, Of(NvmlMemoryPart::kTotal)},
    {92, 92, kBar1, Of(NvmlMemoryPart::kUsed)},
    {93, 93, kBar1, Of(NvmlMemoryPart::kFree)},
    {94, 94, kMode, Of(NvmlMode::kGpmSupport), 0, kSlow},
    {100, 100, kClock, abi::NVML_CLOCK_SM},
    {101, 101, kClock, abi::NVML_CLOCK_MEM},
    {102, 102, kClock, abi::NVML_CLOCK_VIDEO},
    {110, 110, kApplicationClock, abi::NVML_CLOCK_GRAPHICS, 0, kSlow},
    {111, 111, kApplicationClock, abi::NVML_CLOCK_MEM, 0, kSlow},
    {112, 112, kClockReasons},
    {113, 113, kMaxClock, abi::NVML_CLOCK_SM, 0, kSlow},
    {114, 114, kMaxClock, abi::NVML_CLOCK_MEM, 0, kSlow},
    {115, 115, kMaxClock, abi::NVML_CLOCK_VIDEO, 0, kSlow},
    {140, 140, kFieldValue, 82},
    {150, 150, kTemperature},
    {151, 151, kThreshold, abi::NVML_TEMPERATURE_THRESHOLD_MEM_MAX, 0, kSlow},
    {152, 152, kThreshold, abi::NVML_TEMPERATURE_THRESHOLD_GPU_MAX, 0, kSlow},
    {153, 153, kMargin},
    {155, 155, kPower},
    {157, 157, kFieldMilliwatts, 186},
    {158, 158, kThreshold, abi::NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, 0, kSlow},
    {159, 159, kThreshold, abi::NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, 0, kSlow},
    {160, 160, kPowerLimit, Of(NvmlLimit::kRequested)},
    {161, 161, kPowerLimit, Of(NvmlLimit::kLeast), 0, kSlow},
    {162, 162, kPowerLimit, Of(NvmlLimit::kMost), 0, kSlow},
    {163, 163, kPowerLimit, Of(NvmlLimit::kDefault), 0, kSlow},
    {164, 164, kPowerLimit, Of(NvmlLimit::kEnforced)},
    {190, 190, kPerformanceState},
    {191, 191, kFan},
    {202, 202, kPcieReplays},
    {203, 204, kUtilization, 0, 1},
    {206, 207, kCoder, 0, 1},
    {230, 230, kXid},
    {235, 235, kPcieLink, 0, 0, kSlow},
    {236, 236, kPcieLink, 1, 0, kSlow},
    {237, 238, kPcieLink, 2, 1},
    {250, 254, kMemory, 0, 1},
    {314, 323, kEccLocation, kVolatile, 0, kSlow},  // Arguments as EccArgument says.
    {324, 333, kEccLocation, kAggregate, 0, kSlow},
    {334, 337, kEccLocation, kVolatile, 0, kSlow},
    {338, 341, kEccLocation, kAggregate, 0, kSlow},
    {342, 343, kEccLocation, kVolatile, 0, kSlow},
    {344, 345, kEccLocation, kAggregate, 0, kSlow},
    {385, 389, kSpareRows, 0, 1, kSlow},
    {390, 390, kRetiredPages, abi::NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS, 0,
     kSlow},
    {406, 408, kLinkErrors, kFlit | 12, 1, kSlow},
    {416, 418, kLinkErrors, kData | 12, 1, kSlow},
    {426, 428, kLinkErrors, kReplay | 12, 1, kSlow},
    {436, 438, kLinkErrors, kRecovery | 12, 1, kSlow},
    {440, 445, kLinkRate, kBoth | 0, 1},
    {446, 448, kLinkRate, kBoth | 12, 1},
    {449, 449, kLinkRate, kBoth | kAllLinks},
    {475, 480, kLinkRate, kBoth | 6, 1},
    {481, 483, kLinkErrors, kFlit | 15, 1, kSlow},
    {484, 486, kLinkErrors, kData | 15, 1, kSlow},
    {487, 489, kLinkErrors, kReplay | 15, 1, kSlow},
    {491, 493, kLinkErrors, kRecovery | 15, 1, kSlow},
    {494, 496, kLinkRate, kBoth | 15, 1},
    {500, 500, kMode, Of(NvmlMode::kVirtualization), 0, kSlow},
    {526, 526, kLicense, 0, 0, kSlow},
    {825, 842, kLinkRate, kSent | 0, 1},
    {843, 843, kLinkRate, kSent | kAllLinks},
    {879, 896, kLinkRate, kReceived | 0, 1},
    {897, 897, kLinkRate, kReceived | kAllLinks},
    {1001, 1003, kGpm, 1, 1},
    {1004, 1004, kGpm, 5},
    {1005, 1005, kGpm, 10},
    {1006, 1008, kGpm, 11, 1},
    {1009, 1010, kGpmBytes, 20, 1},
    {1011, 1012, kGpmBytes, 61, -1},
    {1013, 1013, kGpm, 9},
    {1014, 1015, kGpm, 7, -1},
    {1016, 1016, kGpm, 4},
    {1017, 1024, kGpm, 30, 1},
    {1025, 1032, kGpm, 40, 1},
    {1033, 1034, kGpm, 50, 1},
    {1040, 1075, kGpmBytes, 63, 0},  // Arguments as LinkMetric says.
    {1076, 1077, kGpmBytes, 100, 2},
    {1078, 1079, kGpmBytes, 101, 2},
    {1080, 1083, kGpmPercent, 160, 1},
    {1084, 1092, kGpmCount, 248, 1},
    {1093, 1096, kGpmCount, 257, 1},
};

constexpr bool Ascends() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].last < kRows[i].first || (i > 0 && kRows[i].first <= kRows[i - 1].last)) {
      return false;
    }
  }
  return true;
}
static_assert(Ascends());

// Fields of one range alternate between corrected and uncorrected errors, location by location.
int EccArgument(const RecipeRow& row, int place) {
  constexpr std::array<int, 10> kFirst = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  constexpr std::array<int, 4> kSecond = {5, 5, 6, 6};
  constexpr int kSram = 7;
  const auto at = static_cast<size_t>(place);
  const int length = row.last - row.first + 1;
  const int location = length == 10 ? kFirst[at] : (length == 4 ? kSecond[at] : kSram);
  return row.argument + place % 2 + kPerLocation * location;
}

// The fields alternate: sent by link 0, received by link 0, sent by link 1 and so on.  GPM's
// metrics begin with received.
int LinkMetric(const RecipeRow& row, int place) {
  return row.argument + 2 * (place / 2) - place % 2;
}

int ArgumentAt(const RecipeRow& row, int place) {
  if (row.call == kEccLocation) {
    return EccArgument(row, place);
  }
  return row.first == 1040 ? LinkMetric(row, place) : row.argument + row.step * place;
}

}  // namespace

std::optional<NvmlRecipe> NvmlRecipeOf(const Field& field) {
  if (const BaseUnit* unit = BaseUnitOf(field.id)) {
    std::optional<NvmlRecipe> recipe = NvmlRecipeOf(*FindField(unit->old_id));
    if (recipe) {
      recipe->unit = unit;
    }
    return recipe;
  }
  const auto* row = std::ranges::lower_bound(kRows, field.id, {}, &RecipeRow::last);
  if (row != std::end(kRows) && row->first <= field.id) {
    return NvmlRecipe{row->call, static_cast<uint16_t>(ArgumentAt(*row, field.id - row->first)),
                      row->pace == kSlow};
  }
  const bool is_of_gpus = field.level == FieldLevel::kGpu ||
                          field.level == FieldLevel::kGpuInstance ||
                          field.level == FieldLevel::kComputeInstance;
  if (field.nvml_field_id == 0 || !is_of_gpus) {
    return std::nullopt;
  }
  return NvmlRecipe{kFieldValue, field.nvml_field_id, false};
}

bool NeedsGpm(const NvmlRecipe& recipe) {
  return recipe.call == kGpm || recipe.call == kGpmPercent || recipe.call == kGpmBytes ||
         recipe.call == kGpmCount;
}

std::string_view NvmlOrigin(const Field& field) {
  const std::optional<NvmlRecipe> recipe = NvmlRecipeOf(field);
  if (!recipe) {
    return "";
  }
  if (NeedsGpm(*recipe)) {
    return "GPM";
  }
  return recipe->call == kXid ? "event" : "driver";
}

}  // namespace podgpu
