#include "attribution/device_id.h"

#include <array>
#include <vector>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kGpuPrefix = "GPU-";
constexpr std::string_view kMigPrefix = "MIG-";
constexpr std::string_view kMinorPrefix = "nvidia";
constexpr std::string_view kInstancePart = "gi";

struct Share {
  std::string_view device;
  std::string_view replica;
};

// Cuts "::3" (NVIDIA) or "/vgpu3" (GKE) off the end of an id.
Share CutReplica(std::string_view text) {
  for (const std::string_view separator : {std::string_view("/vgpu"), std::string_view("::")}) {
    const size_t at = text.find(separator);
    if (at != std::string_view::npos) {
      const std::string_view rest = text.substr(at + separator.size());
      return {text.substr(0, at), rest.substr(0, rest.find(separator))};
    }
  }
  return {text, {}};
}

bool IsHexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// 8-4-4-4-12 hexadecimal digits.
bool IsUuid(std::string_view text) {
  static constexpr std::array<size_t, 5> kGroupSizes = {8, 4, 4, 4, 12};
  const std::vector<std::string_view> groups = Split(text, '-');
  if (groups.size() != kGroupSizes.size()) {
    return false;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() != kGroupSizes[i] || !IsHexadecimal(groups[i])) {
      return false;
    }
  }
  return true;
}

// Parses "MIG-GPU-<uuid>/<gi>/<ci>", or "MIG-GPU-<uuid>", which means the GPU itself (dcgm-exporter
// also accepts the id without "MIG-").
DeviceId ParseOldMig(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text.substr(kMigPrefix.size()), '/');
  DeviceId id;
  id.uuid = parts[0];
  if (parts.size() == 1) {
    id.form = DeviceIdForm::kGpuUuid;
  } else if (parts.size() == 3) {
    id.gpu_instance = ParseDecimal(parts[1]);
    id.compute_instance = ParseDecimal(parts[2]);
    id.form =
        id.gpu_instance && id.compute_instance ? DeviceIdForm::kMigParts : DeviceIdForm::kUnknown;
  }
  return id.form == DeviceIdForm::kUnknown ? DeviceId{} : id;
}

// Parses "nvidia<minor>" and "nvidia<minor>/gi<n>".
DeviceId ParseMinor(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text.substr(kMinorPrefix.size()), '/');
  const std::optional<uint64_t> minor = ParseDecimal(parts[0]);
  if (!minor || parts.size() > 2) {
    return {};
  }
  DeviceId id;
  id.form = DeviceIdForm::kMinor;
  id.number = *minor;
  if (parts.size() == 2) {
    if (!parts[1].starts_with(kInstancePart)) {
      return {};
    }
    id.gpu_instance = ParseDecimal(parts[1].substr(kInstancePart.size()));
    if (!id.gpu_instance) {
      return {};
    }
  }
  return id;
}

DeviceId ParseDevice(std::string_view text) {
  DeviceId id;
  if (text.starts_with("MIG-GPU-")) {
    return ParseOldMig(text);
  }
  if (text.starts_with(kMigPrefix)) {
    id.form = DeviceIdForm::kMigUuid;
    id.uuid = text;
  } else if (text.starts_with(kGpuPrefix) || IsUuid(text)) {
    id.form = DeviceIdForm::kGpuUuid;
    id.uuid = text;
  } else if (text.starts_with(kMinorPrefix)) {
    return ParseMinor(text);
  } else if (text == "all" || text == "tegra") {
    id.form = DeviceIdForm::kEveryGpu;
  } else if (const std::optional<uint64_t> index = ParseDecimal(text)) {
    id.form = DeviceIdForm::kIndex;
    id.number = *index;
  }
  return id;
}

}  // namespace

DeviceId ParseDeviceId(std::string_view text) {
  const Share share = CutReplica(text);
  DeviceId id = ParseDevice(share.device);
  if (id.form != DeviceIdForm::kUnknown) {
    id.replica = share.replica;
  }
  return id;
}

std::optional<DeviceId> ParseNumberedShare(std::string_view text) {
  const size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || !ParseDecimal(text.substr(dash + 1))) {
    return std::nullopt;
  }
  std::string_view device = text.substr(0, dash);
  if (device.ends_with("-_")) {
    device.remove_suffix(2);
  }
  DeviceId id = ParseDevice(device);
  if (id.form != DeviceIdForm::kGpuUuid && id.form != DeviceIdForm::kMigUuid) {
    return std::nullopt;
  }
  id.replica = text.substr(dash + 1);
  return id;
}

}  // namespace podgpu
