// The world image's fault records.
//
// They are in sections of the image (image.h), sorted by start.  The world reads them once into
// Faults (fault.h), whose texts and fields stay views of the image.  Shared by compiler and
// evaluator only.  Standard library only, for the faces.
#pragma once

#include <array>
#include <cstdint>

#include "sim/world/fault.h"
#include "sim/world/image.h"

namespace podgpu::sim {

struct FaultRecord {
  int64_t at_us, until_us;  // until is kForever if it never ends by itself.
  uint32_t kind;
  int32_t gpu;
  Range calls, fields;
  TextRef version;
  std::array<int64_t, kFaultNumberCount> numbers;
};
static_assert(kIsRecord<FaultRecord> && kIsRecord<TextRef>);
static_assert(sizeof(FaultRecord) == 48 + 8 * kFaultNumberCount);

}  // namespace podgpu::sim
