// A GPU node of raw vendor values, and the page that dcgm-exporter's view makes of it.
//
// A test sets what the engine tells (an in-process DCGM table) and what the kubelet, the API server
// or a batch system say; Page goes the whole way of the program: discover, watch, read, join, view,
// render.  GPUs have the identities of dcgm-exporter's golden pages.  Reports through GoogleTest;
// one node at a time, one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attribution/owner_facts.h"
#include "base/testing/manual_clock.h"
#include "sample/value.h"
#include "source/testing/fake_dcgm_table.h"
#include "source/testing/fake_nvml_table.h"
#include "view/view.h"

namespace podgpu {

// A line of the kubelet's answer.
Allocation Given(std::string pod_namespace, std::string pod, std::string container,
                 std::string device_id, std::string resource = "nvidia.com/gpu");

class PageNode {
 public:
  explicit PageNode(size_t gpu_count);

  // The page for a counters file; every page must pass two strict parsers.
  std::string Page(const std::string& csv);
  // Its lines that begin with `name`, headers aside.
  std::vector<std::string> Rows(const std::string& csv, const std::string& name);

  FakeDcgm dcgm;
  FakeNvml nvml;
  ManualClock clock;
  ViewOptions options;
  std::vector<Allocation> allocations;
  std::vector<ClaimedDevice> claimed;
  OwnerFacts facts;  // Besides the allocations and claims.
  JoinOptions join;
  PodSlots pod_slots;
  std::vector<Value> pod_values;  // Of the slots.
};

}  // namespace podgpu
