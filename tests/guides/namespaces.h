// The namespaces that a document makes, and whether they get the label that podgpu needs.
//
// podgpu mounts a directory of the node, which Pod Security forbids at the levels baseline and
// restricted. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "tests/guides/guide.h"

namespace podgpu::guides {

// "PATH:LINE: COMMAND" of each command that makes a namespace without the label
// pod-security.kubernetes.io/enforce=privileged, which the next command must set. Helm's
// --create-namespace sets no label, so it is always one of them.
std::vector<std::string> NamespacesWithoutLabel(const Guide& guide);

}  // namespace podgpu::guides
