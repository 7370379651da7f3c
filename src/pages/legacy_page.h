// The per-pod page of pod-gpu-metrics-exporter, made from the main page's snapshot when a client
// asks for it.
//
// Costs nothing while no client asks: the tick does not know it.  The plan is made once per epoch
// and set of owners, the bytes once per reading.  Each object is used by one thread: the HTTP
// thread has one, the writer of text files has others.
#pragma once

#include <cstdint>
#include <memory>

#include "exposition/lazy_page.h"
#include "exposition/page_builder.h"
#include "exposition/snapshot.h"

namespace podgpu {

class LegacyPage {
 public:
  // `with_pods`: rows of a GPU carry the labels of its pod.
  explicit LegacyPage(bool with_pods);
  ~LegacyPage() = default;
  LegacyPage(const LegacyPage&) = delete;
  LegacyPage& operator=(const LegacyPage&) = delete;

  // Returns the page of the reading that `main` shows; null before the first reading.
  std::shared_ptr<const Snapshot> Of(const std::shared_ptr<const Snapshot>& main);

 private:
  const SnapshotParts* parts_ = nullptr;  // Null except while the page is made.
  PageBuilder builder_;
  // The page of a tick.  Keeps no grid alive but that of this page.
  LazyPage<uint64_t, Snapshot> page_;
};

}  // namespace podgpu
