// The page of requests and use (/metric), made from the main page's snapshot when a client asks for
// it.
//
// Its plan and its numbers come with the main snapshot; its bytes are made at the first request
// after a tick.  Each listener has its own object and uses it on its own HTTP thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exposition/lazy_page.h"
#include "exposition/snapshot.h"
#include "fields/field_ids.h"

namespace podgpu {

class VcudaPage {
 public:
  // Returns null before the first reading.
  std::shared_ptr<const Snapshot> Of(const std::shared_ptr<const Snapshot>& main) {
    if (main == nullptr || main->parts().other_plan == nullptr) {
      return nullptr;
    }
    const SnapshotParts& parts = main->parts();
    return page_.Of(parts.tick, [&](const Snapshot* last) {
      const auto first = parts.slots.begin() + static_cast<std::ptrdiff_t>(parts.first_other_slot);
      return std::make_shared<const Snapshot>(
          SnapshotParts{
              parts.other_plan, parts.grid, parts.owners, {first, parts.slots.end()}, parts.tick},
          last == nullptr ? 0 : last->text().size());
    });
  }

 private:
  LazyPage<uint64_t, Snapshot> page_;  // The page of a tick.
};

// Ids of the fields that its numbers need.
inline std::vector<uint16_t> VcudaFieldIds(bool /*profiling*/) { return {field_ids::kMemoryTotal}; }

}  // namespace podgpu
