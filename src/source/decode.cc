#include "source/decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "base/text.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

using abi::dcgmFieldValue_v2;

constexpr double kLargestWhole = 9e18;

// The lowest value of a quantity, by unit.
struct UnitRow {
  std::string_view unit;
  int64_t lowest;
};
constexpr std::array<UnitRow, 24> kUnits = {{
    {"C", -273},  {"Hz", 0},     {"J", 0},   {"KBps", 0},    {"MBps", 0},  {"MHz", 0},
    {"MiB", 0},   {"Mibit", 0},  {"W", 0},   {"bool", 0},    {"bytes", 0}, {"bytes_per_s", 0},
    {"count", 0}, {"cycles", 0}, {"fps", 0}, {"kHz", 0},     {"mJ", 0},    {"mV", 0},
    {"mWps", 0},  {"ms", 0},     {"ns", 0},  {"percent", 0}, {"ratio", 0}, {"s", 0},
}};

struct StatusRow {
  abi::dcgmReturn_t status;
  Absence absence;
};

constexpr std::array<StatusRow, 21> kStatuses = {{
    {abi::DCGM_ST_NOT_SUPPORTED, Absence::kNotSupported},
    {abi::DCGM_ST_UNKNOWN_FIELD, Absence::kNotSupported},
    {abi::DCGM_ST_FUNCTION_NOT_FOUND, Absence::kNotSupported},
    {abi::DCGM_ST_GPU_NOT_SUPPORTED, Absence::kNotSupported},
    {abi::DCGM_ST_FIELD_UNSUPPORTED_BY_API, Absence::kNotSupported},
    {abi::DCGM_ST_PROFILING_NOT_SUPPORTED, Absence::kNotSupported},
    {abi::DCGM_ST_INSUFFICIENT_DRIVER_VERSION, Absence::kNotSupported},
    {abi::DCGM_ST_NO_PERMISSION, Absence::kNotPermitted},
    {abi::DCGM_ST_REQUIRES_ROOT, Absence::kNotPermitted},
    {abi::DCGM_ST_INSTANCE_NOT_FOUND, Absence::kNotFound},
    {abi::DCGM_ST_COMPUTE_INSTANCE_NOT_FOUND, Absence::kNotFound},
    {abi::DCGM_ST_NO_DATA, Absence::kNoData},
    {abi::DCGM_ST_PENDING, Absence::kNoData},
    {abi::DCGM_ST_NOT_WATCHED, Absence::kNotWatched},
    {abi::DCGM_ST_MODULE_NOT_LOADED, Absence::kNotWatched},
    {abi::DCGM_ST_STALE_DATA, Absence::kStale},
    {abi::DCGM_ST_GPU_IS_LOST, Absence::kDeviceLost},
    {abi::DCGM_ST_GPUS_DETACHED, Absence::kDeviceLost},
    {abi::DCGM_ST_CONNECTION_NOT_VALID, Absence::kSourceDown},
    {abi::DCGM_ST_TIMEOUT, Absence::kSourceDown},
    {abi::DCGM_ST_NVML_DRIVER_TIMEOUT, Absence::kSourceDown},
}};

// DCGM has four blanks per type: the plain one, then three that carry a reason.
constexpr std::array<Absence, 4> kBlanks = {Absence::kBlank, Absence::kNotFound,
                                            Absence::kNotSupported, Absence::kNotPermitted};

struct TextBlank {
  std::string_view text;
  Absence absence;
};
constexpr std::array<TextBlank, 4> kTextBlanks = {{
    {"<<<NULL>>>", Absence::kBlank},
    {"<<<NOT_FOUND>>>", Absence::kNotFound},
    {"<<<NOT_SUPPORTED>>>", Absence::kNotSupported},
    {"<<<NOT_PERM", Absence::kNotPermitted},  // "...>>>" and, in the Go binding, "...ISSIONED>>>".
}};

// Milliseconds from a sample's time stamp to `now`. A stamp in the future counts as age 0, a
// missing stamp as the greatest age.
uint32_t AgeMs(int64_t stamp_us, WallTime now) {
  constexpr uint32_t kOldest = std::numeric_limits<uint32_t>::max();
  if (stamp_us <= 0) {
    return kOldest;
  }
  const int64_t age_ms = (ToMicroseconds(now) - stamp_us) / 1000;
  return static_cast<uint32_t>(std::clamp<int64_t>(age_ms, 0, kOldest));
}

Value DecodeInt64(int64_t number, int64_t lowest, uint32_t age_ms) {
  if (number >= abi::DCGM_INT64_BLANK) {
    const auto offset = static_cast<size_t>(number - abi::DCGM_INT64_BLANK);
    return Value::OfAbsence(offset < kBlanks.size() ? kBlanks[offset] : Absence::kOutOfRange);
  }
  // In places DCGM widens NVML's 32-bit blanks to 64 bits; dcgm-exporter skips exactly these four,
  // too.
  constexpr int64_t kNarrowBlank = abi::DCGM_INT32_BLANK;
  if (number >= kNarrowBlank && number < kNarrowBlank + std::ssize(kBlanks)) {
    return Value::OfAbsence(kBlanks[static_cast<size_t>(number - kNarrowBlank)]);
  }
  if (number < lowest) {
    return Value::OfAbsence(Absence::kOutOfRange);
  }
  return Value::OfInt64(number, age_ms);
}

