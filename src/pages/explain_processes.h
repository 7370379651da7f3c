// The fourth step of an explanation: which processes run on a device, or why this is not known.
//
// Pure function over a copy of the accounts; called on the HTTP thread.
#pragma once

#include "attribution/visible_namespaces.h"
#include "pages/use_copy.h"
#include "topology/topology.h"
#include "ui/condition.h"
#include "ui/explanation.h"

namespace podgpu {

// `condition` may be null, before the first page.  Names of processes of hidden pods are left out.
ExplainedStep ExplainProcesses(const Topology& topology, EntityId entity, const UseCopy& use,
                               const Condition* condition, const VisibleNamespaces& visible);

}  // namespace podgpu
