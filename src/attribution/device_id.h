// What a device id of the kubelet says, before anyone knows which devices the node has.
//
// Device plugins name their devices as they like; this is the one place that knows how: NVIDIA's
// plugin (UUID, MIG UUID in both forms, replicas behind "::", "all", "tegra"), GKE's
// (nvidia<minor>[/gi<n>][/vgpu<n>]), HAMi's and the AWS sample's (<uuid>-<n>), gpushare's
// (<uuid>-_-<n>), and plain indices.  Pure; the result borrows from the id.  Facts: the plugins'
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
  kMinor,     // `number` is N of /dev/nvidiaN; `gpu_instance` when the id names one.
  kIndex,     // `number` is a GPU id.
  kEveryGpu,  // "all" (WSL) and "tegra", where the plugin does not tell GPUs apart.
};

struct DeviceId {
  DeviceIdForm form = DeviceIdForm::kUnknown;
  std::string_view uuid;  // With its prefix: "GPU-..." or "MIG-...".
  uint64_t number = 0;
  std::optional<uint64_t> gpu_instance;
  std::optional<uint64_t> compute_instance;
  std::string_view replica;  // Empty when the id names none.

  bool operator==(const DeviceId&) const = default;
};

DeviceId ParseDeviceId(std::string_view text);

// The device that `text` names if its end is the number of a share ("<uuid>-3", "<uuid>-_-3"), with
// that number as `replica`; nothing for other forms.  Tried when the whole of `text` names no
// device, since the last group of a UUID may be digits, too.
std::optional<DeviceId> ParseNumberedShare(std::string_view text);

}  // namespace podgpu
