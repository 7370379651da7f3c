#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"
#include "view/view.h"
#include "view/xid.h"

namespace podgpu {
namespace {

constexpr std::string_view kTempCsv = "DCGM_FI_DEV_GPU_TEMP,gauge,\"GPU temperature, Celsius\"\n";
constexpr std::string_view kDriverCsv = "DCGM_FI_DRIVER_VERSION, label, Driver version\n";

// A node with counters and values, and the page that the view writes for them.
class Node {
 public:
  Node(std::shared_ptr<const Topology> topology, const std::string& csv)
      : counters(CountersOf(csv)), grid(std::move(topology), FieldsOf(counters)) {
    owners.by_entity.resize(grid.topology().entities.size());
    options.hostname = "node-a";
    options.hostname_label = "hostname";
  }

  void Set(uint16_t field, size_t column, const Value& value) {
    grid.at(*grid.RowOf(field), EntityId{static_cast<uint16_t>(column)}) = value;
  }
  void SetDriverVersion() {
    for (size_t column = 0; column < grid.topology().entities.size(); ++column) {
      Set(1, column, Value::OfText(grid.InternText("580.95.05")));
    }
  }
  void Own(size_t column, std::string pod_namespace, std::string pod, std::string container,
           std::string replica = "") {
    Owner owner;
    owner.pod_namespace = std::move(pod_namespace);
    owner.pod = std::move(pod);
    owner.container = std::move(container);
    owner.replica = std::move(replica);
    owners.by_entity[column].push_back(std::move(owner));
  }

  SeriesPlan Plan() const {
    PlanBuilder builder;
    AddDcgmView({grid, owners, counters, options}, builder);
    return std::move(builder).Build();
  }
  std::string Page() const {
    std::string page;
    RenderText(Plan(), &grid, {}, page);
    const auto parsed = ParseTextStrictly(page);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    std::string openmetrics;
    RenderOpenMetrics(Plan(), &grid, {}, openmetrics);
    EXPECT_TRUE(ParseOpenMetricsStrictly(openmetrics).ok())
        << ParseOpenMetricsStrictly(openmetrics).status();
    return page;
  }

