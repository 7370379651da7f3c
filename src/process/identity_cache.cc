#include "process/identity_cache.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/log.h"

namespace podgpu {
namespace {

constexpr Duration kLookAtAllEvery = std::chrono::seconds(10);

}  // namespace

void IdentityCache::Begin(Instant now) {
  earlier_last_pid_ = std::exchange(last_pid_, is_believed_ ? reader_.LastPid() : std::nullopt);
  looks_at_all_ = !looked_at_all_ || now - *looked_at_all_ >= kLookAtAllEvery;
  if (looks_at_all_) {
    looked_at_all_ = now;
    earlier_last_pid_.reset();
    earlier_last_of_all_ = std::exchange(last_of_all_, last_pid_);
  }
  unknown_ = 0;
  reason_ = absl::OkStatus();
  ++scan_;
  asked_ = 0;
}

std::shared_ptr<const ProcessIdentity> IdentityCache::Find(uint32_t pid) {
  Known& known = known_[pid];
  // A process on several lists gets one answer for all.
  if (std::exchange(known.asked_in, scan_) != scan_) {
    ++asked_;
    if (known.identity == nullptr || MayBeReused(pid)) {
      known.identity = Look(pid, known);
    }
  }
  return known.identity;
}

bool IdentityCache::MayBeReused(uint32_t pid) const {
  return !last_pid_ || !earlier_last_pid_ || WasGivenOut(pid, *earlier_last_pid_, *last_pid_);
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
    if (known.identity != nullptr) {
      NoteReuse(pid);
    }
    return std::make_shared<const ProcessIdentity>(*std::move(identity));
  }
  if (!absl::IsNotFound(identity.status())) {
    ++unknown_;
    reason_ = identity.status();
  }
  return nullptr;
}

// Some file systems put a /proc/loadavg of their own into a container (lxcfs).
void IdentityCache::NoteReuse(uint32_t pid) {
  if (is_believed_ && looks_at_all_ && last_pid_ && earlier_last_of_all_ &&
      !WasGivenOut(pid, *earlier_last_of_all_, *last_pid_)) {
    is_believed_ = false;
    Log(LogLevel::kInfo,
        "a pid was given out again and /proc/loadavg did not tell it; podgpu looks at all GPU "
        "processes in each reading from now on",
        {{"pid", std::to_string(pid)}});
  }
}

void IdentityCache::End() {
  if (asked_ < known_.size()) {
    std::erase_if(known_, [this](const auto& entry) { return entry.second.asked_in != scan_; });
  }
}

}  // namespace podgpu
