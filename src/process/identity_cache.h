// Remembers the identity of each pid, so that a scan need not read all of /proc again.
//
// Between Begin and End lies one scan of the lists of all devices, which were read before Begin. A
// known pid that the kernel has not given out since the scan before is the same process, and costs
// nothing. Any other known pid costs one look at the mark of its folder, which tells whether it is
// still the same process; where that has changed, or there are no marks, one read of its start
// time. Each ten seconds all pids are looked at, in case the kernel has given out all pids once, or
// a restored process has got the pid that it had (set_tid). If another process is then found on a
// pid that was not given out, the cache looks at all pids from then on. A pid that a scan does not
// ask for is forgotten. The cache counts processes without identity and keeps the last reason, for
// the status page and the doctor. For the thread that queries the driver; borrows `reader`, which
// outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/status.h"
#include "process/proc_reader.h"

namespace podgpu {

class IdentityCache {
 public:
  explicit IdentityCache(const ProcReader& reader) : reader_(reader) {}

  void Begin(Instant now);
  // Null when the process is gone or cannot be looked up.
  std::shared_ptr<const ProcessIdentity> Find(uint32_t pid);
  void End();

  // Result of the last scan: number of running processes that could not be identified, and the last
  // reason.
  size_t unknown() const { return unknown_; }
  const Status& reason() const { return reason_; }

 private:
  struct Known {
    std::shared_ptr<const ProcessIdentity> identity;  // Null when it could not be identified.
    std::optional<FileMark> mark;  // Taken before `identity` was confirmed; nothing: read it.
    uint64_t asked_in = 0;         // The last scan that asked for the pid.
  };

  std::shared_ptr<const ProcessIdentity> Look(uint32_t pid, Known& known);
  // Returns whether another process can have got the pid since the scan before.
  bool MayBeReused(uint32_t pid) const;

  // Called when another process is found on a known pid.
  void NoteReuse(uint32_t pid);

  const ProcReader& reader_;
  // The pid given out last, at this scan and at the scan before; nothing: look at every pid.
  std::optional<uint32_t> last_pid_, earlier_last_pid_;
  std::optional<Instant> looked_at_all_;
  bool looks_at_all_ = false;  // This scan does.
  // The same at the last two scans that looked at all.
  std::optional<uint32_t> last_of_all_, earlier_last_of_all_;
  bool is_believed_ = true;  // The kernel's word about the pids that it gave out.
  uint64_t scan_ = 0;        // Counts from 1.
  size_t asked_ = 0;         // Pids that this scan asked for.
  std::unordered_map<uint32_t, Known> known_;
  size_t unknown_ = 0;
  Status reason_;
};

}  // namespace podgpu
