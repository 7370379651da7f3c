#include "source/decode.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace podgpu {
namespace {

using abi::dcgmFieldValue_v2;

constexpr int64_t kNow_us = 1'700'000'000'000'000;
constexpr WallTime kNow{std::chrono::microseconds(kNow_us)};

Grid EmptyGrid() { return Grid(std::make_shared<Topology>(), {}); }

dcgmFieldValue_v2 Raw(char type) {
  dcgmFieldValue_v2 raw{};
  raw.fieldType = static_cast<unsigned char>(type);
  raw.ts = kNow_us;
  return raw;
}

dcgmFieldValue_v2 RawInt64(int64_t number) {
  dcgmFieldValue_v2 raw = Raw('i');
  raw.value.i64 = number;
  return raw;
}

dcgmFieldValue_v2 RawDouble(double number) {
  dcgmFieldValue_v2 raw = Raw('d');
  raw.value.dbl = number;
  return raw;
}

dcgmFieldValue_v2 RawText(const std::string& text) {
  dcgmFieldValue_v2 raw = Raw('s');
  std::memcpy(raw.value.str, text.data(), std::min<size_t>(text.size(), sizeof(raw.value.str)));
  return raw;
}

Value Decode(const dcgmFieldValue_v2& raw, int64_t lowest = FieldDecoder::kAnyNumber) {
  Grid grid = EmptyGrid();
  return DecodeDcgm({static_cast<char>(raw.fieldType), lowest}, raw, kNow, grid);
}

TEST(Decode, KeepsNumbers) {
  for (const int64_t number : {int64_t{0}, int64_t{-5}, int64_t{2147483631}, int64_t{2147483636},
                               int64_t{9223372036854775791}, std::numeric_limits<int64_t>::min()}) {
    const Value value = Decode(RawInt64(number));
    ASSERT_EQ(value.kind(), Value::Kind::kInt64) << number;
    EXPECT_EQ(value.int64(), number);
  }
  for (const double number : {0.0, -1.5, 72.123456, 140737488355327.0, 1e-300}) {
    const Value value = Decode(RawDouble(number));
    ASSERT_EQ(value.kind(), Value::Kind::kDouble) << number;
    EXPECT_EQ(value.real(), number);
  }
}

TEST(Decode, UsesABlankTextInPlaceOfANumberAsTheReason) {
  Grid grid = EmptyGrid();
  const auto decode = [&](const std::string& text) {
    return DecodeDcgm({'i', 0}, RawText(text), kNow, grid).absence();
  };
  EXPECT_EQ(decode("<<<NOT_SUPPORTED>>>"), Absence::kNotSupported);
  EXPECT_EQ(decode("<<<NULL>>>"), Absence::kBlank);
  EXPECT_EQ(decode("7"), Absence::kWrongType);
}

TEST(Decode, TurnsNumericBlanksIntoReasons) {
  const Absence reasons[] = {Absence::kBlank, Absence::kNotFound, Absence::kNotSupported,
                             Absence::kNotPermitted, Absence::kOutOfRange};
  for (int i = 0; i < 5; ++i) {
    const Value wide = Decode(RawInt64(abi::DCGM_INT64_BLANK + i));
    EXPECT_FALSE(wide.present()) << i;
    EXPECT_EQ(wide.absence(), reasons[i]) << i;
    const Value real = Decode(RawDouble(abi::DCGM_FP64_BLANK + i));
    EXPECT_FALSE(real.present()) << i;
    EXPECT_EQ(real.absence(), reasons[i]) << i;
  }
  for (int i = 0; i < 4; ++i) {
    const Value narrow = Decode(RawInt64(abi::DCGM_INT32_BLANK + i));
    EXPECT_FALSE(narrow.present()) << i;
    EXPECT_EQ(narrow.absence(), reasons[i]) << i;
  }
}

TEST(Decode, RefusesInvalidNumbers) {
  for (const double number :
       {std::nan(""), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), 1e300, abi::DCGM_FP64_BLANK + 0.5}) {
    const Value value = Decode(RawDouble(number));
    EXPECT_FALSE(value.present()) << number;
    EXPECT_EQ(value.absence(), Absence::kOutOfRange) << number;
  }
}

TEST(Decode, RefusesNegativeAmounts) {
  EXPECT_EQ(Decode(RawInt64(-1), 0).absence(), Absence::kOutOfRange);
  EXPECT_EQ(Decode(RawDouble(-0.1), 0).absence(), Absence::kOutOfRange);
  EXPECT_EQ(Decode(RawInt64(-274), -273).absence(), Absence::kOutOfRange);
  EXPECT_TRUE(Decode(RawInt64(0), 0).present());
}

TEST(Decode, KnowsTheLowestValueOfAQuantity) {
  const struct {
    uint16_t id;
    int64_t expected;
  } rows[] = {{155, 0},  {156, 0},    {252, 0}, {203, 0},
              {1001, 0}, {150, -273}, {230, 0}, {112, FieldDecoder::kAnyNumber}};
  for (const auto& row : rows) {
    const Field* field = FindField(row.id);
    ASSERT_NE(field, nullptr) << row.id;
    EXPECT_EQ(DecoderFor(*field, 'i').lowest, row.expected) << field->name;
  }
}

