// Judges a GPU as a whole: whether pods hold it, its activity, and since when it has been idle for
// its holders.
//
// A GPU in MIG mode counts as one, with all of its instances.  Idle means that a pod holds the GPU
// and the GPU is known to do nothing; an unknown GPU is neither idle nor in use.  The poller
// remembers the start of each idle spell; the fleet page shows it.  Pure functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "report/node_report.h"

namespace podgpu {

// Returns whether any container, named or not, holds the GPU or a part of it.
bool IsHeld(const ReportedGpu& gpu);

// Returns SM activity, or else utilisation, from 0 to 1.  For a GPU in MIG mode without either,
// returns the largest value of its instances.  Empty if no value is known.
std::optional<double> ActivityOf(const ReportedGpu& gpu);

// Returns whether the device is known to do nothing; empty if its activity is unknown.
std::optional<bool> DoesNothing(const DeviceUse& use);

// Returns whether the GPU is held, and every held part has a known activity, all below one percent.
bool IsIdle(const ReportedGpu& gpu);

// The start of the idle spell of each idle GPU, by UUID.
using IdleSpells = std::map<std::string, Instant, std::less<>>;

// Returns the idle spells at `read_at`, when a node sent the report `now`.  A spell in `spells`
// continues if `before`, the node's previous report, has the same holders of that GPU; else a new
// spell starts. `before` may be null.
IdleSpells ContinueIdle(const IdleSpells& spells, const NodeReport* before, const NodeReport& now,
                        Instant read_at);

}  // namespace podgpu
