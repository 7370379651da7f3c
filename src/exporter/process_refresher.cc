#include "exporter/process_refresher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {

namespace {

using std::chrono::seconds;

// The same times as in the reader of devices (reader.cc), which gives the reason.
constexpr seconds kNvmlReleaseFor{10};
constexpr seconds kNvmlReleaseAtMostEvery{60};

}  // namespace

ProcessRefresher::ProcessRefresher(ProcessOpener open, std::chrono::milliseconds period,
                                   Duration call_deadline, DeviceControl& control, Clock& clock,
                                   Wakeup& tick)
    : open_(std::move(open)),
      period_(period),
      control_(control),
      clock_(clock),
      tick_(tick),
      guard_(clock, call_deadline, period) {
  control_.NudgeToo(news_);
}

void ProcessRefresher::Run(const std::stop_token& stop) {
  Instant due = clock_.Now();
  do {
    if (const Duration left = ReleaseTime(); left > Duration::zero()) {
      ReleaseFor(left);
      due = clock_.Now() + left;
    } else if (is_released_ || clock_.Now() >= due) {
      const Instant begun = clock_.Now();
      is_released_ = false;
      ReadOnce();
      due = ReleaseTime() > Duration::zero() ? begun : std::max(begun + period_, clock_.Now());
    }
  } while (news_.SleepUntil(clock_, due, stop));
}

Duration ProcessRefresher::ReleaseTime() {
  const Instant now = clock_.Now();
  if (const Duration asked = control_.release_time_left(); asked > Duration::zero()) {
    released_until_ = now + asked;  // This release also serves a device that needs one.
    return asked;
  }
  // A device may need the release all the time, so the refresher releases NVML at most once per
  // kNvmlReleaseAtMostEvery: between releases processes are read.
  const bool is_released = released_until_ && now < *released_until_;
  const bool needed = processes_ != nullptr && !processes_->ReleaseReason().empty();
  if (needed &&
      (!released_until_ || now - *released_until_ >= kNvmlReleaseAtMostEvery - kNvmlReleaseFor)) {
    released_until_ = now + kNvmlReleaseFor;
    return kNvmlReleaseFor;
  }
  return needed && is_released ? *released_until_ - now : Duration::zero();
}

void ProcessRefresher::ReleaseFor(Duration left) {
  std::string why;
  if (processes_ != nullptr) {
    if (const std::string need = processes_->ReleaseReason(); !need.empty()) {
      why = ", since " + need;
    }
    const CallGuard::Scope scope(guard_, processes_.get(), SourceCall::kOpen);
    processes_->Release();
  }
  is_released_ = true;
  Publish(PartState::kWaiting,
          absl::StrFormat("the devices are released for %d s%s; processes and their energy are "
                          "not read meanwhile",
                          std::chrono::ceil<seconds>(left).count(), why));
}

void ProcessRefresher::ReadOnce() {
  Status status = Open();
  if (status.ok()) {
    status = Read();
  }
  if (!status.ok()) {
    ++current_.failures;
    Publish(PartState::kWaiting,
            absl::StrFormat("%s. Processes and their energy are not shown meanwhile",
                            status.message()));
  }
}

Status ProcessRefresher::Open() {
  if (processes_ != nullptr) {
    return absl::OkStatus();
  }
  const CallGuard::Scope scope(guard_, nullptr, SourceCall::kOpen);
  PODGPU_ASSIGN_OR_RETURN(processes_, open_());
  return absl::OkStatus();
}

Status ProcessRefresher::Read() {
  std::unique_ptr<ProcessReading> reading = queue_.Begin();
  if (reading == nullptr) {
    return absl::OkStatus();
  }
  Status status;
  {
    processes_->SetProfiling(control_.profiling_paused_for() == Duration::zero());
    const CallGuard::Scope scope(guard_, processes_.get(), SourceCall::kRead);
    status = processes_->Read(*reading);
  }
  if (!status.ok()) {
    return status;
  }
  const std::string complaint = processes_->Complaint();
  Publish(complaint.empty() ? PartState::kOk : PartState::kDegraded,
          complaint.empty() ? processes_->Describe() : complaint);
  queue_.Add(std::move(reading));
  tick_.Nudge();
  return status;
}

void ProcessRefresher::Publish(PartState state, std::string detail) {
  const std::shared_ptr<const ProcessFacts> published = queue_.facts().Get();
  const bool has_devices = processes_ != nullptr && current_.uuids != processes_->uuids();
  if (has_devices) {
    current_.uuids = processes_->uuids();
  }
  const bool is_other_state = state != current_.state;
  const bool is_news = is_other_state || detail != current_.detail;
  current_.state = state;
  current_.detail = std::move(detail);
  if (is_news || has_devices || current_.failures != published->failures) {
    queue_.facts().Set(std::make_shared<const ProcessFacts>(current_));
  }
  if (is_other_state) {
    Log(state == PartState::kOk ? LogLevel::kInfo : LogLevel::kWarn,
        "state of process readings changed",
        {{"state", std::string(PartStateName(state))}, {"detail", current_.detail}});
  }
  if (is_news) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
