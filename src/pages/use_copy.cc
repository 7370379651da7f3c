#include "pages/use_copy.h"

#include <algorithm>

namespace podgpu {
namespace {

CopiedProcess CopyOf(const ProcessOnDevice& key, const ProcessRow& row, const Ledger& ledger) {
  CopiedProcess copy;
  copy.key = key;
  copy.instance = row.instance;
  copy.computes = row.computes;
  copy.draws = row.draws;
  copy.listed = row.listed;
  copy.pod = row.pod;
  copy.memory_bytes = row.memory_bytes;
  copy.sm_percent = row.sm_percent;
  copy.started_at = row.started_at;
  if (row.identity != nullptr) {
    copy.name = row.identity->name;
    copy.started_at = row.identity->started_at;
  }
  if (const EnergyByMethod* const energy = ledger.Process(key)) {
    copy.energy = *energy;
  }
  return copy;
}

// The processes of a device without a running one that were there until the same reading.
void CopyLastSeen(DeviceNumber device, const ProcessTable::Rows& rows, const Ledger& ledger,
                  UseCopy& copy) {
  std::optional<Instant> ended;
  for (const auto& [process, row] : rows) {
    if (row.active) {
      return;
    }
    ended = std::max(ended.value_or(row.ended_at), row.ended_at);
  }
  for (const auto& [process, row] : rows) {
    if (row.ended_at == ended) {
      copy.last_seen.push_back(CopyOf({process, device}, row, ledger));
    }
  }
}

void CopyPods(const ProcessAccounts& accounts, const ProcessNames& names, UseCopy& copy) {
  for (const auto& [key, use] : accounts.uses().all()) {
    const auto pod = names.pods.find(accounts.table().pods().UidOf(key.pod));
    if (pod == names.pods.end() || (!use.now.holds && !use.now.runs)) {
      continue;
    }
    const auto holding = names.holdings.find(key);
    CopiedPod& copied = copy.pods.emplace_back();
    copied.key = key;
    copied.pod_namespace = pod->second.name_space;
    copied.pod = pod->second.name;
    copied.container = holding == names.holdings.end() ? "" : holding->second.container;
    copied.sm_percent = use.sm_percent;
    copied.memory_bytes = use.memory_bytes;
    copied.active_at = use.active_at;
    copied.allocated = std::chrono::microseconds(use.allocated_us);
    copied.idle = std::chrono::microseconds(use.idle_us);
    if (const EnergyByMethod* const energy = accounts.ledger().Pod(key)) {
      copied.energy = *energy;
    }
  }
}

}  // namespace

std::optional<DeviceNumber> UseCopy::DeviceOf(std::string_view uuid) const {
  const auto found = std::ranges::find(uuids, uuid);
  return found == uuids.end()
             ? std::nullopt
             : std::optional(DeviceNumber{static_cast<uint32_t>(found - uuids.begin())});
}

UseCopy CopyUse(const ProcessAccounts& accounts, const ProcessNames& names, bool is_fresh) {
  UseCopy copy;
  copy.is_known = is_fresh;
  if (!is_fresh) {
    return copy;
  }
  for (const auto& [device, uuid] : names.uuids) {
    copy.uuids.resize(std::max<size_t>(copy.uuids.size(), device.value + size_t{1}));
    copy.uuids[device.value] = uuid;
  }
  for (const auto& [device, rows] : accounts.table().devices()) {
    for (const auto& [process, row] : rows) {
      if (row.active) {
        copy.processes.push_back(CopyOf({process, device}, row, accounts.ledger()));
      }
    }
    CopyLastSeen(device, rows, accounts.ledger(), copy);
  }
  CopyPods(accounts, names, copy);
  return copy;
}

}  // namespace podgpu
