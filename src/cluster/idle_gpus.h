// What a GPU does as a whole: who holds it, how hard it works, and since when it has done nothing
// for those who hold it.
//
// A GPU in MIG mode counts as one, with all of its instances.  Idle means held by somebody and
// known to do nothing; what is not known is neither idle nor in use.  Pure functions; the poller
// remembers the beginning of each spell, the fleet page shows it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "report/node_report.h"

namespace podgpu {

// Whether any container holds it or a part of it, named or not.
bool IsHeld(const ReportedGpu& gpu);

// Its SM activity, else its utilisation, from 0 to 1; of one in MIG mode that does not tell, the
// largest of its instances'.  Nothing where none is known.
std::optional<double> ActivityOf(const ReportedGpu& gpu);

// Held, and whatever is known of the parts that are held is below one percent; of each of them
// something is known.
bool IsIdle(const ReportedGpu& gpu);

// Since when GPUs are idle, by UUID.
using IdleSpells = std::map<std::string, Instant, std::less<>>;

// The spells at `read_at`, when a node reported `now`.  One goes on from `spells` where `before`,
// the node's report before it, if there is one, named the same holders of that GPU.
IdleSpells ContinueIdle(const IdleSpells& spells, const NodeReport* before, const NodeReport& now,
                        Instant read_at);

}  // namespace podgpu
