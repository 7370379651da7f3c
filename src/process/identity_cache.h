// Remembers the identity of each pid, so that a scan need not read all of /proc again.
//
// Between Begin and End lies one scan of the lists of all devices. A known pid costs one look at
// the mark of its folder, which tells whether it is still the same process; where that has changed,
// or there are no marks, one read of its start time. A pid that a scan does not ask for is
// forgotten. The cache counts processes without identity and keeps the last reason, for the status
// page and the doctor. For the thread that queries the driver; borrows `reader`, which outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/status.h"
#include "process/proc_reader.h"

namespace podgpu {

class IdentityCache {
 public:
  explicit IdentityCache(const ProcReader& reader) : reader_(reader) {}

  void Begin();
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
    bool asked = false;            // The pid was asked for in this scan.
  };

  std::shared_ptr<const ProcessIdentity> Look(uint32_t pid, Known& known);

  const ProcReader& reader_;
  std::unordered_map<uint32_t, Known> known_;
  size_t unknown_ = 0;
  Status reason_;
};

}  // namespace podgpu
