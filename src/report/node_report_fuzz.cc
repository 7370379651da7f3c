// Feeds bytes to the report parser. Invariants: a parsed report is within the limits and is the
// same after writing and parsing it again; an error has one line.
#include <cstdint>
#include <set>
#include <string_view>

#include "report/node_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const podgpu::NodeReportLimits limits{
      .most_gpus = 4, .most_instances = 4, .most_owners = 8, .most_text_bytes = 128};
  const podgpu::StatusOr<podgpu::NodeReport> report = podgpu::ReadNodeReport(bytes, limits);
  if (!report.ok()) {
    PODGPU_CHECK(!report.status().message().empty());
    PODGPU_CHECK(report.status().message().find('\n') == std::string_view::npos);
    return 0;
  }
  PODGPU_CHECK(report->gpus.size() <= limits.most_gpus && !report->node.empty());
  std::set<std::string_view> uuids;
  for (const podgpu::ReportedGpu& gpu : report->gpus) {
    PODGPU_CHECK(uuids.insert(gpu.uuid).second);
    PODGPU_CHECK(gpu.instances.size() <= limits.most_instances);
  }
  const auto again = podgpu::ReadNodeReport(podgpu::WriteNodeReport(*report), limits);
  PODGPU_CHECK(again.ok() && *again == *report);
  return 0;
}
