// The list of compatibility requirements: each line of the checklist, each assertion of
// dcgm-exporter's own tests and each rule of its counters file, podgpu's test for it, and podgpu's
// intended differences.
//
// docs/conformance.md is generated from it.  A test named here may be of any room; a test checks
// that each of them exists and that every test of this program is named.  A line without a test has
// no counterpart here, and says why.  Constants.
#pragma once

#include <span>
#include <string_view>

namespace podgpu {

struct ConformanceLine {
  std::string_view subject;     // "render", "CSV"
  std::string_view line;        // The assertion, in short.
  std::string_view test;        // "Suite.Name"; empty: there is nothing to test.
  std::string_view difference;  // Empty: none.
};

// The compatibility checklist, in its order.
std::span<const ConformanceLine> ChecklistLines();
// The assertions of dcgm-exporter's own tests.
std::span<const ConformanceLine> UpstreamLines();
// The rules of the counters file.
std::span<const ConformanceLine> CountersFileLines();
// What the per-pod page of pod-gpu-metrics-exporter must keep.
std::span<const ConformanceLine> LegacyLines();
// The rules of my-gpu-exporter's page of processes and their energy.
std::span<const ConformanceLine> ProcessLines();
// The rules of gpu-manager's page of requests and use.
std::span<const ConformanceLine> VcudaLines();
// Defects of dcgm-exporter that users see.
std::span<const ConformanceLine> DefectLines();

}  // namespace podgpu
