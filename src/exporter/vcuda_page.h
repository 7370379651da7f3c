// The page of requests and use, made from what the main page shows when it is wanted.
//
// Its plan and its numbers come with the main snapshot; only who asks pays for its bytes, once per
// tick.  One HTTP thread each.
#pragma once

#include <memory>

#include "exposition/snapshot.h"

namespace podgpu {

class VcudaPage {
 public:
  // Null while there has been no reading.
  std::shared_ptr<const Snapshot> Of(const std::shared_ptr<const Snapshot>& main) {
    if (main == nullptr || main->parts().other_plan == nullptr) {
      return nullptr;
    }
    const SnapshotParts& parts = main->parts();
    if (page_ == nullptr || page_->parts().tick != parts.tick) {
      page_ = std::make_shared<const Snapshot>(
          SnapshotParts{parts.other_plan, parts.grid, parts.owners, parts.slots, parts.tick},
          page_ == nullptr ? 0 : page_->text().size());
    }
    return page_;
  }

 private:
  std::shared_ptr<const Snapshot> page_;
};

}  // namespace podgpu
