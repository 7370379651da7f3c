// Exported: the vendor's names that no client of the simulator needs.
//
// A client that binds all names at load, or one lazily, finds them.  A call of one answers "not
// supported" after the checks and the round trip of any other call.  When a client needs one, it
// moves to the other exports.
#include "sim/dcgm/library.h"

namespace podgpu::sim {

// The vendor's further parameters are ignored; C's calling convention allows that.
#define PODGPU_DCGM_STUB(name)                                                                     \
  abi::dcgmReturn_t name(abi::dcgmHandle_t handle) {                                               \
    return Call(handle, __func__, [](const Scene&) -> int { return abi::DCGM_ST_NOT_SUPPORTED; }); \
  }

#pragma GCC visibility push(default)
extern "C" {

PODGPU_DCGM_STUB(dcgmActionValidate)
PODGPU_DCGM_STUB(dcgmActionValidate_v2)
PODGPU_DCGM_STUB(dcgmConfigEnforce)
PODGPU_DCGM_STUB(dcgmConfigGet)
PODGPU_DCGM_STUB(dcgmConfigSet)
PODGPU_DCGM_STUB(dcgmCreateFakeEntities)
PODGPU_DCGM_STUB(dcgmCreateMigEntity)
PODGPU_DCGM_STUB(dcgmCreateNvmlInjectionGpu)
PODGPU_DCGM_STUB(dcgmDeleteMigEntity)
PODGPU_DCGM_STUB(dcgmDiagSendHeartbeat)
PODGPU_DCGM_STUB(dcgmGetCacheManagerFieldInfo)
PODGPU_DCGM_STUB(dcgmFieldGroupGetAll)
PODGPU_DCGM_STUB(dcgmFieldGroupGetInfo)
PODGPU_DCGM_STUB(dcgmGetFieldSummary)
PODGPU_DCGM_STUB(dcgmGetFieldValuesSince)
PODGPU_DCGM_STUB(dcgmGetGpuChipArchitecture)
PODGPU_DCGM_STUB(dcgmGetGroupTopology)
PODGPU_DCGM_STUB(dcgmGetLatestValues)
PODGPU_DCGM_STUB(dcgmGetLatestValues_v2)
PODGPU_DCGM_STUB(dcgmGetMultipleValuesForField)
PODGPU_DCGM_STUB(dcgmGetNvmlInjectFuncCallCount)
PODGPU_DCGM_STUB(dcgmGetPidInfo)
PODGPU_DCGM_STUB(dcgmGetValuesSince)
PODGPU_DCGM_STUB(dcgmGetVgpuDeviceAttributes)
PODGPU_DCGM_STUB(dcgmGetVgpuInstanceAttributes)
PODGPU_DCGM_STUB(dcgmGroupGetAllIds)
PODGPU_DCGM_STUB(dcgmGroupRemoveDevice)
PODGPU_DCGM_STUB(dcgmGroupRemoveEntity)
PODGPU_DCGM_STUB(dcgmHealthSet_v2)
PODGPU_DCGM_STUB(dcgmHostengineIsHealthy)
PODGPU_DCGM_STUB(dcgmHostengineSetLoggingSeverity)
PODGPU_DCGM_STUB(dcgmInjectEntityFieldValue)
PODGPU_DCGM_STUB(dcgmInjectEntityFieldValueToNvml)
PODGPU_DCGM_STUB(dcgmInjectFieldValue)
PODGPU_DCGM_STUB(dcgmInjectNvmlDevice)
PODGPU_DCGM_STUB(dcgmInjectNvmlDeviceForFollowingCalls)
PODGPU_DCGM_STUB(dcgmInjectedNvmlDeviceReset)
PODGPU_DCGM_STUB(dcgmIntrospectGetHostengineCpuUtilization)
PODGPU_DCGM_STUB(dcgmIntrospectGetHostengineMemoryUsage)
PODGPU_DCGM_STUB(dcgmJobGetStats)
PODGPU_DCGM_STUB(dcgmJobRemove)
PODGPU_DCGM_STUB(dcgmJobRemoveAll)
PODGPU_DCGM_STUB(dcgmJobStartStats)
PODGPU_DCGM_STUB(dcgmJobStopStats)
PODGPU_DCGM_STUB(dcgmModuleDenylist)
PODGPU_DCGM_STUB(dcgmModuleGetStatuses)
PODGPU_DCGM_STUB(dcgmNvswitchGetBackend)
PODGPU_DCGM_STUB(dcgmPauseTelemetryForDiag)
PODGPU_DCGM_STUB(dcgmPolicyGet)
PODGPU_DCGM_STUB(dcgmPolicySet)
PODGPU_DCGM_STUB(dcgmPolicyTrigger)
PODGPU_DCGM_STUB(dcgmPolicyUnregister)
PODGPU_DCGM_STUB(dcgmProfPause)
PODGPU_DCGM_STUB(dcgmProfResume)
PODGPU_DCGM_STUB(dcgmRemoveNvmlInjectedGpu)
PODGPU_DCGM_STUB(dcgmResetNvmlInjectFuncCallCount)
PODGPU_DCGM_STUB(dcgmRestoreNvmlInjectedGpu)
PODGPU_DCGM_STUB(dcgmResumeTelemetryForDiag)
PODGPU_DCGM_STUB(dcgmRunDiagnostic)
PODGPU_DCGM_STUB(dcgmSelectGpusByTopology)
PODGPU_DCGM_STUB(dcgmSetEntityNvLinkLinkState)
PODGPU_DCGM_STUB(dcgmStopDiagnostic)
PODGPU_DCGM_STUB(dcgmUnwatchFieldValue)
PODGPU_DCGM_STUB(dcgmVgpuConfigEnforce)
PODGPU_DCGM_STUB(dcgmVgpuConfigGet)
PODGPU_DCGM_STUB(dcgmVgpuConfigSet)
PODGPU_DCGM_STUB(dcgmWatchFieldValue)
PODGPU_DCGM_STUB(dcgmWatchJobFields)
PODGPU_DCGM_STUB(dcgmWatchPidFields)

#if PODGPU_DCGM_MAJOR == 4
// Newer than 3.x.
PODGPU_DCGM_STUB(dcgmAttachDriver)
PODGPU_DCGM_STUB(dcgmConfigSetWorkloadPowerProfile)
PODGPU_DCGM_STUB(dcgmDetachDriver)
PODGPU_DCGM_STUB(dcgmEmptyCache)
PODGPU_DCGM_STUB(dcgmGetDeviceWorkloadPowerProfileInfo)
PODGPU_DCGM_STUB(dcgmHostengineEnvironmentVariableInfo)
PODGPU_DCGM_STUB(dcgmMarkModulesReloadable)
PODGPU_DCGM_STUB(dcgmMultinodeRequest)
PODGPU_DCGM_STUB(dcgmPolicyRegister_v2)
PODGPU_DCGM_STUB(dcgmRunMnDiagnostic)
PODGPU_DCGM_STUB(dcgmStopMnDiagnostic)
const char* dcgmPowerProfileIdToName(int /*profile*/) { return nullptr; }
#else
// Removed in 4.0.
PODGPU_DCGM_STUB(dcgmIntrospectToggleState)
PODGPU_DCGM_STUB(dcgmPolicyRegister)
PODGPU_DCGM_STUB(dcgmProfUnwatchFields)
PODGPU_DCGM_STUB(dcgmProfWatchFields)
#endif

// Without a handle.
abi::dcgmReturn_t dcgmConnect() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmEngineRun() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmModuleIdToName() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmStatusClear() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmStatusCreate() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmStatusDestroy() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmStatusGetCount() { return abi::DCGM_ST_NOT_SUPPORTED; }
abi::dcgmReturn_t dcgmStatusPopError() { return abi::DCGM_ST_NOT_SUPPORTED; }
const char* dcgmErrorGetFormatMsgByCode(int /*code*/) { return nullptr; }
const void* DcgmFieldGetByTag(const char* /*tag*/) { return nullptr; }
const char* DcgmFieldsGetEntityGroupString(int /*group*/) { return "Unknown"; }
const void* dcgmGetErrorMeta(int /*code*/) { return nullptr; }
bool dcgmCpuHierarchyCpuOwnsCore(unsigned int /*core*/, const void* /*cores*/) { return false; }

}  // extern "C"
#pragma GCC visibility pop

#undef PODGPU_DCGM_STUB

}  // namespace podgpu::sim
