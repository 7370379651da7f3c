#include "view/row_owners.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attribution/join.h"
#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

constexpr uint16_t kTemperature = 150;
constexpr uint16_t kUtilisation = 203;
constexpr uint16_t kUsedMemory = 252;

const std::string kWhole = "GPU-11111111-1111-1111-1111-111111111111";
const std::string kMigDevice = "MIG-aaaaaaaa-0000-0000-0000-000000000007";

// Columns: 0 is a whole GPU, 1 one in MIG mode, 2 and 3 its instances 7 (which has a MIG device)
// and 8.
std::shared_ptr<const Topology> WholeGpuAndInstances() {
  auto topology = std::make_shared<Topology>(*MakeTopology(2, 0));
  topology->gpus[1].mig_enabled = true;
  topology->instances = {{.gpu = 1,
                          .gpu_instance_id = 7,
                          .entity_id = 0,
                          .profile = "1g.10gb",
                          .compute_instances = {{0, 0, kMigDevice}}},
                         {.gpu = 1,
                          .gpu_instance_id = 8,
                          .entity_id = 1,
                          .profile = "1g.10gb",
                          .compute_instances = {}}};
  NumberEntities(*topology);
  return topology;
}

// A node, and the rows of one of its fields.
class SharedNode {
 public:
  explicit SharedNode(std::string_view csv) : counters_(CountersOf(csv)) {
    options.kubernetes = true;
    options.virtual_gpus = true;
    options.hostname = "n";
  }

  void Give(const std::string& pod, const std::string& device_id,
            const std::string& resource = "nvidia.com/gpu", const std::string& container = "c") {
    allocations_.push_back({"ns", pod, container, resource, device_id});
  }

  // Returns the owner labels of each row and the number: `"gpu 0: pod=a 41"`.
  std::vector<std::string> Rows() {
    Grid grid = FilledGrid(topology, FieldsOf(counters_));
    for (size_t row = 0; row < grid.fields().size(); ++row) {
      for (size_t column = 0; column < topology->entities.size(); ++column) {
        grid.at(FieldRow{static_cast<uint16_t>(row)}, EntityId{static_cast<uint16_t>(column)}) =
            Value::OfInt64(41);
      }
    }
    grid.findings.util_ratio_is_percent = util_ratio_is_percent;
    owners = Join(*topology, allocations_, join);
    for (std::vector<Owner>& of_entity : owners.by_entity) {
      for (Owner& owner : of_entity) {
        owner.pod_uid = "uid-" + owner.pod;
        owner.labels = {{"team", "nlp"}};
      }
    }
    PlanBuilder builder;
    AddDcgmView({grid, owners, counters_, options, slots ? &*slots : nullptr}, builder);
    const SeriesPlan plan = std::move(builder).Build();
    unknown = plan.unknown_pod_values();
    std::string page;
    RenderText(plan, &grid, slot_values, page);
    EXPECT_TRUE(ParseTextStrictly(page).ok()) << ParseTextStrictly(page).status() << page;
    return Shortened(page);
  }

  std::shared_ptr<const Topology> topology = WholeGpuAndInstances();
  ViewOptions options;
  JoinOptions join;
  Owners owners;
  std::optional<PodSlots> slots;
  std::vector<Value> slot_values;
  size_t unknown = 0;
  bool util_ratio_is_percent = false;

 private:
  static std::vector<std::string> Shortened(const std::string& page) {
    std::vector<std::string> rows;
    size_t at = 0;
    while (at < page.size()) {
      const size_t end = page.find('\n', at);
      const std::string line = page.substr(at, end - at);
      at = end + 1;
      if (!line.starts_with('#')) {
        const size_t instance = line.find("GPU_I_ID=\"");
        const std::string device = instance == std::string::npos
                                       ? "gpu " + line.substr(line.find("gpu=\"") + 5, 1)
                                       : "instance " + line.substr(instance + 10, 1);
        const std::string host = "Hostname=\"n\"";
        rows.push_back(device + ": " + line.substr(line.find(host) + host.size()));
      }
    }
    return rows;
  }

  std::vector<Counter> counters_;
  std::vector<Allocation> allocations_;
};

constexpr std::string_view kTemperatureCsv = "DCGM_FI_DEV_GPU_TEMP,gauge,t\n";

