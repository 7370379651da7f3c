#include "fields/base_units.h"

#include <limits>

#include <gtest/gtest.h>

#include "source/decode.h"
#include "source/nvml/catalogue.h"
#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

constexpr uint16_t kSmClock = 100, kSmClockHertz = 1603;
constexpr uint16_t kUtilRatio = 1613;

TEST(BaseUnits, FollowFromOldFieldsOfTheSameLevel) {
  ASSERT_EQ(BaseUnits().size(), 51U);
  for (const BaseUnit& unit : BaseUnits()) {
    const Field* field = FindField(unit.id);
    const Field* old = FindField(unit.old_id);
    ASSERT_TRUE(field != nullptr && old != nullptr) << unit.id;
    EXPECT_EQ(field->level, old->level) << field->name;
    EXPECT_EQ(field->type, unit.is_whole ? FieldType::kInt64 : FieldType::kDouble) << field->name;
    EXPECT_EQ(BaseUnitOf(unit.id), &unit);
    EXPECT_EQ(NvmlRecipeOf(*field).has_value(), NvmlRecipeOf(*old).has_value()) << field->name;
  }
  EXPECT_EQ(BaseUnitOf(kSmClock), nullptr);
  EXPECT_EQ(BaseUnitOf(1651), nullptr);
}

TEST(BaseUnits, AreExact) {
  const struct {
    uint16_t id;
    Value old, converted;
  } rows[] = {
      {1603, Value::OfInt64(1'980), Value::OfInt64(1'980'000'000)},    // MHz
      {1611, Value::OfInt64(123'456'999), Value::OfInt64(123'456)},    // mJ
      {1613, Value::OfInt64(37), Value::OfDouble(0.37)},               // Percent
      {1617, Value::OfInt64(1'500'000'000), Value::OfDouble(1.5)},     // ns
      {1627, Value::OfInt64(81'920), Value::OfInt64(85'899'345'920)},  // MiB
      {1648, Value::OfInt64(25'000), Value::OfInt64(25'600'000'000)},  // KiB / 1,000
      {1650, Value::OfInt64(250), Value::OfDouble(0.25)},              // ms
      {1603, Value::OfDouble(1'980.5), Value::OfInt64(1'980'500'000)},
      {1627, Value::OfInt64(std::numeric_limits<int64_t>::max()),
       Value::OfAbsence(Absence::kOutOfRange)},
      {1627, Value::OfDouble(1e300), Value::OfAbsence(Absence::kOutOfRange)},
      {1627, Value::OfAbsence(Absence::kBlank), Value::OfAbsence(Absence::kBlank)},
  };
  for (const auto& row : rows) {
    const Value value = InBaseUnit(*BaseUnitOf(row.id), row.old);
    ASSERT_EQ(value.kind(), row.converted.kind()) << row.id;
    if (value.present()) {
      EXPECT_EQ(value.number(), row.converted.number()) << row.id;
    } else {
      EXPECT_EQ(value.absence(), row.converted.absence()) << row.id;
    }
  }
  EXPECT_EQ(InBaseUnit(*BaseUnitOf(1603), Value::OfInt64(1, 250)).age_ms(), 250U);
}

TEST(UtilRatio, IsAPercentageOnlyWithAnEngineOf46AndSaysSo) {
  const struct {
    const char* engine;
    bool as_before_4_9;
    double expected;
  } rows[] = {{"4.6.0", true, 37},
              {"4.6.1", true, 37},
              {"4.6.1", false, 0.37},
              {"4.5.3", true, 0.37},
              {"4.7.1", true, 0.375}};
  for (const auto& row : rows) {
    Node node(1);
    node.util_ratio_is_percent_of_4_6 = row.as_before_4_9;
    node.dcgm.version = row.engine;
    const auto grid = node.Start({kUtilisation, kUtilRatio});
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kUtilisation, 37);
    node.dcgm.SetDouble(abi::DCGM_FE_GPU, 0, kUtilRatio, 0.375);
    ASSERT_TRUE(node.source().Read(*grid).ok());
    EXPECT_EQ(Cell(*grid, kUtilRatio, 0).number(), row.expected) << row.engine;
    EXPECT_EQ(Cell(*grid, kUtilisation, 0).int64(), 37);
    const bool is_percent = row.expected == 37;
    EXPECT_EQ(grid->findings.util_ratio_is_percent, is_percent);
    EXPECT_EQ(node.watched.note == "DCGM_FI_DEV_GPU_UTIL_RATIO is in percent", is_percent);
    node.Start({kUtilisation});
    EXPECT_EQ(node.watched.note, "") << "it is not asked for";
  }
}

// An engine, and whether it knows fields of 4.6.1 and of 4.7.
struct Engine {
  const char* version;
  bool library_knows, knows_hertz, knows_ratio;
};
class BaseUnitsOfEngine : public ::testing::TestWithParam<Engine> {};

TEST_P(BaseUnitsOfEngine, AreReadWhereKnownAndElseFollow) {
  const Engine& engine = GetParam();
  for (const bool with_old : {false, true}) {
    Node node(1);
    node.dcgm.version = engine.version;
    if (!engine.library_knows) {
      node.dcgm.unknown_fields = {kSmClockHertz, kUtilRatio};
    }
    const auto grid =
        node.Start(with_old ? std::vector<uint16_t>{kSmClock, kSmClockHertz, kUtilRatio}
                            : std::vector<uint16_t>{kSmClockHertz, kUtilRatio});
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kSmClock, 1'980);
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kUtilisation, 37);
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kSmClockHertz, 1'980'123'456);
    node.dcgm.SetDouble(abi::DCGM_FE_GPU, 0, kUtilRatio, 0.375);
    ASSERT_TRUE(node.source().Read(*grid).ok());
    EXPECT_EQ(Cell(*grid, kSmClockHertz, 0).int64(),
              engine.knows_hertz ? 1'980'123'456 : 1'980'000'000);
    EXPECT_EQ(Cell(*grid, kUtilRatio, 0).real(), engine.knows_ratio ? 0.375 : 0.37);
    if (with_old) {
      EXPECT_EQ(Cell(*grid, kSmClock, 0).int64(), 1'980);
    }
    EXPECT_EQ(node.dcgm.IsWatched(abi::DCGM_FE_GPU, 0, kUtilisation), !engine.knows_ratio);
    EXPECT_EQ(node.dcgm.IsWatched(abi::DCGM_FE_GPU, 0, kUtilRatio), engine.knows_ratio)
        << "an engine is not asked for what it does not know";
    EXPECT_EQ(node.dcgm.IsWatched(abi::DCGM_FE_GPU, 0, kSmClock), with_old || !engine.knows_hertz);
  }
}

INSTANTIATE_TEST_SUITE_P(Dcgm, BaseUnitsOfEngine,
                         ::testing::Values(Engine{"4.6.0", true, false, false},
                                           Engine{"4.6.1", true, true, false},
                                           Engine{"4.7.0", true, true, true},
                                           Engine{"4.10.0", true, true, true},
                                           Engine{"4.7.0", false, false, false}));

}  // namespace
}  // namespace podgpu
