// Builds an image: the sections as growing arrays, and the pool of texts.
//
// The compiler appends records and takes their indices; Finish() lays them out as image.h says. The
// same records in the same order give the same bytes.  One thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/image.h"
#include "sim/world/image_faults.h"
#include "sim/world/image_pods.h"

namespace podgpu::sim {

struct ImageBuilder {
  std::vector<char> text;
  NodeRecord node{};
  std::vector<GpuRecord> gpus;
  std::vector<LayoutRecord> layouts;
  std::vector<InstanceRecord> instances;
  std::vector<ComputeRecord> computes;
  std::vector<EraRecord> eras;
  std::vector<SegmentRecord> segments;
  std::vector<ChannelRecord> channels;
  std::vector<ChannelEraRecord> channel_eras;
  std::vector<CellRecord> cells;
  std::vector<NodeEraRecord> node_eras;
  std::vector<uint32_t> resident_pods, resident_processes;
  std::vector<PodRecord> pods;
  std::vector<ContainerRecord> containers;
  std::vector<DeviceRecord> devices;
  std::vector<ProcessRecord> processes;
  std::vector<ChurnRecord> churns;
  std::vector<FaultRecord> faults;
  std::vector<TextRef> fault_calls;
  std::vector<uint32_t> fault_fields;

  // The position of `value` in the pool; equal texts share one.
  TextRef Text(std::string_view value);

  // Reserves this many channels and returns the index of the first; they are filled in later.
  uint32_t ReserveChannels(uint32_t count);

  // The present size of the growing sections.
  size_t SizeBytes() const;

  std::vector<std::byte> Finish(uint64_t scenario_hash, uint64_t seed) const;

 private:
  std::map<std::string, TextRef, std::less<>> known_;
};

// The size of an array as an index of this format.
template <typename Record>
uint32_t CountOf(const std::vector<Record>& records) {
  return static_cast<uint32_t>(records.size());
}

}  // namespace podgpu::sim
