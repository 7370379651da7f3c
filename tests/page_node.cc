#include "tests/page_node.h"

#include <chrono>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"
#include "exposition/text.h"
#include "sample/columns.h"
#include "source/dcgm/source.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"
#include "view/finding_slots.h"

namespace podgpu {

Allocation Given(std::string pod_namespace, std::string pod, std::string container,
                 std::string device_id, std::string resource) {
  return {std::move(pod_namespace), std::move(pod), std::move(container), std::move(resource),
          std::move(device_id)};
}

PageNode::PageNode(size_t gpu_count) {
  dcgm.driver_version = "580.95.05";
  dcgm.profiling_fields = {1001};
  options.hostname = "node-a";
  options.hostname_label = "hostname";
  const auto topology = MakeTopology(gpu_count, 0);
  for (const Gpu& gpu : topology->gpus) {
    dcgm.gpus.push_back({.gpu_id = gpu.gpu_id,
                         .uuid = gpu.uuid,
                         .pci_bus_id = gpu.pci_bus_id,
                         .model = gpu.model,
                         .serial = "",
                         .vbios_version = ""});
    nvml.gpus.push_back({gpu.uuid, gpu.gpu_id, {}});
    dcgm.SetString(abi::DCGM_FE_GPU, gpu.gpu_id, 1, dcgm.driver_version);
  }
}

std::string PageNode::Page(const std::string& csv) {
  const std::vector<Counter> counters = CountersOf(csv);
  DcgmSource source(dcgm.Library(), {.endpoint = {DcgmEndpoint::Kind::kTcp, "host:5555"}},
                    NvmlIdentity([this]() -> StatusOr<abi::NvmlLibrary> { return nvml.Library(); }),
                    clock);
  StatusOr<Topology> topology = source.Discover(PartsFor(FieldsOf(counters)));
  PODGPU_CHECK(topology.ok());
  const auto shared = std::make_shared<const Topology>(*std::move(topology));
  Grid grid(shared, FieldsOf(counters, {112, 230}));
  grid.findings.asked = {std::chrono::seconds(300), std::chrono::seconds(300), true, true};
  PODGPU_CHECK(source.Watch(*shared, grid.fields(), std::chrono::seconds(1)).ok());
  PODGPU_CHECK(source.Read(grid).ok());
  facts.pods =
      std::make_shared<const PodAllocations>(PodAllocations{"v1", 1, allocations, claimed});
  const Owners owners = MakeOwners(*shared, facts, join);
  PlanBuilder builder;
  std::vector<Value> slots = pod_values;
  AddDcgmView({grid, owners, counters, options, &pod_slots, static_cast<uint32_t>(slots.size())},
              builder);
  AppendFindings(grid.findings, false, slots);
  const SeriesPlan plan = std::move(builder).Build();
  std::string text;
  std::string openmetrics;
  RenderText(plan, &grid, slots, text);
  RenderOpenMetrics(plan, &grid, slots, openmetrics);
  EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
  EXPECT_TRUE(ParseOpenMetricsStrictly(openmetrics).ok())
      << ParseOpenMetricsStrictly(openmetrics).status();
  return text;
}

std::vector<std::string> PageNode::Rows(const std::string& csv, const std::string& name) {
  const std::string page = Page(csv);
  std::vector<std::string> rows;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with(name)) {
      rows.emplace_back(line);
    }
  }
  return rows;
}

}  // namespace podgpu
