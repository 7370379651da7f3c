// The assertions of dcgm-exporter's own tests about device ids, pods, labels and jobs, checked on
// the whole path from the kubelet's answer to the rows of a page.  conformance_lines.cc gives the
// test of each line.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attribution/device_id.h"
#include "base/files.h"
#include "process/cgroup_path.h"
#include "tests/e2e/child.h"
#include "tests/page_node.h"
#include "topology/mig.h"
#include "topology/selection.h"

namespace podgpu {
namespace {

constexpr const char* kUsed = "DCGM_FI_DEV_FB_USED,gauge,u\n";

// Labels and value of each row from the first pod label on; "free" for a row without owner.
std::vector<std::string> OwnersOf(PageNode& node) {
  std::vector<std::string> owners;
  for (const std::string& row : node.Rows(kUsed, "DCGM_FI_DEV_FB_USED{")) {
    const size_t at = row.find(R"(,container=)");
    owners.push_back(at == std::string::npos ? "free" : row.substr(at + 1, row.find('}') - at - 1));
  }
  return owners;
}

constexpr const char* kOwned = R"(container="main",namespace="ml",pod="train-0")";

// GPU 0 whole, GPU 1 with instances 3 and 5, whose MIG UUIDs NVML knows.
class OwnedNode : public PageNode {
 public:
  OwnedNode() : PageNode(2) {
    options.kubernetes = true;
    dcgm.gpus[1].mig_enabled = true;
    dcgm.instances = {{7, 1, 3, "2g.20gb", {{7, 0}}}, {8, 1, 5, "1g.10gb", {{8, 0}}}};
    nvml.gpus[1].mig_devices = {{true, 3, 0, "MIG-aaaaaaaa-0000-0000-0000-000000000003"},
                                {true, 5, 0, "MIG-aaaaaaaa-0000-0000-0000-000000000005"}};
    for (const auto& [group, id] :
         {std::pair(abi::DCGM_FE_GPU, 0U), {abi::DCGM_FE_GPU_I, 7U}, {abi::DCGM_FE_GPU_I, 8U}}) {
      dcgm.SetInt64(group, id, 252, 1);
    }
  }
  std::vector<std::string> OwnersWith(const std::string& device_id,
                                      const std::string& resource = "nvidia.com/gpu") {
    allocations = {Given("ml", "train-0", "main", device_id, resource)};
    return OwnersOf(*this);
  }
  const std::string gpu = dcgm.gpus[0].uuid;
  const std::string parent = dcgm.gpus[1].uuid;
};

using Rows = std::vector<std::string>;
const Rows kFirst = {kOwned, "free", "free"};
const Rows kInstance3 = {"free", kOwned, "free"};
const Rows kInstance5 = {"free", "free", kOwned};
const Rows kNoOwner = {"free", "free", "free"};

TEST(UpstreamOwners, RowKeys) {
  OwnedNode node;
  EXPECT_EQ(node.OwnersWith(node.gpu), kFirst);           // By UUID.
  EXPECT_EQ(node.OwnersWith("nvidia0"), kFirst);          // By the device's name.
  EXPECT_EQ(node.OwnersWith("nvidia1/gi3"), kInstance3);  // By GPU and instance.
  EXPECT_EQ(node.OwnersWith("nvidia1/gi4"), kNoOwner);
}

TEST(UpstreamOwners, DeviceIds) {
  OwnedNode node;
  struct Case {
    std::string id;
    const Rows& owned;
    std::string resource = "nvidia.com/gpu";
  };
  node.join.extra_resource_names = {"example.com/gpu"};
  for (const Case& row : {
           Case{node.gpu, kFirst},
           {"MIG-" + node.gpu.substr(4), kFirst},  // The UUID without its prefix.
           {"MIG-aaaaaaaa-0000-0000-0000-000000000003", kInstance3},
           {"MIG-aaaaaaaa-0000-0000-0000-000000000005", kInstance5, "nvidia.com/mig-1g.10gb"},
           {"MIG-" + node.parent + "/5/0", kInstance5},
           {"nvidia0", kFirst},
           {"nvidia1/gi3", kInstance3},
           {"nvidia0/vgpu", kFirst},
           {"nvidia0/vgpu0", kFirst},
           {"nvidia1/gi3/vgpu0", kInstance3},
           {node.gpu + "::", kFirst},
           {node.gpu + "::3", kFirst},
           {"MIG-aaaaaaaa-0000-0000-0000-000000000003::1", kInstance3},
           {node.gpu, kFirst, "example.com/gpu"},
           {node.gpu, kNoOwner, "example.com/other"},
           {"GPU-of-another-node", kNoOwner},
       }) {
    EXPECT_EQ(node.OwnersWith(row.id, row.resource), row.owned) << row.id << " " << row.resource;
  }
  node.allocations = {};
  EXPECT_EQ(OwnersOf(node), kNoOwner);  // Rows of unused GPUs stay.
}

TEST(UpstreamOwners, DeviceIdsOfVirtualGpus) {
  OwnedNode node;
  node.options.virtual_gpus = true;
  struct Case {
    std::string id, share;
  };
  const std::string pod = kOwned;
  for (const Case& row : {Case{node.gpu, ""},
                          {"nvidia0", ""},
                          {"nvidia0/vgpu", ""},
                          {node.gpu + "::", ""},
                          {"nvidia0/vgpu0", "0"},
                          {node.gpu + "::3", "3"}}) {
    const std::string owned = row.share.empty() ? pod : pod + ",vgpu=\"" + row.share + "\"";
    // Utilisation and memory of a device are beside those of its pods, which have no values here.
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 42);
    node.allocations = {Given("ml", "train-0", "main", row.id)};
    const Rows rows = node.Rows("DCGM_FI_DEV_GPU_TEMP,gauge,t\n", "DCGM_FI_DEV_GPU_TEMP{");
    ASSERT_EQ(rows.size(), 1U) << row.id;
    EXPECT_NE(rows[0].find("," + owned + "} 42"), std::string::npos) << rows[0];
  }
}

TEST(UpstreamOwners, VirtualGpusKeepTheRowsOfUnusedDevices) {
  OwnedNode node;
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 42);
  const std::string both = std::string(kUsed) + "DCGM_FI_DEV_GPU_TEMP,gauge,t\n";
  const Rows ordinary = node.Rows(both, "DCGM_FI_");
  EXPECT_EQ(ordinary.size(), 4U);
  node.options.virtual_gpus = true;
  EXPECT_EQ(node.Rows(both, "DCGM_FI_"), ordinary);
}

