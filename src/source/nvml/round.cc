#include "source/nvml/round.h"

namespace podgpu {

void NvmlRound::Run() {
  codes.resize(devices.size(), abi::NVML_SUCCESS);
  for (size_t i = first; i < devices.size(); ++i) {
    if (!GoTo(static_cast<int>(i))) {
      return;
    }
    codes[i] = devices[i]->Read(plan, round);
  }
  GoTo(kNowhere);
}

}  // namespace podgpu
