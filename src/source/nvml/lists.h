// NVML's lists of unknown length, and what its codes mean for whoever reads lists of a device.
//
// Pure functions over room that is kept from call to call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi/nvml.h"

namespace podgpu {

// A list, with room for more than there is; `count` is how much of it was told.
template <typename Entry>
struct NvmlRoom {
  std::vector<Entry> entries;
  uint32_t count = 0;
};

// Whether a board or a driver does not have this at all.
inline bool IsLacking(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_NOT_SUPPORTED || code == abi::NVML_ERROR_FUNCTION_NOT_FOUND ||
         code == abi::NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

// Whether asking for more of the device is pointless: it is lost, or the driver has gone.
inline bool MakesPointless(abi::nvmlReturn_t code) {
  return code == abi::NVML_ERROR_GPU_IS_LOST || code == abi::NVML_ERROR_UNINITIALIZED ||
         code == abi::NVML_ERROR_DRIVER_NOT_LOADED;
}

// Calls call(entries, count) with more and more room until all that there is fits.  The list may
// grow between two calls, and some drivers tell a size that is none; so the room at least doubles.
template <typename Entry, typename Call>
abi::nvmlReturn_t FillRoom(NvmlRoom<Entry>& room, const Call& call) {
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

}  // namespace podgpu
