#include "usage/naming_note.h"

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {

std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked) {
  if (api == nullptr) {
    return std::string(why_not_asked);
  }
  return api->value == nullptr ? api->detail : std::string();
}

std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why) {
  if (unnamed.count == 0 || why.empty()) {
    return {};
  }
  return absl::StrFormat(
      "%s no namespace, pod and container on %s, the first: pid %d on GPU "
      "%d (%s), which %d containers hold. The kubelet's socket does not tell to which of them a "
      "process belongs, and podgpu has no list of pods: %s. Names need NODE_NAME and the right to "
      "list and watch pods, or --kubelet-pods-url and the right to get nodes/pods",
      unnamed.count == 1 ? "1 process has" : absl::StrFormat("%d processes have", unnamed.count),
      unnamed.count == 1 ? "its rows" : "their rows", unnamed.pid, unnamed.gpu_id, unnamed.uuid,
      unnamed.owners, why);
}

void NamingNotes::Take(const UnnamedProcesses& unnamed, TickFacts& facts) {
  if (facts.grid == nullptr) {
    return;
  }
  const std::string why = WhyNotNamed(facts.api_pods.get(), why_no_api_);
  std::string note = NamingNote(unnamed, why);
  if (note.empty()) {
    note_.reset();
    return;
  }
  if (note_ == nullptr || *note_ != note) {
    note_ = std::make_shared<const std::string>(std::move(note));
  }
  if (logged_ != why) {
    logged_ = why;
    Log(LogLevel::kWarn, "processes of pods have no names", {{"detail", *note_}});
  }
  facts.naming_note = note_;
}

}  // namespace podgpu
