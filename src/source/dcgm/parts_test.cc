// Switches, links, CPUs and cores in the whole source: found, watched and read, each kind
// separately.
#include "source/dcgm/parts.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sample/columns.h"
#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_CPU;
using abi::DCGM_FE_CPU_CORE;
using abi::DCGM_FE_GPU;
using abi::DCGM_FE_LINK;
using abi::DCGM_FE_SWITCH;

constexpr uint16_t kSwitchTemperature = 858;  // Of switches.
constexpr uint16_t kLinkSent = 780;           // Of links, so also read from switches.
constexpr uint16_t kCpuTemperature = 1110;    // Of CPUs.
constexpr PartKinds kAllKinds = {true, true, true, true};

// Two GPUs with links, two switches, two CPUs.
class Fabric : public Node {
 public:
  Fabric() : Node(2) {
    dcgm.links_up = {{0, {0, 3}}, {1, {17}}};
    dcgm.switches = {{4, {1}}, {2, {0, 63}}};
    dcgm.cpus = {{0, {0, 1}}, {1, {64, 1023}}};
  }

  Topology Found(PartKinds kinds = kAllKinds) {
    StatusOr<Topology> found = source().Discover(kinds);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : Topology{};
  }

  // Discovers, watches and reads `ids`.
  std::unique_ptr<Grid> Read(const std::vector<uint16_t>& ids) {
    topology = std::make_shared<const Topology>(Found(PartsFor(Fields(ids))));
    StatusOr<WatchResult> result = source().Watch(*topology, Fields(ids), std::chrono::seconds(1));
    EXPECT_TRUE(result.ok()) << result.status();
    watched = result.ok() ? *result : WatchResult{};
    auto grid = std::make_unique<Grid>(topology, Fields(ids));
    EXPECT_TRUE(source().Read(*grid).ok());
    return grid;
  }

  std::shared_ptr<const Topology> topology;
};

std::string Words(const Part& part) {
  constexpr const char* kLetters[] = {"switch ", "link ", "cpu ", "core "};
  std::string words = kLetters[static_cast<size_t>(part.kind)] + std::to_string(part.id);
  if (part.kind == PartKind::kNvLink || part.kind == PartKind::kCpuCore) {
    words += " of " + (part.gpu ? "gpu " + std::to_string(*part.gpu) : std::to_string(part.parent));
  }
  return words;
}

std::vector<std::string> AllWords(const Topology& topology) {
  std::vector<std::string> words;
  std::ranges::transform(topology.parts, std::back_inserter(words), Words);
  return words;
}

// Returns the values of one row, in all its columns.
std::vector<int64_t> RowOfNumbers(const Grid& grid, uint16_t field) {
  const FieldRow row = *grid.RowOf(field);
  const ColumnRange columns = grid.ColumnsOf(row);
  std::vector<int64_t> numbers;
  for (size_t i = columns.first; i < columns.first + columns.count; ++i) {
    const Value& value = grid.at(row, EntityId{static_cast<uint16_t>(i)});
    numbers.push_back(value.present() ? value.int64() : -1);
  }
  return numbers;
}

TEST(DcgmPart, AreFoundByKindAndOnlyWhenLinksAreUp) {
  Fabric node;
  EXPECT_EQ(AllWords(node.Found()),
            (std::vector<std::string>{"switch 2", "switch 4", "link 0 of gpu 0", "link 3 of gpu 0",
                                      "link 17 of gpu 1", "link 0 of 2", "link 63 of 2",
                                      "link 1 of 4", "cpu 0", "cpu 1", "core 0 of 0", "core 1 of 0",
                                      "core 64 of 1", "core 1023 of 1"}));
  EXPECT_EQ(node.Found().entities.size(), 2U);
}

TEST(DcgmPart, AreNotSearchedWhenNoFieldNeedsThem) {
  Fabric node;
  EXPECT_TRUE(node.Found({}).parts.empty());
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetNvLinkLinkStatus"), 0);
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetCpuHierarchy"), 0);
  EXPECT_EQ(AllWords(node.Found({.switches = true})),
            (std::vector<std::string>{"switch 2", "switch 4"}));
}

TEST(DcgmPart, AreAskedOncePerEngineForCpusAndEachTimeForLinks) {
  Fabric node;
  node.Found();
  node.Found();
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetCpuHierarchy"), 1);
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetNvLinkLinkStatus"), 2);
}

TEST(DcgmPart, AreEmptyWithoutAReasonOnANodeWithoutAny) {
  Node node(1);
  const StatusOr<Topology> topology = node.source().Discover(kAllKinds);
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(topology->parts.empty());
  EXPECT_EQ(topology->parts_absence, "");
}

