// The commands of a document that no test runs, because they need a cluster or a builder of images:
// kubectl, oc, helm and `docker build`.
//
// What they name must exist: a file, the chart, a port of podgpu, a stage of the Dockerfile. The
// chart's tests give each line of Helm to Helm, tools/image/make runs the builds. Functions of the
// files of this tree; any thread.
#pragma once

#include <string>
#include <vector>

#include "tests/guides/guide.h"

namespace podgpu::guides {

// Whether these words are such a command.
bool IsUnrun(const std::vector<std::string>& words);

// "PATH:LINE: COMMAND: what is wrong" for each such command that is not true.
//
// Each namespace must get the label of Pod Security in the command after the one that makes it:
// podgpu mounts a directory of the node, which the levels baseline and restricted forbid. Helm's
// --create-namespace sets no label.
std::vector<std::string> FaultsOfUnrun(const Guide& guide);

// What is wrong with a `docker build`; "" if nothing is. Without --target a builder makes the last
// stage, which must be `podgpu`.
std::string FaultOfBuild(const std::vector<std::string>& words, const std::string& dockerfile);

}  // namespace podgpu::guides
