// The text of /proc/PID/cgroup: any bytes. Invariants: a uid is a UUID or 32 digits and an id 64
// digits, all lower case, because labels and look-ups rely on it; the id is a part of the text; an
// added line with a pod and its container is found, unless the text already contains both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "process/cgroup_path.h"

namespace {

bool IsMadeOf(std::string_view text, std::string_view bytes) {
  return text.find_first_not_of(bytes) == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const podgpu::CgroupPlace place = podgpu::ParseCgroup(text);
  if (!place.pod_uid.empty()) {
    const bool is_static = place.pod_uid.size() == 32;
    PODGPU_CHECK(is_static || place.pod_uid.size() == 36);
    PODGPU_CHECK(IsMadeOf(place.pod_uid, is_static ? "0123456789abcdef" : "-0123456789abcdef"));
  }
  if (!place.container_id.empty()) {
    PODGPU_CHECK(place.container_id.size() == 64);
    PODGPU_CHECK(IsMadeOf(place.container_id, "0123456789abcdef"));
    PODGPU_CHECK(text.find(place.container_id) != std::string_view::npos);
  }
  const std::string uid(32, 'a');
  const std::string id(64, 'b');
  const podgpu::CgroupPlace more =
      podgpu::ParseCgroup(std::string(text) + "\n1:cpu:/kubepods/pod" + uid + "/" + id);
  if (place.pod_uid.empty() || place.container_id.empty()) {
    PODGPU_CHECK((more == podgpu::CgroupPlace{.pod_uid = uid, .container_id = id}));
  } else {
    PODGPU_CHECK(more == place);
  }
  return 0;
}
