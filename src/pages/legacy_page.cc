#include "pages/legacy_page.h"

#include "view/view.h"

namespace podgpu {

LegacyPage::LegacyPage(bool with_pods)
    : builder_({{.name = "legacy",
                 .needs_grid = true,
                 .add_to = [this, with_pods](uint32_t /*first_slot*/, PlanBuilder& plan) {
                   AddLegacyView({*parts_->grid, *parts_->owners, {}, {}}, with_pods, plan);
                 }}}) {}

std::shared_ptr<const Snapshot> LegacyPage::Of(const std::shared_ptr<const Snapshot>& main) {
  if (main == nullptr || main->parts().grid == nullptr) {
    return nullptr;
  }
  const SnapshotParts& parts = main->parts();
  return page_.Of(parts.tick, [&](const Snapshot* last) {
    parts_ = &parts;
    builder_.Refresh(parts.grid.get(), parts.owners);
    parts_ = nullptr;
    return std::make_shared<const Snapshot>(
        SnapshotParts{builder_.plan(), parts.grid, parts.owners, {}, parts.tick},
        last == nullptr ? 0 : last->text().size());
  });
}

}  // namespace podgpu
