#include "source/nvml/samples.h"

#include <utility>

namespace podgpu {

abi::nvmlReturn_t NvmlSamples::Take(const abi::NvmlTable& api, abi::nvmlGpmSample_t& sample) {
  {
    MutexLock lock(mutex_);
    if (!unused_.empty()) {
      sample = unused_.back();
      unused_.pop_back();
      return abi::NVML_SUCCESS;
    }
  }
  return api.nvmlGpmSampleAlloc(&sample);
}

void NvmlSamples::Give(abi::nvmlGpmSample_t sample) {
  MutexLock lock(mutex_);
  unused_.push_back(sample);
}

void NvmlSamples::Free(const abi::NvmlTable& api) {
  std::vector<abi::nvmlGpmSample_t> unused;
  {
    MutexLock lock(mutex_);
    unused.swap(unused_);
  }
  for (abi::nvmlGpmSample_t sample : unused) {
    api.nvmlGpmSampleFree(sample);
  }
}

}  // namespace podgpu
