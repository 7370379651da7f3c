// The catalogue of everything that can be measured: one row per DCGM field id, known at compile
// time.
//
// The catalogue is data (catalogue_table.inc): every field of DCGM 3.0 to 4.7 by number, with its
// name in the newest header, all earlier names, value type, entity level and unit. Sources look
// fields up by id, the counters file by name. Needs only the standard library, so the simulator's
// vendor libraries can link it. Immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace podgpu {

// kNone: the vendor has no type for it (id 0).
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
  uint16_t nvml_field_id = 0;   // The NVML field value that DCGM reads; 0: none.
  std::string_view name;        // The name of the newest header.
  std::string_view unit;        // "W", "mJ", "MiB", "percent", ...; empty: no unit.
  std::string_view tag;         // DCGM's short name, "gpu_temp"; empty: the vendor has none.
  std::string_view since;       // First release with this id; "3.0.4" also means an earlier one.
  std::string_view name_since;  // First release with `name`.
  std::array<std::string_view, 3>
      other_names;  // Earlier names, newest first; unused entries are empty.

  // The oldest name, which most lists of metrics use.
  constexpr std::string_view familiar_name() const {
    std::string_view oldest = name;
    for (const std::string_view other : other_names) {
      oldest = other.empty() ? oldest : other;
    }
    return oldest;
  }

  constexpr FieldScope scope() const {
    return level == FieldLevel::kGlobal || level == FieldLevel::kNone ? FieldScope::kGlobal
                                                                      : FieldScope::kEntity;
  }
};

// Returns all fields, ascending by id.
std::span<const Field> Catalogue();

// Returns the field with `id`, or null.
const Field* FindField(uint16_t id);

// Returns the field with the (case-sensitive) `name` in any DCGM header since 3.0 or in
// dcgm-exporter's legacy table (dcgm_* 1.x names and removed macros), or null.
const Field* FindFieldByName(std::string_view name);

// A name in dcgm-exporter's legacy table that no header since 3.0 has.
struct LegacyName {
  std::string_view name;
  uint16_t id = 0;
};
std::span<const LegacyName> LegacyNames();

}  // namespace podgpu