std::string PodRow(const std::string& device, const std::string& vgpu) {
  return device + R"(: ,container="c",namespace="ns",pod="a")" +
         (vgpu.empty() ? "" : ",vgpu=\"" + vgpu + "\"") + "} 41";
}

// Each form of device id in virtual mode: the row has the pod, and the replica if the id names one.
TEST(VirtualGpus, EveryFormOfIdPutsThePodOnItsRow) {
  struct Case {
    std::string device_id, resource, device, vgpu;
  };
  const Case cases[] = {
      {kWhole, "nvidia.com/gpu", "gpu 0", ""},
      {"MIG-" + kWhole, "nvidia.com/gpu", "gpu 0", ""},
      {kMigDevice, "nvidia.com/mig-1g.10gb", "instance 7", ""},
      {kMigDevice + "::0", "nvidia.com/mig-1g.10gb", "instance 7", "0"},
      {"nvidia1/gi8", "nvidia.com/gpu", "instance 8", ""},
      {"nvidia1/gi8/vgpu0", "nvidia.com/gpu", "instance 8", "0"},
      {"nvidia0/vgpu0", "nvidia.com/gpu", "gpu 0", "0"},
      {"0/vgpu", "nvidia.com/gpu", "gpu 0", ""},
      {"0/vgpu1", "nvidia.com/gpu", "gpu 0", "1"},
      {kWhole + "::", "nvidia.com/gpu", "gpu 0", ""},
      {kWhole + "::3", "nvidia.com/gpu", "gpu 0", "3"},
      {kWhole, "example.com/gpu", "gpu 0", ""},
  };
  for (const Case& row : cases) {
    for (const bool virtual_gpus : {true, false}) {
      SharedNode node(kTemperatureCsv);
      node.options.virtual_gpus = virtual_gpus;
      node.join.extra_resource_names = {"example.com/gpu"};
      node.Give("a", row.device_id, row.resource);
      const std::vector<std::string> rows = node.Rows();
      EXPECT_EQ(rows.size(), 3U) << row.device_id << ": no row is dropped";
      std::string expected = PodRow(row.device, virtual_gpus ? row.vgpu : "");
      if (!virtual_gpus) {
        expected.insert(expected.find(": ,") + 2, R"(,team="nlp")");
      }
      EXPECT_EQ(std::ranges::count(rows, expected), 1) << row.device_id << ' ' << expected;
    }
  }
}

TEST(VirtualGpus, EachReplicaHasACopyInsteadOfTheRowOfTheDevice) {
  SharedNode node(kTemperatureCsv);
  node.Give("b", kWhole + "::10");
  node.Give("a", kWhole + "::2");
  node.Give("a", kWhole + "::0");
  const std::vector<std::string> expected = {
      PodRow("gpu 0", "0"), PodRow("gpu 0", "2"),
      R"(gpu 0: ,container="c",namespace="ns",pod="b",vgpu="10"} 41)", "instance 7: } 41",
      "instance 8: } 41"};
  EXPECT_EQ(node.Rows(), expected);
}

TEST(VirtualGpus, AContainerThatHasADeviceTwiceIsOneRow) {
  SharedNode node(kTemperatureCsv);
  node.Give("a", kWhole, "nvidia.com/gpu");
  node.Give("a", kWhole, "nvidia.com/gpu.shared");
  EXPECT_EQ(node.Rows().size(), 3U);
}

TEST(VirtualGpus, CopiesHaveTheUidIfRequestedButNeverPodLabels) {
  SharedNode node(kTemperatureCsv);
  node.options.pod_uid = true;
  node.options.use_old_namespace = true;
  node.Give("a", kWhole + "::0");
  EXPECT_EQ(
      node.Rows()[0],
      R"(gpu 0: ,container_name="c",pod_name="a",pod_namespace="ns",pod_uid="uid-a",vgpu="0"} 41)");
}

TEST(VirtualGpus, NothingIsCopiedWithoutKubernetes) {
  SharedNode node(kTemperatureCsv);
  node.options.kubernetes = false;
  node.Give("a", kWhole + "::0");
  EXPECT_EQ(node.Rows()[0], "gpu 0: } 41");
}

