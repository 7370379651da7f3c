// How many processes run on each GPU and MIG instance; the cluster role uses this to see whether a
// device is in use.
//
// Counts the processes of the driver's lists.  A device whose list could not be read, or whose last
// list is too old, has no count.  The result is shared and replaced only when a count has changed.
// Tick thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exposition/snapshot.h"
#include "process/process_reading.h"
#include "topology/topology.h"

namespace podgpu {

class ProcessCounts {
 public:
  void Take(const ProcessReading& reading);

  // Returns the counts by entity of `topology`; `uuids` by device number.  A list older than
  // `stale_after` gives no count.
  std::shared_ptr<const EntityCounts> Of(const Topology& topology,
                                         const std::vector<std::string>& uuids, Instant now,
                                         Duration stale_after);

 private:
  struct OnDevice {
    std::optional<Instant> listed_at;
    std::vector<std::pair<uint32_t, uint32_t>> pids;  // Instance and pid, each once, sorted.
  };

  static uint32_t CountOn(const OnDevice& device, std::optional<uint32_t> instance);

  std::vector<OnDevice> devices_;  // Devices by number.
  EntityCounts scratch_;
  std::shared_ptr<const EntityCounts> counts_;
};

}  // namespace podgpu
