// Explains why the rows of a device look as they do, from what the other threads have published.
//
// Follows one label from the driver to the page: is the device there, does the kubelet give it to
// somebody, does the id match, do rows carry the owner, which values are missing and why.  The
// words go to people (ui/explanation.h); alerts go by the self metrics.  Pure; the HTTP thread
// calls it.
#pragma once

#include <chrono>
#include <memory>

#include "attribution/join.h"
#include "attribution/visible_namespaces.h"
#include "exposition/snapshot.h"
#include "facts/thread_facts.h"
#include "pages/explain_query.h"
#include "ui/condition.h"
#include "ui/explanation.h"
#include "view/view.h"

namespace podgpu {

// The newest of everything.  All borrowed for the call; the page and the condition may be null,
// before the first tick.
struct ExplainFacts {
  const Snapshot* page = nullptr;
  const Condition* condition = nullptr;
  const PodFacts& pods;
  Instant now;
  std::chrono::milliseconds stale_after{};
  std::chrono::milliseconds owners_stay_for{};
  const JoinOptions& join;
  const ViewOptions& view;
  const VisibleNamespaces& visible;
};

Explanation Explain(const ExplainFacts& facts, const ExplainQuery& query);

}  // namespace podgpu
