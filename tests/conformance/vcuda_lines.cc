#include "tests/conformance/conformance_lines.h"

namespace podgpu {
namespace {

constexpr ConformanceLine kVcuda[] = {
    {"families", "names, HELP, labels and their order, a line per card and the total",
     "VcudaView.HasALinePerCardAndTheirSumAsTheTotal", ""},
    {"15",
     "`vcuda-core` 50 and 200 are 0.5 and 2; `vcuda-memory` 30 is 7680; none, with a card of "
     "24576 MiB in use, is 24576",
     "VcudaRowsTest.TheRequestsOfGpuManagerAreHundredthsOfCardsAnd256MiB", ""},
    {"16", "cards at 40 and 70: `gpu0`, `gpu1`, and 110 as `total`",
     "VcudaRowsTest.TheTotalIsTheSumOverCards", ""},
    {"requests", "each container of such a pod, also one without a request",
     "VcudaRowsTest.EveryContainerOfAPodWithARequestHasALine",
     "none of containers that only initialise"},
    {"requests", "resources of NVIDIA's plugin, MIG, HAMi, Volcano and gpushare",
     "GpuRequest.IsReadFromTheResourcesOfEachPlugin", "gpu-manager knows only its own"},
    {"cards", "the cards that the scheduler's annotation names",
     "VcudaRowsTest.CardsComeFromTheSchedulerElseTheKubeletAndFromProcesses",
     "otherwise the kubelet's cards and those with its processes"},
    {"use", "an unreadable value has no series",
     "VcudaRowsTest.WithdrawsNumbersOfDevicesThatCannotBeRead", ""},
    {"use", "without pods from the API server",
     "VcudaRowsTest.WithoutTheApiServerProcessesIdentifyTheOnlyHolderOfADevice",
     "gpu-manager does not start"},
    {"listener", "`--query-addr`, `--query-port`",
     "Flags.StartGpuManagersListenerOnlyWhenRequested", "off unless one of them is given"},
    {"listener", "`/metric`", "RoutesTest.GpuManagersListenerHasOnePageAndNamesItElsewhere",
     "`/graph`, `/usage`, `/version` and the profiler are not served"},
};

}  // namespace

std::span<const ConformanceLine> VcudaLines() { return kVcuda; }

}  // namespace podgpu
