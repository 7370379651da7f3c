// The measured families of podgpu's own view, as data: which field feeds which family, where.
//
// One row is at most one series per device (and per MIG instance, where it has them).  Several rows
// of one name are one family: clock domains, throttle reasons, kinds of errors, and utilisation,
// which is another field on partitioned GPUs.  The view, the list of fields to watch and
// docs/metrics.md are made from it. Pure data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "view/shown.h"

namespace podgpu {

// Which GPUs a row is about.
enum class MeasuredOn : uint8_t {
  kEveryGpu,
  kWholeGpus,        // Those without MIG.
  kPartitionedGpus,  // Those with MIG on, which classic utilisation does not cover.
};

struct Measure {
  std::string_view name;
  std::string_view type;
  std::string_view unit;  // As OpenMetrics wants it, empty where there is none.
  std::string_view help;
  std::string_view extra_label;  // A label beyond identity, and its value.
  std::string_view extra_value;
  double scale = 1.0;
  uint16_t field_id = 0;
  MeasuredOn on = MeasuredOn::kEveryGpu;
  bool instances = false;        // Also on each MIG instance; such families carry `scope`.
  Shown shown = Shown::kAlways;  // kOnceSeen only where `instances` is false.
  std::optional<uint8_t> bit;    // The bit of the field that is shown, for bit masks.
  std::optional<uint8_t> word;   // The number for which 1 is shown, for enumerations.
};

// Rows of one family stand together.
std::span<const Measure> Measures();

}  // namespace podgpu
