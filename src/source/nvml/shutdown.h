// The last thing that is done with NVML: free what samples lie unused, then shut it down.
//
// Each call of it undoes one nvmlInit_v2, so that NVML, and with it every device, is let go of when
// all who began it in this process have ended.
#pragma once

#include <memory>
#include <utility>

#include "abi/load.h"
#include "source/nvml/samples.h"
#include "source/nvml/task.h"

namespace podgpu {

class NvmlShutdown final : public NvmlTask {
 public:
  NvmlShutdown(std::shared_ptr<const abi::NvmlLibrary> library,
               std::shared_ptr<NvmlSamples> samples)
      : library_(std::move(library)), samples_(std::move(samples)) {}
  void Run() override {
    samples_->Free(library_->api);
    library_->api.nvmlShutdown();
  }

 private:
  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_;
};

}  // namespace podgpu
