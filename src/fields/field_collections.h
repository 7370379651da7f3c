// Fields with a sampling interval of their own: the collections of the YAML configuration.
//
// match_collections.h makes them from the configuration.  The source samples each collection at its
// interval and all other fields at the interval of the exporter; a grid knows them to judge the age
// of its values.  Plain data and pure functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace podgpu {

struct FieldCollection {
  std::string name;
  std::chrono::milliseconds interval{0};
  std::vector<uint16_t> fields;  // Ascending; no field is in two collections.
  bool operator==(const FieldCollection&) const = default;
};
using FieldCollections = std::vector<FieldCollection>;

// Returns the interval of the collection that contains the field; 0: no collection does.
std::chrono::milliseconds IntervalOf(const FieldCollections& collections, uint16_t field);

// Returns the shortest of `interval` and the intervals of `collections`.
std::chrono::milliseconds ShortestInterval(const FieldCollections& collections,
                                           std::chrono::milliseconds interval);

}  // namespace podgpu
