// Decodes arbitrary bytes as raw vendor values.  Invariants: a sentinel, a failed status or an
// unexpected type never becomes a number or a text; a plain number is neither lost nor changed;
// texts are valid UTF-8 and end; ages are never negative; a cell adds at most one text to the grid.
//
// Input: the type that the library promises, a byte of flags, then the struct's bytes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.h"
#include "source/decode.h"

namespace podgpu {
namespace {

// Copied from the vendor's dcgm_fields.h (4.x), so the test finds a slip in our declarations.
constexpr int64_t kInt32Blank = 0x7ffffff0;
constexpr int64_t kInt64Blank = 0x7ffffffffffffff0;
constexpr double kFp64Blank = 140737488355328.0;
constexpr int kBlankCount = 4;
constexpr size_t kLongestTextBytes = 256;

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};

Grid OneCell() {
  auto topology = std::make_shared<Topology>();
  topology->gpus.resize(1);
  topology->entities.resize(1);
  return Grid(topology, {FindField(150)});
}

bool IsBlank(int64_t number) {
  return number >= kInt64Blank || (number >= kInt32Blank && number < kInt32Blank + kBlankCount);
}

void CheckInt64(const FieldDecoder& decoder, int64_t raw, const Value& value) {
  const bool must_be_there = !IsBlank(raw) && raw >= decoder.lowest;
  PODGPU_CHECK(value.present() == must_be_there);
  PODGPU_CHECK(!value.present() || (value.kind() == Value::Kind::kInt64 && value.int64() == raw));
}

void CheckDouble(const FieldDecoder& decoder, double raw, const Value& value) {
  const bool must_be_there =
      std::isfinite(raw) && raw < kFp64Blank && raw >= static_cast<double>(decoder.lowest);
  PODGPU_CHECK(value.present() == must_be_there);
  PODGPU_CHECK(!value.present() || (value.kind() == Value::Kind::kDouble && value.real() == raw));
}

void CheckText(const char* raw, const Value& value, const Grid& grid) {
  const void* end = std::memchr(raw, 0, kLongestTextBytes);
  const std::optional<std::string> alone = DecodeText(raw, kLongestTextBytes);
  PODGPU_CHECK(value.present() == alone.has_value());
  PODGPU_CHECK(end != nullptr || !value.present());
  if (value.present()) {
    const std::string& text = grid.text(value);
    PODGPU_CHECK(text == *alone);
    PODGPU_CHECK(CleanUtf8(text) == text);
    PODGPU_CHECK(text.find('\0') == std::string::npos);
    PODGPU_CHECK(!text.starts_with("<<<") || text.find(">>>") == std::string::npos);
    PODGPU_CHECK(text.size() < 3 * kLongestTextBytes);
  }
}

void CheckAge(int64_t stamp_us, const Value& value) {
  const int64_t now_us = ToMicroseconds(kNow);
  if (stamp_us <= 0) {
    PODGPU_CHECK(value.age_ms() == std::numeric_limits<uint32_t>::max());
  } else if (stamp_us >= now_us) {
    PODGPU_CHECK(value.age_ms() == 0);
  } else {
    PODGPU_CHECK(value.age_ms() <= (now_us - stamp_us) / 1000);
  }
}

void Check(const FieldDecoder& decoder, const abi::dcgmFieldValue_v2& raw) {
  Grid grid = OneCell();
  const Value value = DecodeDcgm(decoder, raw, kNow, grid);
  PODGPU_CHECK(static_cast<int>(value.absence()) < kAbsenceCount);
  // Decoding the same bytes again adds no text.
  const Value again = DecodeDcgm(decoder, raw, kNow, grid);
  PODGPU_CHECK(again.kind() == value.kind());
  PODGPU_CHECK(value.kind() != Value::Kind::kText || (value.text() == 0 && again.text() == 0));
  if (raw.status != 0 || raw.fieldType != static_cast<unsigned char>(decoder.vendor_type)) {
    PODGPU_CHECK(!value.present());
    return;
  }
  switch (decoder.vendor_type) {
    case 'i':
    case 't':
      CheckInt64(decoder, raw.value.i64, value);
      break;
    case 'd':
      CheckDouble(decoder, raw.value.dbl, value);
      break;
    case 's':
      CheckText(raw.value.str, value, grid);
      break;
    default:
      PODGPU_CHECK(!value.present());
  }
  if (value.present()) {
    CheckAge(raw.ts, value);
  }
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  podgpu::FieldDecoder decoder;
  decoder.vendor_type = static_cast<char>(data[0]);
  constexpr int64_t kLeastCentigrade = -273;
  decoder.lowest = (data[1] & 1) != 0   ? 0
                   : (data[1] & 4) != 0 ? kLeastCentigrade
                                        : podgpu::FieldDecoder::kAnyNumber;
  podgpu::abi::dcgmFieldValue_v2 raw{};
  std::memcpy(&raw, data + 2, std::min(size - 2, sizeof raw));
  if ((data[1] & 2) != 0) {  // The tag of a correct engine.
    raw.status = 0;
    raw.fieldType = static_cast<unsigned char>(decoder.vendor_type);
  }
  podgpu::Check(decoder, raw);
  return 0;
}
