#include "refresh/api_refresher.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "base/log.h"

namespace podgpu {
namespace {

ApiFacts AtFirst(const ApiRefresherOptions& options, const std::string& what) {
  ApiFacts first;
  if (options.server.ok()) {
    first.detail =
        absl::StrFormat("asking the API server for this node's %s for the first time", what);
  } else {
    first.state = PartState::kDegraded;
    first.detail = "off: " + std::string(options.server.status().message());
  }
  return first;
}

}  // namespace

ApiRefresher::ApiRefresher(const Files& files, const ApiRefresherOptions& options, Clock& clock,
                           Wakeup& tick)
    : noun_(options.collection == ApiCollection::kResourceSlices ? "resource slice" : "pod"),
      what_(noun_ + "s"),
      clock_(clock),
      pace_(options.seed),
      publisher_({.message = "API server state changed", .what = what_}, AtFirst(options, what_),
                 tick) {
  if (options.server.ok()) {
    mirror_ = std::make_unique<ApiMirror>(*options.server, options.collection, files);
  } else {
    Log(LogLevel::kWarn, "API server is not used",
        {{"what", what_}, {"reason", std::string(options.server.status().message())}});
  }
}

void ApiRefresher::Run(const std::stop_token& stop) {
  if (mirror_ == nullptr) {
    return;
  }
  while (!stop.stop_requested()) {
    const Instant began = clock_.Now();
    const ApiRound round = mirror_->Follow(stop, [this] { TakeNews(); });
    if (stop.stop_requested()) {
      return;
    }
    Judge(round);
    const Duration wait = pace_.After(round, clock_.Now() - began);
    if (wait > Duration::zero() && !clock_.WaitUntil(clock_.Now() + wait, stop)) {
      return;
    }
  }
}

// Called when the mirror has listed the collection or its watch has reported a change.
void ApiRefresher::TakeNews() {
  ApiFacts next = publisher_.current();
  if (next.value == nullptr || revision_ != mirror_->revision()) {
    next.value = std::make_shared<const ApiObjects>(mirror_->objects());
    revision_ = mirror_->revision();
    renewed_.Take(*next.value, clock_.Now());
    next.renewed = renewed_.at();
  }
  next.state = PartState::kOk;
  next.detail =
      absl::StrFormat("the API server lists %s of this node", Counted(next.value->size(), noun_));
  next.requests = mirror_->requests();
  publisher_.Publish(std::move(next));
}

void ApiRefresher::Judge(const ApiRound& round) {
  ApiFacts next = publisher_.current();
  next.requests = mirror_->requests();
  if (!round.status.ok()) {
    ++next.failures;
    if (next.state == PartState::kOk) {
      next.good_at = clock_.Now();
    }
    next.state = next.value != nullptr ? PartState::kDegraded : PartState::kWaiting;
    next.detail = std::string(round.status.message());
  }
  publisher_.Publish(std::move(next));
}

}  // namespace podgpu
