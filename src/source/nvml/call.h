// Reads one value by one NVML call, in DCGM's units.
//
// AskNvml makes the call that a recipe names and converts the result as DCGM does: power in watts
// (limits in whole watts), memory in whole MiB, counters unchanged.  A call that serves several
// fields is made once per reading; NvmlAnswers caches its result.  The result is still raw:
// NvmlDevice turns it into a Value and rejects garbage and blanks.  A symbol that an older driver
// lacks counts as "not supported", unless an older symbol can replace it.  Any thread; one call at
// a time for a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/nvml_table.h"
#include "sample/value.h"
#include "source/nvml/catalogue.h"

namespace podgpu {

// The raw result of a call.
struct NvmlRaw {
  enum class Kind : uint8_t { kNumber, kReal, kText };
  abi::nvmlReturn_t code = abi::NVML_ERROR_NOT_SUPPORTED;
  Kind kind = Kind::kNumber;
  int64_t number = 0;
  double real = 0;
  std::string text = {};
  int64_t stamp_us = 0;  // Since 1970; 0: just now.

  static NvmlRaw Failure(abi::nvmlReturn_t code) { return {.code = code}; }
  static NvmlRaw Number(abi::nvmlReturn_t code, int64_t number) {
    return {.code = code, .number = number};
  }
  static NvmlRaw Real(abi::nvmlReturn_t code, double real) {
    return {.code = code, .kind = Kind::kReal, .real = real};
  }
};

// Cached results that serve several fields; cleared before each reading.
struct NvmlAnswers {
  template <typename T>
  using Answer = std::optional<std::pair<abi::nvmlReturn_t, T>>;
  Answer<abi::nvmlUtilization_t> utilization;
  Answer<abi::nvmlMemory_v2_t> memory;
  Answer<abi::nvmlBAR1Memory_t> bar1;
  Answer<abi::nvmlRowRemapperHistogramValues_t> spare_rows;
};

// A device, as the NVML calls take it.
struct NvmlTarget {
  abi::nvmlDevice_t handle = nullptr;
  uint32_t index = 0;
  bool operator==(const NvmlTarget&) const = default;
};

// A buffer for a list that NVML returns; the first `count` entries are valid.
template <typename Entry>
struct NvmlList {
  std::vector<Entry> entries;
  uint32_t count = 0;
};

// Calls call(entries, count) with a growing buffer until the whole list fits.  The list may grow
// between two calls, and some drivers return a wrong size, so the buffer at least doubles.
template <typename Entry, typename Call>
abi::nvmlReturn_t FillList(NvmlList<Entry>& room, const Call& call) {
  constexpr size_t kFirstRoom = 64;
  constexpr size_t kMostRoom = 1 << 16;  // A count above it is garbage.
  if (room.entries.empty()) {
    room.entries.resize(kFirstRoom);
  }
  while (true) {
    auto count = static_cast<uint32_t>(room.entries.size());
    const abi::nvmlReturn_t code = call(room.entries.data(), count);
    room.count =
        code == abi::NVML_SUCCESS ? std::min(count, static_cast<uint32_t>(room.entries.size())) : 0;
    if (code != abi::NVML_ERROR_INSUFFICIENT_SIZE || room.entries.size() >= kMostRoom) {
      return code;
    }
    room.entries.resize(std::clamp<size_t>(count + kFirstRoom, 2 * room.entries.size(), kMostRoom));
  }
}

// Makes the call of `recipe`. Field values, GPM metrics, link rates and events are read elsewhere.
NvmlRaw AskNvml(const abi::NvmlTable& api, const NvmlTarget& device, const NvmlRecipe& recipe,
                NvmlAnswers& answers);

// Converts a field value to the DCGM unit of `recipe`.
NvmlRaw OfFieldValue(const NvmlRecipe& recipe, const abi::nvmlFieldValue_t& value);

// Reads the used, free or total MiB, or the used ratio, of a device or MIG device.
NvmlRaw AskNvmlMemory(const abi::NvmlTable& api, abi::nvmlDevice_t device, NvmlMemoryPart part,
                      NvmlAnswers& answers);

}  // namespace podgpu
