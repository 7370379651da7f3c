// What can be measured: one row per DCGM field id, known at compile time.
//
// The catalogue is data (catalogue_table.inc): every field of DCGM 3.0 to 4.6.1 by number, with the
// name that the newest header gives it and all earlier names, its value type, the entity level it
// belongs to and its unit.  Sources ask by id, the user's counters file by name.  Needs the
// standard library only, so that the simulator's faces can link it.  Immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace podgpu {

// kNone: not known before the library is asked (ids 0, 1611 and 1612).
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

// DCGM's scope of a field: one value for the host, or one for each entity.
enum class FieldScope : uint8_t { kGlobal, kEntity };

struct Field {
  uint16_t id = 0;
  FieldType type = FieldType::kNone;
  FieldLevel level = FieldLevel::kNone;
  bool profiling = false;       // Needs GPM or the profiling module.
  uint16_t nvml_field_id = 0;   // The NVML field value that DCGM reads; 0 where there is none.
  std::string_view name;        // The name of the newest header.
  std::string_view unit;        // "W", "mJ", "MiB", "percent", ...; empty where there is none.
  std::string_view tag;         // DCGM's short name, "gpu_temp"; empty where the vendor has none.
  std::string_view since;       // First release with this id; "3.0.4": that one or an earlier one.
  std::string_view name_since;  // First release with `name`.
  std::array<std::string_view, 3> other_names;  // Earlier names, newest first; the rest empty.

  constexpr FieldScope scope() const {
    return level == FieldLevel::kGlobal || level == FieldLevel::kNone ? FieldScope::kGlobal
                                                                      : FieldScope::kEntity;
  }
};

// All fields, ascending by id.
std::span<const Field> Catalogue();

// The field with `id`, or null.
const Field* FindField(uint16_t id);

// The field that any DCGM header since 3.0 calls `name` (case-sensitive), or that dcgm-exporter's
// legacy table (dcgm_* 1.x names and removed macros) resolves so; null when there is none.
const Field* FindFieldByName(std::string_view name);

// A name of dcgm-exporter's legacy table that no header since 3.0 has.
struct LegacyName {
  std::string_view name;
  uint16_t id = 0;
};
std::span<const LegacyName> LegacyNames();

}  // namespace podgpu