  std::vector<Counter> counters;
  Grid grid;
  Owners owners;
  ViewOptions options;
};

// Counts how often `part` occurs in `text`.
size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(DcgmView, NamesThePodOfADeviceOnlyWhenItIsTheOnlyOne) {
  struct Case {
    std::vector<std::array<std::string, 4>> owners;  // Namespace, pod, container, replica.
    bool kubernetes;
    size_t pods;
  };
  for (const Case& c :
       std::initializer_list<Case>{{{}, true, 0},
                                   {{{"a", "p", "c", ""}}, true, 1},
                                   {{{"a", "p", "c", ""}}, false, 0},
                                   {{{"a", "p", "c", "0"}, {"a", "p", "c", "1"}}, true, 1},
                                   {{{"a", "p", "c", "0"}, {"b", "p", "c", "1"}}, true, 0},
                                   {{{"a", "p", "c", "0"}, {"a", "q", "c", "1"}}, true, 0},
                                   {{{"a", "p", "c", "0"}, {"a", "p", "d", "1"}}, true, 0}}) {
    Node node(MakeTopology(1, 0), std::string(kTempCsv));
    node.options.kubernetes = c.kubernetes;
    node.Set(150, 0, Value::OfInt64(1));
    for (const auto& owner : c.owners) {
      node.Own(0, owner[0], owner[1], owner[2], owner[3]);
    }
    EXPECT_EQ(Count(node.Page(), "pod=\"p\""), c.pods);
  }
}

TEST(DcgmView, APodLabelDoesNotReplaceALabelOfTheRow) {
  Node node(MakeTopology(1, 0), std::string(kTempCsv) + std::string(kDriverCsv));
  node.options.kubernetes = true;
  node.SetDriverVersion();
  node.Set(150, 0, Value::OfInt64(1));
  node.Own(0, "ml", "train-0", "main");
  for (const char* const name : {"gpu", "UUID", "pci_bus_id", "device", "modelName", "hostname",
                                 "pod", "namespace", "container", "pod_uid", "hpc_job", "err_code",
                                 "vgpu", "dra_pool_name", "GPU_I_ID", "DCGM_FI_DRIVER_VERSION"}) {
    node.owners.by_entity[0][0].labels.emplace_back(name, "of the pod");
  }
  node.owners.by_entity[0][0].labels.emplace_back("team", "nlp");
  const std::string page =
      node.Page();  // The strict parser refuses a label name that occurs twice.
  EXPECT_EQ(Count(page, "of the pod"), 0U) << page;
  EXPECT_EQ(Count(page, "DCGM_FI_DRIVER_VERSION=\"580.95.05\",team=\"nlp\",container="), 1U);
}

TEST(DcgmView, ShowsARowForEachJobOfThePod) {
  Node node(MakeTopology(1, 0), std::string(kTempCsv) + "DCGM_FI_DEV_XID_ERRORS,gauge,\n");
  node.options.kubernetes = true;
  node.Set(150, 0, Value::OfInt64(1));
  node.Set(230, 0, Value::OfInt64(0));
  node.Own(0, "ml", "train-0", "main");
  node.owners.jobs_by_entity = {{"b", "a"}};
  const std::string page = node.Page();
  const size_t first = page.find("container=\"main\",hpc_job=\"b\",namespace=\"ml\",");
  EXPECT_LT(first, page.find("container=\"main\",hpc_job=\"a\",namespace=\"ml\","));
  EXPECT_EQ(Count(page, "err_msg=\"No Error\",hpc_job=\"a\""), 1U);
  EXPECT_EQ(Count(page, "\n"), 4U + 4U);
}

TEST(DcgmView, ShowsThePodUidWhenAskedEvenIfUnknown) {
  Node node(MakeTopology(1, 0), std::string(kTempCsv));
  node.options.kubernetes = true;
  node.options.pod_uid = true;
  node.Set(150, 0, Value::OfInt64(1));
  node.Own(0, "ml", "train-0", "main");
  EXPECT_EQ(Count(node.Page(), ",pod=\"train-0\",pod_uid=\"\"} 1"), 1U);
}

TEST(DcgmView, ShowsFullRowsWithoutOwnersOrHostname) {
  Node node(MakeTopology(2, 0), std::string(kTempCsv));
  node.options.kubernetes = true;
  node.options.hostname = "";
  node.owners.by_entity.clear();  // Before the first reply of the kubelet.
  node.Set(150, 1, Value::OfInt64(41));
  const std::string page = node.Page();
  EXPECT_EQ(Count(page, "\n"), 3U);
  EXPECT_EQ(Count(page, "modelName=\"NVIDIA H100 80GB HBM3\"} 41\n"), 1U);
}

TEST(DcgmView, CallsTheHostnameLabelAsTheReleaseDoesUnlessToldOtherwise) {
  Node node(MakeTopology(1, 0), std::string(kTempCsv));
  node.options.hostname_label = ViewOptions().hostname_label;
  node.Set(150, 0, Value::OfInt64(1));
  EXPECT_EQ(Count(node.Page(), "Hostname=\"node-a\""), 1U);
}

TEST(DcgmView, ReplacesRunsOfBlanksInTheModelName) {
  Topology topology = *MakeTopology(1, 0);
  topology.gpus[0].model = " NVIDIA  H100\t80GB ";
  Node node(std::make_shared<const Topology>(topology), std::string(kTempCsv));
  node.options.replace_blanks_in_model_name = true;
  node.Set(150, 0, Value::OfInt64(1));
  EXPECT_EQ(Count(node.Page(), "modelName=\"NVIDIA-H100-80GB\""), 1U);
}

TEST(DcgmView, OrdersMetricsByFieldIdThenName) {
  Node node(MakeTopology(1, 0),
            "DCGM_FI_DEV_GPU_UTIL,gauge,\ndcgm_gpu_temp,counter,\nDCGM_FI_DEV_GPU_TEMP,gauge,\n"
            "DCGM_FI_DEV_SM_CLOCK,gauge,\nDCGM_EXP_XID_ERRORS_COUNT,gauge,\n"
            "DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,\n");
  node.grid = FilledGrid(node.grid.shared_topology(), node.grid.fields());
  const auto page = ParseTextStrictly(node.Page());
  std::vector<std::string> names;
  for (const ParsedFamily& family : *page) {
    EXPECT_EQ(family.samples.size(), 1U);
    names.push_back(family.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_TEMP",
                                             "dcgm_gpu_temp", "DCGM_FI_DEV_GPU_UTIL"}));
}

TEST(DcgmView, SortsLabelFieldsByNameAndOmitsBlankOnes) {
  Node node(MakeTopology(1, 0),
            "DCGM_FI_DRIVER_VERSION,label,\nDCGM_FI_DEV_SERIAL,label,\nDCGM_FI_DEV_BRAND,label,\n"
            "DCGM_FI_DEV_POWER_MGMT_LIMIT,label,\nDCGM_FI_DEV_MINOR_NUMBER,label,\n"
            "DCGM_FI_DEV_UUID,label,\n" +
                std::string(kTempCsv));
  node.SetDriverVersion();
  node.Set(150, 0, Value::OfInt64(1));
  node.Set(51, 0, Value::OfText(node.grid.InternText("Tesla \"x\"")));
  node.Set(54, 0, Value::OfText(node.grid.InternText("")));  // An empty text is a value.
  node.Set(160, 0, Value::OfDouble(700));
  node.Set(55, 0, Value::OfInt64(3));
  EXPECT_EQ(Count(node.Page(),
                  "hostname=\"node-a\",DCGM_FI_DEV_BRAND=\"Tesla \\\"x\\\"\","
                  "DCGM_FI_DEV_MINOR_NUMBER=\"3\",DCGM_FI_DEV_POWER_MGMT_LIMIT=\"700.000000\","
                  "DCGM_FI_DEV_UUID=\"\",DCGM_FI_DRIVER_VERSION=\"580.95.05\"} 1\n"),
            1U);
}

TEST(DcgmView, AnInstanceWithoutALabelOfItsOwnTakesThatOfItsGpu) {
  Node node(MakeTopology(1, 1), std::string(kTempCsv) + std::string(kDriverCsv) +
                                    "DCGM_FI_DEV_SERIAL,label,\nDCGM_FI_DEV_FB_TOTAL,label,\n");
  node.Set(150, 1, Value::OfInt64(1));
  node.Set(1, 0, Value::OfText(node.grid.InternText("580")));
  node.Set(53, 0, Value::OfText(node.grid.InternText("of the gpu")));
  node.Set(53, 1, Value::OfText(node.grid.InternText("own")));
  node.Set(250, 0, Value::OfInt64(80000));  // Not a fact about the instance.
  const std::string page = node.Page();
  EXPECT_EQ(Count(page, "DCGM_FI_DEV_SERIAL=\"own\",DCGM_FI_DRIVER_VERSION=\"580\"} 1\n"), 1U);
  EXPECT_EQ(Count(page, "FB_TOTAL"), 0U);
}

TEST(DcgmView, IsBuiltAgainWhenALabelChanges) {
  Node node(MakeTopology(1, 0),
            std::string(kTempCsv) + std::string(kDriverCsv) + "DCGM_FI_DEV_XID_ERRORS,gauge,\n");
  node.SetDriverVersion();
  node.Set(150, 0, Value::OfInt64(1));
  const SeriesPlan plan = node.Plan();
  node.Set(150, 0, Value::OfInt64(2));
  EXPECT_TRUE(plan.LabelsAreCurrent(node.grid));
  node.Set(230, 0, Value::OfInt64(13));
  EXPECT_FALSE(plan.LabelsAreCurrent(node.grid));
  EXPECT_TRUE(node.Plan().LabelsAreCurrent(node.grid));
  EXPECT_EQ(Count(node.Page(), "err_code=\"13\",err_msg=\"Graphics Engine Exception\"} 13\n"), 1U);
}

TEST(DcgmView, SortsXidAttributesAmongThoseOfThePod) {
  Node node(MakeTopology(1, 0), "DCGM_FI_DEV_XID_ERRORS,gauge,\n");
  node.options.kubernetes = true;
  node.Set(230, 0, Value::OfInt64(0));
  node.Own(0, "ml", "train-0", "main");
  EXPECT_EQ(Count(node.Page(),
                  "container=\"main\",err_code=\"0\",err_msg=\"No Error\","
                  "namespace=\"ml\",pod=\"train-0\"} 0\n"),
            1U);
}

// One GPU with a link (columns 0 and 3), switches 0 and 2 (1, 2) and a link of switch 2 (4).
std::shared_ptr<const Topology> TopologyWithSwitches() {
  auto topology = std::make_shared<Topology>(*MakeTopology(1, 0));
  topology->parts = {{.kind = PartKind::kNvSwitch, .id = 0},
                     {.kind = PartKind::kNvSwitch, .id = 2},
                     {.kind = PartKind::kNvLink, .id = 4, .gpu = 0},
                     {.kind = PartKind::kNvLink, .id = 4, .parent = 2}};
  return topology;
}

constexpr const char* kPartsCsv =
    "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX, counter, TX\n"
    "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT, gauge, C\n"
    "DCGM_FI_DRIVER_VERSION, label, Driver version\n"
    "DCGM_FI_DEV_NVSWITCH_PHYSICAL_ID, label, Number on the board\n";

// The lines of a page that are not comments.
std::vector<std::string> Rows(const std::string& page) {
  std::vector<std::string> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) {
      rows.push_back(line);
    }
  }
  return rows;
}

