// The fields and findings that the source reads, depending on counters and views.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "exporter/exporter.h"
#include "fields/counters_csv.h"
#include "pages/node_page.h"
#include "pages/node_status_page.h"
#include "view/view.h"

namespace podgpu {
namespace {

TEST(ProfilesByDefault, IsTrueWhereNoCountersFileListsProfilingFields) {
  const auto reading = [](int line, uint16_t field) {
    return Counter{line, "name", FindField(field), "gauge", "help"};
  };
  const std::vector<Counter> list = {reading(7, 1001)};
  EXPECT_TRUE(ProfilesByDefault("built-in counters", list));
  EXPECT_TRUE(ProfilesByDefault("/etc/dcgm-exporter/default-counters.csv", list));
  EXPECT_TRUE(ProfilesByDefault("built-in counters (default-counters-4.9.csv)", list));
  EXPECT_TRUE(ProfilesByDefault("/etc/dcgm-exporter/default-counters-4.9.csv", list));
  EXPECT_FALSE(ProfilesByDefault("built-in counters (dcp-metrics-included.csv)", list));
  EXPECT_FALSE(ProfilesByDefault("/etc/mine.csv", list));
  EXPECT_FALSE(ProfilesByDefault("default/exporter-metrics-config-map", list));
  std::vector<Counter> longer = list;
  longer.push_back(reading(0, 150));
  EXPECT_TRUE(ProfilesByDefault("built-in counters", longer))
      << "the added field is not of profiling";
  longer.push_back(reading(0, 1002));
  EXPECT_FALSE(ProfilesByDefault("built-in counters", longer)) << "--metrics-include names one";
}

TEST(FieldsToRead, IncludeTheCountersAndTheNativeView) {
  const std::vector<Counter> counters =
      ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DRIVER_VERSION, label, v\n", "x")
          .value()
          .counters;
  const std::vector<const Field*> fields = FieldsToRead(counters, {View::kDcgm});
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0]->id, 1);
  EXPECT_EQ(fields[1]->id, 150);
  EXPECT_EQ(FieldsToRead(counters, {View::kDcgm, View::kCore, View::kSelf}).size(), 6U)
      << "the view core needs XIDs, and what makes a GPU degraded";
  const std::vector<const Field*> with_native = FieldsToRead(counters, {View::kNative});
  EXPECT_GE(with_native.size(), NativeFieldIds().size());
  for (size_t i = 1; i < with_native.size(); ++i) {
    EXPECT_LT(with_native[i - 1]->id, with_native[i]->id);
  }
}

TEST(FieldsToRead, IncludeWhatACounterOfEventsCounts) {
  const FindingsAsked windows{std::chrono::minutes(5), std::chrono::minutes(5)};
  for (const auto& [name, id] :
       std::map<std::string, uint16_t>{{"DCGM_EXP_XID_ERRORS_COUNT", field_ids::kXid},
                                       {"DCGM_EXP_XID_ERRORS_TOTAL", field_ids::kXid},
                                       {"DCGM_EXP_CLOCK_EVENTS_COUNT", field_ids::kClockReasons},
                                       {"DCGM_EXP_CLOCK_EVENTS_TOTAL", field_ids::kClockReasons}}) {
    const std::vector<Counter> counters = ParseCounters(name + ",counter,x", "x").value().counters;
    EXPECT_EQ(FieldsToRead(counters, {View::kDcgm}), std::vector{FindField(id)}) << name;
    EXPECT_EQ(FindingsToRead(counters, windows).clock_window.count() > 0,
              id == field_ids::kClockReasons)
        << name;
  }
}

TEST(FieldsToRead, IncludeMigActivityWhereProcessesAreShown) {
  const auto ids_for = [](std::string_view csv) {
    std::vector<uint16_t> ids;
    for (const Field* field :
         FieldsToRead(ParseCounters(csv, "x").value().counters, {View::kDcgm, View::kProcess})) {
      ids.push_back(field->id);
    }
    return ids;
  };
  EXPECT_EQ(ids_for("DCGM_FI_PROF_DRAM_ACTIVE,gauge,x\n"),
            (std::vector<uint16_t>{1001, 1002, 1005}));
  EXPECT_EQ(ids_for("DCGM_FI_DEV_GPU_TEMP,gauge,x\n"), std::vector<uint16_t>{150})
      << "MIG activity alone does not start profiling";
}

