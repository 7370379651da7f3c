// The sentences about processes of pods that have no names on their rows.
//
// What the kubelet says by its socket is enough for a device that one container holds alone.  To
// name a process on a shared device, pods must be known: from the API server, or from the kubelet's
// own list (--kubelet-pods-url).  Pure functions; the tick thread calls them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "facts/thread_facts.h"
#include "facts/tick_facts.h"
#include "usage/learned_pods.h"

namespace podgpu {

// Why pods are not known: `api` is what the API server, or the kubelet in place of it, has said;
// null where neither is asked, for which `why_not_asked` is the reason.  Empty where one tells.
std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked);

// How many processes have no names, the first of them, why, and what helps.  Empty where all have
// names, and where the API server tells (`why` is empty): then they will have them in a moment.
std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why);

// Keeps the sentence while it is true, and logs it when its reason is new.
class NamingNotes {
 public:
  // `why_no_api`: why the API server is not asked for pods, where it is not.
  explicit NamingNotes(std::string why_no_api) : why_no_api_(std::move(why_no_api)) {}

  // Sets `naming_note` of `facts`, where there is a reading.
  void Take(const UnnamedProcesses& unnamed, TickFacts& facts);

 private:
  const std::string why_no_api_;
  std::shared_ptr<const std::string> note_;
  std::string logged_;  // The reason of the last log line.
};

}  // namespace podgpu
