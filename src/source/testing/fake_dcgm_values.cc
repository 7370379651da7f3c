#include "source/testing/fake_dcgm_values.h"

#include <vector>

#include "fields/field.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

namespace {

char VendorType(FieldType type) {
  switch (type) {
    case FieldType::kDouble:
      return DCGM_FT_DOUBLE;
    case FieldType::kString:
      return DCGM_FT_STRING;
    case FieldType::kBlob:
      return DCGM_FT_BINARY;
    case FieldType::kTimestamp:
      return DCGM_FT_TIMESTAMP;
    default:
      return DCGM_FT_INT64;
  }
}

// FieldLevel has the vendor's order, except for the two levels that mean "no entity".
int VendorLevel(FieldLevel level) {
  switch (level) {
    case FieldLevel::kGpu:
      return DCGM_FE_GPU;
    case FieldLevel::kVgpu:
      return DCGM_FE_VGPU;
    case FieldLevel::kSwitch:
      return DCGM_FE_SWITCH;
    case FieldLevel::kGpuInstance:
      return DCGM_FE_GPU_I;
    case FieldLevel::kComputeInstance:
      return DCGM_FE_GPU_CI;
    case FieldLevel::kLink:
      return DCGM_FE_LINK;
    case FieldLevel::kCpu:
      return DCGM_FE_CPU;
    case FieldLevel::kCpuCore:
      return DCGM_FE_CPU_CORE;
    case FieldLevel::kConnectX:
      return DCGM_FE_CONNECTX;
    default:
      return DCGM_FE_NONE;
  }
}

std::vector<dcgm_field_meta_t> MakeMetas() {
  std::vector<dcgm_field_meta_t> metas;
  for (const Field& field : Catalogue()) {
    dcgm_field_meta_t& meta = metas.emplace_back();
    meta = {};
    meta.fieldId = field.id;
    meta.fieldType = VendorType(field.type);
    meta.entityLevel = VendorLevel(field.level);
  }
  return metas;
}

const std::vector<dcgm_field_meta_t>& Metas() {
  static const std::vector<dcgm_field_meta_t> metas = MakeMetas();
  return metas;
}

}  // namespace

const dcgm_field_meta_t* FindDcgmMeta(uint16_t field) {
  const auto found = std::ranges::find(Metas(), field, &dcgm_field_meta_t::fieldId);
  return found == Metas().end() ? nullptr : &*found;
}

void PutBlank(dcgmFieldValue_v2& raw) {
  switch (raw.fieldType) {
    case DCGM_FT_DOUBLE:
      raw.value.dbl = DCGM_FP64_BLANK;
      return;
    case DCGM_FT_STRING:
      PutText(raw.value.str, DCGM_STR_BLANK);
      return;
    default:
      raw.value.i64 = DCGM_INT64_BLANK;
  }
}

dcgmFieldValue_v2 MakeRawValue(int group, uint32_t entity, uint16_t field) {
  dcgmFieldValue_v2 raw{};
  raw.version = dcgmFieldValue_version2;
  raw.entityGroupId = group;
  raw.entityId = entity;
  raw.fieldId = field;
  const dcgm_field_meta_t* meta = FindDcgmMeta(field);
  const int type = meta == nullptr ? int{DCGM_FT_INT64} : meta->fieldType;
  raw.fieldType = static_cast<uint16_t>(type);
  return raw;
}

}  // namespace podgpu
