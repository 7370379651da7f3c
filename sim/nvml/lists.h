// The lists that the simulated NVML fills, and the processes that they list.
//
// NVML's convention: when the caller's count is too small, the call returns 7 and the count that it
// needs.  The processes are those of a GPU with all its instances, or of one MIG device.  Part of
// the face: standard library only.  Pure functions of world and time, except that they write the
// caller's memory.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/nvml/call.h"

namespace podgpu::sim {

// Copies the list into the caller's `count` entries at `place`.
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
  if (IsAnswerGarbage(call, on)) {
    std::for_each(place, place + count, [](Entry& entry) { FillNvmlWithGarbage(entry); });
  }
  return abi::NVML_SUCCESS;
}

// Answers with the list that body(target) returns.
template <typename Entry, typename Body>
abi::nvmlReturn_t AnswerNvmlList(const NvmlCall& call, unsigned* count, Entry* place,
                                 const Body& body) {
  const NvmlTarget on = BeginNvmlCall(call);
  if (on.result != abi::NVML_SUCCESS) {
    return on.result;
  }
  return count == nullptr ? abi::NVML_ERROR_INVALID_ARGUMENT
                          : PutNvmlList<Entry>(call, on, body(on), *count, place);
}

// The processes that live on the device now, by ascending pid.
std::vector<ProcessFacts> ProcessesOn(const NvmlTarget& on);

}  // namespace podgpu::sim