// Labels and value of each row from the first pod label on; "device" for the device's own row.
Rows ValuesOf(PageNode& node, const std::string& csv) {
  Rows values;
  for (const std::string& row : node.Rows(csv, "DCGM_FI_")) {
    const size_t at = row.find(",container");
    values.push_back(at == std::string::npos ? "device" + row.substr(row.rfind(' '))
                                             : row.substr(at + 1));
  }
  return values;
}

TEST(UpstreamOwners, ValuesOfPodsFromTheirProcesses) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.options.virtual_gpus = true;
  node.options.hostname = "";
  const std::string gpu = node.dcgm.gpus[0].uuid;
  node.allocations = {Given("ml", "busy", "main", gpu + "::0"),
                      Given("ml", "idle", "main", gpu + "::1"),
                      Given("ml", "new", "main", gpu + "::2")};
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 203, 80);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 252, 30'000);
  node.pod_slots = {{{203, 0, "ml", "busy"}, 0},
                    {{203, 0, "ml", "idle"}, 1},
                    {{252, 0, "ml", "busy"}, 2},
                    {{252, 0, "ml", "idle"}, 3}};
  node.pod_values = {Value::OfInt64(62), Value::OfInt64(0), Value::OfInt64(24'576),
                     Value::OfAbsence(Absence::kNotRead)};
  const auto row = [](const std::string& pod, const std::string& share, const char* value) {
    return R"(container="main",namespace="ml",pod=")" + pod + R"(",pod_uid="",vgpu=")" + share +
           "\"} " + value;
  };
  const std::string util = "DCGM_FI_DEV_GPU_UTIL,gauge,u\n";
  EXPECT_EQ(ValuesOf(node, util),
            Rows({"device 80", row("busy", "0", "62"), row("idle", "1", "0")}))
      << "the device's row stays; a pod without known values has no row";
  EXPECT_EQ(ValuesOf(node, kUsed), Rows({"device 30000", row("busy", "0", "24576")}))
      << "unreadable memory does not affect utilisation, nor the memory of others";
  node.options.use_old_namespace = true;
  EXPECT_EQ(
      ValuesOf(node, kUsed).at(1),
      R"(container_name="main",pod_name="busy",pod_namespace="ml",pod_uid="",vgpu="0"} 24576)");
  node.allocations = {};
  node.options.use_old_namespace = false;
  EXPECT_EQ(ValuesOf(node, util + kUsed), Rows({"device 80", "device 30000"}))
      << "the GPU has no owner";
}

