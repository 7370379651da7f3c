#include "health/remedies.h"

#include <array>

#include "topology/device_state.h"

namespace podgpu {
namespace {

struct StateWords {
  DeviceState state;
  std::string_view cause, remedy;
};

// In the order of DeviceState.
constexpr std::array<StateWords, kDeviceStateCount> kStateWords = {{
    {DeviceState::kOk, "it gives values again", "none is needed"},
    {DeviceState::kDegraded,
     "the driver reports it as degraded, or does not report the identity of the GPU",
     "run nvidia-smi on the node and read the kernel log"},
    {DeviceState::kUnresponsive, "",
     "run nvidia-smi on the node, read the kernel log and the log of the engine"},
    {DeviceState::kLost, "the driver no longer reaches it: it fell off the bus or was unbound",
     "read the kernel log for NVRM: Xid; drain the node, then reset or reboot"},
    {DeviceState::kRecovering, "", ""},
}};

}  // namespace

std::string_view CauseOf(DeviceState state, DeviceLoss loss) {
  return state == DeviceState::kDegraded && loss != DeviceLoss::kNone
             ? CauseOf(loss)
             : kStateWords[static_cast<size_t>(state)].cause;
}

std::string_view RemedyOf(DeviceState state, DeviceLoss loss) {
  return state == DeviceState::kDegraded && loss != DeviceLoss::kNone
             ? RemedyOf(loss)
             : kStateWords[static_cast<size_t>(state)].remedy;
}

std::string_view RemedyOf(Absence absence) {
  switch (absence) {
    case Absence::kNotPermitted:
      return "run podgpu as root; profiling also needs the capability SYS_ADMIN, or a driver "
             "loaded with NVreg_RestrictProfilingToAdminUsers=0";
    case Absence::kCountersTaken:
      return "end the other profiler (ncu, nsys, or another exporter); podgpu continues by itself";
    default:
      return "read the log of the engine and the kernel log; podgpu retries by itself";
  }
}

}  // namespace podgpu
