#include "sim/dcgm/fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_ids.h"
#include "sim/dcgm/generation.h"

namespace podgpu::sim {
namespace {

// "3.3.9" < "4.1.0" as texts: each part of a DCGM version has one digit.
constexpr std::string_view kRelease = kDcgmVersion;

// Indexed by FieldType.
constexpr std::array<int, 6> kTypeLetters = {0,
                                             abi::DCGM_FT_INT64,
                                             abi::DCGM_FT_DOUBLE,
                                             abi::DCGM_FT_STRING,
                                             abi::DCGM_FT_BINARY,
                                             abi::DCGM_FT_TIMESTAMP};

// Indexed by FieldLevel.
constexpr std::array<int, 11> kLevelGroups = {
    abi::DCGM_FE_NONE,   abi::DCGM_FE_NONE,     abi::DCGM_FE_GPU,     abi::DCGM_FE_VGPU,
    abi::DCGM_FE_SWITCH, abi::DCGM_FE_GPU_I,    abi::DCGM_FE_GPU_CI,  abi::DCGM_FE_LINK,
    abi::DCGM_FE_CPU,    abi::DCGM_FE_CPU_CORE, abi::DCGM_FE_CONNECTX};

constexpr uint16_t kRemoteLinkField = 877;  // A number until 4.5, text from 4.6.

// In 3.x the per-link profiling fields belonged to links, not to GPUs.
bool IsLinkLevelIn3(uint16_t id) { return id >= 1040 && id <= 1075; }

int LevelGroup(const Field& field) {
  if (!kIsDcgm4 && IsLinkLevelIn3(field.id)) {
    return abi::DCGM_FE_LINK;
  }
  return kLevelGroups[static_cast<size_t>(field.level)];
}

// The tag in this release: 3.x wrote "bandwidth" of links and "throttle" of clocks.
std::string TagOfRelease(const Field& field) {
  std::string tag(field.tag);
  if (kIsDcgm4) {
    return tag;
  }
  const auto replace = [&](std::string_view from, std::string_view to) {
    if (const size_t at = tag.find(from); at != std::string::npos) {
      tag.replace(at, from.size(), to);
    }
  };
  if (tag.starts_with("nvlink_throughput_")) {
    replace("throughput", "bandwidth");
  }
  if (field.id == field_ids::kClockReasons) {
    replace("event", "throttle");
  }
  return tag;
}

// All structs of this library, ascending by field id, with their output formats.
class Metas {
 public:
  Metas() {
    formats_.reserve(Catalogue().size());
    for (const Field& field : Catalogue()) {
      if (FieldOfLibrary(field.id) != nullptr) {
        Add(field);
      }
    }
  }
  std::span<const abi::dcgm_field_meta_t> all() const { return metas_; }

 private:
  void Add(const Field& field) {
    const std::string tag = TagOfRelease(field);
    abi::dcgm_field_output_format_t& format = formats_.emplace_back();
    CopyText(format.shortName, tag);
    CopyText(format.unit, field.unit);
    format.width = 10;
    abi::dcgm_field_meta_t& meta = metas_.emplace_back();
    meta.fieldId = field.id;
    meta.fieldType = static_cast<char>(FieldTypeLetter(field));
    meta.size =
        meta.fieldType == abi::DCGM_FT_INT64 || meta.fieldType == abi::DCGM_FT_DOUBLE ? 8 : 0;
    CopyText(meta.tag, tag);
    meta.scope = field.scope() == FieldScope::kGlobal ? abi::DCGM_FS_GLOBAL : abi::DCGM_FS_ENTITY;
    meta.nvmlFieldId = field.nvml_field_id;
    meta.entityLevel = LevelGroup(field);
    meta.valueFormat = &format;
  }

  std::vector<abi::dcgm_field_meta_t> metas_;
  std::vector<abi::dcgm_field_output_format_t> formats_;  // Reserved: addresses stay.
};

std::span<const abi::dcgm_field_meta_t> AllMetas() {
  static const Metas metas;
  return metas.all();
}

}  // namespace

const Field* FieldOfLibrary(uint16_t id) {
  const Field* const field = FindField(id);
  return field != nullptr && field->type != FieldType::kNone && field->since <= kRelease ? field
                                                                                         : nullptr;
}

int FieldTypeLetter(const Field& field) {
  if (!kIsDcgm4 && field.id == kRemoteLinkField) {
    return abi::DCGM_FT_INT64;
  }
  return kTypeLetters[static_cast<size_t>(field.type)];
}

const abi::dcgm_field_meta_t* FieldMeta(uint16_t id) {
  const auto metas = AllMetas();
  const auto found = std::ranges::lower_bound(metas, id, {}, &abi::dcgm_field_meta_t::fieldId);
  return found != metas.end() && found->fieldId == id ? &*found : nullptr;
}

}  // namespace podgpu::sim