TEST(UpstreamOwners, PodsOfCgroups) {
  const std::string uid = "a9c80282-3f6b-4d5b-84d5-a137a6668011";
  const std::string underscored = "a9c80282_3f6b_4d5b_84d5_a137a6668011";
  const std::string container = "/cri-containerd-" + std::string(64, 'c') + ".scope\n";
  struct Case {
    std::string text, pod;
  };
  for (const Case& row :
       {Case{"11:memory:/kubepods/besteffort/pod" + uid + "/" + std::string(64, 'c') + "\n", uid},
        {"0::/kubepods.slice/kubepods-pod" + underscored + ".slice" + container, uid},
        {"0::/user.slice/user-1000.slice/session-3.scope\n", ""},
        {"0::/kubepods.slice/kubepods-poda9c80282.slice/x.scope\n", ""},
        {"", ""}}) {
    EXPECT_EQ(ParseCgroup(row.text).pod_uid, row.pod) << row.text;
  }
}

TEST(UpstreamOwners, ClaimsOfDevices) {
  OwnedNode node;
  node.join.claims = true;
  node.claimed = {{"ml", "train-0", "main", "ml", "c", "gpu.nvidia.com", "p", "d"}};
  const auto owners_with = [&](std::vector<SliceDevice> devices) {
    ApiObject slice;
    slice.driver = "gpu.nvidia.com";
    slice.pool = "p";
    slice.devices = std::move(devices);
    node.facts.slices = std::make_shared<const ApiObjects>(ApiObjects{{"/s", slice}});
    return OwnersOf(node);
  };
  const std::string claim =
      R"(container="main",dra_claim_name="c",dra_claim_namespace="ml",dra_device_name="d",)"
      R"(dra_driver_name="gpu.nvidia.com")";
  const std::string pod = R"(,dra_pool_name="p",namespace="ml",pod="train-0")";
  EXPECT_EQ(owners_with({{"d", "gpu", node.gpu, "", ""}}), (Rows{claim + pod, "free", "free"}));
  EXPECT_EQ(owners_with({{"d", "gpu", "GPU-44444444-4444-4444-4444-444444444444", "", ""}}),
            kNoOwner);  // The claim has another device now.
  EXPECT_EQ(owners_with({}), kNoOwner);
  // Instance 3 of GPU 1.
  const std::string uuid = "MIG-aaaaaaaa-0000-0000-0000-000000000003";
  const std::string mig = R"(,dra_mig_device_uuid=")" + uuid + R"(",dra_mig_profile="2g.20gb")";
  EXPECT_EQ(owners_with({{"d", "mig", uuid, node.parent, "2g.20gb"}}),
            (Rows{"free", claim + mig + pod, "free"}));
}

TEST(UpstreamOwners, TwoReplicasOfOneGpu) {
  OwnedNode node;
  node.allocations = {Given("ml", "train-0", "main", node.gpu + "::0"),
                      Given("ml", "train-0", "main", node.gpu + "::1")};
  EXPECT_EQ(OwnersOf(node), kFirst);  // One container, with any number of replicas.
  node.allocations[1].pod = "train-1";
  EXPECT_EQ(OwnersOf(node), kNoOwner);  // Upstream shows the last one listed.
}

