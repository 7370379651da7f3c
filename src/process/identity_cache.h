// Who each pid is, without reading all of it again at each look.
//
// Between Begin and End lies one look at the lists of all devices.  A pid that was known costs one
// read, which tells whether it is still the same process; a pid that nobody asks for any longer is
// forgotten.  Why a process is not known is counted and the last reason kept, for the status page
// and the doctor.  For the thread that asks the driver; borrows `reader`, which outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

  // Of the last look: pids that could not be looked up though they are not gone, and why.
  size_t unknown() const { return unknown_; }
  const Status& reason() const { return reason_; }

 private:
  struct Known {
    std::shared_ptr<const ProcessIdentity> identity;  // Null when it is not known.
    bool asked = false;                               // In this look.
  };

  std::shared_ptr<const ProcessIdentity> Look(uint32_t pid, const Known& known);

  const ProcReader& reader_;
  std::unordered_map<uint32_t, Known> known_;
  size_t unknown_ = 0;
  Status reason_;
};

}  // namespace podgpu
