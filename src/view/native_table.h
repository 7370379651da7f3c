// The table of the measured families of the view native: which field feeds which family on which
// devices.
//
// One row is at most one series per device, and per MIG instance if `instances` is set.  Several
// rows with one name form one family: clock domains, throttle reasons, kinds of errors, and
// utilisation, which comes from another field on partitioned GPUs.  The view, the list of fields to
// watch and docs/metrics.md are made from this table.  Pure data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "view/shown.h"

namespace podgpu {

// The GPUs that a row applies to.
enum class MeasuredOn : uint8_t {
  kEveryGpu,
  kWholeGpus,        // GPUs without MIG.
  kPartitionedGpus,  // GPUs with MIG on, for which the driver reports no classic utilisation.
};

struct Measure {
  std::string_view name;
  std::string_view type;
  std::string_view unit;  // The unit in OpenMetrics; empty if there is none.
  std::string_view help;
  std::string_view extra_label;  // A label besides the identity labels, and its value.
  std::string_view extra_value;
  double scale = 1.0;
  uint16_t field_id = 0;
  MeasuredOn on = MeasuredOn::kEveryGpu;
  bool instances = false;  // True: also on each MIG instance; such families have the label `scope`.
  Shown shown = Shown::kAlways;  // kOnceSeen only if `instances` is false.
  std::optional<uint8_t> bit;    // The bit of the field that is shown, for bit masks.
  std::optional<uint8_t> word;   // The number for which 1 is shown, for enumerations.
  bool actionable = false;       // A reason of throttling that an operator can do something about.
};

// Rows of one family are adjacent.
std::span<const Measure> Measures();

}  // namespace podgpu
