// Device ids from the kubelet: any bytes. Invariants: all parts of the result are parts of the id;
// each form has exactly its documented parts, and an unknown form has none; a replica suffix
// changes only the replica.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attribution/device_id.h"
#include "base/status.h"

namespace {

using podgpu::DeviceId;
using Form = podgpu::DeviceIdForm;

bool IsWithin(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void CheckParts(const DeviceId& id, std::string_view text) {
  PODGPU_CHECK(IsWithin(id.uuid, text) && IsWithin(id.replica, text));
  const bool has_uuid =
      id.form == Form::kGpuUuid || id.form == Form::kMigUuid || id.form == Form::kMigParts;
  PODGPU_CHECK(has_uuid || id.uuid.empty());
  PODGPU_CHECK(id.compute_instance.has_value() == (id.form == Form::kMigParts));
  PODGPU_CHECK(id.form != Form::kMigParts || id.gpu_instance.has_value());
  PODGPU_CHECK(!id.gpu_instance || id.form == Form::kMigParts || id.form == Form::kMinor);
  PODGPU_CHECK(id.form == Form::kMinor || id.form == Form::kIndex || id.number == 0);
  PODGPU_CHECK(id.form != Form::kMigUuid || id.uuid.starts_with("MIG-"));
  PODGPU_CHECK(id.form != Form::kUnknown || id == DeviceId{});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  DeviceId id = podgpu::ParseDeviceId(text);
  CheckParts(id, text);
  if (const std::optional<DeviceId> share = podgpu::ParseNumberedShare(text)) {
    CheckParts(*share, text);
    PODGPU_CHECK(!share->replica.empty() && text.ends_with(share->replica));
    PODGPU_CHECK(share->replica.find_first_not_of("0123456789") == std::string_view::npos);
  }
  // Only if the id has no replica yet and its end cannot merge with the suffix.
  if (id.form != Form::kUnknown && !text.ends_with(':') &&
      text.find("::") == std::string_view::npos && text.find("/vgpu") == std::string_view::npos) {
    const std::string replicated = std::string(text) + "::7";
    const DeviceId marked = podgpu::ParseDeviceId(replicated);
    PODGPU_CHECK(marked.replica == "7");
    id.replica = "7";
    PODGPU_CHECK(marked == id);
  }
  return 0;
}
