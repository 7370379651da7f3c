// The list of what has to be compatible: each line of the checklist, each assertion of
// dcgm-exporter's own tests and each rule of its counters file, the test of ours that proves it,
// and how we differ on purpose.
//
// docs/conformance.md is made from it, and a test holds that every test named here is there and
// that every test of the suite is named.  A line without a test has no counterpart here, and says
// why. Constants.
#pragma once

#include <span>
#include <string_view>

namespace podgpu {

struct ConformanceLine {
  std::string_view subject;     // "render", "CSV"
  std::string_view line;        // What is asserted, in short.
  std::string_view test;        // "Suite.Name"; empty: there is nothing to test.
  std::string_view difference;  // Empty: none.
};

// The compatibility checklist, in its order.
std::span<const ConformanceLine> ChecklistLines();
// What dcgm-exporter's own tests assert.
std::span<const ConformanceLine> UpstreamLines();
// The rules of the counters file.
std::span<const ConformanceLine> CountersFileLines();
// What the per-pod page of pod-gpu-metrics-exporter must keep; tests may be those of any room.
std::span<const ConformanceLine> LegacyLines();
// What must hold of my-gpu-exporter's page of processes and their energy; tests likewise.
std::span<const ConformanceLine> ProcessLines();
// What must hold of gpu-manager's page of requests and use; tests likewise.
std::span<const ConformanceLine> VcudaLines();
// Defects of dcgm-exporter that users meet; tests may be those of any room.
std::span<const ConformanceLine> DefectLines();

}  // namespace podgpu