TEST(DcgmPart, HaveTheLinkIdsOfTheLibrarysGeneration) {
  const Part of_gpu = {.kind = PartKind::kNvLink, .id = 5, .gpu = 0};
  const Part of_switch = {.kind = PartKind::kNvLink, .id = 5, .parent = 3};
  Topology topology;
  topology.gpus.resize(1);
  topology.gpus[0].gpu_id = 2;
  using enum abi::DcgmGeneration;
  EXPECT_EQ(EntityOf(of_gpu, topology, k4).entityId, 0x02000501U);
  EXPECT_EQ(EntityOf(of_gpu, topology, k3).entityId, 0x00020501U);
  EXPECT_EQ(EntityOf(of_switch, topology, k4).entityId, 0x03000503U);
  EXPECT_EQ(EntityOf(of_switch, topology, k3).entityId, 0x00030503U);
}

TEST(DcgmPart, AreRefusedInReleasesThatConfuseLinks) {
  Fabric node;
  node.dcgm.without = {abi::DcgmCapability::kPaths};
  const Topology topology = node.Found({.switches = true, .links = true});
  EXPECT_TRUE(topology.parts.empty());
  EXPECT_EQ(topology.parts_absence,
            "NVLinks and switches: the engine cannot tell the links of two GPUs apart before 4.3. "
            "Install a newer libdcgm");
}

TEST(DcgmPart, AreReadWithTheFieldsOfTheirKind) {
  for (const auto generation : {abi::DcgmGeneration::k4, abi::DcgmGeneration::k3}) {
    Fabric node;
    node.dcgm.generation = generation;
    node.Found();
    const Topology links = node.Found();
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 30);
    node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperatureId, 31);
    node.dcgm.SetInt64(DCGM_FE_SWITCH, 2, kSwitchTemperature, 52);
    node.dcgm.SetInt64(DCGM_FE_SWITCH, 4, kSwitchTemperature, 54);
    const ColumnRange columns = links.ColumnsOf(PartKind::kNvLink);
    for (size_t i = 0; i < columns.count; ++i) {
      const EntityId column{static_cast<uint16_t>(columns.first + i)};
      node.dcgm.SetInt64(DCGM_FE_LINK, EntityOf(links.PartAt(column), links, generation).entityId,
                         kLinkSent, 700 + static_cast<int64_t>(i));
    }
    node.dcgm.SetDouble(DCGM_FE_CPU, 1, kCpuTemperature, 61.5);
    node.dcgm.SetDouble(DCGM_FE_CPU_CORE, 1023, kCpuUtilisation, 0.5);
    const auto grid = node.Read(
        {kTemperatureId, kSwitchTemperature, kLinkSent, kCpuTemperature, kCpuUtilisation});
    EXPECT_EQ(RowOfNumbers(*grid, kTemperatureId), (std::vector<int64_t>{30, 31}));
    EXPECT_EQ(RowOfNumbers(*grid, kSwitchTemperature), (std::vector<int64_t>{52, 54}));
    EXPECT_EQ(RowOfNumbers(*grid, kLinkSent),
              (std::vector<int64_t>{-1, -1, 700, 701, 702, 703, 704, 705}));
    const FieldRow load = *grid->RowOf(kCpuUtilisation);
    EXPECT_EQ(grid->ColumnsOf(load).count, 6U) << "CPUs and cores";
    const size_t last = grid->topology().column_count() - 1;
    EXPECT_EQ(grid->at(load, EntityId{static_cast<uint16_t>(last)}).real(), 0.5);
    EXPECT_EQ(node.watched.reason, "");
  }
}

TEST(DcgmPart, KeepTheirLastAnswerWhenTheQuestionFails) {
  Fabric node;
  const Topology before = node.Found();
  for (const int code : {-3, -8, -14, -46}) {
    node.dcgm.Fail("dcgmGetNvLinkLinkStatus", code);
    const Topology topology = node.Found();
    EXPECT_EQ(topology.parts, before.parts) << code;
    EXPECT_EQ(topology.gpus.size(), 2U);
    EXPECT_TRUE(topology.parts_absence.starts_with(
        "NVLinks and switches: the engine does not report the state of its links (DCGM " +
        std::to_string(code)))
        << topology.parts_absence;
    EXPECT_FALSE(SameStates(before, topology));
    node.dcgm.Heal("dcgmGetNvLinkLinkStatus");
  }
  EXPECT_EQ(node.Found().parts_absence, "");
}

TEST(DcgmPart, AreReportedMissingWhenTheyAreNoLongerListed) {
  Fabric node;
  node.Found();
  node.dcgm.Kill();
  node.dcgm.Change([&] {
    node.dcgm.links_up.clear();
    node.dcgm.switches.clear();
    node.dcgm.cpus.clear();
  });
  EXPECT_FALSE(node.source().Discover(kAllKinds).ok()) << "the connection is gone";
  const Topology topology = node.Found();
  EXPECT_TRUE(topology.parts.empty());
  EXPECT_EQ(topology.parts_absence,
            "NVLinks and switches: the engine lists none, but listed some before; CPUs: the engine "
            "lists none, but listed some before");
}

