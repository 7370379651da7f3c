// The facts that a demo expects on a page, those that the page has, and the lines shown from it.
//
// A fact is a line such as "gpu 4 is given to serving/chat-a-5d4f/server".  Expected facts come
// from the simulated world alone, never from a page.  Pure functions; any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/world.h"
#include "tests/e2e/metric_page.h"

namespace podgpu::demo {

// The family of the cluster's map.
inline constexpr std::string_view kMap = "pod_and_gpu_map_info";

using Facts = std::set<std::string>;

struct Expectation {
  // GPUs with one owner, with several, without one, and in MIG mode.
  std::vector<int> single, shared, free, mig;
  size_t most_owners = 0;  // Of a shared GPU.
  Facts page;              // What the page of the node says.
  Facts pods;              // "research/llama-train-0": the pods that hold a device.
};

Expectation ExpectationOf(const sim::World& world, sim::TimeUs at);

// What the page of a node says of the owners of its GPUs.
Facts FactsOfNode(const MetricPage& page);
// What the map of a cluster says: "gpu-node-1 has research/llama-train-0".
Facts FactsOfMap(const MetricPage& page);

// A line for each fact that is missing, and for each that is not expected.
std::vector<std::string> Differences(const Facts& expected, const Facts& found);

// "5 GPUs owned by one pod, 1 shared by 4, 1 in MIG mode, 1 free".
std::string Summary(const Expectation& expected);

// Four lines of the page for a first look, with their main labels: the utilisation of a GPU with
// one owner and of a free one, and the energy of a pod that has a GPU alone, measured, and of one
// that shares it, apportioned.  A line that the page lacks is left out.
std::vector<std::string> ShownLines(const Expectation& expected, const MetricPage& page);

}  // namespace podgpu::demo
