// The simulated NVML: the topology of two GPUs.
//
// As the simulated DCGM reports: every path over the bus leads through the CPU, and NVLink connects
// boards that have links, except boards in MIG mode.
#include "abi/nvml.h"
#include "sim/nvml/call.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

constexpr int kSameBoard = 0, kSameCpu = 40;  // nvmlGpuTopologyLevel_t
// What peers may do, nvmlGpuP2PCapsIndex_t: read, write, over NVLink, atomically; over the bus.
constexpr int kLastOverLinks = 3, kOverBus = 4;
constexpr int kPeersCan = 0, kPeersCannot = 5;  // nvmlGpuP2PStatus_t

// Answers with what body(first, second) returns for two whole GPUs.
template <typename Body>
nvmlReturn_t TellOfPair(std::string_view call, nvmlDevice_t first, nvmlDevice_t second, int* place,
                        const Body& body) {
  const NvmlTarget other = BeginNvmlCall({call, second});
  if (other.result != NVML_SUCCESS) {
    return other.result;
  }
  return AnswerNvml({call, first}, place, [&](const NvmlTarget& on) { return body(on, other); });
}

bool HasLinks(const NvmlTarget& on) { return on.gpu().nvlink_count > 0 && !InMigMode(on); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                 int* level) {
  return TellOfPair(__func__, first, second, level,
                    [](const NvmlTarget& on, const NvmlTarget& other) {
                      return NvmlNumber(on.device.gpu == other.device.gpu ? kSameBoard : kSameCpu);
                    });
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, int capability,
                                    int* status) {
  return TellOfPair(
      __func__, first, second, status, [&](const NvmlTarget& on, const NvmlTarget& other) {
        if (capability < 0 || capability > kOverBus || on.device.gpu == other.device.gpu) {
          return NvmlRefusal(NVML_ERROR_INVALID_ARGUMENT);
        }
        const bool over_links = HasLinks(on) && HasLinks(other);
        const bool over_bus = !InMigMode(on) && !InMigMode(other);
        const bool can = capability <= kLastOverLinks ? over_links : over_bus;
        return NvmlNumber(can ? kPeersCan : kPeersCannot);
      });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
