// The core of DCGM's interface: handles, connecting, groups, watches and values.
//
// podgpu's own declarations of the structs that it passes to libdcgm and that the simulated library
// fills in, byte for byte in the vendor's layout on 64-bit Linux. Origin of each: dcgm_structs.h or
// dcgm_fields.h of DCGM 4.6.0, compared with 3.0.4, 3.1.8, 3.3.9, 4.0.0, 4.2.3, 4.4.2, 4.5.3 and
// 4.6.1; "3.x" or "4.x" marks differences between releases. A struct that begins with `version`
// requires its `_versionN` constant there. Standard library only; plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/dcgm_codes.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace podgpu::abi {

using dcgmHandle_t = uintptr_t;    // A connection to an engine.
using dcgmGpuGrp_t = uintptr_t;    // A group of entities.
using dcgmFieldGrp_t = uintptr_t;  // A group of field ids.

using DcgmLoggingSeverity_t = int;
enum : int {
  DcgmLoggingSeverityUnspecified = -1,
  DcgmLoggingSeverityNone = 0,
  DcgmLoggingSeverityFatal = 1,
  DcgmLoggingSeverityError = 2,
  DcgmLoggingSeverityWarning = 3,
  DcgmLoggingSeverityInfo = 4,
  DcgmLoggingSeverityDebug = 5,
  DcgmLoggingSeverityVerbose = 6,
};

// One entity: kind and id.
struct dcgmGroupEntityPair_t {
  dcgm_field_entity_group_t entityGroupId;
  dcgm_field_eid_t entityId;
};
static_assert(sizeof(dcgmGroupEntityPair_t) == 8 && offsetof(dcgmGroupEntityPair_t, entityId) == 4);

// The payload of a value; `fieldType` selects the member. The vendor nests it without a name.
union dcgmFieldValuePayload {
  int64_t i64;
  double dbl;
  char str[DCGM_MAX_STR_LENGTH];
  char blob[DCGM_MAX_BLOB_LENGTH];
};
static_assert(sizeof(dcgmFieldValuePayload) == 4096);

// A value of a known entity (per-entity calls and callbacks).
struct dcgmFieldValue_v1 {
  uint32_t version;
  uint16_t fieldId;
  uint16_t fieldType;  // DCGM_FT_*
  int status;          // dcgmReturn_t of this value only.
  int64_t ts;          // Sample time, microseconds since 1970; 0 without a sample.
  dcgmFieldValuePayload value;
};
static_assert(sizeof(dcgmFieldValue_v1) == 4120 && offsetof(dcgmFieldValue_v1, fieldId) == 4 &&
              offsetof(dcgmFieldValue_v1, fieldType) == 6 &&
              offsetof(dcgmFieldValue_v1, status) == 8 && offsetof(dcgmFieldValue_v1, ts) == 16 &&
              offsetof(dcgmFieldValue_v1, value) == 24);
constexpr uint32_t dcgmFieldValue_version1 = StructVersion<dcgmFieldValue_v1>(1);
static_assert(dcgmFieldValue_version1 == 0x01001018);

// A value that names its entity (dcgmEntitiesGetLatestValues).
struct dcgmFieldValue_v2 {
  uint32_t version;
  dcgm_field_entity_group_t entityGroupId;
  dcgm_field_eid_t entityId;
  uint16_t fieldId;
  uint16_t fieldType;
  int status;
  uint32_t unused;
  int64_t ts;
  dcgmFieldValuePayload value;
};
static_assert(sizeof(dcgmFieldValue_v2) == 4128 &&
              offsetof(dcgmFieldValue_v2, entityGroupId) == 4 &&
              offsetof(dcgmFieldValue_v2, entityId) == 8 &&
              offsetof(dcgmFieldValue_v2, fieldId) == 12 &&
              offsetof(dcgmFieldValue_v2, fieldType) == 14 &&
              offsetof(dcgmFieldValue_v2, status) == 16 && offsetof(dcgmFieldValue_v2, ts) == 24 &&
              offsetof(dcgmFieldValue_v2, value) == 32);
