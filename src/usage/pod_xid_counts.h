// Counts the XIDs of GPUs for the containers that held them.
//
// The driver's events name a GPU and no process, so an XID counts for each container that holds the
// GPU or an instance of it.  If the holders changed between two readings, it counts for the
// previous holders: an XID often ends the program that caused it.  A row stays while the container
// holds the GPU, and for an hour after its last event.  There are at most 256 rows; a new one
// replaces the one with the oldest event.  Only a new row allocates memory.  Tick thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "base/clock.h"
#include "sample/grid.h"
#include "topology/topology.h"
#include "view/pod_xids.h"

namespace podgpu {

class PodXidCounts {
 public:
  static constexpr size_t kMostRows = 256;
  static constexpr std::chrono::hours kStay{1};

  // Counts the new events of the reading `grid`; `owners` hold its devices now.  A second call with
  // the same reading changes nothing.
  void Take(const Grid& grid, const std::shared_ptr<const Owners>& owners, Instant now);

  // Sorted.
  const std::vector<PodXid>& rows() const { return rows_; }
  // Changes whenever the set of rows changes.
  uint64_t generation() const { return generation_; }
  // Appends the number of each row.
  void AppendTo(std::vector<Value>& slots) const;

 private:
  // The devices and their owners at one reading.
  struct Holdings {
    std::shared_ptr<const Topology> topology;
    std::shared_ptr<const Owners> owners;
  };
  struct Count {
    uint64_t events = 0;
    Instant last{};
  };
  struct Seen {
    std::string uuid;
    int64_t code = 0;
    uint64_t total = 0;
  };

  Seen& At(const std::string& uuid, int64_t code, size_t hint);
  void CountFor(const XidCount& xid, uint64_t events, const Holdings& current, Instant now);
  Count& CountOf(const Gpu& gpu, int64_t code, const Owner& holder);
  void Remove(size_t place);
  void Forget(Instant now);

  std::vector<PodXid> rows_;
  std::vector<Count> counts_;  // One for each row.
  std::vector<Seen> seen_;     // The last total of each GPU and code.
  // Holders of the GPU of the current event; empty between calls.
  std::vector<const Owner*> holders_;
  Holdings last_;  // Holders at the last reading.
  std::optional<Instant> read_at_;
  uint64_t generation_ = 0;
};

}  // namespace podgpu
