#include "health/state_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "health/pods_on.h"
#include "health/readiness.h"
#include "health/remedies.h"
#include "topology/device_state.h"
#include "view/xid.h"

namespace podgpu {
namespace {

std::string YesOrNo(bool yes) { return yes ? "yes" : "no"; }

LogLevel LevelOf(bool is_good) { return is_good ? LogLevel::kInfo : LogLevel::kWarn; }

std::string_view RemedyOfDriver(const ConditionBasis& basis, PartState state) {
  if (basis.hung_call) {
    return "the driver or the engine hangs: read the kernel log; restart a remote engine, or drain "
           "and reboot the node; podgpu continues by itself";
  }
  const PartState told = basis.source->state;
  const bool answers = told == PartState::kOk || told == PartState::kDegraded;
  switch (answers ? SilenceOf(basis) : Silence::kNone) {
    case Silence::kReleased:
      return "none is needed if a GPU is being unbound or bound: DCGM then releases all GPUs for "
             "about two seconds. Otherwise run nvidia-smi on the node and read the kernel log; "
             "podgpu continues by itself";
    case Silence::kPaused:
      return "wait for the end of the diagnosis; if none runs, restart the engine; podgpu "
             "continues by itself";
    case Silence::kStopped:
      return "if a diagnosis (dcgmi diag) runs, wait for its end; otherwise read the kernel log "
             "and the log of the engine, and restart the engine; podgpu continues by itself";
    default:
      break;
  }
  switch (state) {
    case PartState::kOk:
      return "none is needed";
    case PartState::kWaiting:
      if (!basis.source->remedy.empty()) {
        return basis.source->remedy;
      }
      return "install or load the driver, or name it: --libdcgm, --libnvidia-ml, "
             "--remote-hostengine-info; podgpu retries by itself";
    case PartState::kDegraded:
      if (!basis.source->remedy.empty()) {
        return basis.source->remedy;
      }
      return "see docs/operations.md; podgpu retries by itself";
    default:
      return "run nvidia-smi on the node, read the kernel log and the log of the engine; podgpu "
             "continues by itself";
  }
}

// The last XID of GPU `index`, and when it was; "" when none is known.
std::string LastXidOf(const Grid& grid, size_t index) {
  const XidCount* last = nullptr;
  for (const XidCount& xid : grid.findings.xids) {
    if (xid.gpu == index && xid.code > 0 && (last == nullptr || xid.last_us > last->last_us)) {
      last = &xid;
    }
  }
  if (last == nullptr) {
    return "";
  }
  const int64_t age_us = std::max<int64_t>(0, ToMicroseconds(grid.read_at_wall) - last->last_us);
  return absl::StrFormat("; its last XID was %d, %d s before", last->code, age_us / 1'000'000);
}

DeviceLoss LossOf(const ConditionBasis& basis, size_t index) {
  return index < kMaxJudgedGpus ? basis.freshness.losses[index] : DeviceLoss::kNone;
}

// Why GPU `index`, which was in the state `before`, is in the state `now`.
std::string CauseOf(const TickFacts& facts, const ConditionBasis& basis, size_t index,
                    DeviceState before, DeviceState now) {
  std::string cause(CauseOf(now, LossOf(basis, index)));
  switch (now) {
    case DeviceState::kUnresponsive:
      return WhySilent(basis, index);
    case DeviceState::kLost:
      return cause + (facts.grid == nullptr ? "" : LastXidOf(*facts.grid, index));
    case DeviceState::kOk:
      if (before == DeviceState::kLost) {
        return "the driver reaches it again, and it gives values";
      }
      return before == DeviceState::kDegraded ? "it works fully again" : cause;
    default:
      return cause;
  }
}

struct XidRemedy {
  std::string_view action, remedy;
};

constexpr XidRemedy kXidRemedies[] = {
    {"none", "none is needed"},
    {"restart_app", "restart the program that runs on the GPU"},
    {"reset_gpu", "drain the GPU and reset it"},
    {"reboot_node", "drain the node and reboot it"},
    {"investigate", "read the kernel log for NVRM: Xid, and NVIDIA's catalogue of XIDs"},
};

std::string RemedyOfXid(std::string_view action) {
  const auto* const found = std::ranges::find(kXidRemedies, action, &XidRemedy::action);
  return std::string(found == std::end(kXidRemedies) ? "" : found->remedy);
}

}  // namespace

void StateLog::Note(const TickFacts& facts, const ConditionBasis& basis,
                    const Condition& condition) {
  NoteXids(facts);
  NotePods(basis, condition.ready, facts.now);
  if (ReturnsInPart(basis, condition, facts.now)) {
    return;
  }
  const bool gpus_told = NoteGpus(facts, basis, condition);
  const bool driver_told = NoteDriver(basis, condition, gpus_told, facts.now);
  // One reading without values passes by itself, so only what lasts is logged.
  if (condition.ready == is_ready_ || condition.may_pass) {
    return;
  }
  is_ready_ = condition.ready;
  if (!driver_told && !gpus_told && readiness_budget_.Take(facts.now)) {
    Log(LevelOf(is_ready_), "readiness has changed",
        {{"ready", YesOrNo(is_ready_)},
         {"verdict", readiness_budget_.WithNote(condition.verdict)}});
  }
}

// After a fault of all GPUs some may give values a reading before the others.  The end of the fault
// is one line, so it waits for the whole, but not longer than a value may be old.
bool StateLog::ReturnsInPart(const ConditionBasis& basis, const Condition& condition, Instant now) {
  const PartState state = condition.parts.front().state;
  const bool returns = driver_ == PartState::kUnresponsive &&
                       (state == PartState::kOk || state == PartState::kDegraded);
  returns_since_ = returns ? std::optional(returns_since_.value_or(now)) : std::nullopt;
  return returns && !condition.ready && now - *returns_since_ < basis.stale_after;
}

// Returns whether it wrote a line.  `is_told`: the line of a GPU has told the verdict, so a source
// that is well needs none.
bool StateLog::NoteDriver(const ConditionBasis& basis, const Condition& condition, bool is_told,
                          Instant now) {
  const PartCondition& driver = condition.parts.front();
  const bool is_passing =
      driver.state == PartState::kStarting || driver.state == PartState::kRecovering;
  if (driver.state == driver_ || is_passing) {
    return false;
  }
  driver_ = driver.state;
  if ((is_told && driver_ == PartState::kOk) || !driver_budget_.Take(now)) {
    return false;
  }
  Log(LevelOf(driver.state == PartState::kOk), "device source state changed",
      {{"state", std::string(PartStateName(driver.state))},
       {"detail", driver.detail},
       {"ready", YesOrNo(condition.ready)},
       {"verdict", condition.verdict},
       {"remedy", driver_budget_.WithNote(RemedyOfDriver(basis, driver.state))}});
  return true;
}

// While the source has a fault, that fault explains the state of all GPUs, so no GPU gets a line.
bool StateLog::NoteGpus(const TickFacts& facts, const ConditionBasis& basis,
                        const Condition& condition) {
  const PartState driver = condition.parts.front().state;
  if (basis.topology == nullptr || (driver != PartState::kOk && driver != PartState::kDegraded)) {
    return false;
  }
  bool is_told = false;
  for (size_t i = 0; i < basis.topology->gpus.size(); ++i) {
    is_told = NoteGpu(facts, basis, i, condition) || is_told;
  }
  return is_told;
}

bool StateLog::NoteGpu(const TickFacts& facts, const ConditionBasis& basis, size_t index,
                       const Condition& condition) {
  const Gpu& gpu = basis.topology->gpus[index];
  const DeviceState state =
      JudgeState(*basis.topology, index, basis.freshness, basis.devices_are_stale);
  AnnouncedGpu& announced = AnnouncedOf(gpu);
  // A worse loss of a degraded GPU needs another remedy, so it is told too.
  const DeviceLoss loss =
      state == DeviceState::kDegraded ? LossOf(basis, index) : DeviceLoss::kNone;
  if (state == DeviceState::kRecovering) {
    return false;
  }
  const bool is_worse = std::exchange(announced.loss, loss) < loss;
  if (state == announced.state && !is_worse) {
    return false;
  }
  const DeviceState before = std::exchange(announced.state, state);
  if (!announced.budget.Take(facts.now)) {
    return false;
  }
  Log(LevelOf(state == DeviceState::kOk), "GPU state changed",
      {{"state", std::string(DeviceStateName(state))},
       {"gpu", std::to_string(gpu.gpu_id)},
       {"uuid", gpu.uuid},
       {"pod", PodsOn(facts, OnlyGpu(index))},
       {"cause", CauseOf(facts, basis, index, before, state)},
       {"remedy", announced.budget.WithNote(RemedyOf(state, loss))},
       {"source", std::string(PartStateName(condition.parts.front().state))},
       {"ready", YesOrNo(condition.ready)},
       {"verdict", condition.verdict}});
  return true;
}

void StateLog::NotePods(const ConditionBasis& basis, bool is_ready, Instant now) {
  struct Row {
    AnnouncedPods& announced;
    bool are_withdrawn;
    std::string_view what;
    std::string_view detail;
    std::chrono::duration<double> stay_for;
  };
  const Row rows[] = {
      {owners_, basis.OwnersAreWithdrawn(), "owners of GPUs", basis.pods->detail,
       basis.owners_stay_for},
      {metadata_, basis.metadata_is_withdrawn, "labels and uids of pods",
       basis.api_pods == nullptr ? std::string_view() : basis.api_pods->detail,
       basis.metadata_stays_for},
      {containers_, basis.containers_are_withdrawn, "labels of containers",
       basis.containers == nullptr ? std::string_view() : basis.containers->detail,
       basis.owners_stay_for},
  };
  for (const Row& row : rows) {
    if (row.are_withdrawn == std::exchange(row.announced.are_withdrawn, row.are_withdrawn) ||
        !row.announced.budget.Take(now)) {
      continue;
    }
    const std::string after = absl::StrFormat("no new list for %.0f s: ", row.stay_for.count());
    Log(LevelOf(!row.are_withdrawn),
        absl::StrFormat("%s are %s", row.what, row.are_withdrawn ? "withdrawn" : "known again"),
        {{"gpu", "all"},
         {"pod", "all"},
         {"cause", absl::StrFormat("%s%s", row.are_withdrawn ? after : "", row.detail)},
         {"remedy",
          row.announced.budget.WithNote(
              row.are_withdrawn
                  ? "remove the cause; device values continue, and podgpu retries by itself"
                  : "none is needed")},
         {"ready", YesOrNo(is_ready)}});
  }
}

void StateLog::NoteXids(const TickFacts& facts) {
  if (facts.grid == nullptr || read_at_ == facts.grid->read_at) {
    return;
  }
  read_at_ = facts.grid->read_at;
  for (const XidCount& xid : facts.grid->findings.xids) {
    if (xid.code > 0) {
      AnnouncedXid& announced = AnnouncedOf(facts.grid->topology().gpus[xid.gpu], xid.code);
      // A source that was opened again counts from 0.
      announced.untold += xid.total < announced.total ? xid.total : xid.total - announced.total;
      announced.total = xid.total;
      TellXid(facts, xid, announced);
    }
  }
}

void StateLog::TellXid(const TickFacts& facts, const XidCount& xid, AnnouncedXid& announced) {
  if (announced.untold == 0 || (announced.told_at && facts.now - *announced.told_at < kXidPause)) {
    return;
  }
  const Topology& topology = facts.grid->topology();
  const std::string_view action = XidAction(xid.code);
  Log(LevelOf(action == "none"), "a GPU reports an XID",
      {{"xid", std::to_string(xid.code)},
       {"gpu", std::to_string(topology.gpus[xid.gpu].gpu_id)},
       {"uuid", topology.gpus[xid.gpu].uuid},
       {"pod", PodsOn(facts, OnlyGpu(xid.gpu))},
       {"cause", std::string(XidText(xid.code))},
       {"action", std::string(action)},
       {"remedy", RemedyOfXid(action)},
       {"events", std::to_string(announced.untold)}});
  announced.untold = 0;
  announced.told_at = facts.now;
}

StateLog::AnnouncedGpu& StateLog::AnnouncedOf(const Gpu& gpu) {
  const auto found = std::ranges::find_if(gpus_, [&](const AnnouncedGpu& announced) {
    return announced.uuid == gpu.uuid && (!gpu.uuid.empty() || announced.gpu_id == gpu.gpu_id);
  });
  if (found != gpus_.end()) {
    return *found;
  }
  AnnouncedGpu& announced = gpus_.emplace_back();
  announced.uuid = gpu.uuid;
  announced.gpu_id = gpu.gpu_id;
  return announced;
}

// When the table is full, the oldest entry is removed.
StateLog::AnnouncedXid& StateLog::AnnouncedOf(const Gpu& gpu, int64_t code) {
  const auto found = std::ranges::find_if(xids_, [&](const AnnouncedXid& announced) {
    return announced.code == code && announced.uuid == gpu.uuid;
  });
  if (found != xids_.end()) {
    return *found;
  }
  if (xids_.size() == kMostXids) {
    xids_.erase(xids_.begin());
  }
  AnnouncedXid& announced = xids_.emplace_back();
  announced.uuid = gpu.uuid;
  announced.code = code;
  return announced;
}

}  // namespace podgpu
