#include "exporter/process_refresher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {

ProcessRefresher::ProcessRefresher(ProcessOpener open, std::chrono::milliseconds period,
                                   Duration call_deadline, const DeviceControl& control,
                                   Clock& clock, Wakeup& tick)
    : open_(std::move(open)),
      period_(period),
      control_(control),
      clock_(clock),
      tick_(tick),
      guard_(clock, call_deadline) {}

void ProcessRefresher::Run(const std::stop_token& stop) {
  Instant next = clock_.Now();
  do {
    ReadOnce();
    next = std::max(next + period_, clock_.Now());
  } while (clock_.WaitUntil(next, stop));
}

void ProcessRefresher::ReadOnce() {
  if (control_.let_go_for() > Duration::zero()) {
    if (processes_ != nullptr) {
      processes_->LetGo();
    }
    Publish(PartState::kWaiting,
            "asked to let go of the devices; processes are not read meanwhile");
    return;
  }
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
  std::unique_ptr<ProcessReading> reading = feed_.Begin();
  if (reading == nullptr) {
    return absl::OkStatus();
  }
  Status status;
  {
    const CallGuard::Scope scope(guard_, processes_.get(), SourceCall::kRead);
    status = processes_->Read(*reading);
  }
  if (!status.ok()) {
    return status;
  }
  const std::string complaint = processes_->Complaint();
  Publish(complaint.empty() ? PartState::kOk : PartState::kDegraded,
          complaint.empty() ? absl::StrFormat("%s tells the processes of %d GPUs",
                                              processes_->Describe(), reading->devices.size())
                            : complaint);
  feed_.Add(std::move(reading));
  tick_.Nudge();
  return status;
}

void ProcessRefresher::Publish(PartState state, std::string detail) {
  const std::shared_ptr<const ProcessFacts> published = feed_.facts().Get();
  const bool has_devices = processes_ != nullptr && current_.uuids != processes_->uuids();
  if (has_devices) {
    current_.uuids = processes_->uuids();
  }
  const bool is_other_state = state != current_.state;
  const bool is_news = is_other_state || detail != current_.detail;
  current_.state = state;
  current_.detail = std::move(detail);
  if (is_news || has_devices || current_.failures != published->failures) {
    feed_.facts().Set(std::make_shared<const ProcessFacts>(current_));
  }
  if (is_other_state) {
    Log(state == PartState::kOk ? LogLevel::kInfo : LogLevel::kWarn,
        "reading processes has changed its state",
        {{"state", std::string(PartStateName(state))}, {"detail", current_.detail}});
  }
  if (is_news) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