TEST(DcgmView, PutsLabelFieldsOfTheHostAndThePartOnRowsOfParts) {
  Node node(TopologyWithSwitches(), kPartsCsv);
  node.options.hostname.clear();
  node.SetDriverVersion();
  node.Set(858, 1, Value::OfInt64(40));
  node.Set(858, 2, Value::OfInt64(42));
  node.Set(863, 2, Value::OfInt64(7));
  node.Set(780, 4, Value::OfInt64(9));
  const std::string temperature = "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT";
  EXPECT_EQ(Rows(node.Page()),
            (std::vector<std::string>{
                temperature + R"({nvswitch="nvswitch0",DCGM_FI_DRIVER_VERSION="580.95.05"} 40)",
                temperature + R"({nvswitch="nvswitch2",DCGM_FI_DEV_NVSWITCH_PHYSICAL_ID="7",)" +
                    R"(DCGM_FI_DRIVER_VERSION="580.95.05"} 42)",
                R"(DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX{nvlink="4",nvswitch="nvswitch2",)"
                R"(DCGM_FI_DRIVER_VERSION="580.95.05"} 9)"}));
}

TEST(DcgmView, PutsThePodOfAGpuOnTheRowsOfItsLinks) {
  Node node(TopologyWithSwitches(), "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX, counter, TX\n");
  node.options.kubernetes = true;
  node.Own(0, "ml", "train-0", "main");
  node.Set(780, 3, Value::OfInt64(5));
  node.Set(780, 4, Value::OfInt64(9));
  const std::vector<std::string> rows = Rows(node.Page());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0],
            R"(DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX{nvlink="5",gpu="0",)"
            R"(gpu_uuid="GPU-11111111-1111-1111-1111-111111111111",pci_bus_id="00000000:1B:00.0",)"
            R"(device="nvidia0",model_name="NVIDIA H100 80GB HBM3",hostname="node-a",)"
            R"(container="main",namespace="ml",pod="train-0"} 5)");
  EXPECT_EQ(rows[1], R"(DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX{nvlink="4",nvswitch="nvswitch2",)"
                     R"(hostname="node-a"} 9)");
}

