#include "sample/columns.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

Field Of(FieldLevel level) {
  Field field;
  field.level = level;
  return field;
}

TEST(Columns, AFieldIsReadOnThePartsOfItsLevel) {
  const struct {
    FieldLevel level;
    bool on_switch, on_link, on_cpu, on_core;
  } rows[] = {{FieldLevel::kNone, false, false, false, false},
              {FieldLevel::kGlobal, false, false, false, false},
              {FieldLevel::kGpu, false, false, false, false},
              {FieldLevel::kGpuInstance, false, false, false, false},
              {FieldLevel::kSwitch, true, false, false, false},
              {FieldLevel::kLink, true, true, false, false},
              {FieldLevel::kCpu, false, false, true, false},
              {FieldLevel::kCpuCore, false, false, true, true}};
  for (const auto& row : rows) {
    const int level = static_cast<int>(row.level);
    EXPECT_EQ(IsReadOn(row.level, PartKind::kNvSwitch), row.on_switch) << level;
    EXPECT_EQ(IsReadOn(row.level, PartKind::kNvLink), row.on_link) << level;
    EXPECT_EQ(IsReadOn(row.level, PartKind::kCpu), row.on_cpu) << level;
    EXPECT_EQ(IsReadOn(row.level, PartKind::kCpuCore), row.on_core) << level;
    EXPECT_EQ(IsPartLevel(row.level), row.on_switch || row.on_cpu) << level;
  }
}

TEST(Columns, FieldsNeedTheKindsOfPartOnWhichTheyAreRead) {
  const Field gpu = Of(FieldLevel::kGpu);
  const Field of_switch = Of(FieldLevel::kSwitch);
  const Field link = Of(FieldLevel::kLink);
  const Field cpu = Of(FieldLevel::kCpu);
  const Field core = Of(FieldLevel::kCpuCore);
  const struct {
    std::vector<const Field*> fields;
    bool switches, links, cpus, cores;
  } rows[] = {{{}, false, false, false, false},
              {{&gpu}, false, false, false, false},
              {{&of_switch, &gpu}, true, false, false, false},
              {{&link, &gpu}, true, true, false, false},
              {{&cpu, &gpu}, false, false, true, false},
              {{&core, &gpu}, false, false, true, true},
              {{&gpu, &link, &cpu}, true, true, true, false}};
  for (const auto& row : rows) {
    const PartKinds kinds = PartsFor(row.fields);
    EXPECT_EQ(kinds.switches, row.switches) << row.fields.size();
    EXPECT_EQ(kinds.links, row.links) << row.fields.size();
    EXPECT_EQ(kinds.cpus, row.cpus) << row.fields.size();
    EXPECT_EQ(kinds.cores, row.cores) << row.fields.size();
  }
}

}  // namespace
}  // namespace podgpu
