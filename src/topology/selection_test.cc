#include "topology/selection.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace podgpu {
namespace {

using Kind = DeviceSelection::Kind;

// GPU 0 is whole (column 0); GPU 1 (column 1) has instances with entity ids 7 (2) and 8 (3); GPU 3
// is column 4.
Topology Node() {
  Topology topology;
  topology.gpus.resize(3);
  topology.gpus[1].gpu_id = 1;
  topology.gpus[2].gpu_id = 3;
  topology.instances = {{1, 5, 7, "3g.40gb", {}}, {1, 1, 8, "1g.10gb", {}}};
  NumberEntities(topology);
  return topology;
}

TEST(Selection, ParsesTheDeviceStringsOfDcgmExporter) {
  const struct {
    std::string text;
    DeviceSelection expected;
  } rows[] = {
      {"f", {Kind::kFlexible, {}, {}}},
      {"g", {Kind::kGpus, {}, {}}},
      {"i", {Kind::kInstances, {}, {}}},
      {"g+i", {Kind::kGpusAndInstances, {}, {}}},
      {"i+g", {Kind::kGpusAndInstances, {}, {}}},
      {"g:0,2-4", {Kind::kGpus, {false, {{0, 0}, {2, 4}}}, {}}},
      {"i:7", {Kind::kInstances, {}, {false, {{7, 7}}}}},
      {"g:+1", {Kind::kGpus, {false, {{1, 1}}}, {}}},
      {"g:2,0", {Kind::kGpus, {false, {{2, 2}, {0, 0}}}, {}}},
      {"g:+1+i:7", {Kind::kGpusAndInstances, {false, {{1, 1}}}, {false, {{7, 7}}}}},
      {"i:7-8+g", {Kind::kGpusAndInstances, {}, {false, {{7, 8}}}}},
  };
  for (const auto& row : rows) {
    const StatusOr<DeviceSelection> selection = ParseDeviceSelection(row.text);
    ASSERT_TRUE(selection.ok()) << row.text << ": " << selection.status();
    EXPECT_EQ(*selection, row.expected) << row.text;
  }
}

TEST(Selection, RefusesInvalidDeviceStrings) {
  const struct {
    std::string text;
    std::string message;
  } rows[] = {
      {"f:0", "no range can be specified with the flex option 'f'"},
      {"f:", "no range can be specified with the flex option 'f'"},
      {"g:0:1", "Invalid ranged device option \"g:0:1\": there can only be one specified range"},
      {"g:1-2-3", "range can only be '<number>-<number>', but found \"1-2-3\""},
      {"g:", R"("" is not a number)"},
      {"g:0,,1", R"("" is not a number)"},
      {"g:x", R"("x" is not a number)"},
      {"g:-1", R"("" is not a number)"},
      {"g:1-", R"("" is not a number)"},
      {"g: 1", R"(" 1" is not a number)"},
      {"g:+", R"("+" is not a number)"},
      {"g:99999999999999999999", R"("99999999999999999999" is too large for a device number)"},
      {"", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"\""},
      {"\xff\n:1",
       "the only valid options preceding ':<range>' are 'g' or 'i', but found \"\uFFFD \""},
      {"x:1", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"x\""},
      {"gi", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"gi\""},
      {"g:3-1", "the range \"3-1\" begins after its end"},
      {"f+g", "the flex option 'f' cannot be part of a sum"},
      {"i:1+f", "the flex option 'f' cannot be part of a sum"},
      {"g+g:1", "a sum must have one part 'g' and one part 'i'"},
      {"+i", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"\""},
      {"g+", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"g+\""},
      {"g+i+g", "the only valid options preceding ':<range>' are 'g' or 'i', but found \"i+g\""},
  };
  for (const auto& row : rows) {
    const StatusOr<DeviceSelection> selection = ParseDeviceSelection(row.text);
    EXPECT_EQ(selection.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_EQ(std::string(selection.status().message()), row.message) << row.text;
  }
}

TEST(Selection, SelectsInRowOrder) {
  const struct {
    std::string text;
    std::vector<uint16_t> columns;
    std::string missing;
  } rows[] = {
      {"f", {0, 2, 3, 4}, ""},
      {"g", {0, 1, 4}, ""},
      {"i", {2, 3}, ""},
      {"g+i", {0, 1, 4, 2, 3}, ""},
      {"g:3,0", {4, 0}, ""},
      {"g:0-1", {0, 1}, ""},
      {"g:0,0-1,1", {0, 1}, ""},
      {"i:8,7", {3, 2}, ""},
      {"i:8+g:3", {4, 3}, ""},
      {"g:0+i", {0, 2, 3}, ""},
      {"g:0+i:9", {}, "Not collecting GPU metrics; couldn't find requested GPU instance ID '9'"},
      {"g:9+i:7", {}, "Not collecting GPU metrics; couldn't find requested GPU ID '9'"},
      {"g:0-3", {}, "Not collecting GPU metrics; couldn't find requested GPU ID '2'"},
      {"g:4294967295",
       {},
       "Not collecting GPU metrics; couldn't find requested GPU ID '4294967295'"},
      {"i:0", {}, "Not collecting GPU metrics; couldn't find requested GPU instance ID '0'"},
  };
  const Topology node = Node();
  for (const auto& row : rows) {
    const StatusOr<DeviceSelection> selection = ParseDeviceSelection(row.text);
    ASSERT_TRUE(selection.ok()) << row.text;
    const SelectedEntities selected = SelectEntities(*selection, node);
    std::vector<uint16_t> columns;
    for (const EntityId entity : selected.entities) {
      columns.push_back(entity.index);
    }
    EXPECT_EQ(columns, row.columns) << row.text;
    EXPECT_EQ(selected.missing, row.missing) << row.text;
  }
}

TEST(Selection, SelectsNothingOnAnEmptyNode) {
  Topology empty;
  for (const char* text : {"f", "g", "i", "g+i"}) {
    EXPECT_TRUE(SelectEntities(*ParseDeviceSelection(text), empty).entities.empty()) << text;
  }
}

// For every list of up to three small ids, exactly the listed devices are selected, in list order.
TEST(Selection, SelectsExactlyTheListedDevices) {
  const Topology node = Node();
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (int c = 0; c < 4; ++c) {
        const std::string text =
            "g:" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c);
        std::vector<uint32_t> expected;
        for (const int id : {a, b, c}) {
          if (std::find(expected.begin(), expected.end(), id) == expected.end()) {
            expected.push_back(static_cast<uint32_t>(id));
          }
        }
        const SelectedEntities selected = SelectEntities(*ParseDeviceSelection(text), node);
        const bool has_missing = a == 2 || b == 2 || c == 2;
        EXPECT_EQ(selected.missing.empty(), !has_missing) << text;
        std::vector<uint32_t> ids;
        for (const EntityId entity : selected.entities) {
          ids.push_back(node.GpuOf(entity).gpu_id);
        }
        EXPECT_EQ(ids, has_missing ? std::vector<uint32_t>() : expected) << text;
      }
    }
  }
}