TEST(DcgmView, NamesTheHostnameLabelOfLinksInLowerCase) {
  Node node(TopologyWithSwitches(), kPartsCsv);
  node.options.hostname_label = "Hostname";
  node.Set(858, 1, Value::OfInt64(40));
  node.Set(780, 4, Value::OfInt64(9));
  const std::vector<std::string> rows = Rows(node.Page());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[0].find(R"(Hostname="node-a")"), std::string::npos);
  EXPECT_NE(rows[1].find(R"(hostname="node-a")"), std::string::npos);
}

TEST(DcgmView, ShowsTheDevicesThatAreSelected) {
  const struct {
    std::string gpus;
    std::vector<size_t> columns;  // GPU 0, its instances, GPU 1, its instances.
  } cases[] = {
      {"f", {1, 2, 4, 5}}, {"g", {0, 3}},     {"i", {1, 2, 4, 5}}, {"g+i", {0, 3, 1, 2, 4, 5}},
      {"g:1", {3}},        {"i:8,0", {5, 1}}, {"g:7", {}}};
  for (const auto& row : cases) {
    Node node(MakeTopology(2, 2), std::string(kTempCsv));
    node.options.selections.gpus = *ParseDeviceSelection(row.gpus);
    for (size_t column = 0; column < 6; ++column) {
      node.Set(150, column, Value::OfInt64(static_cast<int64_t>(column)));
    }
    std::vector<size_t> shown;
    for (const std::string& line : Rows(node.Page())) {
      shown.push_back(static_cast<size_t>(line.back() - '0'));
    }
    EXPECT_EQ(shown, row.columns) << row.gpus;
  }
}

