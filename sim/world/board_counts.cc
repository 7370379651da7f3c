#include "sim/world/board_counts.h"

#include <algorithm>
#include <array>
#include <optional>

namespace podgpu::sim {
namespace {

// Pairs of fields, single-bit then double-bit, by location of the errors (dcgm_fields.h of 4.6.0).
struct EccPair {
  uint16_t first;
  bool aggregate;
  std::optional<EccLocation> location;  // Empty: all locations.
};
constexpr auto kEccPairs = std::to_array<EccPair>({
    {310, false, std::nullopt},
    {312, true, std::nullopt},
    {314, false, EccLocation::kL1},
    {316, false, EccLocation::kL2},
    {318, false, EccLocation::kDevice},
    {320, false, EccLocation::kRegister},
    {322, false, EccLocation::kTexture},
    {324, true, EccLocation::kL1},
    {326, true, EccLocation::kL2},
    {328, true, EccLocation::kDevice},
    {330, true, EccLocation::kRegister},
    {332, true, EccLocation::kTexture},
    {334, false, EccLocation::kShared},
    {336, false, EccLocation::kCbu},
    {338, true, EccLocation::kShared},
    {340, true, EccLocation::kCbu},
    {342, false, EccLocation::kSram},
    {344, true, EccLocation::kSram},
});
static_assert(std::ranges::is_sorted(kEccPairs, {}, &EccPair::first));

// The sum over the faults of that kind that began after `since` and by t.
template <typename Amount>
int64_t Sum(const World& world, FaultKind kind, int gpu, TimeUs since, TimeUs t, Amount amount) {
  int64_t sum = 0;
  if ((world.fault_kinds() & FaultBit(kind)) == 0) {
    return sum;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.kind == kind && fault.Concerns(gpu) && fault.at >= since && fault.at <= t) {
      sum += amount(fault);
    }
  }
  return sum;
}

int64_t CountEcc(const World& world, int gpu, EccError error, std::optional<EccLocation> location,
                 TimeUs since, TimeUs t) {
  return Sum(world, FaultKind::kEcc, gpu, since, t, [&](const Fault& fault) {
    const bool meant = fault.As<EccError>(FaultNumber::kEccError) == error &&
                       (!location || fault.As<EccLocation>(FaultNumber::kLocation) == *location);
    return meant ? fault.Get(FaultNumber::kCount) : 0;
  });
}

// The error that a field counts.  DCGM numbers the fields of links in blocks, one per error.
struct LinkBlock {
  uint16_t first;
  FaultNumber error;
};
constexpr auto kLinkBlocks = std::to_array<LinkBlock>({
    {400, FaultNumber::kCrc},
    {420, FaultNumber::kReplay},
    {430, FaultNumber::kRecovery},
    {451, FaultNumber::kCrc},
    {463, FaultNumber::kReplay},
    {469, FaultNumber::kRecovery},
    {481, FaultNumber::kCrc},
    {487, FaultNumber::kReplay},
    {491, FaultNumber::kRecovery},
    {497, FaultNumber::kCrc},
    {498, FaultNumber::kRecovery},
    {499, FaultNumber::kReplay},
    {1525, FaultNumber::kCrc},
    {1527, FaultNumber::kReplay},
    {1528, FaultNumber::kRecovery},
});

}  // namespace

int64_t EccCount(const World& world, int gpu, uint16_t field, TimeUs t) {
  const auto after = std::ranges::upper_bound(kEccPairs, field, {}, &EccPair::first);
  if (after == kEccPairs.begin() || field > std::prev(after)->first + 1) {
    return 0;
  }
  const EccPair& pair = *std::prev(after);
  const EccError error = field == pair.first ? EccError::kSingleBit : EccError::kDoubleBit;
  return CountEcc(world, gpu, error, pair.location, pair.aggregate ? 0 : world.DriverSince(t), t);
}

int64_t DoubleBitErrors(const World& world, int gpu, TimeUs t) {
  return CountEcc(world, gpu, EccError::kDoubleBit, std::nullopt, 0, t);
}

int64_t DoubleBitErrorsOfDriver(const World& world, int gpu, TimeUs t) {
  return CountEcc(world, gpu, EccError::kDoubleBit, std::nullopt, world.DriverSince(t), t);
}

int64_t PcieReplays(const World& world, int gpu, TimeUs t) {
  return Sum(world, FaultKind::kPcie, gpu, 0, t,
             [](const Fault& fault) { return fault.Amount(FaultNumber::kReplay); });
}

int64_t PcieNow(const World& world, int gpu, FaultNumber what, int64_t otherwise, TimeUs t) {
  if ((world.fault_kinds() & FaultBit(FaultKind::kPcie)) != 0) {
    for (const Fault& fault : world.faults()) {
      if (fault.kind == FaultKind::kPcie && fault.Concerns(gpu) && fault.InForce(t) &&
          fault.Has(what)) {
        return fault.Get(what);
      }
    }
  }
  return otherwise;
}

int64_t LinkErrorCount(const World& world, int gpu, int link, uint16_t field, TimeUs t) {
  const FaultNumber what =
      std::prev(std::ranges::upper_bound(kLinkBlocks, field, {}, &LinkBlock::first))->error;
  return Sum(world, FaultKind::kNvlink, gpu, 0, t, [&](const Fault& fault) {
    const bool meant = link < 0 || fault.Get(FaultNumber::kLink) == link;
    return meant ? fault.Amount(what) : 0;
  });
}

bool IsLinkDown(const World& world, int gpu, int link, TimeUs t) {
  if ((world.fault_kinds() & FaultBit(FaultKind::kNvlink)) == 0) {
    return false;
  }
  return std::ranges::any_of(world.faults(), [&](const Fault& fault) {
    return fault.kind == FaultKind::kNvlink && fault.Concerns(gpu) && fault.InForce(t) &&
           fault.Get(FaultNumber::kLink) == link && fault.Get(FaultNumber::kDown) == 1;
  });
}

}  // namespace podgpu::sim