// There is a row for each pair of pod and job; pods are the outer loop.
TEST(VirtualGpus, EachCopyHasEachJob) {
  SharedNode node(kTemperatureCsv);
  node.Give("a", kWhole + "::0");
  node.Give("b", kWhole + "::1");
  node.Rows();
  node.owners.jobs_by_entity = {{"8", "9"}};
  const Grid grid = FilledGrid(node.topology, {});
  const std::vector<Counter> none;
  const ViewInput input{grid, node.owners, none, node.options};
  const std::vector<RowOwner> rows = RowOwners(input).Of(EntityId{0});
  size_t of_temperature = 0;
  for (const RowOwner& row : rows) {
    of_temperature += row.metrics == RowOwner::Metrics::kNotPerPod ? 1 : 0;
    EXPECT_TRUE(row.attributes.contains("hpc_job"));
  }
  EXPECT_EQ(of_temperature, 4U);
}

// An unknown number is absent; the number of the device never appears with the labels of a pod.
TEST(VirtualGpus, WithoutProcessesTheTwoFieldsHaveOnlyTheRowOfTheDevice) {
  for (const char* const csv :
       {"DCGM_FI_DEV_GPU_UTIL,gauge,u\n", "DCGM_FI_DEV_FB_USED,gauge,f\n"}) {
    SharedNode node(csv);
    node.Give("a", kWhole + "::0");
    node.Give("b", kWhole + "::1");
    node.Give("c", kMigDevice + "::0", "nvidia.com/mig-1g.10gb");
    const std::vector<std::string> rows = node.Rows();
    EXPECT_EQ(rows[0], "gpu 0: } 41");
    EXPECT_EQ(rows.size(), 3U);
    EXPECT_EQ(node.unknown, 3U);
  }
}

