#include "kube/api_pace.h"

#include <algorithm>
#include <utility>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The values of client-go: kubernetes.io/client-go, tools/cache/reflector.go, 2026.
constexpr milliseconds kFirstWait{800};
constexpr milliseconds kLongestWait{30'000};
// A missing right or API group must be added by an operator, so a quick retry is useless.
constexpr milliseconds kWaitWhenRefused{60'000};
// A watch that ends sooner does not count as healthy: without a wait it would be a busy loop.
constexpr seconds kHealthyAfter{5};

// If the request was allowed before, the server is only starting: for a tenth of a second it has
// not read its access rules yet.
bool WaitsForAPerson(const ApiRound& round) {
  return !round.was_allowed && (round.status.code() == absl::StatusCode::kPermissionDenied ||
                                round.status.code() == absl::StatusCode::kUnimplemented);
}

}  // namespace

Duration ApiPace::After(const ApiRound& round, Duration lasted) {
  if (lasted >= kHealthyAfter) {
    wait_ = Duration::zero();
    if (round.status.ok()) {
      return Duration::zero();
    }
  }
  // At once only the first time in a row: if each list expires before its watch begins, the loop
  // would ask without a pause.
  if (round.lists_again && !std::exchange(listed_again_, true)) {
    return Duration::zero();  // Also during an outage: the server is available again.
  }
  listed_again_ = round.lists_again;
  // Doubles the wait; a random half of it avoids requests in step.
  wait_ = WaitsForAPerson(round) ? kWaitWhenRefused
                                 : std::clamp<Duration>(2 * wait_, kFirstWait, kLongestWait);
  const Duration asked = round.retry_after.value_or(seconds(0));
  const Duration jitter(std::uniform_int_distribution<Duration::rep>(0, wait_.count())(random_));
  // The random part comes on top of the server's own time, because the server may have told that
  // time to all instances.
  return std::max(asked, wait_ / 2) + jitter / 2;
}

}  // namespace podgpu
