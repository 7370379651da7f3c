// GPM's samples, which the library allocates, kept to be used again.
//
// Devices come and go on one thread, and hang on another; but a sample is made and freed by a call,
// which may hang, too.  So a device gives its samples back here without a call, and they are freed
// where calls are made (task.h), all together.  Any thread may give; the rest belongs to
// whoever calls the library.
#pragma once

#include <vector>

#include "abi/nvml_table.h"
#include "base/mutex.h"

namespace podgpu {

class NvmlSamples {
 public:
  // One that lies here, or a new one.
  abi::nvmlReturn_t Take(const abi::NvmlTable& api, abi::nvmlGpmSample_t& sample);

  // Keeps it; calls nothing.
  void Give(abi::nvmlGpmSample_t sample);

  // Frees all that lie here.
  void Free(const abi::NvmlTable& api);

 private:
  Mutex mutex_;  // Who gives back a device's samples may be another thread than who reads.
  std::vector<abi::nvmlGpmSample_t> unused_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
