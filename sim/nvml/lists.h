// Lists that the simulated NVML fills, and which processes they are about.
//
// The vendor's pattern: a count that is too small is answered with 7 and the count that it takes.
// Processes are those of a GPU with all its instances, or of one MIG device.  Part of the face:
// standard library only.  Pure functions of world and time, but for the caller's memory.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/nvml/call.h"

namespace podgpu::sim {

// Into the caller's `count` entries at `place`.
template <typename Entry>
abi::nvmlReturn_t PutNvmlList(const NvmlCall& call, const NvmlTarget& on,
                              const std::vector<Entry>& list, unsigned& count, Entry* place) {
  const unsigned capacity = count;
  count = static_cast<unsigned>(list.size());
  if (capacity < count) {
    return abi::NVML_ERROR_INSUFFICIENT_SIZE;
  }
  if (place == nullptr && count > 0) {
    return abi::NVML_ERROR_INVALID_ARGUMENT;
  }
  std::ranges::copy(list, place);
  if (ArrivesSpoilt(call, on)) {
    std::for_each(place, place + count, [](Entry& entry) { SpoilNvml(entry); });
  }
  return abi::NVML_SUCCESS;
}

// Answers the list that body(target) says.
template <typename Entry, typename Body>
abi::nvmlReturn_t TellNvmlList(const NvmlCall& call, unsigned* count, Entry* place,
                               const Body& body) {
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != abi::NVML_SUCCESS) {
    return on.result;
  }
  return count == nullptr ? abi::NVML_ERROR_INVALID_ARGUMENT
                          : PutNvmlList<Entry>(call, on, body(on), *count, place);
}

// Who lives on the device now, pid ascending.
std::vector<ProcessFacts> ProcessesOn(const NvmlTarget& on);

}  // namespace podgpu::sim
