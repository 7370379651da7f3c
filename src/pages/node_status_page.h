// The status of the node, as a struct for the page `/` and as the JSON of /api/v1/status.
//
// Costs nothing while no client asks.  At a request it is made from the newest snapshot, the
// condition that was published with it, the timeline of the GPUs, and a copy of the accounts of
// processes: once per snapshot for each set of parts, whatever the number of viewers.  HTTP thread
// only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "base/process_usage.h"
#include "base/status.h"
#include "exposition/lazy_page.h"
#include "exposition/snapshot.h"
#include "pages/gpu_timeline.h"
#include "pages/use_copy.h"
#include "process/ledger.h"
#include "report/node_status.h"
#include "ui/condition.h"
#include "ui/document.h"

namespace podgpu {

// The parts of a status that are added on request.
struct StatusParts {
  bool processes = false;
  bool history = false;
  bool operator==(const StatusParts&) const = default;
};

// Parses "processes=1&history=1"; kInvalidArgument with one line for anything else.
StatusOr<StatusParts> ParseStatusQuery(std::string_view query);

// The input of a status; borrowed for the call.
struct NodeStatusFacts {
  const std::shared_ptr<const Snapshot>& snapshot;
  const std::shared_ptr<const Condition>& condition;  // The condition of the same tick.
  const std::string& node;
  std::string_view source = {};
  const VisibleNamespaces& visible;
  const GpuTimeline& timeline;
  const std::function<UseCopy()>& copy_use;  // Called when a new status is made.
  std::chrono::milliseconds interval{};
  std::chrono::milliseconds stale_after{};
  LedgerOptions ledger = {};
  std::optional<double> slowest_scrape_seconds = std::nullopt;
  Instant now{};
  WallTime wall_now{};
};

// Makes a status; neither snapshot nor condition is null.  Leaves out cpu_ratio.
NodeStatus MakeNodeStatus(const NodeStatusFacts& facts, const StatusParts& parts);

class NodeStatusPage {
 public:
  // Both return null while there is no snapshot or no condition.
  std::shared_ptr<const NodeStatus> Of(const NodeStatusFacts& facts, const StatusParts& parts);
  std::shared_ptr<Document> DocumentOf(const NodeStatusFacts& facts, const StatusParts& parts);

 private:
  // A new status is made when one of these changes.
  struct Key {
    uint64_t tick = 0;
    std::shared_ptr<const Condition> condition;
    bool operator==(const Key&) const = default;
  };
  struct StatusDocument {
    std::shared_ptr<Document> document;
  };
  struct Made {
    LazyPage<Key, NodeStatus> status;
    LazyPage<std::shared_ptr<const NodeStatus>, StatusDocument> document;
  };

  // The share of a core since the previous status, absent at the first one.
  std::optional<double> CpuRatio(double cpu_seconds, Instant now);

  std::array<Made, 4> made_;  // One for each combination of parts.
  RecentProcessUsage usage_;
  double cpu_seconds_ = 0;
  std::optional<Instant> cpu_at_;
  std::optional<double> cpu_ratio_;
};

// Ids of the fields that a status shows, ascending; with profiling fields only if `profiling`.
std::vector<uint16_t> StatusFieldIds(bool profiling);

}  // namespace podgpu