TEST(VirtualGpus, EachPodHasItsOwnNumberIfItIsKnown) {
  SharedNode node("DCGM_FI_DEV_FB_USED,gauge,f\n");
  node.options.use_old_namespace = true;
  node.Give("a", kWhole + "::0");
  node.Give("b", kWhole + "::1");
  node.Give("c", kWhole + "::2");
  node.slots = PodSlots{{{kUsedMemory, 0, "ns", "a"}, 1},
                        {{kUtilisation, 0, "ns", "b"}, 0},  // For the other field.
                        {{kUsedMemory, 0, "ns", "c"}, 2}};
  node.slot_values = {Value::OfInt64(7), Value::OfInt64(2'048),
                      Value::OfAbsence(Absence::kNotPermitted)};
  const std::vector<std::string> expected = {
      "gpu 0: } 41",
      std::string(R"(gpu 0: ,container_name="c",pod_name="a",pod_namespace="ns",)") +
          R"(pod_uid="uid-a",vgpu="0"} 2048)",
      "instance 7: } 41", "instance 8: } 41"};
  EXPECT_EQ(node.Rows(), expected);
  EXPECT_EQ(node.unknown, 1U);
}

TEST(VirtualGpus, TheNumberOfAPodIsInTheUnitOfTheName) {
  const struct {
    const char* csv;
    uint16_t old_field;
    const char* end;
    bool is_percent = false;
  } rows[] = {{"DCGM_FI_DEV_FB_USED_BYTES,gauge,f\n", kUsedMemory, "vgpu=\"0\"} 2147483648"},
              {"DCGM_FI_DEV_GPU_UTIL_RATIO,gauge,u\n", kUtilisation, "vgpu=\"0\"} 20.480000"},
              {"DCGM_FI_DEV_GPU_UTIL_RATIO,gauge,u\n", kUtilisation, "vgpu=\"0\"} 2048", true}};
  for (const auto& row : rows) {
    SharedNode node(row.csv);
    node.Give("a", kWhole + "::0");
    node.Give("b", kWhole + "::1");
    node.util_ratio_is_percent = row.is_percent;
    node.slots = PodSlots{{{row.old_field, 0, "ns", "a"}, 0}};
    node.slot_values = {Value::OfInt64(2'048)};
    const std::vector<std::string> found = node.Rows();
    ASSERT_GT(found.size(), 1U);
    EXPECT_TRUE(found[1].ends_with(row.end)) << found[1];
    EXPECT_EQ(node.unknown, 1U);
  }
}

TEST(VirtualGpus, ADeviceWithoutPodsHasItsRowInBothKindsOfField) {
  SharedNode node("DCGM_FI_DEV_GPU_TEMP,gauge,t\nDCGM_FI_DEV_GPU_UTIL,gauge,u\n");
  const std::vector<std::string> rows = node.Rows();
  EXPECT_EQ(std::ranges::count(rows, "gpu 0: } 41"), 2);
  EXPECT_EQ(node.unknown, 0U);
}

Owner ClaimantOf(const std::string& pod, const std::string& profile = "") {
  Owner owner;
  owner.pod_namespace = "ns";
  owner.pod = pod;
  owner.container = "c";
  owner.pod_uid = "uid";
  owner.labels = {{"team", "nlp"}};
  owner.claim = {"claim1",
                 "ml",
                 "gpu.nvidia.com",
                 "node-a",
                 "gpu-0",
                 profile,
                 profile.empty() ? "" : kMigDevice};
  return owner;
}

// The attributes of all rows of column 0 that hold a temperature.
std::vector<Attributes> RowsOf(std::vector<Owner> owners, const ViewOptions& options) {
  const Grid grid = FilledGrid(WholeGpuAndInstances(), {});
  const std::vector<Counter> none;
  Owners all;
  all.by_entity.resize(grid.topology().entities.size());
  all.by_entity[0] = std::move(owners);
  const ViewInput input{grid, all, none, options};
  const RowOwners rows(input);
  EXPECT_EQ(rows.WithPodLabels({}, EntityId{0}), Attributes()) << "no labels of pods with claims";
  std::vector<Attributes> attributes;
  for (const RowOwner& row : rows.Of(EntityId{0})) {
    if (row.metrics != RowOwner::Metrics::kPerPod) {
      attributes.push_back(row.attributes);
    }
  }
  return attributes;
}

TEST(ClaimRows, NameTheClaimOfEachContainer) {
  ViewOptions options;
  options.kubernetes = true;
  options.pod_uid = true;  // Not on rows of claims, as in dcgm-exporter.
  Attributes expected = {{"container", "c"},
                         {"dra_claim_name", "claim1"},
                         {"dra_claim_namespace", "ml"},
                         {"dra_device_name", "gpu-0"},
                         {"dra_driver_name", "gpu.nvidia.com"},
                         {"dra_pool_name", "node-a"},
                         {"namespace", "ns"},
                         {"pod", "a"}};
  EXPECT_EQ(RowsOf({ClaimantOf("a")}, options), std::vector<Attributes>{expected});
  const std::vector<Attributes> shared = RowsOf({ClaimantOf("a"), ClaimantOf("b")}, options);
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0], expected);
  EXPECT_EQ(shared[1].at("pod"), "b");
  expected.emplace("dra_mig_profile", "1g.10gb");
  expected.emplace("dra_mig_device_uuid", kMigDevice);
  EXPECT_EQ(RowsOf({ClaimantOf("a", "1g.10gb")}, options), std::vector<Attributes>{expected});
  options.use_old_namespace = true;
  const Attributes old = RowsOf({ClaimantOf("a")}, options).front();
  EXPECT_EQ(old.at("pod_name") + old.at("pod_namespace") + old.at("container_name"), "ansc");
}

TEST(ClaimRows, DoNotExistWithVirtualGpusOrWithoutKubernetes) {
  ViewOptions options;
  options.kubernetes = true;
  options.virtual_gpus = true;
  EXPECT_EQ(RowsOf({ClaimantOf("a")}, options), std::vector<Attributes>{{}});
  Owner by_plugin = ClaimantOf("b");
  by_plugin.claim = {};
  const std::vector<Attributes> rows = RowsOf({ClaimantOf("a"), by_plugin}, options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("pod"), "b");
  options = {};
  EXPECT_EQ(RowsOf({ClaimantOf("a")}, options), std::vector<Attributes>{{}});
}

TEST(VirtualGpus, TwoFieldsArePerPod) {
  EXPECT_TRUE(IsPerPodField(kUtilisation));
  EXPECT_TRUE(IsPerPodField(kUsedMemory));
  EXPECT_FALSE(IsPerPodField(kTemperature));
}

}  // namespace
}  // namespace podgpu
