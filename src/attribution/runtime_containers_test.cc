#include "attribution/runtime_containers.h"

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

namespace podgpu {
namespace {

const std::string kWholeUuid = "GPU-11111111-1111-1111-1111-111111111111";
const std::string kMigGpuUuid = "GPU-22222222-2222-2222-2222-222222222222";
const std::string kMigDeviceUuid = "MIG-aaaaaaaa-0000-0000-0000-000000000007";

using Names = std::vector<std::string>;

// A whole GPU (column 0), and one in MIG mode (1) with instances 7 (2) and 8 (3).
Topology WholeGpuAndMigGpu() {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[0].minor_number = 4;
  topology.gpus[0].uuid = kWholeUuid;
  topology.gpus[1].gpu_id = 1;
  topology.gpus[1].minor_number = 5;
  topology.gpus[1].uuid = kMigGpuUuid;
  topology.gpus[1].mig_enabled = true;
  topology.instances.resize(2);
  topology.instances[0].gpu = topology.instances[1].gpu = 1;
  topology.instances[0].gpu_instance_id = 7;
  topology.instances[0].compute_instances = {{0, 0, kMigDeviceUuid}};
  topology.instances[1].gpu_instance_id = 8;
  NumberEntities(topology);
  return topology;
}

// The details of a container, as Docker 20.10 writes them.
std::string Details(const std::string& requests, const std::string& files = "[]",
                    const std::string& environment = "null", const std::string& runtime = "runc") {
  return absl::StrFormat(R"({"Id":"ab","Name":"/train","Config":{"Hostname":"ab","Env":%s},)"
                         R"("HostConfig":{"Runtime":"%s","Devices":%s,"DeviceRequests":%s}})",
                         environment, runtime, files, requests);
}

std::string Request(const std::string& driver, int count, const std::string& ids,
                    const std::string& capability = "gpu") {
  return absl::StrFormat(
      R"({"Driver":"%s","Count":%d,"DeviceIDs":%s,"Capabilities":[["%s"]],"Options":{}})", driver,
      count, ids, capability);
}

TEST(RuntimeContainers, TheDevicesAreThoseThatTheUserAskedFor) {
  const std::string all_variable = R"(["PATH=/bin","NVIDIA_VISIBLE_DEVICES=all"])";
  const struct {
    std::string what, details;
    Names devices;
  } rows[] = {
      {"no device", Details("null"), {}},
      {"--gpus '\"device=0,GPU-2\"'",
       Details("[" + Request("", 0, R"(["0","GPU-2"])") + "]"),
       {"0", "GPU-2"}},
      {"--gpus all", Details("[" + Request("", -1, "null") + "]"), {"all"}},
      {"--gpus 2", Details("[" + Request("", 2, "null") + "]"), {"0", "1"}},
      {"a driver by its name", Details("[" + Request("nvidia", -1, "null") + "]"), {"all"}},
      {"a device of another vendor", Details("[" + Request("", -1, "null", "fpga") + "]"), {}},
      {"another driver", Details("[" + Request("amd", -1, "null") + "]"), {}},
      {"CDI",
       Details("[" + Request("cdi", 0, R"(["nvidia.com/gpu=0","amd.com/gpu=1"])", "") + "]"),
       {"0"}},
      {"--device",
       Details("null", R"([{"PathOnHost":"/dev/nvidia3"},{"PathOnHost":"/dev/fuse"},)"
                       R"({"PathOnHost":"/dev/nvidiactl"}])"),
       {"nvidia3"}},
      {"a device twice",
       Details("[" + Request("", 0, R"(["0"])") + "," + Request("nvidia", 0, R"(["0","1"])") + "]"),
       {"0", "1"}},
      {"the variable with NVIDIA's runtime",
       Details("null", "[]", R"(["NVIDIA_VISIBLE_DEVICES=0, GPU-2,,runtime.nvidia.com/gpu=3"])",
               "nvidia"),
       {"0", "GPU-2", "3"}},
      {"the variable with Podman", Details("null", "[]", all_variable, "oci"), {"all"}},
      {"the variable of an image, and a runtime that may not read it",
       Details("null", "[]", all_variable, "runc"),
       {}},
      {"the variable in capitals",
       Details("null", "[]", R"(["NVIDIA_VISIBLE_DEVICES=ALL,NONE"])", "nvidia"),
       {"all"}},
      {"no device by the variable",
       Details("null", "[]", R"(["NVIDIA_VISIBLE_DEVICES=void"])", "nvidia"),
       {}},
      {"a request wins over the variable of the image",
       Details("[" + Request("", 0, R"(["1"])") + "]", "[]", all_variable, "nvidia"),
       {"1"}},
  };
  for (const auto& row : rows) {
    const auto devices = ParseContainerDevices(row.details);
    ASSERT_TRUE(devices.ok()) << row.what << ": " << devices.status();
    EXPECT_EQ(*devices, row.devices) << row.what;
  }
}

TEST(RuntimeContainers, DetailsOfAnotherFormAreRefused) {
  for (const char* wrong : {"", "[]", "{", R"({"Id":"ab"})"}) {
    EXPECT_EQ(ParseContainerDevices(wrong).status().code(), absl::StatusCode::kDataLoss) << wrong;
  }
  const auto too_many = ParseContainerDevices(Details("[" + Request("", 1'000'000, "null") + "]"));
  EXPECT_EQ(too_many.status().message(), "it asks for more than 256 devices");
}

TEST(RuntimeContainers, TheListGivesIdsAndNames) {
  const auto list = ParseContainerList(
      R"([{"Id":"0123456789abcdef","Names":["/web/db","/db"]},{"Id":"ff","Names":["/a"]},)"
      R"({"Id":"0123456789abcdef","Names":null}])");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(*list,
            (std::vector<RuntimeContainer>{
                {"0123456789abcdef", "db"}, {"ff", "a"}, {"0123456789abcdef", "0123456789ab"}}));
  EXPECT_EQ(ParseContainerList("[]")->size(), 0U);
  for (const char* wrong : {"", "{}", R"([{"Names":["/a"]}])", R"([{"Id":"../x"}])"}) {
    EXPECT_EQ(ParseContainerList(wrong).status().code(), absl::StatusCode::kDataLoss) << wrong;
  }
}

TEST(RuntimeContainers, TheLabelIsFitForAPage) {
  EXPECT_EQ(ContainerLabel("/a\nb\x7f", "id"), "a_b_");
  EXPECT_EQ(ContainerLabel("a\xff", "id"), "a\xEF\xBF\xBD");
  EXPECT_EQ(ContainerLabel("/", "0123456789abcdef"), "0123456789ab");
  EXPECT_EQ(ContainerLabel(std::string(200, 'x'), ""), std::string(128, 'x'));
  EXPECT_EQ(ContainerLabel(std::string(127, 'x') + "\xC3\xA9", ""), std::string(127, 'x'))
      << "a letter is not cut";
}

TEST(RuntimeContainers, EachDeviceNamesItsContainersOnce) {
  const RuntimeContainers containers = {
      .containers = {{"1", "all", Names{"all"}},
                     {"2", "gpu", Names{kWholeUuid, "0", "nvidia4"}},
                     {"3", "mig", Names{kMigDeviceUuid}},
                     {"4", "lost", Names{"9", "1:0"}},
                     {"5", "whole", Names{"1"}}}};
  const ContainersByEntity matched = MatchContainers(WholeGpuAndMigGpu(), containers);
  EXPECT_EQ(matched.by_entity,
            (std::vector<Names>{
                {"all", "gpu"}, {"all", "whole"}, {"all", "mig", "whole"}, {"all", "whole"}}));
  EXPECT_EQ(
      matched.unmatched,
      (Names{R"("9" of container "lost" matches no GPU of this node; name a GPU by its number or )"
             "UUID (nvidia-smi -L)",
             R"("1:0" of container "lost" is the index of a MIG device, which may change; )"
             "name its UUID (nvidia-smi -L)"}));
}

TEST(RuntimeContainers, ADeviceHasALimitedNumberOfContainers) {
  RuntimeContainers containers;
  for (int i = 0; i < 258; ++i) {
    containers.containers.push_back({"1", absl::StrFormat("c%03d", i), Names{"0"}});
  }
  const ContainersByEntity matched = MatchContainers(WholeGpuAndMigGpu(), containers);
  EXPECT_EQ(matched.by_entity[0].size(), 256U);
  EXPECT_EQ(matched.unmatched.size(), 2U);
  EXPECT_EQ(matched.unmatched.front(),
            R"("0" of container "c256" has too many containers; rows name the first 256)");
}

TEST(RuntimeContainers, AMigDeviceIsNotTakenForItsGpu) {
  Topology topology = WholeGpuAndMigGpu();
  // Podman lists the files of a device that CDI describes.
  const RuntimeContainers containers{
      {{"1", "podman", Names{"nvidia5"}}, {"2", "gone", Names{"MIG-x"}}}};
  EXPECT_EQ(MatchContainers(topology, containers).by_entity, std::vector<Names>(4));
  EXPECT_EQ(
      MatchContainers(topology, containers).unmatched,
      (Names{R"("nvidia5" of container "podman" is the file of a GPU in MIG mode, which does )"
             "not tell the MIG device; name its UUID in NVIDIA_VISIBLE_DEVICES, without the file",
             R"("MIG-x" of container "gone" is no MIG device of this node now)"}));
  topology.nvml_absence = "no library";
  EXPECT_EQ(
      MatchContainers(topology, containers).unmatched.back(),
      R"("MIG-x" of container "gone" cannot be told: MIG devices have no UUIDs here, because )"
      "NVML is missing");
}

TEST(RuntimeContainers, TheFileThatIsMountedAsHostNameIsFound) {
  EXPECT_EQ(
      HostnameFile("1 2 0:5 / / rw - overlay overlay rw\n"
                   "181 163 254:0 /var/lib/docker/containers/bb22/hostname /etc/hostname rw -\n"),
      "/var/lib/docker/containers/bb22/hostname");
  EXPECT_EQ(HostnameFile("9 2 0:5 /containers/aa11/mounts/shm /var/lib/aa11 rw - tmpfs shm rw\n"),
            "");
  EXPECT_EQ(HostnameFile(""), "");
}

}  // namespace
}  // namespace podgpu
