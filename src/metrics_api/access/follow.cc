#include "metrics_api/access/follow.h"

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "kube/api_pace.h"

namespace podgpu {
namespace {

void TellWatch(const FollowedCollection& collection, const Status& status, bool has_data,
               Published<WatchFacts>& published) {
  const std::shared_ptr<const WatchFacts> before = published.Get();
  WatchFacts facts;
  facts.has_data = has_data || before->has_data;
  facts.is_ok = status.ok();
  if (!status.ok()) {
    facts.detail = absl::StrFormat("%s: %s%s", collection.what, status.message(),
                                   absl::IsPermissionDenied(status) ? collection.remedy : "");
  } else {
    facts.detail.clear();
  }
  if (facts.is_ok != before->is_ok || facts.detail != before->detail) {
    if (facts.is_ok) {
      Log(LogLevel::kInfo, "the metrics API follows the API server",
          {{"what", std::string(collection.what)}});
    } else {
      Log(LogLevel::kWarn, "the metrics API cannot follow the API server",
          {{"what", std::string(collection.what)}, {"why", facts.detail}});
    }
  }
  published.Set(std::make_shared<const WatchFacts>(std::move(facts)));
}

}  // namespace

void FollowUntilStop(const FollowedCollection& collection, const FollowParts& parts, uint32_t seed,
                     Clock& clock, const std::stop_token& stop) {
  ApiPace pace(seed);
  while (!stop.stop_requested()) {
    const Instant began = clock.Now();
    const ApiRound round = parts.mirror.Follow(stop, [&] {
      const Status taken = parts.changed();
      TellWatch(collection, taken, taken.ok(), parts.facts);
    });
    if (stop.stop_requested()) {
      return;
    }
    if (!round.status.ok()) {
      TellWatch(collection, round.status, false, parts.facts);
    }
    const Duration wait = pace.After(round, clock.Now() - began);
    if (wait > Duration::zero() && !clock.WaitUntil(clock.Now() + wait, stop)) {
      return;
    }
  }
}

}  // namespace podgpu
