// The sentences about processes of pods that have no names on their rows.
//
// What the kubelet says by its socket is enough for a device that one container holds alone.  To
// name a process on a shared device, pods must be known: from the API server, or from the kubelet's
// own list (--kubelet-pods-url).  Pure functions; the tick thread calls them.
#pragma once

#include <string>
#include <string_view>

#include "exporter/api_refresher.h"
#include "exporter/learned_pods.h"

namespace podgpu {

// Why pods are not known: `api` is what the API server, or the kubelet in place of it, has said;
// null where neither is asked, for which `why_not_asked` is the reason.  Empty where one tells.
std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked);

// How many processes have no names, the first of them, why, and what helps.  Empty where all have
// names, and where the API server tells (`why` is empty): then they will have them in a moment.
std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why);

}  // namespace podgpu