constexpr uint32_t dcgmFieldValue_version2 = StructVersion<dcgmFieldValue_v2>(2);
static_assert(dcgmFieldValue_version2 == 0x02001020);

// Receives values of the enumerating calls, one at a time; non-zero ends the enumeration.
using dcgmFieldValueEntityEnumeration_f = int (*)(dcgm_field_entity_group_t, dcgm_field_eid_t,
                                                  dcgmFieldValue_v1*, int count, void* user);

// The form in which dcgmi prints a field; `unit` has room for three letters.
struct dcgm_field_output_format_t {
  char shortName[10];
  char unit[4];
  int16_t width;
};
static_assert(sizeof(dcgm_field_output_format_t) == 16 &&
              offsetof(dcgm_field_output_format_t, width) == 14);

// The library's description of a field; valid until dcgmShutdown.
struct dcgm_field_meta_t {
  uint16_t fieldId;
  char fieldType;      // DCGM_FT_*
  unsigned char size;  // Bytes, 0 for strings and blobs.
  char tag[48];
  int scope;  // DCGM_FS_*
  int nvmlFieldId;
  dcgm_field_entity_group_t entityLevel;  // The finest entity that has it.
  dcgm_field_output_format_t* valueFormat;
};
static_assert(sizeof(dcgm_field_meta_t) == 72 && offsetof(dcgm_field_meta_t, fieldType) == 2 &&
              offsetof(dcgm_field_meta_t, tag) == 4 && offsetof(dcgm_field_meta_t, scope) == 52 &&
              offsetof(dcgm_field_meta_t, entityLevel) == 60 &&
              offsetof(dcgm_field_meta_t, valueFormat) == 64);

// A build: `key:value` pairs separated by `;`; one of the keys is `version`.
struct dcgmVersionInfo_v2 {
  uint32_t version;
  char rawBuildInfoString[512];
};
static_assert(sizeof(dcgmVersionInfo_v2) == 516 &&
              offsetof(dcgmVersionInfo_v2, rawBuildInfoString) == 4);
constexpr uint32_t dcgmVersionInfo_version2 = StructVersion<dcgmVersionInfo_v2>(2);
static_assert(dcgmVersionInfo_version2 == 0x02000204);

// Members of a group, 4.x.
struct dcgmGroupInfo_v3 {
  uint32_t version;
  uint32_t count;
  char groupName[DCGM_MAX_STR_LENGTH];
  dcgmGroupEntityPair_t entityList[DCGM_GROUP_MAX_ENTITIES_V2];
};
static_assert(sizeof(dcgmGroupInfo_v3) == 8456 && offsetof(dcgmGroupInfo_v3, groupName) == 8 &&
              offsetof(dcgmGroupInfo_v3, entityList) == 264);
constexpr uint32_t dcgmGroupInfo_version3 = StructVersion<dcgmGroupInfo_v3>(3);
static_assert(dcgmGroupInfo_version3 == 0x03002108);

// Members of a group, 3.x; 4.x refuses it.
struct dcgmGroupInfo_v2 {
  uint32_t version;
  uint32_t count;
  char groupName[DCGM_MAX_STR_LENGTH];
  dcgmGroupEntityPair_t entityList[DCGM_GROUP_MAX_ENTITIES_V1];
};
static_assert(sizeof(dcgmGroupInfo_v2) == 776 && offsetof(dcgmGroupInfo_v2, entityList) == 264);
constexpr uint32_t dcgmGroupInfo_version2 = StructVersion<dcgmGroupInfo_v2>(2);
static_assert(dcgmGroupInfo_version2 == 0x02000308);

}  // namespace podgpu::abi
// NOLINTEND(readability-identifier-naming)
