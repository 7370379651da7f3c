// The release of this build of the face: libdcgm.so.4 (4.6.0, 4.6.1, 4.7.1) or libdcgm.so.3
// (3.3.9).
//
// The build compiles the face once for each, with PODGPU_DCGM_MAJOR and PODGPU_DCGM_RELEASE.  All
// differences between the generations are here: the accepted version words (each library refuses
// the other's), limits, and the layout of a link's entity id.  Releases of one generation differ in
// their fields (fields.h).  A vendor library has one release too, so this is not a run-time switch.
// Constants; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi/dcgm.h"
#include "abi/dcgm_connect.h"
#include "abi/dcgm_health.h"
#include "abi/dcgm_links.h"

#if !defined(PODGPU_DCGM_MAJOR) || !defined(PODGPU_DCGM_RELEASE)
#error "define PODGPU_DCGM_MAJOR as 4 or 3, and PODGPU_DCGM_RELEASE as a text"
#endif

namespace podgpu::sim {

inline constexpr int kDcgmMajor = PODGPU_DCGM_MAJOR;
static_assert(kDcgmMajor == 3 || kDcgmMajor == 4);
inline constexpr bool kIsDcgm4 = kDcgmMajor == 4;

inline constexpr std::string_view kDcgmVersion = PODGPU_DCGM_RELEASE;
static_assert(kDcgmVersion.starts_with(kIsDcgm4 ? '4' : '3'));

#if PODGPU_DCGM_MAJOR == 4
using GroupInfo = abi::dcgmGroupInfo_v3;
inline constexpr uint32_t kGroupInfoWord = abi::dcgmGroupInfo_version3;
using HealthResponse = abi::dcgmHealthResponse_v5;
inline constexpr uint32_t kHealthResponseWord = abi::dcgmHealthResponse_version5;
inline constexpr std::array<uint32_t, 3> kStartWords = {abi::dcgmStartEmbeddedV2Params_version1,
                                                        abi::dcgmStartEmbeddedV2Params_version2,
                                                        abi::dcgmStartEmbeddedV2Params_version3};
#else
using GroupInfo = abi::dcgmGroupInfo_v2;
inline constexpr uint32_t kGroupInfoWord = abi::dcgmGroupInfo_version2;
using HealthResponse = abi::dcgmHealthResponse_v4;
inline constexpr uint32_t kHealthResponseWord = abi::dcgmHealthResponse_version4;
inline constexpr std::array<uint32_t, 2> kStartWords = {abi::dcgmStartEmbeddedV2Params_version1,
                                                        abi::dcgmStartEmbeddedV2Params_version2};
#endif

inline constexpr size_t kMaxGroupEntities =
    kIsDcgm4 ? abi::DCGM_GROUP_MAX_ENTITIES_V2 : abi::DCGM_GROUP_MAX_ENTITIES_V1;

constexpr bool IsStartWord(uint32_t word) {
  return std::ranges::find(kStartWords, word) != kStartWords.end();
}

// The parts of a LINK entity's id: 4.3 and later have 16 bits of index, 3.x has 8.
struct LinkId {
  int parent_group;
  uint32_t index;
  uint32_t parent;
};
constexpr LinkId ParseLinkId(abi::dcgm_field_eid_t raw) {
  if (kIsDcgm4) {
    return {abi::LinkParentGroup(raw), abi::LinkIndex(raw), abi::LinkParentId(raw)};
  }
  return {static_cast<int>(raw & 0xffU), (raw >> 8U) & 0xffU, raw >> 16U};
}

}  // namespace podgpu::sim
