// Per device: the state of the driver's accounting, and the number of processes that began and
// ended between two readings, which only accounting reports.
//
// Counts stay when the rows of those processes are removed, and include processes without a row.
// One thread, the tick's.
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
    bool was_told = false;  // Accounting was on at least once, so the count is meaningful.
  };

  void Take(const ProcessReading& reading) {
    for (auto& [device, told] : devices_) {
      told.accounting = Accounting::kNotRead;  // Also for a device that is gone.
    }
    for (const DeviceReading& device : reading.devices) {
      OfDevice& told = devices_[device.device];
      told.accounting = device.accounting;
      told.count += device.ended.size();
      told.was_told = told.was_told || device.accounting == Accounting::kOn;
    }
  }

  // Returns null for a device that was never read.
  const OfDevice* Of(DeviceNumber device) const {
    const auto found = devices_.find(device);
    return found == devices_.end() ? nullptr : &found->second;
  }

 private:
  std::map<DeviceNumber, OfDevice> devices_;
};

}  // namespace podgpu
