// The fleet: for each node its newest report, the age of the report, and why there is no newer one.
//
// The poller makes a Fleet and publishes it; the tick makes pages from it.  Immutable once
// published; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/idle_gpus.h"
#include "cluster/node_address.h"
#include "report/node_report.h"

namespace podgpu {

// The result of a request to a node.  The words are values of the label `result`.
enum class FetchResult : uint8_t {
  kOk,
  kUnchanged,      // 304: the last report is still valid.
  kNoConnection,   // Refused, or no route.
  kTimeout,        // The answer was not complete at the deadline.
  kTls,            // The certificate is not valid for the node.
  kTooLarge,       // Header, body, or decompressed body.
  kBroken,         // The answer is not HTTP, or it is incomplete.
  kRefused,        // A status other than 200 and 304, for example 401 or 403.
  kNotUnderstood,  // The answer is not a report, or its content is impossible.
  kSchema,         // The report has the schema of another release.
  kWrongNode,      // The node name in the report is not the expected one.
};
inline constexpr int kFetchResultCount = 11;

std::string_view FetchResultName(FetchResult result);
inline bool IsGood(FetchResult result) {
  return result == FetchResult::kOk || result == FetchResult::kUnchanged;
}

// Maps a failure of http/client.h to a result.
FetchResult FetchResultOf(const Status& failure);

struct NodeEntry {
  NodeAddress address;
  std::optional<FetchResult> last;  // Empty before the first answer or failure.
  std::string detail;               // The reason of the last failure; empty after a success.
  std::shared_ptr<const NodeReport> report;  // The last good report; null before it.
  Instant read_at{};                       // Time at which the node read the values of the report.
  std::shared_ptr<const IdleSpells> idle;  // Idle spells at the time of the report; null before it.
  // A new number, never used before, whenever the holders in the report change.
  uint64_t holders_revision = 0;
  uint64_t failures = 0;
};

struct Fleet {
  std::vector<NodeEntry> nodes;  // Sorted by the id of the address.
  std::array<uint64_t, kFetchResultCount> fetches{};
};

// Returns whether both reports have the same holders of all devices; states and values are not
// compared.
bool NameTheSameHolders(const NodeReport& a, const NodeReport& b);

}  // namespace podgpu
