#include <array>

#include "doctor/checks.h"

namespace podgpu {
namespace {

constexpr std::array kChecks = {
    Check{"host.kernel", "Host", "", CheckKernel},
    Check{"host.clock", "Host", "", CheckClock},
    Check{"host.rights", "Host", "", CheckRights},
    Check{"pci.devices", "Driver", "", CheckPciDevices},
    Check{"driver.nodes", "Driver", "pci.devices", CheckDriverNodes},
    Check{"driver.library", "Driver", "pci.devices", CheckDriverLibrary},
    Check{"driver.answers", "Driver", "driver.library", CheckDriverAnswers},
    Check{"dcgm.engine", "Driver", "pci.devices", CheckEngine},
    Check{"dcgm.client", "Driver", "dcgm.engine", CheckEngineClient},
    Check{"source.choice", "Driver", "pci.devices", CheckSourceChoice},
    Check{"gpu.states", "GPUs", "source.choice", CheckGpuStates},
    Check{"gpu.mig", "GPUs", "source.choice", CheckMig},
    Check{"gpu.profiling", "GPUs", "source.choice", CheckProfiling},
    Check{"gpu.energy", "GPUs", "source.choice", CheckEnergy},
    Check{"gpu.memory", "GPUs", "source.choice", CheckMemory},
    Check{"gpu.recovery", "GPUs", "source.choice", CheckRecovery},
    Check{"process.namespace", "Processes", "driver.answers", CheckNamespace},
    Check{"process.cgroups", "Processes", "process.namespace", CheckCgroups},
    Check{"process.accounting", "Processes", "driver.answers", CheckAccounting},
    Check{"process.names", "Processes", "process.namespace", CheckProcessNames},
    Check{"kube.socket", "Kubernetes", "", CheckKubeSocket},
    Check{"kube.self", "Kubernetes", "kube.socket", CheckKubeSelf},
    Check{"kube.mapping", "Kubernetes", "kube.socket", CheckKubeMapping},
    Check{"kube.api", "Kubernetes", "", CheckKubeApi},
    Check{"kube.dra", "Kubernetes", "kube.socket", CheckKubeDra},
    Check{"config.files", "Exporter", "", CheckConfigFiles},
    Check{"config.fields", "Exporter", "config.files", CheckConfigFields},
    Check{"net.listen", "Exporter", "", CheckListen},
    Check{"self.cost", "Exporter", "net.listen", CheckSelfCost},
};

}  // namespace

std::span<const Check> CheckTable() { return kChecks; }

}  // namespace podgpu
