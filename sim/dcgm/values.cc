#include "sim/dcgm/values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "sim/dcgm/part_readings.h"

namespace podgpu::sim {
namespace {

// Fields that are pushed by events: bind events, XIDs, results of diagnostics.
struct EventRange {
  uint16_t first, last;
};
constexpr std::array<EventRange, 3> kEventFields = {{{6, 6}, {230, 230}, {350, 363}}};

// Indexed by Blank.
constexpr std::array<const char*, 4> kTextBlanks = {abi::DCGM_STR_BLANK, abi::DCGM_STR_NOT_FOUND,
                                                    abi::DCGM_STR_NOT_SUPPORTED,
                                                    abi::DCGM_STR_NOT_PERMISSIONED};

// Whether an entity has fields of `level`.
bool Answers(const Entity& entity, FieldLevel level) {
  if (level == FieldLevel::kGlobal) {
    return true;
  }
  switch (level) {
    case FieldLevel::kLink:
      return entity.key.group == abi::DCGM_FE_LINK;
    case FieldLevel::kSwitch:
      return entity.key.group == abi::DCGM_FE_SWITCH;
    case FieldLevel::kCpu:
      return entity.key.group == abi::DCGM_FE_CPU;
    case FieldLevel::kCpuCore:
      return entity.key.group == abi::DCGM_FE_CPU || entity.key.group == abi::DCGM_FE_CPU_CORE;
    default:
      break;
  }
  return entity.key.group == abi::DCGM_FE_GPU || entity.key.group == abi::DCGM_FE_GPU_I ||
         entity.key.group == abi::DCGM_FE_GPU_CI;
}

void StoreText(std::string_view text, abi::dcgmFieldValuePayload& payload) {
  const size_t length = std::min(text.size(), sizeof(payload.str) - 1);
  std::memcpy(payload.str, text.data(), length);
  payload.str[length] = '\0';
}

void StoreBlank(Blank blank, int type_letter, abi::dcgmFieldValuePayload& payload) {
  const auto reason = static_cast<int>(blank);
  switch (type_letter) {
    case abi::DCGM_FT_DOUBLE:
      payload.dbl = abi::DCGM_FP64_BLANK + reason;
      break;
    case abi::DCGM_FT_STRING:
      StoreText(kTextBlanks[static_cast<size_t>(reason)], payload);
      break;
    case abi::DCGM_FT_BINARY:
      payload.blob[0] = '\0';
      break;
    default:
      payload.i64 = abi::DCGM_INT64_BLANK + reason;
  }
}

void StoreGarbage(int type_letter, abi::dcgmFieldValuePayload& payload) {
  if (type_letter == abi::DCGM_FT_DOUBLE) {
    payload.dbl = std::numeric_limits<double>::quiet_NaN();
  } else if (type_letter == abi::DCGM_FT_STRING || type_letter == abi::DCGM_FT_BINARY) {
    std::memset(&payload, 0xff, sizeof(payload));
  } else {
    payload.i64 = std::numeric_limits<int64_t>::max();
  }
}

}  // namespace

bool IsEventField(uint16_t field) {
  return std::ranges::any_of(kEventFields, [&](const EventRange& range) {
    return field >= range.first && field <= range.last;
  });
}

Reading ReadField(const Sight& sight, const Entity& entity, const Field& field,
                  const SampleTime& sample) {
  const bool is_part = entity.part >= 0;
  const ReadingRow* const row = is_part && field.scope() != FieldScope::kGlobal
                                    ? FindPartReading(field.id)
                                    : FindReading(field.id);
  Reading reading{.value = Blank::kNotSupported};
  if (row != nullptr && Answers(entity, row->level)) {
    reading = row->read({.world = sight.world,
                         .gpus = sight.gpus,
                         .entity = entity,
                         .field = field.id,
                         .sample = sample,
                         .argument = row->argument + (field.id - row->first)});
  }
  if (!reading.sampled_at) {
    reading.sampled_at = sample.t;
  }
  return reading;
}

void StorePayload(const Reading& reading, int type_letter, abi::dcgmFieldValuePayload& payload) {
  if (reading.is_garbage) {
    StoreGarbage(type_letter, payload);
  } else if (const auto* const blank = std::get_if<Blank>(&reading.value)) {
    StoreBlank(*blank, type_letter, payload);
  } else if (const auto* const text = std::get_if<std::string>(&reading.value)) {
    StoreText(*text, payload);
  } else if (const auto* const real = std::get_if<double>(&reading.value)) {
    payload.dbl = *real;
  } else {
    payload.i64 = std::get<int64_t>(reading.value);
  }
}

}  // namespace podgpu::sim
