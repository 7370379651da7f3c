// How many processes are on each GPU and MIG instance, for whoever asks whether it is in use.
//
// Taken from the driver's lists as they come; a device whose list could not be read, or whose last
// one is too old, has no count.  What is handed out is shared and only made anew when a count has
// changed.  One thread, the tick's.
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

  // By entity of `topology`; `uuids` by device number.  Lists older than `stale_after` count as not
  // read.
  std::shared_ptr<const EntityCounts> Of(const Topology& topology,
                                         const std::vector<std::string>& uuids, Instant now,
                                         Duration stale_after);

 private:
  struct OnDevice {
    std::optional<Instant> listed_at;
    std::vector<std::pair<uint32_t, uint32_t>> pids;  // Instance and pid, each once, sorted.
  };

  static uint32_t CountOn(const OnDevice& device, std::optional<uint32_t> instance);

  std::vector<OnDevice> devices_;  // By device number.
  EntityCounts scratch_;
  std::shared_ptr<const EntityCounts> counts_;
};

}  // namespace podgpu
