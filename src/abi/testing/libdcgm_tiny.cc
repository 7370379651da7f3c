// A shared object with the symbols of libdcgm 4.4 that load.cc resolves, for load_test.cc: the
// whole core, no dcgmConnect_v3. Only errorString does anything.
#include "abi/dcgm_table.h"

extern "C" {
const char* errorString(int code);
const char* errorString(int code) { return code == 0 ? "tiny success" : nullptr; }
#define PODGPU_TINY(name) \
  int name();             \
  int name() { return podgpu::abi::DCGM_ST_NOT_SUPPORTED; }
PODGPU_TINY(DcgmFieldGetById)
PODGPU_TINY(dcgmInit)
PODGPU_TINY(dcgmShutdown)
PODGPU_TINY(dcgmStartEmbedded_v2)
PODGPU_TINY(dcgmConnect_v2)
PODGPU_TINY(dcgmDisconnect)
PODGPU_TINY(dcgmGetAllDevices)
PODGPU_TINY(dcgmGetGpuStatus)
PODGPU_TINY(dcgmGetDeviceAttributes)
PODGPU_TINY(dcgmGroupCreate)
PODGPU_TINY(dcgmGroupAddEntity)
PODGPU_TINY(dcgmGroupDestroy)
PODGPU_TINY(dcgmFieldGroupCreate)
PODGPU_TINY(dcgmFieldGroupDestroy)
PODGPU_TINY(dcgmWatchFields)
PODGPU_TINY(dcgmUnwatchFields)
PODGPU_TINY(dcgmEntitiesGetLatestValues)
PODGPU_TINY(dcgmVersionInfo)
PODGPU_TINY(dcgmHostengineVersionInfo)
PODGPU_TINY(dcgmGetGpuInstanceHierarchy)
PODGPU_TINY(dcgmProfGetSupportedMetricGroups)
PODGPU_TINY(dcgmPolicyRegister_v2)
}