TEST(DcgmPart, AreNotReportedMissingForGpusInMigMode) {
  Fabric node;
  node.dcgm.switches.clear();
  node.Found();
  node.dcgm.Change([&] {
    node.AddMig();
    node.dcgm.gpus[0].mig_enabled = true;
    node.dcgm.links_up.clear();
  });
  node.Found({.links = true});
  EXPECT_EQ(node.Found({.links = true}).parts_absence, "");
}

TEST(DcgmPart, AreEmptyWhenTheReplyIsGarbage) {
  Fabric node;
  for (const char* symbol : {"dcgmGetNvLinkLinkStatus", "dcgmGetCpuHierarchy"}) {
    FakeFault garbage;
    garbage.spoil = [](std::span<const FakeOut> outs) {
      std::ranges::fill(std::span(static_cast<unsigned char*>(outs[0].bytes), outs[0].size),
                        static_cast<unsigned char>(0xff));
    };
    node.dcgm.Inject(symbol, garbage);
  }
  const Topology topology = node.Found();
  EXPECT_TRUE(topology.parts.empty());
  EXPECT_EQ(topology.parts_absence,
            "NVLinks and switches: the engine counts the links of 4294967295 GPUs and 4294967295 "
            "switches, but DCGM supports 32 and 12; CPUs: the engine counts 4294967295 CPUs, but "
            "DCGM supports at most 8");
  EXPECT_EQ(topology.gpus.size(), 2U);
}

TEST(DcgmPart, RefusedByAnEngineDoNotAffectOtherKinds) {
  Fabric node;
  node.dcgm.unwatchable = {kLinkSent};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 30);
  node.dcgm.SetInt64(DCGM_FE_SWITCH, 2, kSwitchTemperature, 52);
  const auto grid = node.Read({kTemperatureId, kSwitchTemperature, kLinkSent});
  EXPECT_EQ(RowOfNumbers(*grid, kTemperatureId)[0], 30);
  EXPECT_EQ(RowOfNumbers(*grid, kSwitchTemperature)[0], 52);
  EXPECT_EQ(Cell(*grid, kLinkSent, 5).absence(), Absence::kNotPermitted);
  EXPECT_NE(node.watched.reason.find("NvLinks: the engine refuses field 780"), std::string::npos)
      << node.watched.reason;
}

TEST(DcgmPart, ThatComeAndGoDoNotChangeTheWatchesOfGpus) {
  Fabric node;
  node.Read({kTemperatureId, kLinkSent});
  node.dcgm.Change([&] { node.dcgm.links_up[1] = {16, 17}; });
  node.dcgm.ForgetCalls();
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 30);
  const auto grid = node.Read({kTemperatureId, kLinkSent});
  EXPECT_EQ(grid->topology().ColumnsOf(PartKind::kNvLink).count, 7U);
  EXPECT_EQ(node.dcgm.CountOf("dcgmGroupCreate"), 1) << "only the links' group";
  EXPECT_EQ(RowOfNumbers(*grid, kTemperatureId)[0], 30);
}

TEST(DcgmPart, ThatAGroupRefusedAsLostIsTriedAgainAtTheNextDiscover) {
  Fabric node;
  node.dcgm.SetDouble(DCGM_FE_CPU, 1, kCpuTemperature, 61.5);
  node.dcgm.Fail("dcgmGroupAddEntity", abi::DCGM_ST_GPU_IS_LOST);
  EXPECT_EQ(Cell(*node.Read({kCpuTemperature}), kCpuTemperature, 3).absence(),
            Absence::kDeviceLost);
  node.dcgm.Fail("dcgmGroupAddEntity", abi::DCGM_ST_OK);
  EXPECT_TRUE(Cell(*node.Read({kCpuTemperature}), kCpuTemperature, 3).present());
}

TEST(DcgmPart, OfALostGpuAreLostToo) {
  Fabric node;
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  const auto grid = node.Read({kTemperatureId, kLinkSent});
  const ColumnRange links = grid->topology().ColumnsOf(PartKind::kNvLink);
  const auto of_gpu_1 = static_cast<uint16_t>(links.first + 2);
  EXPECT_EQ(Cell(*grid, kLinkSent, of_gpu_1).absence(), Absence::kDeviceLost);
}

TEST(DcgmPart, CanBeWatchedWithoutGpus) {
  Node node(0);
  node.dcgm.cpus = {{0, {0, 1}}};
  const StatusOr<Topology> found = node.source().Discover({.cpus = true, .cores = true});
  ASSERT_TRUE(found.ok());
  const auto topology = std::make_shared<const Topology>(*found);
  const auto fields = Fields({kCpuUtilisation});
  ASSERT_TRUE(node.source().Watch(*topology, fields, std::chrono::seconds(1)).ok());
  node.dcgm.SetDouble(DCGM_FE_CPU_CORE, 1, kCpuUtilisation, 0.25);
  Grid grid(topology, fields);
  ASSERT_TRUE(node.source().Read(grid).ok());
  EXPECT_EQ(grid.at(FieldRow{0}, EntityId{2}).real(), 0.25);
}

}  // namespace
}  // namespace podgpu
