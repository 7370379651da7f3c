// The sentences about processes of pods that have no names on their rows.
//
// The kubelet's word is enough for a device that one container holds alone; whose a process on a
// shared device is, only the API server tells.  Pure functions; the tick thread calls them.
#pragma once

#include <string>
#include <string_view>

#include "exporter/api_refresher.h"
#include "exporter/learned_pods.h"

namespace podgpu {

// Why the API server does not tell of pods: `api` is what is known of it, null where it is not
// asked, for which `why_not_asked` is the reason.  Empty where it tells.
std::string WhyNotNamed(const ApiFacts* api, std::string_view why_not_asked);

// How many processes have no names, the first of them, why, and what helps.  Empty where all have
// names, and where the API server tells (`why` is empty): then they will have them in a moment.
std::string NamingNote(const UnnamedProcesses& unnamed, std::string_view why);

}  // namespace podgpu
