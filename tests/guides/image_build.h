// A line `docker build` of a document, checked against the Dockerfile.
//
// The line is not run here: tools/image/make runs it (./dev image). Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podgpu::guides {

// What is wrong with the words of a `docker build`, one line for each fault; "" if nothing is.
// Without --target a builder makes the last stage, which must be `podgpu`.
std::string WrongBuild(const std::vector<std::string>& words, std::string_view dockerfile);

// The text of the Dockerfile of this tree.
std::string Dockerfile();

}  // namespace podgpu::guides
