// The JSON of /api/v1/node: what the cluster role reads of this node.
//
// Nobody pays for it who does not ask: the tick knows nothing of it.  It is made from the snapshot
// that /metrics shows when it is wanted, once per snapshot, compressed once if anybody takes that.
// The bytes depend on the reading alone, so that a reading that is asked for twice has one ETag;
// how old the reading is stands beside them, in the Age header.  One thread, the HTTP thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "exposition/snapshot.h"
#include "report/node_report.h"
#include "ui/condition.h"

namespace podgpu {

// What a report is made from; borrowed for the call.
struct NodePageFacts {
  const std::shared_ptr<const Snapshot>& snapshot;
  const std::shared_ptr<const Condition>& condition;
  bool owners_known = false;
  const std::string& node;
  const VisibleNamespaces& visible;
};

// The report that those facts make; neither snapshot nor condition is null.
NodeReport MakeNodeReport(const NodePageFacts& facts);

struct NodeDocument {
  std::string json;
  std::string etag;    // As it stands in the header: W/"..."
  Instant read_at{};   // When the reading began; the epoch of the clock where there is none.
  std::string gzip{};  // Empty until it is wanted.
};

class NodePage {
 public:
  // The document of `facts`; null while there is no snapshot or no condition.
  std::shared_ptr<const NodeDocument> Of(const NodePageFacts& facts, bool with_gzip);

 private:
  std::shared_ptr<NodeDocument> document_;
  std::shared_ptr<const Condition> condition_;  // What it was made from, with the snapshot's tick.
  uint64_t tick_ = 0;
  bool owners_known_ = false;
};

// Whether one of the tags in If-None-Match is `etag`, or it is "*" (RFC 9110, 13.1.2).
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

// The fields of the use of devices, ascending; those of profiling only if `profiling`.
std::vector<uint16_t> UseFieldIds(bool profiling);

}  // namespace podgpu
