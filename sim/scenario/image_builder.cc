#include "sim/scenario/image_builder.h"

#include <cstring>
#include <span>

namespace podgpu::sim {

namespace {

// Appends one section, padded to 8 bytes, and adds it to the directory.
template <typename Record>
void Append(std::span<const Record> records, Section section, ImageHeader& header,
            std::vector<std::byte>& image) {
  header.sections.at(static_cast<size_t>(section)) = {image.size(), records.size()};
  const auto bytes = std::as_bytes(records);
  image.insert(image.end(), bytes.begin(), bytes.end());
  image.resize((image.size() + 7) / 8 * 8);
}

template <typename Record>
size_t BytesOf(const std::vector<Record>& records) {
  return records.size() * sizeof(Record);
}

}  // namespace

TextRef ImageBuilder::Text(std::string_view value) {
  const auto found = known_.find(value);
  if (found != known_.end()) {
    return found->second;
  }
  const TextRef ref{CountOf(text), static_cast<uint32_t>(value.size())};
  text.insert(text.end(), value.begin(), value.end());
  known_.emplace(value, ref);
  return ref;
}

uint32_t ImageBuilder::ReserveChannels(uint32_t count) {
  const uint32_t first = CountOf(channels);
  channels.resize(channels.size() + count, ChannelRecord{});
  return first;
}

size_t ImageBuilder::SizeBytes() const {
  return BytesOf(text) + BytesOf(eras) + BytesOf(segments) + BytesOf(channels) +
         BytesOf(channel_eras) + BytesOf(cells) + BytesOf(node_eras) + BytesOf(resident_pods) +
         BytesOf(resident_processes) + BytesOf(devices) + BytesOf(processes);
}

std::vector<std::byte> ImageBuilder::Finish(uint64_t scenario_hash, uint64_t seed) const {
  ImageHeader header{};
  header.magic = kImageMagic;
  header.version = kImageVersion;
  header.section_count = kSectionCount;
  header.scenario_hash = scenario_hash;
  header.seed = seed;
  std::vector<std::byte> image(sizeof header);
  const auto append = [&]<typename Record>(const std::vector<Record>& records, Section section) {
    Append(std::span<const Record>(records), section, header, image);
  };
  append(text, Section::kText);
  Append(std::span<const NodeRecord>(&node, 1), Section::kNode, header, image);
  append(gpus, Section::kGpus);
  append(layouts, Section::kLayouts);
  append(instances, Section::kInstances);
  append(computes, Section::kComputes);
  append(eras, Section::kEras);
  append(segments, Section::kSegments);
  append(channels, Section::kChannels);
  append(channel_eras, Section::kChannelEras);
  append(cells, Section::kCells);
  append(node_eras, Section::kNodeEras);
  append(resident_pods, Section::kResidentPods);
  append(resident_processes, Section::kResidentProcesses);
  append(pods, Section::kPods);
  append(containers, Section::kContainers);
  append(devices, Section::kDevices);
  append(processes, Section::kProcesses);
  append(churns, Section::kChurns);
  append(faults, Section::kFaults);
  append(fault_calls, Section::kFaultCalls);
  append(fault_fields, Section::kFaultFields);
  header.size_bytes = image.size();
  std::memcpy(image.data(), &header, sizeof header);
  return image;
}

}  // namespace podgpu::sim
