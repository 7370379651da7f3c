#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"
#include "view/finding_slots.h"
#include "view/held_measures.h"
#include "view/native_table.h"
#include "view/view.h"
#include "view/xid.h"

namespace podgpu {
namespace {

class NativeNode {
 public:
  NativeNode(size_t gpus, size_t instances, size_t pods)
      : grid(FilledGrid(MakeTopology(gpus, instances), FieldsOf({}, NativeFieldIds()))),
        owners(OwnersFor(grid.topology(), pods)) {
    options.hostname = "node-a";
  }

  void Set(uint16_t field, size_t column, const Value& value) {
    grid.at(*grid.RowOf(field), EntityId{static_cast<uint16_t>(column)}) = value;
  }

  // No state and no reason is active, and none has ever been.
  void Quiet() {
    for (const Measure& measure : Measures()) {
      if (measure.shown == Shown::kOnceSeen) {
        for (size_t gpu = 0; gpu < grid.topology().gpus.size(); ++gpu) {
          Set(measure.field_id, gpu, Value::OfInt64(measure.word ? -1 : 0));
        }
      }
    }
    held = HeldMeasures();
  }

  std::vector<ParsedFamily> Families() const {
    PlanBuilder builder;
    const ViewInput input{
        .grid = grid, .owners = owners, .counters = {}, .options = options, .held = &held};
    AddCoreView(input, builder);
    AddMeasures(input, builder);
    const SeriesPlan plan = std::move(builder).Build();
    std::string text;
    std::string openmetrics;
    std::vector<Value> slots;
    AppendXids(grid.findings, slots);
    RenderText(plan, &grid, slots, text);
    RenderOpenMetrics(plan, &grid, slots, openmetrics);
    EXPECT_TRUE(ParseOpenMetricsStrictly(openmetrics).ok())
        << ParseOpenMetricsStrictly(openmetrics).status();
    auto parsed = ParseTextStrictly(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return *std::move(parsed);
  }

  // `gpu="0",UUID="..." 1` for each sample of `name`, UUIDs left out.
  std::vector<std::string> Samples(std::string_view name) const {
    std::vector<std::string> samples;
    for (const ParsedFamily& family : Families()) {
      for (const ParsedSample& sample : family.samples) {
        if (sample.name == name) {
          samples.push_back(Written(sample));
        }
      }
    }
    return samples;
  }

  Grid grid;
  Owners owners;
  ViewOptions options;
  HeldMeasures held;

 private:
  static std::string Written(const ParsedSample& sample) {
    std::string written;
    for (const auto& [label, value] : sample.labels) {
      written += label == "UUID" ? "" : label + "=" + value + " ";
    }
    return written + sample.number;
  }
};

using Lines = std::vector<std::string>;

TEST(NativeView, UsesBaseUnits) {
  NativeNode node(1, 0, 0);
  node.Set(203, 0, Value::OfInt64(97));
  node.Set(252, 0, Value::OfInt64(1024));
  node.Set(156, 0, Value::OfInt64(123456));
  node.Set(100, 0, Value::OfInt64(1980));
  node.Set(155, 0, Value::OfDouble(71.5));
  node.Set(1002, 0, Value::OfDouble(0.25));
  EXPECT_EQ(node.Samples("podgpu_gpu_utilization_ratio"), Lines{"gpu=0 scope=device 0.97"});
  EXPECT_EQ(node.Samples("podgpu_gpu_memory_used_bytes"), Lines{"gpu=0 scope=device 1073741824"});
  EXPECT_EQ(node.Samples("podgpu_gpu_energy_joules_total"), Lines{"gpu=0 123.456"});
  EXPECT_EQ(node.Samples("podgpu_gpu_clock_hertz")[0], "gpu=0 domain=sm 1980000000");
  EXPECT_EQ(node.Samples("podgpu_gpu_power_watts"), Lines{"gpu=0 71.5"});
  EXPECT_EQ(node.Samples("podgpu_gpu_sm_active_ratio"), Lines{"gpu=0 scope=device 0.25"});
}

TEST(NativeView, TakesUtilisationOfPartitionedGpusFromGraphicsEngineActivity) {
  NativeNode node(1, 2, 0);
  node.Set(203, 0, Value::OfInt64(50));  // Not valid for a partitioned GPU.
  node.Set(1001, 0, Value::OfDouble(0.5));
  node.Set(1001, 1, Value::OfDouble(0.75));
  node.Set(1001, 2, Value());
  EXPECT_EQ(node.Samples("podgpu_gpu_utilization_ratio"),
            (Lines{"gpu=0 scope=device 0.5", "gpu=0 GPU_I_ID=7 scope=instance 0.75"}));
}

TEST(NativeView, ReportsDeviceWideReadingsOnceOnTheDevice) {
  const NativeNode node(2, 3, 0);
  for (const char* name : {"podgpu_gpu_power_watts", "podgpu_gpu_energy_joules_total",
                           "podgpu_gpu_temperature_celsius", "podgpu_gpu_power_limit_watts"}) {
    EXPECT_EQ(node.Samples(name).size(), 2U) << name;
  }
  EXPECT_EQ(node.Samples("podgpu_gpu_memory_used_bytes").size(), 2U + 6U);
}

TEST(NativeView, AlwaysShowsThePowerCapAndOtherReasonsByTheirBits) {
  NativeNode node(1, 0, 0);
  node.Quiet();
  const auto active = [&](int64_t bits) {
    node.Set(112, 0, Value::OfInt64(bits));
    node.held.Take(node.grid);
    return node.Samples("podgpu_gpu_throttle_active");
  };
  EXPECT_EQ(active(0), Lines{"gpu=0 reason=power_cap 0"});
  EXPECT_EQ(active(1 << 2), Lines{"gpu=0 reason=power_cap 1"});
  EXPECT_EQ(node.held.generation(), 0U) << "a line that always exists does not change the plan";
  const std::pair<uint8_t, std::string> others[] = {
      {0, "gpu_idle"},   {1, "clocks_setting"}, {3, "hw_slowdown"},    {4, "sync_boost"},
      {5, "sw_thermal"}, {6, "hw_thermal"},     {7, "hw_power_brake"}, {8, "display_clocks"}};
  for (const auto& [bit, reason] : others) {
    node.Quiet();
    const Lines lines = active(int64_t{1} << bit);
    EXPECT_EQ(lines.size(), 2U);
    EXPECT_EQ(std::ranges::count(lines, "gpu=0 reason=" + reason + " 1"), 1) << reason;
  }
}

TEST(NativeView, ShowsTheTimeOfSingleReasonsOnceItIsNotZero) {
  const std::pair<uint16_t, std::string> fields[] = {
      {1422, "sw_thermal"}, {1423, "hw_thermal"}, {1424, "hw_power_brake"}};
  for (const auto& [field, reason] : fields) {
    NativeNode node(1, 0, 0);
    node.Quiet();
    const Lines always = node.Samples("podgpu_gpu_throttled_seconds_total");
    EXPECT_EQ(always.size(), 2U) << "power_cap and thermal";
    node.Set(field, 0, Value::OfInt64(5'000'000'000));
    node.held.Take(node.grid);
    Lines expected = always;
    expected.push_back("gpu=0 reason=" + reason + " 5");
    EXPECT_EQ(node.Samples("podgpu_gpu_throttled_seconds_total"), expected);
  }
}

TEST(NativeView, ShowsOtherReasonsOnceTheyHaveBeenActive) {
  NativeNode node(2, 0, 0);
  node.Quiet();
  constexpr int64_t kGpuIdle = 1;
  constexpr int64_t kDisplayClocks = 1 << 8;
  node.Set(112, 0, Value::OfInt64(kGpuIdle | kDisplayClocks));
  node.held.Take(node.grid);
  const uint64_t generation = node.held.generation();
  EXPECT_EQ(generation, 2U);
  const auto lines_of = [&](std::string_view reason) {
    Lines lines;
    for (const std::string& line : node.Samples("podgpu_gpu_throttle_active")) {
      if (line.find(reason) != std::string::npos) {
        lines.push_back(line);
      }
    }
    return lines;
  };
  EXPECT_EQ(lines_of("gpu_idle"), Lines{"gpu=0 reason=gpu_idle 1"});
  EXPECT_EQ(lines_of("display_clocks"), Lines{"gpu=0 reason=display_clocks 1"});
  EXPECT_TRUE(lines_of("sync_boost").empty());
  node.Set(112, 0, Value::OfInt64(0));
  node.Set(112, 1, Value::OfAbsence(Absence::kStale));
  node.held.Take(node.grid);
  EXPECT_EQ(node.held.generation(), generation) << "nothing new";
  EXPECT_EQ(lines_of("gpu_idle"), Lines{"gpu=0 reason=gpu_idle 0"})
      << "its end shows as 0, not as a gap";
  node.Set(244, 1, Value::OfInt64(5'000'000'000));
  node.held.Take(node.grid);
  EXPECT_NE(node.held.generation(), generation) << "the plan is out of date";
  EXPECT_EQ(std::ranges::count(node.Samples("podgpu_gpu_throttled_seconds_total"),
                               "gpu=1 reason=low_utilization 5"),
            1);
}

TEST(NativeView, ShowsTheCurrentAndEarlierRecoveryActions) {
  NativeNode node(1, 0, 0);
  for (const int64_t action : {0, 2, 0}) {
    node.Set(1523, 0, Value::OfInt64(action));
    node.held.Take(node.grid);
  }
  EXPECT_EQ(node.Samples("podgpu_gpu_recovery_action"),
            (Lines{"gpu=0 action=none 1", "gpu=0 action=reboot_node 0"}));
}

TEST(NativeView, AGpuKeepsItsLinesThroughANewEpoch) {
  NativeNode node(2, 0, 0);
  node.Set(1523, 1, Value::OfInt64(1));
  node.held.Take(node.grid);
  Topology topology = node.grid.topology();
  topology.epoch = 9;
  std::ranges::reverse(topology.gpus);
  node.grid = FilledGrid(std::make_shared<const Topology>(topology), node.grid.fields());
  node.Set(1523, 0, Value::OfInt64(0));
  node.Set(1523, 1, Value::OfAbsence(Absence::kDeviceLost));
  EXPECT_EQ(node.Samples("podgpu_gpu_recovery_action"), Lines{"gpu=1 action=reset_gpu 0"});
}

TEST(CoreView, HasFactsAllocationsAndXidsButNoMeasures) {
  NativeNode node(1, 1, 1);
  node.grid.findings.gpus.resize(1);
  node.grid.findings.xids = {{0, 79, 3, 0, 1'700'000'000'500'000}};
  PlanBuilder builder;
  AddCoreView({node.grid, node.owners, {}, node.options}, builder);
  const SeriesPlan plan = std::move(builder).Build();
  std::set<std::string> names;
  for (const SeriesPlan::FamilyLines& family : plan.families()) {
    names.insert(family.family.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"podgpu_gpu_info", "podgpu_gpu_instance_info",
                                          "podgpu_allocation_info", "podgpu_gpu_xid_errors_total",
                                          "podgpu_gpu_xid_last_timestamp_seconds"}));
  EXPECT_EQ(CoreFieldIds(), (std::vector<uint16_t>{112, 230, 395, 396}))
      << "the last XID, and what makes a GPU degraded";
}

TEST(NativeView, MeasuresHaveTheSameLabelsWithAndWithoutAnOwner) {
  const auto hot = [](const NativeNode& node) {
    std::set<std::string> names;
    for (const ParsedFamily& family : node.Families()) {
      for (const ParsedSample& sample : family.samples) {
        if (family.name != "podgpu_allocation_info") {
          std::string labels;
          for (const auto& [label, value] : sample.labels) {
            labels += label + "=" + value + ",";
          }
          names.insert(sample.name + labels);
        }
      }
    }
    return names;
  };
  EXPECT_EQ(hot(NativeNode(2, 0, 0)), hot(NativeNode(2, 0, 5)));
}

TEST(NativeView, PutsAtMostSixLabelsOnAMeasure) {
  const std::set<std::string> allowed = {"gpu",    "UUID",  "GPU_I_ID", "scope", "domain",
                                         "reason", "limit", "kind",     "action"};
  for (const ParsedFamily& family : NativeNode(1, 2, 3).Families()) {
    if (family.name.ends_with("_info")) {
      continue;
    }
    for (const ParsedSample& sample : family.samples) {
      EXPECT_LE(sample.labels.size(), 6U);
      for (const auto& [label, value] : sample.labels) {
        EXPECT_TRUE(allowed.contains(label)) << family.name << " has " << label;
      }
    }
  }
}

TEST(NativeView, ListsEveryOwnerOfASharedDeviceOnce) {
  NativeNode node(1, 0, 3);
  node.owners.by_entity[0][2] = node.owners.by_entity[0][1];
  node.owners.by_entity[0][2].replica = "7";  // A second replica for the same container.
  EXPECT_EQ(node.Samples("podgpu_allocation_info"),
            (Lines{"gpu=0 namespace=ml pod=train-0-0 container=main resource=nvidia.com/gpu "
                   "shared=true 1",
                   "gpu=0 namespace=ml pod=train-0-1 container=main resource=nvidia.com/gpu "
                   "shared=true 1"}));
}

TEST(NativeView, ADeviceThatTwoContainersClaimIsShared) {
  NativeNode node(1, 0, 2);
  for (Owner& owner : node.owners.by_entity[0]) {
    owner.replica.clear();
    owner.resource.clear();
    owner.claim.name = "claim-of-" + owner.pod;
  }
  EXPECT_EQ(node.Samples("podgpu_allocation_info"),
            (Lines{"gpu=0 namespace=ml pod=train-0-0 container=main claim=claim-of-train-0-0 "
                   "shared=true 1",
                   "gpu=0 namespace=ml pod=train-0-1 container=main claim=claim-of-train-0-1 "
                   "shared=true 1"}));
  node.owners.by_entity[0].pop_back();
  EXPECT_EQ(node.Samples("podgpu_allocation_info"),
            Lines{"gpu=0 namespace=ml pod=train-0-0 container=main claim=claim-of-train-0-0 "
                  "shared=false 1"});
}

TEST(NativeView, ReportsAllKnownFactsOfAnAllocation) {
  NativeNode node(1, 1, 1);
  Owner& owner = node.owners.by_entity[1][0];
  owner.pod_uid = "a9c8";
  owner.claim.name = "gpu-claim";
  EXPECT_EQ(node.Samples("podgpu_allocation_info"),
            Lines{"gpu=0 GPU_I_ID=7 namespace=ml pod=train-1-0 pod_uid=a9c8 container=main "
                  "resource=nvidia.com/gpu claim=gpu-claim shared=false 1"});
}

TEST(NativeView, ReportsTheFactsOfGpusAndInstances) {
  Topology topology = *MakeTopology(1, 1);
  topology.gpus[0].serial = "165";
  NativeNode node(1, 1, 0);
  node.grid = FilledGrid(std::make_shared<const Topology>(topology), node.grid.fields());
  EXPECT_EQ(node.Samples("podgpu_gpu_info"),
            Lines{"gpu=0 hostname=node-a model=NVIDIA H100 80GB HBM3 pci_bus_id=00000000:1B:00.0 "
                  "device=nvidia0 serial=165 driver_version=580.95.05 mig=true 1"});
  EXPECT_EQ(node.Samples("podgpu_gpu_instance_info"), Lines{"gpu=0 GPU_I_ID=7 profile=1g.10gb 1"});
}

TEST(NativeView, ShowsFactsButNoMeasuresOfALostGpu) {
  NativeNode node(2, 0, 0);
  for (const Field* field : node.grid.fields()) {
    node.Set(field->id, 1, Value::OfAbsence(Absence::kDeviceLost));
  }
  EXPECT_EQ(node.Samples("podgpu_gpu_info").size(), 2U);
  EXPECT_EQ(node.Samples("podgpu_gpu_power_watts").size(), 1U);
}

TEST(NativeView, ReadsFieldsOfTheCatalogueAscending) {
  const std::vector<uint16_t> ids = NativeFieldIds();
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  for (const uint16_t id : ids) {
    EXPECT_NE(FindField(id), nullptr) << id;
  }
}

TEST(NativeView, LeavesOutFamiliesWhoseFieldIsNotInTheGrid) {
  NativeNode node(1, 0, 0);
  node.grid = FilledGrid(node.grid.shared_topology(), {FindField(155)});
  const std::vector<ParsedFamily> families = node.Families();
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].name, "podgpu_gpu_info");
  EXPECT_EQ(families[1].name, "podgpu_gpu_power_watts");
}

TEST(SlotFamilies, ShowSlotValuesUnderTheirLabels) {
  PlanBuilder builder;
  AddSlotFamilies(
      {{.family = {.name = "podgpu_gpu_state", .help = "x", .type = "gauge", .unit = ""},
        .series = {{.labels = {{"gpu", "0"}, {"state", "ok"}}, .slot = 1},
                   {.labels = {{"gpu", "0"}, {"state", "lost"}}, .slot = 0}}},
       {.family = {.name = "podgpu_ready", .help = "y", .type = "gauge", .unit = ""},
        .series = {{.labels = {}, .slot = 1}}}},
      builder);
  std::string page;
  RenderText(std::move(builder).Build(), nullptr,
             std::vector<Value>{Value::OfInt64(0), Value::OfInt64(1)}, page);
  EXPECT_EQ(page,
            "# HELP podgpu_gpu_state x\n# TYPE podgpu_gpu_state gauge\n"
            "podgpu_gpu_state{gpu=\"0\",state=\"ok\"} 1\n"
            "podgpu_gpu_state{gpu=\"0\",state=\"lost\"} 0\n"
            "# HELP podgpu_ready y\n# TYPE podgpu_ready gauge\npodgpu_ready 1\n");
}

TEST(NativeView, CountsXidsByCodeAndSaysWhenTheLastWas) {
  NativeNode node(2, 0, 0);
  EXPECT_TRUE(node.Samples("podgpu_gpu_xid_errors_total").empty());
  node.grid.findings.gpus.resize(2);
  node.grid.findings.xids = {
      {0, 0, 1, 1, 5}, {0, 79, 3, 0, 1'700'000'000'500'000}, {1, 31, 0, 1, 7}};
  const std::vector<std::string> totals = node.Samples("podgpu_gpu_xid_errors_total");
  EXPECT_EQ(totals,
            (Lines{"gpu=0 xid=79 action=reboot_node 3", "gpu=1 xid=31 action=restart_app 0"}))
      << "code 0 is no error, and an event from before the start is in no total";
  const std::vector<std::string> times = node.Samples("podgpu_gpu_xid_last_timestamp_seconds");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_TRUE(times[0].ends_with(" 1700000000.5")) << times[0];
}

TEST(XidAction, IsThatOfTheCatalogueOrElseInvestigate) {
  const std::vector<std::pair<std::string_view, std::vector<int64_t>>> rows = {
      {"none", {14, 44, 63, 92, 93, 106, 137, 153, 157, 161}},
      {"restart_app", {8, 13, 31, 32, 39, 41, 43, 45, 68, 72, 86, 94, 96, 105, 126, 135, 139}},
      {"reset_gpu", {46, 48, 62, 64, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 158}},
      {"reboot_node", {79, 151}},
      {"investigate",
       {-1, 0, 1, 7, 33, 47, 54, 61, 73, 78, 87, 111, 142, 144, 150, 154, 159, 162, 999}}};
  for (const auto& [action, codes] : rows) {
    for (const int64_t code : codes) {
      EXPECT_EQ(XidAction(code), action) << code;
    }
  }
}

}  // namespace
}  // namespace podgpu