TEST(UpstreamOwners, SuffixesOfReplicas) {
  struct Case {
    const char *id, *uuid;
  };
  for (const Case& row : {Case{"MIG-x::7", "MIG-x"},
                          {"MIG-x", "MIG-x"},
                          {"GPU-x", "GPU-x"},
                          {"GPU-x::3", "GPU-x"},
                          {"", ""}}) {
    EXPECT_EQ(ParseDeviceId(row.id).uuid, row.uuid) << row.id;
  }
  PageNode node(1);  // "X::" names the device X.
  node.options.kubernetes = true;
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 252, 1);
  node.allocations = {Given("ml", "train-0", "main", node.dcgm.gpus[0].uuid.substr(4) + "::")};
  EXPECT_EQ(OwnersOf(node), (Rows{kOwned}));
}

TEST(UpstreamOwners, NumbersOfShares) {
  struct Case {
    std::string id, replica;
  };
  const OwnedNode node;
  for (const Case& row : {Case{"nvidia0/vgpu0", "0"},
                          {"nvidia0/gi0/vgpu1", "1"},
                          {node.gpu + "::3", "3"},
                          {"MIG-aaaaaaaa-0000-0000-0000-000000000003::0", "0"},
                          {node.gpu, ""},
                          {"nvidia0", ""},
                          {"nvidia0/gi0", ""},
                          {"MIG-aaaaaaaa-0000-0000-0000-000000000003", ""},
                          {node.gpu + "::", ""}}) {
    EXPECT_EQ(ParseDeviceId(row.id).replica, row.replica) << row.id;
  }
}

TEST(UpstreamOwners, OldNamesOfMigDevices) {
  const std::string uuid = "GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5";
  EXPECT_EQ(ParseOldMigName("MIG-" + uuid + "/1/5"), (OldMigName{uuid, 1, 5}));
  for (const std::string& bad :
       {uuid + "/1/5", "MIG-" + uuid.substr(4) + "/1/5", "MIG-" + uuid + "/x/5",
        "MIG-" + uuid + "/1/x", "MIG-" + uuid + "/1", std::string()}) {
    EXPECT_EQ(ParseOldMigName(bad), std::nullopt) << bad;
  }
}

// The labels of the pod on the only row, under an allowlist.
std::string LabelsUnder(const std::vector<std::string>& patterns) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.options.hostname = "";
  node.join.pod_labels = LabelAllowlist::Compile(patterns).value();
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 252, 1);
  node.allocations = {Given("ml", "train-0", "main", node.dcgm.gpus[0].uuid)};
  ApiObject pod;
  pod.name_space = "ml";
  pod.name = "train-0";
  pod.labels = {
      {"app", "a"}, {"app.kubernetes.io/name", "b"}, {"invalid.label/key", "c"}, {"team_x", "d"}};
  node.facts.api_pods = std::make_shared<const ApiObjects>(ApiObjects{{"ml/train-0", pod}});
  const std::vector<std::string> rows = node.Rows(kUsed, "DCGM_FI_DEV_FB_USED{");
  const std::string& row = rows.at(0);
  const size_t begin = row.find("HBM3\"") + 5;
  return row.substr(begin, row.find(",container=") - begin);
}

TEST(UpstreamOwners, NamesOfPodLabels) {
  EXPECT_EQ(LabelsUnder({}),
            R"(,app="a",app_kubernetes_io_name="b",invalid_label_key="c",team_x="d")");
}

TEST(UpstreamOwners, AllowlistOfPodLabels) {
  EXPECT_EQ(LabelsUnder({"^app$"}), R"(,app="a")");
  EXPECT_EQ(LabelsUnder({"^app"}), R"(,app="a",app_kubernetes_io_name="b")");
  EXPECT_EQ(LabelsUnder({"^app$", "^team_x$"}), R"(,app="a",team_x="d")");
  EXPECT_EQ(LabelsUnder({"invalid|team"}), R"(,invalid_label_key="c",team_x="d")");
  EXPECT_FALSE(LabelAllowlist::Compile({"[invalid"}).ok());
  EXPECT_FALSE(LabelAllowlist::Compile({"[invalid", "^team"}).ok());
}

