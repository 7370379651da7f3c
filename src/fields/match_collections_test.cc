#include "fields/match_collections.h"

#include <gtest/gtest.h>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kListOfCollections[] =
    "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
    "DCGM_FI_DEV_MEMORY_TEMP, gauge, m\n"
    "DCGM_FI_DEV_POWER_USAGE, gauge, p\n"
    "DCGM_FI_DRIVER_VERSION, label, v\n"
    "DCGM_EXP_XID_ERRORS_COUNT, gauge, x\n";

// Returns the fields of one collection with these patterns, or the refusal.
std::string FieldsOf(std::vector<std::string> patterns) {
  const Counters list = ParseCounters(kListOfCollections, "list").value();
  const StatusOr<FieldCollections> matched = MatchCollections(
      {{WantedCollection{7, "slow", seconds(60), std::move(patterns)}}}, list, "c.yaml");
  if (!matched.ok()) {
    return std::string(matched.status().message());
  }
  std::string ids;
  for (const uint16_t field : matched->at(0).fields) {
    ids += (ids.empty() ? "" : " ") + std::to_string(field);
  }
  return ids;
}

TEST(MatchCollections, MatchesTheNamesOfTheListAsGoDoes) {
  const struct {
    std::vector<std::string> patterns;
    std::string fields;
  } rows[] = {
      {{"DCGM_FI_DEV_GPU_TEMP"}, "150"},
      {{"*_TEMP"}, "140 150"},
      {{"DCGM_FI_DEV_???_TEMP"}, "150"},
      {{"DCGM_FI_DEV_[G-H]*"}, "150"},
      {{"DCGM_FI_DEV_[^G]*_TEMP"}, "140"},
      {{"DCGM_FI_DEV_GPU\\_TEMP"}, "150"},
      {{"DCGM_FI_DEV_[!G]PU_TEMP"}, "150"},
      {{"DCGM_FI_DEV_[\\G-\\I]PU_TEMP"}, "150"},
      {{"*GPU*TEMP*"}, "150"},
      {{"*T?MP"}, "140 150"},
      {{"*_TEMP", "*MEMORY*"}, "140 150"},
      {{"DCGM_FI_DRIVER_*"}, "1"},
      {{"DCGM_FI_DEV_XID_ERRORS"}, "230"},
      {{"DCGM_*"}, "1 140 150 155 230"},
      {{"dcgm_fi_dev_gpu_temp"},
       "c.yaml:7: collection \"slow\" matches no metric of list. Correct its patterns, or "
       "remove it"},
      {{"DCGM_EXP_*"},
       "c.yaml:7: collection \"slow\" matches no metric of list. Correct its patterns, or "
       "remove it"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(FieldsOf(row.patterns), row.fields) << row.patterns.front();
  }
}

TEST(MatchCollections, RefusesMalformedPatterns) {
  for (const std::string pattern :
       {"A[", "A[]", "A[^]", "A[b", "A\\", "[a-", "[-a]", "[a-]", "[a-b-c]", "A[\\"}) {
    EXPECT_EQ(FieldsOf({"DCGM_*", pattern}),
              "c.yaml:7: collection \"slow\" has the malformed pattern \"" + pattern +
                  "\". Use *, ? and classes such as [a-z]")
        << pattern;
  }
}

TEST(MatchCollections, RefusesAFieldInTwoCollections) {
  const Counters list = ParseCounters(kListOfCollections, "list").value();
  const std::vector<WantedCollection> wanted = {{3, "a", seconds(60), {"*TEMP"}},
                                                {6, "b", seconds(5), {"*GPU*"}}};
  EXPECT_EQ(MatchCollections(wanted, list, "c.yaml").status().message(),
            "c.yaml:6: collection \"b\" and collection \"a\" both contain DCGM_FI_DEV_GPU_TEMP "
            "(field 150). "
            "Make their patterns narrower");
}

TEST(MatchCollections, TellsTheIntervalOfAField) {
  const FieldCollections collections = {{"slow", seconds(60), {150, 155}},
                                        {"fast", milliseconds(500), {203}}};
  EXPECT_EQ(IntervalOf(collections, 155), seconds(60));
  EXPECT_EQ(IntervalOf(collections, 203), milliseconds(500));
  EXPECT_EQ(IntervalOf(collections, 204), milliseconds(0));
  EXPECT_EQ(ShortestInterval(collections, seconds(30)), milliseconds(500));
  EXPECT_EQ(ShortestInterval({}, seconds(30)), seconds(30));
}

}  // namespace
}  // namespace podgpu