// A new unit of the catalogue is either a quantity, or added here: codes, sets of bits, versions.
TEST(Decode, KnowsTheLowestValueOfEachUnitOfTheCatalogue) {
  const std::set<std::string_view> any_number = {
      "", "bitmask", "checksum", "enum", "gen", "id", "lanes", "raw", "sxid", "version", "xid"};
  for (const Field& field : Catalogue()) {
    if (field.id == 230) {  // The XID is an unsigned number.
      continue;
    }
    const int64_t of_amount = field.unit == "C" ? -273 : 0;
    EXPECT_EQ(DecoderFor(field, 'i').lowest,
              any_number.contains(field.unit) ? FieldDecoder::kAnyNumber : of_amount)
        << field.name << " in " << field.unit;
  }
}

TEST(Decode, TurnsBlankTextsIntoReasons) {
  const struct {
    const char* text;
    Absence expected;
  } rows[] = {{"<<<NULL>>>", Absence::kBlank},
              {"<<<NOT_FOUND>>>", Absence::kNotFound},
              {"<<<NOT_SUPPORTED>>>", Absence::kNotSupported},
              {"<<<NOT_PERM>>>", Absence::kNotPermitted},
              {"<<<NOT_PERMISSIONED>>>", Absence::kNotPermitted},
              {"<<<SOMETHING_NEW>>>", Absence::kBlank}};
  for (const auto& row : rows) {
    const Value value = Decode(RawText(row.text));
    EXPECT_FALSE(value.present()) << row.text;
    EXPECT_EQ(value.absence(), row.expected) << row.text;
  }
}

TEST(Decode, KeepsTextsAndMakesThemValid) {
  Grid grid = EmptyGrid();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"570.133.20", "570.133.20"},
      {"", ""},
      {"<<<", "<<<"},
      {"gr\xC3\xBCn", "gr\xC3\xBCn"},
      {"bad \xFF byte", "bad \xEF\xBF\xBD byte"},
      {"\xFF", "\xEF\xBF\xBD"},
      {std::string(255, 'x'), std::string(255, 'x')}};
  for (const auto& [raw, expected] : rows) {
    const Value value = DecodeDcgm({'s', false}, RawText(raw), kNow, grid);
    ASSERT_EQ(value.kind(), Value::Kind::kText) << raw;
    EXPECT_EQ(grid.text(value), expected);
  }
}

TEST(Decode, RefusesATextWithoutATerminator) {
  const Value value = Decode(RawText(std::string(256, 'x')));
  EXPECT_FALSE(value.present());
  EXPECT_EQ(value.absence(), Absence::kOutOfRange);
}

TEST(Decode, RefusesAnUnexpectedType) {
  Grid grid = EmptyGrid();
  for (const char promised : {'i', 'd', 's'}) {
    for (const char sent : {'i', 'd', 's', 'b', 't', '\0', '\xFF'}) {
      const Value value = DecodeDcgm({promised, false}, Raw(sent), kNow, grid);
      EXPECT_EQ(value.present(), promised == sent) << promised << sent;
      if (promised != sent) {
        EXPECT_EQ(value.absence(), Absence::kWrongType) << promised << sent;
      }
    }
  }
}

TEST(Decode, RejectsABlobAndReadsATimestampAsANumber) {
  EXPECT_EQ(Decode(Raw('b')).absence(), Absence::kNotSupported);
  EXPECT_EQ(Decode(Raw('t')).kind(), Value::Kind::kInt64);
}

TEST(Decode, CountsTheAgeFromTheSample) {
  const struct {
    const char* label;
    int64_t stamp_us;
    uint32_t age_ms;
  } rows[] = {
      {"now", kNow_us, 0},
      {"a second and a half ago", kNow_us - 1'500'000, 1500},
      {"under a millisecond", kNow_us - 999, 0},
      {"in the future", kNow_us + 5'000'000, 0},
      {"never", 0, std::numeric_limits<uint32_t>::max()},
      {"before 1970", -1, std::numeric_limits<uint32_t>::max()},
      {"a year ago", kNow_us - 365LL * 86400 * 1'000'000, std::numeric_limits<uint32_t>::max()},
  };
  for (const auto& row : rows) {
    dcgmFieldValue_v2 raw = RawInt64(1);
    raw.ts = row.stamp_us;
    EXPECT_EQ(Decode(raw).age_ms(), row.age_ms) << row.label;
  }
}

TEST(Decode, ChecksTheStatusBeforeTypeAndValue) {
  const struct {
    abi::dcgmReturn_t status;
    Absence expected;
  } rows[] = {
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
      {abi::DCGM_ST_GENERIC_ERROR, Absence::kBlank},
      {-12345, Absence::kBlank},
      {1, Absence::kBlank},
  };
  Grid grid = EmptyGrid();
  for (const auto& row : rows) {
    dcgmFieldValue_v2 raw = RawInt64(42);
    raw.status = row.status;
    for (const char promised : {'i', 's'}) {
      const Value value = DecodeDcgm({promised, false}, raw, kNow, grid);
      EXPECT_FALSE(value.present()) << row.status;
      EXPECT_EQ(value.absence(), row.expected) << row.status;
    }
  }
}

TEST(Decode, ReadsTextsOfStructs) {
  const char plain[8] = "abc";
  const char blank[16] = "<<<NULL>>>";
  const char endless[3] = {'a', 'b', 'c'};
  EXPECT_EQ(DecodeText(plain, sizeof(plain)), "abc");
  EXPECT_EQ(DecodeText(blank, sizeof(blank)), std::nullopt);
  EXPECT_EQ(DecodeText(endless, sizeof(endless)), std::nullopt);
}

}  // namespace
}  // namespace podgpu