// A ResourceSlice of one device, as the API server sends it.
ApiObjects SliceOf(const std::string& name, const std::string& attributes) {
  const StatusOr<ApiEvent> event = ParseApiEvent(
      R"({"type":"ADDED","object":{"metadata":{"name":"s","resourceVersion":"1"},"spec":{)"
      R"("driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"n","generation":1,)"
      R"("resourceSliceCount":1},"devices":[{"name":")" +
      name + R"(","attributes":{)" + attributes + "}}]}}}");
  EXPECT_TRUE(event.ok()) << event.status();
  return {{"/s", event->object}};
}

TEST(UpstreamOwners, Claims) {
  OwnedNode node;
  node.join.claims = true;
  const auto owned_by_claim = [&](const std::string& device, const std::string& attributes) {
    node.facts.slices = std::make_shared<const ApiObjects>(SliceOf("dev-0", attributes));
    node.claimed = {{"ml", "train-0", "main", "ml", "claim", "gpu.nvidia.com", "n", device}};
    std::vector<bool> owned;
    for (const std::string& row : node.Rows(kUsed, "DCGM_FI_DEV_FB_USED{")) {
      owned.push_back(row.find(R"(dra_claim_name="claim")") != std::string::npos &&
                      row.find(R"(pod="train-0")") != std::string::npos);
    }
    return owned;
  };
  const auto whole = [](const std::string& uuid) {
    return R"("type":{"string":"gpu"},"uuid":{"string":")" + uuid + "\"}";
  };
  using Owned = std::vector<bool>;
  EXPECT_EQ(owned_by_claim("dev-0", whole(node.gpu)), (Owned{true, false, false}));
  EXPECT_EQ(owned_by_claim("dev-0", whole("GPU-of-another-node")), (Owned{false, false, false}))
      << "a new uuid applies at once";
  EXPECT_EQ(owned_by_claim("dev-1", whole(node.gpu)), (Owned{false, false, false}))
      << "no slice has this device";
  EXPECT_EQ(
      owned_by_claim("dev-0", R"("type":{"string":"mig"},"parentUUID":{"string":")" + node.parent +
                                  R"("},"profile":{"string":"2g.20gb"},"uuid":{"string":)"
                                  R"("MIG-aaaaaaaa-0000-0000-0000-000000000003"})"),
      (Owned{false, true, false}))
      << "the claim of an instance is on its row";
}

TEST(UpstreamOwners, JobFiles) {
  const TemporaryFolder folder;
  folder.Write("0", "1000\n");
  folder.Write("1", "1001\n1002\n");
  folder.Write("1.3", "1003\n");
  for (const char* other :
       {"foo", "bar.txt", ".gitkeep", "1e5", "NaN", "Inf", "+3", "-2", ".5", "1.2.3"}) {
    folder.Write(other, "9999\n");
  }
  std::filesystem::create_directory(folder.path() + "/2");
  const StatusOr<HpcJobs> jobs = ReadHpcJobs(SystemFiles(), folder.path());
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  PageNode node(4);
  node.options.hostname = "";
  node.dcgm.gpus[1].mig_enabled = true;
  node.dcgm.instances = {{7, 1, 3, "2g.20gb", {{7, 0}}}};
  node.options.selections.gpus = ParseDeviceSelection("g+i").value();
  for (const uint32_t gpu : {0U, 1U, 2U, 3U}) {
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, gpu, 252, gpu);
  }
  node.dcgm.SetInt64(abi::DCGM_FE_GPU_I, 7, 252, 7);
  node.facts.jobs = std::make_shared<const HpcJobs>(*jobs);
  Rows ends;
  for (const std::string& row : node.Rows(kUsed, "DCGM_FI_DEV_FB_USED{")) {
    const size_t job = row.find(",hpc_job=");
    ends.push_back(job == std::string::npos ? row.substr(row.find('}')) : row.substr(job));
  }
  EXPECT_EQ(ends, (Rows{R"(,hpc_job="1000"} 0)", R"(,hpc_job="1001"} 1)", R"(,hpc_job="1002"} 1)",
                        "} 2", "} 3", R"(,hpc_job="1003"} 7)"}));
}

}  // namespace
}  // namespace podgpu
