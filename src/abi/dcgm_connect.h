// Parameters for connecting to an engine and for starting one in this process.
//
// podgpu's own declarations in the layout of dcgm_structs.h of DCGM 4.6.0, compared with 3.1.8 to
// 4.6.1. The engine selects the layout by the `version` word, so older versions stay valid: version
// 1 of the start parameters and version 2 of dcgmConnect_v2's work with every release. Standard
// library only; plain data.
#pragma once

#include "abi/dcgm.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

// dcgmConnect_v2, first layout: 5 s timeout, TCP only.
struct dcgmConnectV2Params_v1 {
  uint32_t version;
  uint32_t persistAfterDisconnect;  // Not 0: groups and watches outlive the connection.
};
static_assert(sizeof(dcgmConnectV2Params_v1) == 8);
constexpr uint32_t dcgmConnectV2Params_version1 = StructVersion<dcgmConnectV2Params_v1>(1);
static_assert(dcgmConnectV2Params_version1 == 0x01000008);

// dcgmConnect_v2.
struct dcgmConnectV2Params_v2 {
  uint32_t version;
  uint32_t persistAfterDisconnect;
  uint32_t timeoutMs;            // 0 stands for 5,000.  Does not cover an engine that hangs.
  uint32_t addressIsUnixSocket;  // 0: host[:port]; 1: path of a socket.
};
static_assert(sizeof(dcgmConnectV2Params_v2) == 16 &&
              offsetof(dcgmConnectV2Params_v2, timeoutMs) == 8 &&
              offsetof(dcgmConnectV2Params_v2, addressIsUnixSocket) == 12);
constexpr uint32_t dcgmConnectV2Params_version2 = StructVersion<dcgmConnectV2Params_v2>(2);
static_assert(dcgmConnectV2Params_version2 == 0x02000010);

// dcgmConnect_v3, since 4.5; the address carries tcp://, unix:// or vsock://.
struct dcgmConnectV3Params_v1 {
  uint32_t version;
  uint32_t persistAfterDisconnect;
  uint32_t timeoutMs;
};
static_assert(sizeof(dcgmConnectV3Params_v1) == 12 &&
              offsetof(dcgmConnectV3Params_v1, timeoutMs) == 8);
constexpr uint32_t dcgmConnectV3Params_version1 = StructVersion<dcgmConnectV3Params_v1>(1);
static_assert(dcgmConnectV3Params_version1 == 0x0100000c);

// dcgmStartEmbedded_v2; accepted by 3.x and 4.x.
struct dcgmStartEmbeddedV2Params_v1 {
  uint32_t version;
  dcgmOperationMode_t opMode;
  dcgmHandle_t dcgmHandle;  // Filled in by the call.
  const char* logFile;      // "-" for standard error; null for none.
  DcgmLoggingSeverity_t severity;
  uint32_t denyListCount;
  uint32_t denyList[10];  // Ids of modules that must not be loaded.
};
static_assert(sizeof(dcgmStartEmbeddedV2Params_v1) == 72 &&
              offsetof(dcgmStartEmbeddedV2Params_v1, dcgmHandle) == 8 &&
              offsetof(dcgmStartEmbeddedV2Params_v1, logFile) == 16 &&
              offsetof(dcgmStartEmbeddedV2Params_v1, severity) == 24 &&
              offsetof(dcgmStartEmbeddedV2Params_v1, denyList) == 32);
constexpr uint32_t dcgmStartEmbeddedV2Params_version1 =
    StructVersion<dcgmStartEmbeddedV2Params_v1>(1);
static_assert(dcgmStartEmbeddedV2Params_version1 == 0x01000048);

// The start parameters with the account under which diagnostics run.
struct dcgmStartEmbeddedV2Params_v2 {
  uint32_t version;
  dcgmOperationMode_t opMode;
  dcgmHandle_t dcgmHandle;
  const char* logFile;
  DcgmLoggingSeverity_t severity;
  uint32_t denyListCount;
  const char* serviceAccount;
  uint32_t denyList[10];
};
static_assert(sizeof(dcgmStartEmbeddedV2Params_v2) == 80 &&
              offsetof(dcgmStartEmbeddedV2Params_v2, serviceAccount) == 32 &&
              offsetof(dcgmStartEmbeddedV2Params_v2, denyList) == 40);
constexpr uint32_t dcgmStartEmbeddedV2Params_version2 =
    StructVersion<dcgmStartEmbeddedV2Params_v2>(2);
static_assert(dcgmStartEmbeddedV2Params_version2 == 0x02000050);

// The start parameters with room for 16 modules, since 4.3.1.
struct dcgmStartEmbeddedV2Params_v3 {
  uint32_t version;
  dcgmOperationMode_t opMode;
  dcgmHandle_t dcgmHandle;
  const char* logFile;
  DcgmLoggingSeverity_t severity;
  uint32_t denyListCount;
  const char* serviceAccount;
  uint32_t denyList[16];
};
static_assert(sizeof(dcgmStartEmbeddedV2Params_v3) == 104 &&
              offsetof(dcgmStartEmbeddedV2Params_v3, denyList) == 40);
constexpr uint32_t dcgmStartEmbeddedV2Params_version3 =
    StructVersion<dcgmStartEmbeddedV2Params_v3>(3);
static_assert(dcgmStartEmbeddedV2Params_version3 == 0x03000068);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
