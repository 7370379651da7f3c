// The expected content of the demo's page, and the check of the page.
//
// The expectation is computed from the scenario alone, through the simulated world and never
// through the page.  The page is read by a small parser of lines that shares no code with podgpu's
// writer.  Pure functions; any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/world.h"

namespace podgpu::demo {

// One line of a page.
struct Sample {
  std::string family;
  std::vector<std::pair<std::string, std::string>> labels;  // In the page's order.
  std::string value;

  std::string Label(std::string_view name) const;  // Empty when it is missing.
};

// The samples of a page in text format.
std::vector<Sample> ParsePage(std::string_view page);

// The owners of devices, such as "gpu 4: batch/slice-a/main".
using Ownership = std::set<std::string>;

struct Expectation {
  int gpus = 0;
  std::string model;                  // Of the first GPU.
  Ownership allocations;              // Every (device, container).
  std::map<int, std::string> single;  // Whole GPUs with one owner: "namespace/pod/container".
  std::set<int> shared, free, mig;    // Whole GPUs with several owners, none, and in MIG mode.
  size_t most_owners = 0;             // Of a shared GPU.
};

Expectation ExpectationOf(const sim::World& world, sim::TimeUs at);

// The errors of the page, one line each; empty when it is as expected.
std::vector<std::string> Compare(const Expectation& expected, const std::vector<Sample>& page);

// "5 GPUs owned by one pod, 1 shared by 4, 1 in MIG mode, 1 free".
std::string Summary(const Expectation& expected);

// Four lines of the page for a first look: the utilisation of a GPU with one owner and of a free
// one, and the energy of a pod that has a GPU alone, measured, and of one that shares it,
// apportioned.  At most 100 columns each; a line that the page lacks is left out.
std::vector<std::string> ShownLines(const Expectation& expected, const std::vector<Sample>& page);

}  // namespace podgpu::demo