// The node above, plus switches 0 and 2 (columns 5, 6); links of GPU 0, of GPU 3 and of each switch
// (7 to 10); CPU 0 and 1 (11, 12) with one core each (13, 14).
Topology NodeWithParts() {
  Topology topology = Node();
  topology.parts = {{.kind = PartKind::kNvSwitch, .id = 0},
                    {.kind = PartKind::kNvSwitch, .id = 2},
                    {.kind = PartKind::kNvLink, .id = 0, .gpu = 0},
                    {.kind = PartKind::kNvLink, .id = 0, .gpu = 2},
                    {.kind = PartKind::kNvLink, .id = 9, .parent = 0},
                    {.kind = PartKind::kNvLink, .id = 9, .parent = 2},
                    {.kind = PartKind::kCpu, .id = 0},
                    {.kind = PartKind::kCpu, .id = 1},
                    {.kind = PartKind::kCpuCore, .id = 0, .parent = 0},
                    {.kind = PartKind::kCpuCore, .id = 1, .parent = 1}};
  return topology;
}

std::vector<int> Columns(const std::vector<EntityId>& ids) {
  std::vector<int> columns;
  std::ranges::transform(ids, std::back_inserter(columns),
                         [](EntityId id) { return static_cast<int>(id.index); });
  return columns;
}

TEST(Selection, ShowsPartsLikeDcgmExporter) {
  using List = std::vector<int>;
  const struct {
    std::string gpus, switches, cpus;
    List shown_switches, links, shown_cpus, cores;
  } rows[] = {
      {"f", "f", "f", {5, 6}, {7, 8, 9, 10}, {11, 12}, {13, 14}},
      {"g+i", "g+i", "g+i", {5, 6}, {7, 8, 9, 10}, {11, 12}, {13, 14}},
      {"f", "g", "g", {5, 6}, {7, 8}, {11, 12}, {}},
      {"f", "g:2,0", "g:1", {6, 5}, {7, 8}, {12}, {}},
      {"f", "i", "i", {}, {7, 8}, {}, {}},
      {"f", "i:0", "i:0", {}, {7, 8}, {}, {}},
      {"g", "f", "f", {5, 6}, {7, 8, 9, 10}, {11, 12}, {13, 14}},
      {"g:3", "f", "f", {5, 6}, {8, 9, 10}, {11, 12}, {13, 14}},
      {"i", "f", "f", {5, 6}, {9, 10}, {11, 12}, {13, 14}},
      {"g:0+i", "g:2+i", "g:1+i:1", {6}, {7, 10}, {12}, {14}},
      {"i", "i+g:0", "i:1+g", {5}, {9}, {11, 12}, {14}},
  };
  for (const auto& row : rows) {
    const std::string label = row.gpus + " " + row.switches + " " + row.cpus;
    const DeviceSelections selections = {*ParseDeviceSelection(row.gpus),
                                         *ParseDeviceSelection(row.switches),
                                         *ParseDeviceSelection(row.cpus)};
    const SelectedRows shown = SelectRows(selections, NodeWithParts());
    EXPECT_EQ(Columns(shown.switches), row.shown_switches) << label;
    EXPECT_EQ(Columns(shown.links), row.links) << label;
    EXPECT_EQ(Columns(shown.cpus), row.shown_cpus) << label;
    EXPECT_EQ(Columns(shown.cores), row.cores) << label;
    EXPECT_TRUE(shown.missing.empty()) << label;
  }
}

TEST(Selection, ShowsNoDeviceOfAKindWhenAListedIdIsAbsent) {
  const DeviceSelections selections = {*ParseDeviceSelection("g:0,7"), *ParseDeviceSelection("g:1"),
                                       *ParseDeviceSelection("g:0-2")};
  const SelectedRows shown = SelectRows(selections, NodeWithParts());
  EXPECT_TRUE(shown.devices.empty());
  EXPECT_TRUE(shown.switches.empty());
  EXPECT_TRUE(shown.links.empty());
  EXPECT_TRUE(shown.cpus.empty());
  EXPECT_EQ(shown.missing,
            (std::vector<std::string>{
                "Not collecting GPU metrics; couldn't find requested GPU ID '7'",
                "Not collecting NvSwitch metrics; couldn't find requested NvSwitch ID '1'",
                "Not collecting CPU metrics; couldn't find requested CPU ID '2'"}));
}

}  // namespace
}  // namespace podgpu
