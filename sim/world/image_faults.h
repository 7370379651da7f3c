// The world image's records of what goes wrong when.
//
// They stand in sections of the image as image.h lays it out, by start; the world reads them once
// into Faults (fault.h), whose texts and fields stay views of the image.  Shared by compiler and
// evaluator only.  Standard library only, for the faces.
#pragma once

#include <array>
#include <cstdint>

#include "sim/world/fault.h"
#include "sim/world/image.h"

namespace podgpu::sim {

struct FaultRecord {
  int64_t at_us, until_us;  // until kForever: for good, or until it is healed.
  uint32_t kind;
  int32_t gpu;
  Range calls, fields;
  TextRef version;
  std::array<int64_t, kFaultNumberCount> numbers;
};
static_assert(kIsRecord<FaultRecord> && kIsRecord<TextRef>);
static_assert(sizeof(FaultRecord) == 48 + 8 * kFaultNumberCount);

}  // namespace podgpu::sim
