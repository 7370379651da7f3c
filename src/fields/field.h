// What can be measured: one row per DCGM field id, known at compile time.
//
// The catalogue is data (catalogue.cc): every field of DCGM 3.0 to 4.6.1 by number, with the name
// that today's header gives it and all earlier names, its value type, the entity level it belongs
// to and its unit.  Sources ask by id, the user's counters file by name.  Immutable; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace podgpu {

enum class FieldType : uint8_t { kNone, kInt64, kDouble, kString, kBlob, kTimestamp };

// DCGM's entity level of a field: the finest entity on which it can be read.
enum class FieldLevel : uint8_t {
  kNone,
  kGlobal,
  kGpu,
  kVgpu,
  kSwitch,
  kGpuInstance,
  kComputeInstance,
  kLink,
  kCpu,
  kCpuCore,
  kConnectX
};

struct Field {
  uint16_t id = 0;
  std::string_view name;  // The name of the newest header.
  FieldType type = FieldType::kNone;
  FieldLevel level = FieldLevel::kNone;
  std::string_view unit;  // "W", "mJ", "MiB", "percent", ...; empty where there is none.
  bool profiling =
      false;  // 1000 to 1099 and later profiling ids: needs GPM or the profiling module.
};

// All fields, ascending by id.
std::span<const Field> Catalogue();

// The field with `id`, or null.
const Field* FindField(uint16_t id);

// The field that any DCGM header since 3.0 calls `name` (case-sensitive), or that dcgm-exporter's
// legacy table (dcgm_* 1.x names and removed macros) resolves so; null when there is none.
const Field* FindFieldByName(std::string_view name);

}  // namespace podgpu