// Of 4.8.3 and 4.8.4: order, numbers, and the compute instance.
TEST(DcgmView, IsLikeTheReleaseOfDcgmExporter) {
  auto topology = std::make_shared<Topology>(*MakeTopology(1, 1));
  topology->instances[0].compute_instances = {{.compute_instance_id = 2, .mig_uuid = ""}};
  Node node(topology,
            "DCGM_FI_DEV_GPU_UTIL,gauge,u\nDCGM_FI_DEV_FB_USED,gauge,m\n"
            "DCGM_FI_DEV_MEM_COPY_UTIL,gauge,c\n");
  node.Set(203, 1, Value::OfInt64(1'500'000));
  node.Set(204, 1, Value::OfDouble(0.25));
  node.Set(252, 1, Value::OfInt64(7));
  const auto page = [&](std::string_view version) {
    node.options.version = FindDcgmExporterVersion(version);
    std::string short_lines;
    const std::string whole = node.Page();
    for (const std::string_view line : Split(whole, '\n')) {
      if (!line.empty() && !line.starts_with('#')) {
        const size_t instance = line.find(",GPU_I_ID");
        short_lines += std::string(line.substr(0, line.find('{'))) +
                       std::string(line.substr(instance, line.find(",hostname") - instance)) +
                       std::string(line.substr(line.rfind(' '))) + "\n";
      }
    }
    return short_lines;
  };
  EXPECT_EQ(page("4.8.2"),
            "DCGM_FI_DEV_GPU_UTIL,GPU_I_ID=\"7\" 1500000\n"
            "DCGM_FI_DEV_MEM_COPY_UTIL,GPU_I_ID=\"7\" 0.250000\n"
            "DCGM_FI_DEV_FB_USED,GPU_I_ID=\"7\" 7\n");
  EXPECT_EQ(page("4.8.3"),
            "DCGM_FI_DEV_FB_USED,GPU_I_ID=\"7\" 7\n"
            "DCGM_FI_DEV_GPU_UTIL,GPU_I_ID=\"7\" 1.5e+06\n"
            "DCGM_FI_DEV_MEM_COPY_UTIL,GPU_I_ID=\"7\" 0.25\n");
  EXPECT_TRUE(page("4.8.4").starts_with("DCGM_FI_DEV_FB_USED,GPU_I_ID=\"7\",GPU_CI_ID=\"2\" 7\n"));
  topology->instances[0].compute_instances.push_back({.compute_instance_id = 3, .mig_uuid = ""});
  EXPECT_EQ(page("4.8.4"), page("4.8.3")) << "the row belongs to both compute instances";
}

TEST(DcgmView, AddsNothingForFieldsThatTheGridLacks) {
  Node node(MakeTopology(1, 0), std::string(kTempCsv));
  node.grid = Grid(node.grid.shared_topology(), {FindField(203)});
  EXPECT_EQ(node.Page(), "");
}

TEST(DcgmView, HasAllDefaultMetricsOnAnyTopology) {
  for (const auto& [gpus, instances] : {std::pair{0, 0}, {1, 0}, {8, 0}, {2, 7}}) {
    Node node(MakeTopology(static_cast<size_t>(gpus), static_cast<size_t>(instances)),
              std::string(DefaultCountersCsv()));
    node.grid = FilledGrid(node.grid.shared_topology(), node.grid.fields());
    const size_t rows = static_cast<size_t>(gpus * std::max(1, instances));
    EXPECT_EQ(Count(node.Page(), "gpu=\""), 25 * rows);
  }
}

TEST(XidText, KnowsEachCodeAndTheCodesAroundTheTable) {
  struct Case {
    int64_t code;
    std::string_view text;
  };
  for (const Case& c : std::initializer_list<Case>{{-1, "Unknown Error"},
                                                   {0, "No Error"},
                                                   {11, "Invalid or corrupted push buffer stream"},
                                                   {43, "GPU stopped processing"},
                                                   {48, "Double Bit ECC Error"},
                                                   {79, "GPU has fallen off the bus"},
                                                   {94, "Contained ECC error"},
                                                   {119, "GSP RPC Timeout"},
                                                   {154, "GPU Recovery Action Changed"},
                                                   {169, "Internal micro-controller halt"},
                                                   {172, "Uncorrectable SRAM Error"},
                                                   {173, "Unknown Error"}}) {
    EXPECT_EQ(XidText(c.code), c.text) << c.code;
  }
}

}  // namespace
}  // namespace podgpu
