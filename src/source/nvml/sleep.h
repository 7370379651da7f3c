// Which devices the kernel has suspended, so that nobody asks about them: a call would wake them.
//
// Asked of sysfs (pci_bus.h) before each look and each reading, for those devices alone that the
// kernel may suspend.  Without a sysfs no device sleeps.  Stateless; any thread.
#pragma once

#include <vector>

#include "base/files.h"
#include "source/nvml/look.h"

namespace podgpu {

class NvmlSleep {
 public:
  // Borrows `sysfs`, which may be null.
  explicit NvmlSleep(const Files* sysfs) : sysfs_(sysfs) {}

  // Sets `may_sleep` of each.
  void Note(std::vector<NvmlFound>& devices) const;
  bool IsAsleep(const NvmlFound& device) const;
  // Those that sleep now.
  std::vector<NvmlFound> Sleepers(const std::vector<NvmlFound>& devices) const;
  // Those that sleep on the bus and are not among `known`.
  NvmlStrangers Strangers(const std::vector<NvmlFound>& known) const;

 private:
  const Files* const sysfs_;
};

}  // namespace podgpu
