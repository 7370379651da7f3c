// What the cluster role knows of every node: its newest report, how old that is, and why there is
// no newer one.
//
// The poller makes a Fleet and publishes it; the tick makes pages of it.  Immutable once published;
// any thread.
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

// How asking a node ended.  The words are values of the label `result`.
enum class FetchResult : uint8_t {
  kOk,
  kUnchanged,      // 304: the report from before still holds.
  kNoConnection,   // Refused, or no way there.
  kTimeout,        // Not whole within the deadline.
  kTls,            // Its certificate is not the one that it ought to be.
  kTooLarge,       // Head, body, or what was compressed in it.
  kBroken,         // No HTTP, or cut off.
  kRefused,        // Another status than 200 and 304; 401 and 403 among them.
  kNotUnderstood,  // No report, or one that no honest node makes.
  kSchema,         // The report of another release.
  kWrongNode,      // It calls itself otherwise than it is known.
};
inline constexpr int kFetchResultCount = 11;

std::string_view FetchResultName(FetchResult result);
inline bool IsGood(FetchResult result) {
  return result == FetchResult::kOk || result == FetchResult::kUnchanged;
}

// What a failure of http/client.h counts as.
FetchResult FetchResultOf(const Status& failure);

struct NodeEntry {
  NodeAddress address;
  std::optional<FetchResult> last;           // Nothing before the first answer or failure.
  std::string detail;                        // What failed; empty after an answer.
  std::shared_ptr<const NodeReport> report;  // The last good one; null before it.
  Instant read_at{};                         // When the node read what it reports.
  std::shared_ptr<const IdleSpells> idle;    // As of the report; null before it.
  // Another one, never used before, whenever the report says otherwise who holds what.
  uint64_t holders_revision = 0;
  uint64_t failures = 0;
};

struct Fleet {
  std::vector<NodeEntry> nodes;  // By id of the address.
  std::array<uint64_t, kFetchResultCount> fetches{};
};

// Whether both say the same of who holds what; states and values are not compared.
bool NameTheSameHolders(const NodeReport& a, const NodeReport& b);

}  // namespace podgpu
