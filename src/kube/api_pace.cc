#include "kube/api_pace.h"

#include <algorithm>
#include <utility>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// client-go's figures: kubernetes.io/client-go, tools/cache/reflector.go, 2026.
constexpr milliseconds kFirstWait{800};
constexpr milliseconds kLongestWait{30'000};
// A right that is missing, or a group of the API, is granted by a person.
constexpr milliseconds kWaitWhenRefused{60'000};
// A watch that ends sooner is no health: without a wait it would be a busy loop.
constexpr seconds kHealthyAfter{5};

// A server that has granted it before refuses while it begins, for a tenth of a second: its rights
// are not read yet.
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
  if (round.lists_again && !std::exchange(listed_again_, true)) {
    return Duration::zero();  // Also in the middle of an outage: the server is there again.
  }
  listed_again_ = round.lists_again;
  // Doubles, with a random half.
  wait_ = WaitsForAPerson(round) ? kWaitWhenRefused
                                 : std::clamp<Duration>(2 * wait_, kFirstWait, kLongestWait);
  const Duration asked = round.retry_after.value_or(seconds(0));
  const Duration jitter(std::uniform_int_distribution<Duration::rep>(0, wait_.count())(random_));
  return std::max(asked, wait_ / 2) + jitter / 2;
}

}  // namespace podgpu