TEST(FieldsToRead, IncludeTheUseOfDevicesOnRequest) {
  const auto ids_for = [](std::string_view csv) {
    std::vector<uint16_t> ids;
    for (const Field* field :
         FieldsToRead(ParseCounters(csv, "x").value().counters, {View::kDcgm}, {UseFieldIds})) {
      ids.push_back(field->id);
    }
    return ids;
  };
  EXPECT_EQ(ids_for("DCGM_FI_DEV_GPU_TEMP,gauge,x\n"),
            (std::vector<uint16_t>{150, 155, 203, 204, 250, 252}));
  EXPECT_EQ(ids_for("DCGM_FI_PROF_DRAM_ACTIVE,gauge,x\n"),
            (std::vector<uint16_t>{155, 203, 204, 250, 252, 1002, 1004, 1005}));
}

TEST(FieldsToRead, IncludeTheFieldsOfTheStatusOnRequest) {
  const auto has = [](std::string_view csv, uint16_t id, const std::vector<FieldIds>& wanted) {
    const auto fields =
        FieldsToRead(ParseCounters(csv, "x").value().counters, {View::kDcgm}, wanted);
    return std::ranges::find(fields, id, &Field::id) != fields.end();
  };
  constexpr std::string_view kPlain = "DCGM_FI_DEV_GPU_TEMP,gauge,x\n";
  constexpr std::string_view kProfiling = "DCGM_FI_PROF_DRAM_ACTIVE,gauge,x\n";
  EXPECT_TRUE(has(kPlain, 164, {StatusFieldIds}));
  EXPECT_FALSE(has(kPlain, 164, {UseFieldIds}));
  EXPECT_FALSE(has(kPlain, 1004, {StatusFieldIds})) << "profiling occupies the device";
  EXPECT_TRUE(has(kProfiling, 1004, {StatusFieldIds}));
}

TEST(FieldsToRead, ContainTheFieldsBehindTheExportersOwnCountersOnce) {
  const auto ids_for = [](std::string_view csv) {
    std::vector<uint16_t> ids;
    for (const Field* field :
         FieldsToRead(ParseCounters(csv, "x").value().counters, {View::kDcgm})) {
      ids.push_back(field->id);
    }
    return ids;
  };
  EXPECT_EQ(ids_for("DCGM_EXP_XID_ERRORS_COUNT,gauge,x\n"), std::vector<uint16_t>{230});
  EXPECT_EQ(ids_for("DCGM_EXP_CLOCK_EVENTS_COUNT,gauge,x\n"), std::vector<uint16_t>{112});
  EXPECT_EQ(ids_for("DCGM_EXP_XID_ERRORS_COUNT,gauge,x\nDCGM_FI_DEV_XID_ERRORS,gauge,x\n"),
            std::vector<uint16_t>{230});
  EXPECT_EQ(ids_for("DCGM_EXP_P2P_STATUS,gauge,x\n"), std::vector<uint16_t>{});
}

TEST(FindingsToRead, AreTheFindingsThatTheCountersShow) {
  const FindingsAsked windows{std::chrono::seconds(5), std::chrono::seconds(7)};
  const auto asked_by = [&](std::string_view csv) {
    return FindingsToRead(ParseCounters(csv, "x").value().counters, windows);
  };
  EXPECT_EQ(asked_by("DCGM_EXP_CLOCK_EVENTS_COUNT,gauge,x\n"), windows);
  // XIDs cost nothing while there are none.
  EXPECT_EQ(asked_by("DCGM_FI_DEV_GPU_TEMP,gauge,x\n"),
            (FindingsAsked{std::chrono::seconds(5), std::chrono::seconds(0)}));
  EXPECT_TRUE(asked_by("DCGM_EXP_GPU_HEALTH_STATUS,gauge,x\n").health);
  EXPECT_TRUE(asked_by("DCGM_EXP_P2P_STATUS,gauge,x\n").peers);
}

}  // namespace
}  // namespace podgpu
