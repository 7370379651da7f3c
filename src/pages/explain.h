// Explains why the rows of a device look as they do, from the facts that other threads publish.
//
// Follows one label from the driver to the page.  Is the device present?  Has the kubelet allocated
// it to a pod?  Does the id match, and which rows carry the owner?  Which processes run there?
// Which values are missing, and why?
// The text is for people (ui/explanation.h); alerts should use the self metrics.  Pure; called on
// the HTTP thread.
#pragma once

#include <chrono>
#include <memory>

#include "attribution/join.h"
#include "attribution/visible_namespaces.h"
#include "exposition/snapshot.h"
#include "facts/thread_facts.h"
#include "pages/explain_query.h"
#include "pages/gpu_timeline.h"
#include "pages/use_copy.h"
#include "ui/condition.h"
#include "ui/explanation.h"
#include "view/view.h"

namespace podgpu {

// The newest facts.  All borrowed for the call.  The page and the condition are of the same tick,
// and null before the first one.
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
  const UseCopy& use;
  const GpuTimeline& timeline;
  WallTime wall_now{};
};

Explanation Explain(const ExplainFacts& facts, const ExplainQuery& query);

}  // namespace podgpu
