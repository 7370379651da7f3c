#include "sim/program/node_pci.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr char kTwoKinds[] =
    "format: 1\nname: bus\nseed: 1\ngpus:\n"
    "  - {count: 2, class: h100-sxm5-80gb, first_bus: \"00000000:AB:00.0\"}\n"
    "  - {class: geforce-rtx-4090, first_bus: \"0001000A:03:00.0\"}\n";

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The addresses of the devices that a reader would count as NVIDIA GPUs.
std::vector<std::string> GpusIn(const std::vector<PciDevice>& devices) {
  std::vector<std::string> gpus;
  for (const PciDevice& device : devices) {
    if (device.vendor == 0x10de && device.class_code >> 16 == 0x03) {
      gpus.push_back(device.address);
    }
  }
  return gpus;
}

TEST(PciDevices, ListGpusUnderTheKernelsAddresses) {
  const TestWorld world(kTwoKinds);
  EXPECT_EQ(GpusIn(PciDevices(*world)),
            (std::vector<std::string>{"0000:ab:00.0", "0000:ac:00.0", "1000a:03:00.0"}));
}

TEST(PciDevices, IncludeOtherNvidiaDevicesAndOtherVendorsGpus) {
  const TestWorld world(kTwoKinds);
  int nvidia_others = 0;
  int other_displays = 0;
  for (const PciDevice& device : PciDevices(*world)) {
    nvidia_others += device.vendor == 0x10de && device.class_code >> 16 != 0x03 ? 1 : 0;
    other_displays += device.vendor != 0x10de && device.class_code >> 16 == 0x03 ? 1 : 0;
  }
  EXPECT_EQ(nvidia_others, 2) << "the switch, and the GeForce's audio device";
  EXPECT_EQ(other_displays, 1);
}

TEST(PciDevices, OfANodeWithoutGpusIncludeNoNvidiaDevice) {
  const TestWorld world("format: 1\nname: none\ngpus: []\n");
  const std::vector<PciDevice> devices = PciDevices(*world);
  EXPECT_FALSE(devices.empty());
  EXPECT_EQ(std::ranges::count(devices, 0x10deU, &PciDevice::vendor), 0);
}

TEST(PciDevices, MoveAwayFromTheAddressOfAGpu) {
  const TestWorld world(
      "format: 1\nname: low\ngpus:\n"
      "  - {count: 5, class: h100-sxm5-80gb, first_bus: \"00000000:02:00.0\"}\n");
  const std::vector<PciDevice> devices = PciDevices(*world);
  EXPECT_EQ(GpusIn(devices).size(), 5U);
  for (size_t i = 1; i < devices.size(); ++i) {
    EXPECT_LT(devices[i - 1].address, devices[i].address) << "addresses are unique and sorted";
  }
}

TEST(PciTree, HasTheKernelsForm) {
  const TestFolder folder;
  const std::filesystem::path bus = folder.path() + "/sys/bus/pci/devices";
  const TestWorld world(kTwoKinds);
  ASSERT_TRUE(WritePciTree(PciDevices(*world), folder.path()).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(bus / "0000:ab:00.0"));
  EXPECT_EQ(std::filesystem::read_symlink(bus / "0000:ab:00.0"),
            "../../../devices/pci0000:ab/0000:ab:00.0");
  EXPECT_EQ(ReadAll(bus / "0000:ab:00.0/vendor"), "0x10de\n");
  EXPECT_EQ(ReadAll(bus / "0000:ab:00.0/class"), "0x030200\n");
  EXPECT_EQ(ReadAll(bus / "0000:ab:00.0/device"), "0x2330\n");
  EXPECT_EQ(std::filesystem::canonical(bus / "0000:ab:00.0/driver").filename(), "nvidia");
  EXPECT_FALSE(std::filesystem::exists(bus / "0000:00:00.0/driver")) << "a bridge has no driver";
  EXPECT_EQ(ReadAll(bus / "1000a:03:00.0/class"), "0x030000\n");
  EXPECT_EQ(ReadAll(bus / "1000a:03:00.1/class"), "0x040300\n");
}

TEST(PciTree, RemovesTheDevicesOfAnEarlierNode) {
  const TestFolder folder;
  const TestWorld before(kTwoKinds);
  ASSERT_TRUE(WritePciTree(PciDevices(*before), folder.path()).ok());
  const TestWorld world("format: 1\nname: one\ngpus: [{class: t4}]\n");
  const std::vector<PciDevice> devices = PciDevices(*world);
  ASSERT_TRUE(WritePciTree(devices, folder.path()).ok());
  const std::filesystem::directory_iterator listed(folder.path() + "/sys/bus/pci/devices");
  EXPECT_EQ(static_cast<size_t>(std::distance(begin(listed), end(listed))), devices.size());
}

TEST(PciTree, ReportsAnUnwritablePath) {
  const TestFolder folder;
  folder.Write("sys", "a file");
  const std::string below = folder.path() + "/sys/node";
  const Status status = WritePciTree({}, below);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message().find(below + "/sys: "), 0U) << status;
}

}  // namespace
}  // namespace podgpu::sim
