// The CPUs of Grace boards and their cores in DCGM.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.3.9 to
// 4.6.1; introduced in 3.3.1. Standard library only; plain data.
#pragma once

#include "abi/dcgm.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// The cores of a CPU, as a bit mask of 1,024.
struct dcgmCpuHierarchyOwnedCores_v1 {
  uint32_t version;
  uint64_t bitmask[16];
};
static_assert(sizeof(dcgmCpuHierarchyOwnedCores_v1) == 136 &&
              offsetof(dcgmCpuHierarchyOwnedCores_v1, bitmask) == 8);
constexpr uint32_t dcgmCpuHierarchyOwnedCores_version1 =
    StructVersion<dcgmCpuHierarchyOwnedCores_v1>(1);
static_assert(dcgmCpuHierarchyOwnedCores_version1 == 0x01000088);

// One CPU, first layout. The vendor nests this struct and version 2 in the hierarchy.
struct dcgmCpuHierarchyCpu_v1 {
  uint32_t cpuId;
  dcgmCpuHierarchyOwnedCores_v1 ownedCores;
};
static_assert(sizeof(dcgmCpuHierarchyCpu_v1) == 144);

// dcgmGetCpuHierarchy, since 3.3.1.
struct dcgmCpuHierarchy_v1 {
  uint32_t version;
  uint32_t numCpus;
  dcgmCpuHierarchyCpu_v1 cpus[DCGM_MAX_NUM_CPUS];
};
static_assert(sizeof(dcgmCpuHierarchy_v1) == 1160 && offsetof(dcgmCpuHierarchy_v1, cpus) == 8);
constexpr uint32_t dcgmCpuHierarchy_version1 = StructVersion<dcgmCpuHierarchy_v1>(1);
static_assert(dcgmCpuHierarchy_version1 == 0x01000488);

// One CPU with its serial number.
struct dcgmCpuHierarchyCpu_v2 {
  uint32_t cpuId;
  dcgmCpuHierarchyOwnedCores_v1 ownedCores;
  char serial[DCGM_MAX_STR_LENGTH];
};
static_assert(sizeof(dcgmCpuHierarchyCpu_v2) == 400);

// dcgmGetCpuHierarchy_v2, since 4.0.
struct dcgmCpuHierarchy_v2 {
  uint32_t version;
  uint32_t numCpus;
  dcgmCpuHierarchyCpu_v2 cpus[DCGM_MAX_NUM_CPUS];
};
static_assert(sizeof(dcgmCpuHierarchy_v2) == 3208 && offsetof(dcgmCpuHierarchy_v2, cpus) == 8);
constexpr uint32_t dcgmCpuHierarchy_version2 = StructVersion<dcgmCpuHierarchy_v2>(2);
static_assert(dcgmCpuHierarchy_version2 == 0x02000c88);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