Value DecodeDouble(double number, int64_t lowest, uint32_t age_ms) {
  if (!std::isfinite(number) || number < static_cast<double>(lowest)) {
    return Value::OfAbsence(Absence::kOutOfRange);
  }
  if (number >= abi::DCGM_FP64_BLANK) {
    const double offset = number - abi::DCGM_FP64_BLANK;
    for (size_t i = 0; i < kBlanks.size(); ++i) {
      if (offset == static_cast<double>(i)) {
        return Value::OfAbsence(kBlanks[i]);
      }
    }
    return Value::OfAbsence(Absence::kOutOfRange);
  }
  return Value::OfDouble(number, age_ms);
}

// Returns the reason that a blank text stands for; nothing when the text is not blank.
std::optional<Absence> AbsenceOfText(std::string_view text) {
  if (!text.starts_with("<<<") || text.find(">>>") == std::string_view::npos) {
    return std::nullopt;
  }
  for (const TextBlank& row : kTextBlanks) {
    if (text.starts_with(row.text)) {
      return row.absence;
    }
  }
  return Absence::kBlank;
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return (letter & 0x80) == 0; });
}

// Returns the absence for a blank text where a number was promised.  DCGM reports an unsupported
// licence in this way (field 526; DCGM 4.6.0, observed).
std::optional<Absence> AbsenceOfTextForNumber(const dcgmFieldValue_v2& raw) {
  const size_t length = strnlen(raw.value.str, abi::DCGM_MAX_STR_LENGTH);
  return AbsenceOfText(std::string_view(raw.value.str, length));
}

Value DecodeString(const char* buffer, uint32_t age_ms, Grid& grid) {
  const size_t length = strnlen(buffer, abi::DCGM_MAX_STR_LENGTH);
  if (length == abi::DCGM_MAX_STR_LENGTH) {
    return Value::OfAbsence(Absence::kOutOfRange);
  }
  const std::string_view text(buffer, length);
  if (const std::optional<Absence> absence = AbsenceOfText(text)) {
    return Value::OfAbsence(*absence);
  }
  const uint32_t index = IsAscii(text) ? grid.InternText(text) : grid.InternText(CleanUtf8(text));
  return Value::OfText(index, age_ms);
}

}  // namespace

FieldDecoder DecoderFor(const Field& field, char vendor_type) {
  if (field.id == field_ids::kXid) {  // An unsigned 32-bit number of the driver.
    return {vendor_type, 0};
  }
  const auto unit = std::ranges::find(kUnits, field.unit, &UnitRow::unit);
  return {vendor_type, unit == kUnits.end() ? FieldDecoder::kAnyNumber : unit->lowest};
}

Value DecodeDcgm(const FieldDecoder& decoder, const dcgmFieldValue_v2& raw, WallTime now,
                 Grid& grid) {
  if (raw.status != abi::DCGM_ST_OK) {
    return Value::OfAbsence(AbsenceOfDcgmStatus(raw.status));
  }
  if (raw.fieldType != static_cast<unsigned char>(decoder.vendor_type)) {
    if (raw.fieldType == abi::DCGM_FT_STRING) {
      if (const std::optional<Absence> absence = AbsenceOfTextForNumber(raw)) {
        return Value::OfAbsence(*absence);
      }
    }
    return Value::OfAbsence(Absence::kWrongType);
  }
  const uint32_t age_ms = AgeMs(raw.ts, now);
  switch (decoder.vendor_type) {
    case abi::DCGM_FT_INT64:
    case abi::DCGM_FT_TIMESTAMP:
      return DecodeInt64(raw.value.i64, decoder.lowest, age_ms);
    case abi::DCGM_FT_DOUBLE:
      return DecodeDouble(raw.value.dbl, decoder.lowest, age_ms);
    case abi::DCGM_FT_STRING:
      return DecodeString(raw.value.str, age_ms, grid);
    default:  // A blob has no value that a page can show.
      return Value::OfAbsence(Absence::kNotSupported);
  }
}

Value InBaseUnit(const BaseUnit& unit, const Value& value) {
  if (value.kind() != Value::Kind::kInt64 && value.kind() != Value::Kind::kDouble) {
    return value;
  }
  const auto divisor = static_cast<double>(unit.divisor);
  if (!unit.is_whole) {
    return Value::OfDouble(value.number() * static_cast<double>(unit.factor) / divisor,
                           value.age_ms());
  }
  if (value.kind() == Value::Kind::kDouble) {
    const double whole = std::floor(value.real() * static_cast<double>(unit.factor) / divisor);
    return std::abs(whole) < kLargestWhole
               ? Value::OfInt64(static_cast<int64_t>(whole), value.age_ms())
               : Value::OfAbsence(Absence::kOutOfRange);
  }
  int64_t product = 0;
  return __builtin_mul_overflow(value.int64(), unit.factor, &product)
             ? Value::OfAbsence(Absence::kOutOfRange)
             : Value::OfInt64(product / unit.divisor, value.age_ms());
}

Absence AbsenceOfDcgmStatus(abi::dcgmReturn_t status) {
  const auto found = std::ranges::find(kStatuses, status, &StatusRow::status);
  return found == kStatuses.end() ? Absence::kBlank : found->absence;
}

std::optional<std::string> DecodeText(const char* buffer, size_t size) {
  const size_t length = strnlen(buffer, size);
  const std::string_view text(buffer, length);
  if (length == size || AbsenceOfText(text)) {
    return std::nullopt;
  }
  return CleanUtf8(text);
}

}  // namespace podgpu
