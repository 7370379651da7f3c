#include "exporter/naming_note.h"

#include "absl/strings/str_format.h"

namespace podgpu {

std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked) {
  if (api == nullptr) {
    return std::string(why_not_asked);
  }
  return api->objects == nullptr ? api->detail : std::string();
}

std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why) {
  if (unnamed.count == 0 || why.empty()) {
    return {};
  }
  return absl::StrFormat(
      "%d processes have no namespace, pod and container on their rows, the first: pid %d on GPU "
      "%d (%s), which %d containers hold. By its socket the kubelet does not say which process is "
      "whose, and nothing else does: %s. Names need NODE_NAME and the right to list and watch "
      "pods, "
      "or --kubelet-pods-url and the right to get nodes/pods",
      unnamed.count, unnamed.pid, unnamed.gpu_id, unnamed.uuid, unnamed.owners, why);
}

}  // namespace podgpu
