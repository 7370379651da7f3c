#include "process/identity_cache.h"

#include <utility>

namespace podgpu {

void IdentityCache::Begin() {
  unknown_ = 0;
  reason_ = absl::OkStatus();
  for (auto& [pid, known] : known_) {
    known.asked = false;
  }
}

std::shared_ptr<const ProcessIdentity> IdentityCache::Find(uint32_t pid) {
  Known& known = known_[pid];
  if (!known.asked) {  // A process on several lists gets one answer for all.
    known.asked = true;
    known.identity = Look(pid, known);
  }
  return known.identity;
}

std::shared_ptr<const ProcessIdentity> IdentityCache::Look(uint32_t pid, Known& known) {
  // Taken before the reads, so that a process that takes over the pid meanwhile has another mark in
  // the next scan.
  const std::optional<FileMark> mark = reader_.Mark(pid);
  const bool is_same = mark && mark == std::exchange(known.mark, mark);
  if (known.identity != nullptr) {
    if (is_same) {
      return known.identity;
    }
    const StatusOr<uint64_t> start_ticks = reader_.StartTicks(pid);
    if (start_ticks.ok() && *start_ticks == known.identity->key.start_ticks) {
      return known.identity;
    }
  }
  StatusOr<ProcessIdentity> identity = reader_.Identify(pid);
  if (identity.ok()) {
    return std::make_shared<const ProcessIdentity>(*std::move(identity));
  }
  if (!absl::IsNotFound(identity.status())) {
    ++unknown_;
    reason_ = identity.status();
  }
  return nullptr;
}

void IdentityCache::End() {
  std::erase_if(known_, [](const auto& entry) { return !entry.second.asked; });
}

}  // namespace podgpu
