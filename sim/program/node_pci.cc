#include "sim/program/node_pci.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"

namespace podgpu::sim {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kNvidia = 0x10de;
constexpr uint32_t kDisplayController = 0x030000;
constexpr uint32_t k3dController = 0x030200;
constexpr uint32_t kAudio = 0x040300;
constexpr uint32_t kBridge = 0x068000;  // The class of an NVSwitch.

// The device ids of the boards that can be simulated (the public PCI ID database, 2024).
struct BoardId {
  std::string_view model, architecture;
  uint32_t device;
};
constexpr std::array<BoardId, 11> kBoards = {{
    {"NVIDIA A10", "Ampere", 0x2236},
    {"NVIDIA A100-SXM4-40GB", "Ampere", 0x20b0},
    {"NVIDIA A100-SXM4-80GB", "Ampere", 0x20b2},
    {"NVIDIA B200", "Blackwell", 0x2901},
    {"NVIDIA GeForce RTX 4090", "Ada", 0x2684},
    {"NVIDIA H100 80GB HBM3", "Hopper", 0x2330},
    {"NVIDIA H100 PCIe", "Hopper", 0x2331},
    {"NVIDIA H200", "Hopper", 0x2335},
    {"NVIDIA L40S", "Ada", 0x26b9},
    {"Tesla T4", "Turing", 0x1eb8},
    {"Tesla V100-SXM2-32GB", "Volta", 0x1db5},
}};

// The devices on every bus: a host bridge, the display of the management controller, a disk.
struct OtherDevice {
  std::string_view address;
  uint32_t vendor, class_code, device;
  std::string_view driver;
};
constexpr std::array<OtherDevice, 3> kOthers = {{
    {"0000:00:00.0", 0x8086, 0x060000, 0x09a2, ""},
    {"0000:02:00.0", 0x1a03, kDisplayController, 0x2000, "ast"},
    {"0000:03:00.0", 0x144d, 0x010802, 0xa80a, "nvme"},
}};
constexpr std::string_view kSwitchAddress = "0000:05:00.0";
constexpr uint32_t kSwitchDevice = 0x22a3;
constexpr uint32_t kAudioDevice = 0x22ba;

// Converts "00000000:1B:00.0", as NVML writes it, to the kernel's form: lower case, a domain of at
// least four digits.
std::string KernelAddress(std::string_view bus_id) {
  constexpr size_t kDomainDigits = 8;
  constexpr size_t kLeastDigits = 4;
  const size_t first = std::min(bus_id.find_first_not_of('0'), kDomainDigits - kLeastDigits);
  std::string address(bus_id.substr(first));
  std::ranges::transform(address, address.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return address;
}

// The board's PCI id; an unknown model gets the id of the first board of its architecture.
uint32_t DeviceId(const GpuFacts& gpu) {
  const auto* found = std::ranges::find(kBoards, gpu.model, &BoardId::model);
  if (found == kBoards.end()) {
    found = std::ranges::find(kBoards, gpu.architecture, &BoardId::architecture);
  }
  return found == kBoards.end() ? 0 : found->device;
}

Status WriteAttribute(const fs::path& path, const std::string& value) {
  std::ofstream file(path);
  file << value << "\n";
  file.close();
  if (!file) {
    return absl::UnavailableError(
        absl::StrFormat("%s: cannot write the simulated PCI bus", path.string()));
  }
  return absl::OkStatus();
}

// The device's own folder, and the link in the bus's list.
Status WriteDevice(const PciDevice& device, const fs::path& sys) {
  const fs::path folder = fs::path("devices") /
                          ("pci" + device.address.substr(0, device.address.rfind(':'))) /
                          device.address;
  std::error_code error;
  fs::create_directories(sys / folder, error);
  if (!error) {
    fs::create_symlink(fs::path("../../..") / folder, sys / "bus/pci/devices" / device.address,
                       error);
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrFormat("%s: %s", (sys / folder).string(), error.message()));
  }
  const fs::path path = sys / folder;
  if (!device.driver.empty()) {
    const fs::path driver = fs::path("bus/pci/drivers") / device.driver;
    fs::create_directories(sys / driver, error);
    fs::create_symlink(fs::path("../../..") / driver, path / "driver", error);
  }
  PODGPU_RETURN_IF_ERROR(WriteAttribute(path / "vendor", absl::StrFormat("0x%04x", device.vendor)));
  PODGPU_RETURN_IF_ERROR(
      WriteAttribute(path / "class", absl::StrFormat("0x%06x", device.class_code)));
  return WriteAttribute(path / "device", absl::StrFormat("0x%04x", device.device));
}

}  // namespace

std::vector<PciDevice> PciDevices(const World& world) {
  std::vector<PciDevice> devices;
  for (int i = 0; i < world.gpu_count(); ++i) {
    const GpuFacts& gpu = world.gpu(i);
    const bool drives_display = gpu.brand == "GeForce";
    const std::string address = KernelAddress(gpu.pci_bus_id);
    devices.push_back({address, kNvidia, drives_display ? kDisplayController : k3dController,
                       DeviceId(gpu), "nvidia"});
    if (drives_display) {
      devices.push_back({address.substr(0, address.size() - 1) + "1", kNvidia, kAudio, kAudioDevice,
                         "snd_hda_intel"});
    }
  }
  const bool has_gpus = !devices.empty();
  const auto add_if_free = [&devices](PciDevice other) {
    if (std::ranges::count(devices, other.address, &PciDevice::address) == 0) {
      devices.push_back(std::move(other));
    }
  };
  for (const OtherDevice& other : kOthers) {
    add_if_free({std::string(other.address), other.vendor, other.class_code, other.device,
                 std::string(other.driver)});
  }
  if (has_gpus) {
    add_if_free({std::string(kSwitchAddress), kNvidia, kBridge, kSwitchDevice, "nvidia-nvswitch"});
  }
  std::ranges::sort(devices, {}, &PciDevice::address);
  return devices;
}

Status WritePciTree(const std::vector<PciDevice>& devices, const std::string& directory) {
  const fs::path sys = fs::path(directory) / "sys";
  std::error_code error;
  fs::remove_all(sys, error);
  fs::create_directories(sys / "bus/pci/devices", error);
  if (error) {
    return absl::UnavailableError(absl::StrFormat("%s: %s", sys.string(), error.message()));
  }
  for (const PciDevice& device : devices) {
    PODGPU_RETURN_IF_ERROR(WriteDevice(device, sys));
  }
  return absl::OkStatus();
}

}  // namespace podgpu::sim
