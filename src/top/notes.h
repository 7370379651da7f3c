// The sentences of a frame of `podgpu top`: faults, values that are missing, a node without GPUs,
// and the cost of podgpu.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/node_status.h"

namespace podgpu {

// Returns at most `most` lines of at most `columns` each: the worst fault with its remedy, or else
// the first value that is missing; and how many more there are.  `now_ms` is the node's time.
std::vector<std::string> FootLines(const NodeStatus& status, int64_t now_ms, size_t columns,
                                   size_t most);

// Returns `text` in at most `most` lines of at most `columns`; a text that is cut ends in "…".
std::vector<std::string> WrappedTo(std::string_view text, size_t columns, size_t most);

// Returns a sentence for each fault and each missing value, but not for the faults of GPU
// `without`. What the verdict of a node without GPUs says is not repeated.
std::vector<std::string> AllNotes(const NodeStatus& status, int64_t now_ms,
                                  std::optional<uint32_t> without = {});

// Why there is no GPU to show, and what is awaited.
std::string NoGpuText(const NodeStatus& status);

// Returns for example "podgpu 0.1.0: 14.2 MiB resident, 0.03 % of a core, 3214 series".
std::string CostText(const NodeStatus& status);

}  // namespace podgpu
