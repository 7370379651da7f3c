// Of each device: whether the driver accounts for its processes, and how many began and ended
// between two readings, which accounting alone tells of.
//
// Counts outlive the rows of those processes, and count those that get none.  One thread, the
// tick's.
#pragma once

#include <cstdint>
#include <map>

#include "process/process_reading.h"

namespace podgpu {

class ShortLives {
 public:
  struct OfDevice {
    Accounting accounting = Accounting::kNotRead;
    uint64_t count = 0;
    bool was_told = false;  // Accounting was on once, so that the count says something.
  };

  void Take(const ProcessReading& reading) {
    for (auto& [device, told] : devices_) {
      told.accounting = Accounting::kNotRead;  // Also of one that is gone.
    }
    for (const DeviceReading& device : reading.devices) {
      OfDevice& told = devices_[device.device];
      told.accounting = device.accounting;
      told.count += device.ended.size();
      told.was_told = told.was_told || device.accounting == Accounting::kOn;
    }
  }

  // Null for a device that was never read.
  const OfDevice* Of(DeviceNumber device) const {
    const auto found = devices_.find(device);
    return found == devices_.end() ? nullptr : &found->second;
  }

 private:
  std::map<DeviceNumber, OfDevice> devices_;
};

}  // namespace podgpu
