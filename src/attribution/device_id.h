// Parses a device id from the kubelet, without knowing the devices of the node.
//
// Each device plugin has its own ids. This is the only code that knows them: NVIDIA's plugin (UUID,
// MIG UUID in both forms, replicas after "::", "all", "tegra"), GKE's
// (nvidia<minor>[/gi<n>][/vgpu<n>]), HAMi's and the AWS sample's (<uuid>-<n>), gpushare's
// (<uuid>-_-<n>), and plain indices. Pure; the result borrows from the id. Based on the plugins'
// sources as of 2026-08.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace podgpu {

enum class DeviceIdForm : uint8_t {
  kUnknown,
  kGpuUuid,   // `uuid`
  kMigUuid,   // `uuid`
  kMigParts,  // `uuid` of the parent, `gpu_instance`, `compute_instance`: drivers before R470.
  kMinor,     // `number` is N of /dev/nvidiaN; `gpu_instance` is set when the id contains one.
  kIndex,     // `number` is a GPU id.
  kEveryGpu,  // "all" (WSL) and "tegra": the plugin does not distinguish GPUs.
};

struct DeviceId {
  DeviceIdForm form = DeviceIdForm::kUnknown;
  std::string_view uuid;  // With its prefix: "GPU-..." or "MIG-...".
  uint64_t number = 0;
  std::optional<uint64_t> gpu_instance;
  std::optional<uint64_t> compute_instance;
  std::string_view replica;  // Empty when the id contains none.

  bool operator==(const DeviceId&) const = default;
};

DeviceId ParseDeviceId(std::string_view text);

// Returns the device if `text` ends with the number of a share ("<uuid>-3", "<uuid>-_-3"), with
// that number as `replica`; returns nothing for other forms. Try it only after the whole text
// matched no device, because the last group of a UUID may also be digits.
std::optional<DeviceId> ParseNumberedShare(std::string_view text);

}  // namespace podgpu
