// The JSON of /api/v1/node: what the cluster role reads of this node.
//
// Costs nothing while no client asks: the tick knows nothing of it.  It is made from the snapshot
// that /metrics shows when it is wanted, once per snapshot, compressed once if anybody takes that.
// The bytes depend on the reading alone, so that a reading that is asked for twice has one ETag;
// how old the reading is stands beside them, in the Age header.  One thread, the HTTP thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "exposition/lazy_page.h"
#include "exposition/snapshot.h"
#include "report/node_report.h"
#include "ui/condition.h"
#include "ui/document.h"

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
  std::shared_ptr<Document> document;
  Instant read_at{};  // When the reading began; the epoch of the clock where there is none.
};

class NodePage {
 public:
  // The document of `facts`; null while there is no snapshot or no condition.
  std::shared_ptr<const NodeDocument> Of(const NodePageFacts& facts);

 private:
  // What a document depends on.
  struct Key {
    uint64_t tick = 0;
    std::shared_ptr<const Condition> condition;
    bool owners_known = false;
    bool operator==(const Key&) const = default;
  };

  LazyPage<Key, NodeDocument> document_;
};

// The fields of the use of devices, ascending; those of profiling only if `profiling`.
std::vector<uint16_t> UseFieldIds(bool profiling);

}  // namespace podgpu
