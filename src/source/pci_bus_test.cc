#include "source/pci_bus.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;

// A sysfs that the test fills.
class PciBusTest : public ::testing::Test {
 protected:
  PciBusTest()
      : root_(fs::path(::testing::TempDir()) /
              ("sysfs-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(root_ / "bus/pci/devices");
  }
  ~PciBusTest() override { fs::remove_all(root_); }

  void Add(const std::string& address, const std::string& vendor, const std::string& kind,
           const std::string& driver = "") const {
    const fs::path device = root_ / "devices" / address;
    fs::create_directories(device);
    std::ofstream(device / "vendor") << vendor << '\n';
    std::ofstream(device / "class") << kind << '\n';
    if (!driver.empty()) {
      fs::create_symlink("../../bus/pci/drivers/" + driver, device / "driver");
    }
    fs::create_directory_symlink(device, root_ / "bus/pci/devices" / address);
  }
  std::vector<std::string> Gpus() const { return ListPciGpus(SystemFiles(root_.string())); }

  const fs::path root_;
};

TEST_F(PciBusTest, ListsGpusAndNothingElse) {
  Add("0000:1b:00.0", "0x10de", "0x030200", "nvidia");
  Add("0000:0a:00.0", "0x10de", "0x030000");
  Add("0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel");
  Add("0000:c0:00.0", "0x10de", "0x068000", "nvidia-nvswitch");
  Add("0000:00:02.0", "0x8086", "0x030000", "i915");
  Add("0000:3b:00.0", "0x10de", "0x030200", "vfio-pci");
  EXPECT_EQ(Gpus(), (std::vector<std::string>{"0000:0a:00.0", "0000:1b:00.0"}));
}

TEST_F(PciBusTest, ExplainsWhyThereIsNoDriver) {
  const SystemFiles sysfs(root_.string());
  const SystemFiles dev((root_ / "dev").string());
  fs::create_directories(root_ / "dev/dri");
  Add("0000:00:02.0", "0x8086", "0x030000", "i915");
  EXPECT_TRUE(ExplainNoDriver(sysfs, dev).has_no_gpu);
  EXPECT_EQ(ExplainNoDriver(sysfs, dev).remedy, "");
  fs::create_directories(root_ / "module/nvidia");
  EXPECT_FALSE(ExplainNoDriver(sysfs, dev).has_no_gpu) << "the loaded driver tells the GPUs";
  fs::remove_all(root_ / "module");
  Add("0000:3b:00.0", "0x10de", "0x030200", "vfio-pci");
  EXPECT_FALSE(ExplainNoDriver(sysfs, dev).has_no_gpu);
  EXPECT_EQ(ExplainNoDriver(sysfs, dev).remedy,
            "the driver vfio-pci has 1 NVIDIA GPU of the PCI bus: give them back to the driver "
            "nvidia, or do not run podgpu here");

  Add("0000:1b:00.0", "0x10de", "0x030200");
  EXPECT_FALSE(ExplainNoDriver(sysfs, dev).has_no_gpu);
  EXPECT_EQ(ExplainNoDriver(sysfs, dev).remedy,
            "the PCI bus has 1 NVIDIA GPU, and /dev has no file of them: load the driver (modprobe "
            "nvidia), or " +
                std::string(kGiveDevices));
  fs::create_directories(root_ / "dev/nvidia0");
  EXPECT_EQ(ExplainNoDriver(sysfs, dev).remedy, "");
  fs::remove_all(root_ / "bus");
  EXPECT_FALSE(ExplainNoDriver(sysfs, dev).has_no_gpu) << "the bus cannot be read";
}

TEST_F(PciBusTest, IsEmptyWithoutABus) {
  fs::remove_all(root_);
  EXPECT_TRUE(Gpus().empty());
}

TEST_F(PciBusTest, SkipsADeviceThatCannotBeRead) {
  Add("0000:1b:00.0", "0x10de", "0x030200");
  fs::create_symlink("nowhere", root_ / "bus/pci/devices/0000:1c:00.0");
  EXPECT_EQ(Gpus().size(), 1U);
}

TEST(KernelPciAddress, FollowsTheKernelsSpelling) {
  EXPECT_EQ(KernelPciAddress("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(KernelPciAddress("00010000:AF:00.0"), "10000:af:00.0");
  EXPECT_EQ(KernelPciAddress("0000:1b:00.0"), "0000:1b:00.0");
  EXPECT_EQ(KernelPciAddress("1b:00.0"), "1b:00.0");
  EXPECT_EQ(KernelPciAddress(""), "");
}

TEST(CountPromised, CountsOnlyWhenTheBusMayBeOfTheSameMachine) {
  const std::vector<std::string> on_bus = {"0000:1b:00.0", "0000:1c:00.0"};
  Topology none;
  EXPECT_EQ(CountPromised(on_bus, none), 2U);
  Topology here;
  here.gpus.resize(1);
  here.gpus[0].pci_bus_id = "00000000:1C:00.0";
  EXPECT_EQ(CountPromised(on_bus, here), 2U);
  Topology elsewhere = here;
  elsewhere.gpus[0].pci_bus_id = "00000000:9C:00.0";
  EXPECT_EQ(CountPromised(on_bus, elsewhere), 0U);
  EXPECT_EQ(CountPromised({}, here), 0U);
}

}  // namespace
}  // namespace podgpu
