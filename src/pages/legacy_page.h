// The per-pod page of pod-gpu-metrics-exporter, made from what the main page shows when a client
// asks for it.
//
// Costs nothing while no client asks: the tick knows nothing of it.  The plan is made once per
// epoch and set of owners, the bytes once per reading.  One thread each: the HTTP thread has one,
// the writer of text files its own.
#pragma once

#include <cstdint>
#include <memory>

#include "exposition/lazy_page.h"
#include "exposition/page_builder.h"
#include "exposition/snapshot.h"

namespace podgpu {

class LegacyPage {
 public:
  // `with_pods`: the labels of the pod stand on the rows of its GPU.
  explicit LegacyPage(bool with_pods);
  LegacyPage(const LegacyPage&) = delete;
  LegacyPage& operator=(const LegacyPage&) = delete;

  // The page of the reading that `main` shows; null while there has been none.
  std::shared_ptr<const Snapshot> Of(const std::shared_ptr<const Snapshot>& main);

 private:
  const SnapshotParts* parts_ = nullptr;  // While the page is made.
  PageBuilder builder_;
  LazyPage<uint64_t, Snapshot> page_;  // By tick.  The only grid that is held here is its own.
};

}  // namespace podgpu
