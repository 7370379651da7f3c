#include "sim/program/engine_supervisor.h"

#include <csignal>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/text.h"
#include "sim/dcgm/engine_protocol.h"

namespace podgpu::sim {

EngineSupervisor::EngineSupervisor(RunWriter& node, Clock& clock, EngineSupervisorOptions options,
                                   std::function<void(const std::string&)> say)
    : node_(node), clock_(clock), options_(std::move(options)), say_(std::move(say)) {}

Status EngineSupervisor::Start() {
  PODGPU_ASSIGN_OR_RETURN(EngineProcess engine, EngineProcess::Start(node_, options_.tcp));
  engine_.emplace(std::move(engine));
  if (!options_.tcp.empty()) {
    // Port 0 may have been requested; clients expect the next engine at the first one's address.
    const std::string path = absl::StrFormat("%s/%s", node_.directory(), kEngineAddressName);
    PODGPU_ASSIGN_OR_RETURN(const std::string address, SystemFiles().Read(path));
    options_.tcp = Trim(address);
  }
  const bool both = !options_.tcp.empty() && !options_.socket_path.empty();
  say_(absl::StrFormat("%s%s%s, process %d", options_.socket_path, both ? " and " : "",
                       options_.tcp.empty() ? "" : "TCP " + options_.tcp + " (engine.addr)",
                       engine_->pid()));
  return absl::OkStatus();
}

void EngineSupervisor::Poll() {
  if (engine_) {
    if (const std::optional<std::string> how = engine_->Ended()) {
      NoteEnd(*how);
    }
  }
  if (start_at_ && clock_.Now() >= *start_at_) {
    start_at_.reset();
    StartAnother();
  }
}

void EngineSupervisor::NoteEnd(const std::string& how) {
  engine_.reset();
  if (options_.restart_after_death) {
    say_(absl::StrFormat("ended by %s; another starts in %d ms", how,
                         options_.restart_after_death->count()));
    start_at_ = clock_.Now() + *options_.restart_after_death;
  } else {
    say_(absl::StrFormat("ended by %s; start another with `podgpu-sim engine --dir %s`", how,
                         node_.directory()));
  }
  node_.SetEngineUp(false);
}

void EngineSupervisor::Obey(const EngineOrders& orders) {
  const EngineOrders before = std::exchange(obeyed_, orders);
  const bool is_killed = orders.kills != before.kills;
  if (is_killed) {
    start_at_.reset();
    if (engine_) {
      engine_->Kill();
      engine_.reset();
      say_("killed by a fault");
      node_.SetEngineUp(false);
    }
  }
  const bool comes_back = !orders.is_away && (is_killed || before.is_away);
  if (comes_back) {
    StartAnother();
  }
  if (engine_ && (orders.is_stopped != before.is_stopped || (comes_back && orders.is_stopped))) {
    kill(engine_->pid(), orders.is_stopped ? SIGSTOP : SIGCONT);
    say_(orders.is_stopped ? "stopped by a fault" : "continues");
  }
}

void EngineSupervisor::StartAnother() {
  if (engine_ || node_.engine_up()) {
    return;  // An engine was started by hand meanwhile.
  }
  StatusOr<EngineProcess> engine = EngineProcess::Start(node_, options_.tcp);
  if (!engine.ok()) {
    say_(std::string(engine.status().message()));
    return;
  }
  engine_.emplace(*std::move(engine));
  say_(absl::StrFormat("runs again, process %d", engine_->pid()));
}

}  // namespace podgpu::sim
