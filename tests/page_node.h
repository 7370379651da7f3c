// A GPU node of raw vendor values, and the page that dcgm-exporter's view gives for it.
//
// A test sets the values of the engine (an in-process DCGM table) and of the kubelet, the API
// server or a batch system.  Page runs the whole path of the program: discover, watch, read, join,
// view, render.  GPUs have the identities of dcgm-exporter's golden pages.  Reports through
// GoogleTest; one node at a time, one thread.
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

// One entry of the kubelet's answer.
Allocation Given(std::string pod_namespace, std::string pod, std::string container,
                 std::string device_id, std::string resource = "nvidia.com/gpu");

class PageNode {
 public:
  explicit PageNode(size_t gpu_count);

  // The page for a counters file; every page must pass two strict parsers.
  std::string Page(const std::string& csv);
  // The lines of the page that begin with `name`, without headers.
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
  std::vector<Value> pod_values;  // The values of the pods' slots.
};

}  // namespace podgpu
