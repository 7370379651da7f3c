// The control log: the changes made to a simulated node at run time, each with its time.
//
// It is a YAML list in the form of a scenario's `faults:`.  People edit control.yaml, commands
// append to it, and both go through this class.  Times relative to now become absolute.  Entries
// that have taken effect cannot change; new ones must lie far enough ahead that every face has
// mapped the new image by then.  The whole world is compiled again and published as control.bin.
// An invalid log is refused as a whole and the old one stays.  Callers hold the DirectoryLock.  One
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sim/scenario/run_writer.h"
#include "sim/world/fault.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// Appends "{at: ..., `entry`}", where `entry` is for example "kind: power_limit, gpu: 0, watts:
// 300". Without `at` it takes effect as soon as possible.  Returns when it takes effect.  An edit
// of control.yaml that was not read yet is applied first; an invalid edit is the error.  Complaints
// about the entry itself have no place in a file, since it is in none.
StatusOr<TimeUs> AppendControl(RunWriter& node, std::string_view entry, std::optional<TimeUs> at);

// Applies control.yaml as a person saved it.  Returns false when it equals the log in force or is
// empty; an error has one line per complaint.
StatusOr<bool> AcceptControlFile(RunWriter& node);

// Undoes the changes of the log, or with `kind` those of one kind: future entries are dropped,
// faults in force end, and each power limit and MIG layout returns to the scenario's.  Counters
// keep what they have counted.  Returns when it takes effect; empty if there is nothing to undo.
StatusOr<std::optional<TimeUs>> HealControl(RunWriter& node, std::optional<FaultKind> kind);

}  // namespace podgpu::sim
