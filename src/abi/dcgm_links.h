// Links, switches and paths between GPUs in DCGM.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.1.8 to
// 4.6.1. The link status has three layouts: version 3 in 3.x, version 4 in 4.x, and version 5 since
// 4.6, which still accepts version 4. Standard library only; plain data.
#pragma once

#include "abi/dcgm.h"
#include "abi/dcgm_cpus.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// The entity id of a link since 4.3: kind of its parent in byte 0, index in bytes 1 and 2, id of
// the parent in byte 3.  3.x has the index in byte 1 and the parent in bytes 2 and 3; 4.0 to 4.2
// lose the parent.
constexpr dcgm_field_eid_t LinkEntityId(dcgm_field_entity_group_t parent_group, uint32_t index,
                                        uint32_t parent_id) {
  return static_cast<uint32_t>(parent_group) | (index << 8U) | (parent_id << 24U);
}
constexpr dcgm_field_eid_t LinkEntityIdOf3(dcgm_field_entity_group_t parent_group, uint32_t index,
                                           uint32_t parent_id) {
  return static_cast<uint32_t>(parent_group) | (index << 8U) | (parent_id << 16U);
}
constexpr dcgm_field_entity_group_t LinkParentGroup(dcgm_field_eid_t link) {
  return static_cast<int>(link & 0xffU);
}
constexpr uint32_t LinkIndex(dcgm_field_eid_t link) { return (link >> 8U) & 0xffffU; }
constexpr uint32_t LinkParentId(dcgm_field_eid_t link) { return link >> 24U; }
static_assert(LinkEntityId(DCGM_FE_GPU, 5, 2) == 0x02000501);

// Links of one GPU, to 4.5.
struct dcgmNvLinkGpuLinkStatus_v3 {
  dcgm_field_eid_t entityId;
  dcgmNvLinkLinkState_t linkState[DCGM_NVLINK_MAX_LINKS_PER_GPU_V1];
};
static_assert(sizeof(dcgmNvLinkGpuLinkStatus_v3) == 76);

// Links of one GPU, 4.6.
struct dcgmNvLinkGpuLinkStatus_v4 {
  dcgm_field_eid_t entityId;
  dcgmNvLinkLinkState_t linkState[DCGM_NVLINK_MAX_LINKS_PER_GPU];
};
static_assert(sizeof(dcgmNvLinkGpuLinkStatus_v4) == 148);

// Links of one switch, 3.x. The vendor has one name for this and the next struct.
struct dcgmNvLinkNvSwitchLinkStatus_v1 {
  dcgm_field_eid_t entityId;
  dcgmNvLinkLinkState_t linkState[DCGM_NVLINK_MAX_LINKS_PER_NVSWITCH_V1];
};
static_assert(sizeof(dcgmNvLinkNvSwitchLinkStatus_v1) == 260);

// Links of one switch, 4.x.
struct dcgmNvLinkNvSwitchLinkStatus_v2 {
  dcgm_field_eid_t entityId;
  dcgmNvLinkLinkState_t linkState[DCGM_NVLINK_MAX_LINKS_PER_NVSWITCH_V2];
};
static_assert(sizeof(dcgmNvLinkNvSwitchLinkStatus_v2) == 1028);

// dcgmGetNvLinkLinkStatus, 3.x.
struct dcgmNvLinkStatus_v3 {
  uint32_t version;
  uint32_t numGpus;
  dcgmNvLinkGpuLinkStatus_v3 gpus[DCGM_MAX_NUM_DEVICES];
  uint32_t numNvSwitches;
  dcgmNvLinkNvSwitchLinkStatus_v1 nvSwitches[DCGM_MAX_NUM_SWITCHES];
};
static_assert(sizeof(dcgmNvLinkStatus_v3) == 5564 &&
              offsetof(dcgmNvLinkStatus_v3, numNvSwitches) == 2440);
constexpr uint32_t dcgmNvLinkStatus_version3 = StructVersion<dcgmNvLinkStatus_v3>(3);
static_assert(dcgmNvLinkStatus_version3 == 0x030015bc);

// The link status, 4.0 and later.
struct dcgmNvLinkStatus_v4 {
  uint32_t version;
  uint32_t numGpus;
  dcgmNvLinkGpuLinkStatus_v3 gpus[DCGM_MAX_NUM_DEVICES];
  uint32_t numNvSwitches;
  dcgmNvLinkNvSwitchLinkStatus_v2 nvSwitches[DCGM_MAX_NUM_SWITCHES];
};
static_assert(sizeof(dcgmNvLinkStatus_v4) == 14780 &&
              offsetof(dcgmNvLinkStatus_v4, numNvSwitches) == 2440 &&
              offsetof(dcgmNvLinkStatus_v4, nvSwitches) == 2444);
