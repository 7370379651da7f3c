// Parses the JSON of GET /api/v1/fleet of the cluster role into rows of nodes and of pods.
//
// A fleet of 5,000 nodes is a megabyte of columns (docs/api.md); it is summed up while it is read.
// The columns are kept, so the next answer may have only those that change, a tenth of the bytes.
// The answer comes from outside: every index is checked.  One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

struct FleetNodeRow {
  std::string node, address, state, detail;
  uint32_t gpus = 0;
  uint32_t held = 0, idle = 0, free = 0;
  uint32_t bad = 0;                         // Neither "ok" nor "degraded".
  std::optional<int64_t> activity_percent;  // Mean of the GPUs with a known one.
  uint64_t memory_used_mib = 0, memory_total_mib = 0;
  std::optional<int64_t> read_at_s;
  bool owners_known = false;
};

struct FleetPodRow {
  std::string pod_namespace, pod;
  uint32_t gpus = 0;                    // GPUs that it holds, alone or with others.
  uint32_t idle_gpus = 0;               // The idle ones of these GPUs.
  std::optional<int64_t> idle_since_s;  // Start of the oldest idle time.
  // Sum over its idle GPUs of (T - since): `idle_gpus` times T minus this, for any later T.
  int64_t idle_since_sum_s = 0;
  uint64_t memory_used_mib = 0;
  std::string first_node;
};

struct FleetStatus {
  std::string version, verdict;
  bool ready = false;
  std::vector<FleetNodeRow> nodes;
  std::vector<FleetPodRow> pods;
};

// The columns of the newest answers.
class FleetColumns {
 public:
  FleetColumns();
  ~FleetColumns();
  FleetColumns(const FleetColumns&) = delete;
  FleetColumns& operator=(const FleetColumns&) = delete;

  // Takes a whole answer, or one with the columns that change ("delta").  kInvalidArgument with one
  // line that states the problem; kUnimplemented for another schema.  After an error, the next
  // answer must be whole.
  StatusOr<FleetStatus> Take(std::string_view json);
  // The epoch to ask changes for; empty: a whole answer is needed.
  std::string epoch() const;

 private:
  struct Whole;                   // Hides Boost.JSON from this header.
  std::unique_ptr<Whole> whole_;  // Null: a whole answer is needed.
};

}  // namespace podgpu
