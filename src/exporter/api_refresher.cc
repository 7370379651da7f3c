#include "exporter/api_refresher.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {

ApiRefresher::ApiRefresher(const Files& files, const ApiRefresherOptions& options, Clock& clock,
                           Wakeup& tick)
    : what_(options.collection == ApiCollection::kResourceSlices ? "resource slices" : "pods"),
      clock_(clock),
      tick_(tick),
      pace_(options.seed) {
  if (options.server.ok()) {
    mirror_ = std::make_unique<ApiMirror>(*options.server, options.collection, files);
    current_.detail =
        absl::StrFormat("asking the API server for this node's %s for the first time", what_);
  } else {
    current_.state = PartState::kDegraded;
    current_.detail = "off: " + std::string(options.server.status().message());
    Log(LogLevel::kWarn, "the API server is not asked",
        {{"what", what_}, {"reason", std::string(options.server.status().message())}});
  }
  facts_.Set(std::make_shared<const ApiFacts>(current_));
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

// The mirror has listed, or its watch has brought something.
void ApiRefresher::TakeNews() {
  ApiFacts next = current_;
  if (next.objects == nullptr || revision_ != mirror_->revision()) {
    next.objects = std::make_shared<const ApiObjects>(mirror_->objects());
    revision_ = mirror_->revision();
    renewed_.Take(*next.objects, clock_.Now());
    next.renewed = renewed_.at();
  }
  next.state = PartState::kOk;
  next.detail =
      absl::StrFormat("the API server lists %d %s of this node", next.objects->size(), what_);
  next.requests = mirror_->requests();
  Publish(std::move(next));
}

void ApiRefresher::Judge(const ApiRound& round) {
  ApiFacts next = current_;
  next.requests = mirror_->requests();
  if (!round.status.ok()) {
    ++next.failures;
    if (next.state == PartState::kOk) {
      next.lost_at = clock_.Now();
    }
    next.state = next.objects != nullptr ? PartState::kDegraded : PartState::kWaiting;
    next.detail = std::string(round.status.message());
  }
  Publish(std::move(next));
}

void ApiRefresher::Publish(ApiFacts next) {
  const bool state_changed = next.state != current_.state;
  const bool news =
      state_changed || next.objects != current_.objects || next.detail != current_.detail;
  current_ = std::move(next);
  facts_.Set(std::make_shared<const ApiFacts>(current_));
  if (state_changed) {
    Log(current_.state == PartState::kOk ? LogLevel::kInfo : LogLevel::kWarn,
        "what the API server says has changed its state",
        {{"what", what_},
         {"state", std::string(PartStateName(current_.state))},
         {"detail", current_.detail}});
  }
  if (news) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
