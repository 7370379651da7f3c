#include "cluster/idle_gpus.h"

#include <algorithm>

namespace podgpu {
namespace {

// A GPU counts as idle below one percent of the time or of the multiprocessors: housekeeping of the
// driver and of idle frameworks is not zero.
constexpr double kIdleShare = 0.01;
constexpr double kPercentOfWhole = 100;

bool HasHolders(const DeviceUse& use) { return !use.owners.empty() || use.hidden_owners > 0; }

std::optional<double> ActivityIn(const DeviceUse& use) {
  if (const std::optional<UseValue>& active = use.of(UseMeasure::kSmActive)) {
    return std::min(active->value, 1.0);
  }
  if (const std::optional<UseValue>& busy = use.of(UseMeasure::kUtilization)) {
    return busy->value / kPercentOfWhole;
  }
  return std::nullopt;
}

bool HaveTheSameHolders(const DeviceUse& a, const DeviceUse& b) {
  return a.owners == b.owners && a.hidden_owners == b.hidden_owners;
}

bool HaveTheSameHoldersInAll(const ReportedGpu& a, const ReportedGpu& b) {
  return HaveTheSameHolders(a.use, b.use) &&
         std::ranges::equal(a.instances, b.instances,
                            [](const ReportedInstance& one, const ReportedInstance& other) {
                              return one.gpu_instance_id == other.gpu_instance_id &&
                                     HaveTheSameHolders(one.use, other.use);
                            });
}

}  // namespace

std::optional<bool> DoesNothing(const DeviceUse& use) {
  const std::optional<UseValue>& active = use.of(UseMeasure::kSmActive);
  const std::optional<UseValue>& busy = use.of(UseMeasure::kUtilization);
  if (!active && !busy) {
    return std::nullopt;
  }
  return (!active || active->value < kIdleShare) &&
         (!busy || busy->value / kPercentOfWhole < kIdleShare);
}

bool IsHeld(const ReportedGpu& gpu) {
  return HasHolders(gpu.use) ||
         std::ranges::any_of(gpu.instances, [](const ReportedInstance& instance) {
           return HasHolders(instance.use);
         });
}

std::optional<double> ActivityOf(const ReportedGpu& gpu) {
  std::optional<double> activity = ActivityIn(gpu.use);
  if (activity) {
    return activity;
  }
  for (const ReportedInstance& instance : gpu.instances) {
    if (const std::optional<double> part = ActivityIn(instance.use)) {
      activity = std::max(activity.value_or(0), *part);
    }
  }
  return activity;
}

bool IsIdle(const ReportedGpu& gpu) {
  return IsHeld(gpu) && (!HasHolders(gpu.use) || DoesNothing(gpu.use).value_or(false)) &&
         std::ranges::all_of(gpu.instances, [](const ReportedInstance& instance) {
           return !HasHolders(instance.use) || DoesNothing(instance.use).value_or(false);
         });
}

IdleSpells ContinueIdle(const IdleSpells& spells, const NodeReport* before, const NodeReport& now,
                        Instant read_at) {
  IdleSpells next;
  for (const ReportedGpu& gpu : now.gpus) {
    if (!IsIdle(gpu)) {
      continue;
    }
    Instant since = read_at;
    const auto spell = spells.find(gpu.uuid);
    // A new holder must not inherit the idle time of the previous one.
    if (spell != spells.end() && before != nullptr) {
      const auto same = std::ranges::find(before->gpus, gpu.uuid, &ReportedGpu::uuid);
      if (same != before->gpus.end() && HaveTheSameHoldersInAll(*same, gpu)) {
        since = spell->second;
      }
    }
    next.emplace(gpu.uuid, since);
  }
  return next;
}

}  // namespace podgpu
