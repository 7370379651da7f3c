#include "fields/field_collections.h"

#include <algorithm>

namespace podgpu {

using std::chrono::milliseconds;

milliseconds IntervalOf(const FieldCollections& collections, uint16_t field) {
  for (const FieldCollection& collection : collections) {
    if (std::ranges::binary_search(collection.fields, field)) {
      return collection.interval;
    }
  }
  return milliseconds(0);
}

milliseconds ShortestInterval(const FieldCollections& collections, milliseconds interval) {
  for (const FieldCollection& collection : collections) {
    interval = std::min(interval, collection.interval);
  }
  return interval;
}

}  // namespace podgpu