constexpr uint32_t dcgmNvLinkStatus_version4 = StructVersion<dcgmNvLinkStatus_v4>(4);
static_assert(dcgmNvLinkStatus_version4 == 0x040039bc);

// The link status, 4.6 and later.
struct dcgmNvLinkStatus_v5 {
  uint32_t version;
  uint32_t numGpus;
  dcgmNvLinkGpuLinkStatus_v4 gpus[DCGM_MAX_NUM_DEVICES];
  uint32_t numNvSwitches;
  dcgmNvLinkNvSwitchLinkStatus_v2 nvSwitches[DCGM_MAX_NUM_SWITCHES];
};
static_assert(sizeof(dcgmNvLinkStatus_v5) == 17084 &&
              offsetof(dcgmNvLinkStatus_v5, numNvSwitches) == 4744 &&
              offsetof(dcgmNvLinkStatus_v5, nvSwitches) == 4748);
constexpr uint32_t dcgmNvLinkStatus_version5 = StructVersion<dcgmNvLinkStatus_v5>(5);
static_assert(dcgmNvLinkStatus_version5 == 0x050042bc);

// Paths from one GPU to every other GPU, since 4.3: a row of the vendor's matrix. podgpu chose its
// name and those of the members.
struct dcgmNvLinkGpuP2PStatus_v1 {
  dcgm_field_eid_t entityId;
  int linkStatus[DCGM_MAX_NUM_DEVICES];  // Status of the path to each GPU; 0: the path works.
};
static_assert(sizeof(dcgmNvLinkGpuP2PStatus_v1) == 132);

// dcgmGetNvLinkP2PStatus.
struct dcgmNvLinkP2PStatus_v1 {
  uint32_t version;
  uint32_t numGpus;
  dcgmNvLinkGpuP2PStatus_v1 gpus[DCGM_MAX_NUM_DEVICES];
};
static_assert(sizeof(dcgmNvLinkP2PStatus_v1) == 4232 &&
              offsetof(dcgmNvLinkP2PStatus_v1, gpus) == 8);
constexpr uint32_t dcgmNvLinkP2PStatus_version1 = StructVersion<dcgmNvLinkP2PStatus_v1>(1);
static_assert(dcgmNvLinkP2PStatus_version1 == 0x01001088);

// One path to another GPU: the first layout. The vendor nests both layouts without a name.
struct dcgmGpuPath_v1 {
  uint32_t gpuId;
  uint32_t path;            // One PCIe bit, with NVLink bits from 0x100 on.
  uint32_t localNvLinkIds;  // One bit per link of this GPU on this path.
};
static_assert(sizeof(dcgmGpuPath_v1) == 12);

// dcgmGetDeviceTopology, any release.
struct dcgmDeviceTopology_v1 {
  uint32_t version;
  uint64_t cpuAffinityMask[8];
  uint32_t numGpus;  // Number of other GPUs.
  dcgmGpuPath_v1 gpuPaths[DCGM_MAX_NUM_DEVICES - 1];
};
static_assert(sizeof(dcgmDeviceTopology_v1) == 448 &&
              offsetof(dcgmDeviceTopology_v1, numGpus) == 72 &&
              offsetof(dcgmDeviceTopology_v1, gpuPaths) == 76 &&
              offsetof(dcgmGpuPath_v1, path) == 4);
constexpr uint32_t dcgmDeviceTopology_version1 = StructVersion<dcgmDeviceTopology_v1>(1);
static_assert(dcgmDeviceTopology_version1 == 0x010001c0);

// One path to another GPU: the second, wider layout.
struct dcgmGpuPath_v2 {
  uint32_t gpuId;
  uint64_t path;
  uint64_t localNvLinkIds;
};
static_assert(sizeof(dcgmGpuPath_v2) == 24);

// dcgmGetDeviceTopology, 4.6 and later.
struct dcgmDeviceTopology_v2 {
  uint32_t version;
  uint64_t cpuAffinityMask[8];
  uint32_t numGpus;
  dcgmGpuPath_v2 gpuPaths[DCGM_MAX_NUM_DEVICES - 1];
};
static_assert(sizeof(dcgmDeviceTopology_v2) == 824 &&
              offsetof(dcgmDeviceTopology_v2, gpuPaths) == 80 &&
              offsetof(dcgmGpuPath_v2, path) == 8);
constexpr uint32_t dcgmDeviceTopology_version2 = StructVersion<dcgmDeviceTopology_v2>(2);
static_assert(dcgmDeviceTopology_version2 == 0x02000338);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
