// What the demo's page must say, and what it says.
//
// The expectation is computed from the scenario alone, through the simulated world and never
// through the page.  The page is read by a small parser of lines that knows nothing of podgpu's
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

  std::string Label(std::string_view name) const;  // Empty when it is not there.
};

// The samples of a page in text format.
std::vector<Sample> ParsePage(std::string_view page);

// "gpu 4: batch/slice-a/main" and the like: what owns what.
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

// What is wrong with the page, one line each; empty when it says what is expected.
std::vector<std::string> Compare(const Expectation& expected, const std::vector<Sample>& page);

// "5 GPUs owned by one pod, 1 shared by 4, 1 in MIG mode, 1 free".
std::string Summary(const Expectation& expected);

// Lines that show a reader what is there: utilisation, power and owners, from the page, at most 100
// columns each.
std::vector<std::string> ShownLines(const Expectation& expected, const std::vector<Sample>& page);

}  // namespace podgpu::demo
