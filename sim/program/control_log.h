// The control log: what was done to a simulated node at run time, with the time of each act.
//
// It is a YAML list in the form of a scenario's `faults:`.  People edit control.yaml, commands
// append to it; both ways end here: times relative to now become absolute, entries that have taken
// effect stay as they are, new ones lie far enough ahead for every face to have mapped the image by
// then, and the whole world is compiled anew and published as control.bin.  A log that does not
// hold is refused as a whole and the old one stays.  Callers hold the DirectoryLock.  One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sim/scenario/run_writer.h"
#include "sim/world/fault.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// Appends "{at: ..., `entry`}", where `entry` is such as "kind: power_limit, gpu: 0, watts: 300".
// Without `at` it takes effect as soon as it may.  Returns when it takes effect.
// An edit of control.yaml that nobody has looked at yet is taken first; one that does not hold is
// the error.  What is wrong with the entry itself is told without a place in the file, which nobody
// has written.
StatusOr<TimeUs> AppendControl(RunWriter& node, std::string_view entry, std::optional<TimeUs> at);

// Takes control.yaml as a person left it.  False when it says what is already in force, or nothing;
// an error has one line per complaint.
StatusOr<bool> AcceptControlFile(RunWriter& node);

// Takes back what the log has changed, or with `kind` that much of it: entries to come are dropped,
// faults in force end, and each power limit and MIG layout that was set returns to what the
// scenario says.  What has been counted stays.  Returns when, or nothing if all is as in the
// scenario.
StatusOr<std::optional<TimeUs>> HealControl(RunWriter& node, std::optional<FaultKind> kind);

}  // namespace podgpu::sim
