#include "exporter/legacy_page.h"

#include "view/view.h"

namespace podgpu {

std::shared_ptr<const Snapshot> LegacyPage::Of(const std::shared_ptr<const Snapshot>& main) {
  if (main == nullptr || main->parts().grid == nullptr) {
    return nullptr;
  }
  const SnapshotParts& parts = main->parts();
  if (page_ != nullptr && page_->parts().tick == parts.tick) {
    return page_;
  }
  if (!PlanFits(parts)) {
    MakePlan(parts);
  }
  page_ = std::make_shared<const Snapshot>(
      SnapshotParts{plan_, parts.grid, parts.owners, {}, parts.tick},
      page_ == nullptr ? 0 : page_->text().size());
  return page_;
}

bool LegacyPage::PlanFits(const SnapshotParts& parts) const {
  return plan_ != nullptr && planned_owners_ == parts.owners &&
         planned_epoch_ == parts.grid->topology().epoch && planned_fields_ == parts.grid->fields();
}

void LegacyPage::MakePlan(const SnapshotParts& parts) {
  PlanBuilder builder;
  AddLegacyView({*parts.grid, *parts.owners, {}, {}}, with_pods_, builder);
  plan_ = std::make_shared<const SeriesPlan>(std::move(builder).Build());
  planned_owners_ = parts.owners;
  planned_fields_ = parts.grid->fields();
  planned_epoch_ = parts.grid->topology().epoch;
}

}  // namespace podgpu
