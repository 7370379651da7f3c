// The note about processes of pods whose rows have no pod name, with the reason and the remedy.
//
// The kubelet's socket is enough to name processes on a device that only one container holds.  On a
// shared device podgpu also needs the list of pods: from the API server, or from the kubelet
// (--kubelet-pods-url).  Called on the tick thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "facts/thread_facts.h"
#include "facts/tick_facts.h"
#include "usage/learned_pods.h"

namespace podgpu {

// Returns why pods are unknown, or an empty string when they are known.  `api` has the answers of
// the API server, or of the kubelet in its place; null when podgpu uses neither, and then
// `why_not_asked` is the reason.
std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked);

// Returns how many processes have no names, the first of them, the reason and the remedy.  Empty
// when all have names, or when pods are known (`why` is empty): then the names come within moments.
std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why);

// Keeps the note while it is true, and logs it when its reason changes.
class NamingNotes {
 public:
  // `why_no_api`: why podgpu does not ask the API server for pods, if it does not.
  explicit NamingNotes(std::string why_no_api) : why_no_api_(std::move(why_no_api)) {}

  // Sets `naming_note` of `facts`, where there is a reading.
  void Take(const UnnamedProcesses& unnamed, TickFacts& facts);

 private:
  const std::string why_no_api_;
  std::shared_ptr<const std::string> note_;
  std::string logged_;  // The reason of the last log line.
};

}  // namespace podgpu
