// The JSON of /api/v1/node, which the cluster role reads from this node.
//
// Costs nothing while no client asks: the tick does not know it.  At a request it is made from the
// snapshot of /metrics, once per snapshot, and compressed once if a client accepts that.  The bytes
// depend on the reading alone, so two requests for one reading get the same ETag; the age of the
// reading is in the Age header.  HTTP thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "exposition/lazy_page.h"
#include "exposition/snapshot.h"
#include "pages/use_copy.h"
#include "report/node_report.h"
#include "ui/condition.h"
#include "ui/document.h"

namespace podgpu {

// The input of a report; borrowed for the call.
struct NodePageFacts {
  const std::shared_ptr<const Snapshot>& snapshot;
  const std::shared_ptr<const Condition>& condition;  // The condition of the same tick.
  const std::string& node;
  const VisibleNamespaces& visible;
  // Copies what pods use; called once per report. Empty: the report does not tell.
  std::function<UseCopy()> copy_use = {};
};

// Makes the report; neither snapshot nor condition is null.
NodeReport MakeNodeReport(const NodePageFacts& facts);

struct NodeDocument {
  std::shared_ptr<Document> document;
  Instant read_at{};  // Start of the reading; zero where there is no reading.
};

class NodePage {
 public:
  // Returns the document of `facts`; null while there is no snapshot or no condition.
  std::shared_ptr<const NodeDocument> Of(const NodePageFacts& facts);

 private:
  // A new document is made when one of these changes.
  struct Key {
    uint64_t tick = 0;
    std::shared_ptr<const Condition> condition;
    bool operator==(const Key&) const = default;
  };

  LazyPage<Key, NodeDocument> document_;
};

// Ids of the fields that tell how devices are used, ascending; with profiling fields only if
// `profiling`.
std::vector<uint16_t> UseFieldIds(bool profiling);

}  // namespace podgpu
