#include "base/process_usage.h"

#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

TEST(RecentProcessUsage, ReadsProcAtMostEveryTenSecondsAndMoreOftenAtFirst) {
  RecentProcessUsage recent;
  int64_t open = recent.At(Instant()).open_descriptors.value_or(-1);
  ASSERT_GE(open, 0);
  // Before each row one more descriptor is opened; `is_read` says whether the answer counts it.
  const struct {
    int second;
    bool is_read;
  } rows[] = {{1, true},   {1, false},  {2, true},  {3, false},   {4, true},
              {8, true},   {15, false}, {16, true}, {25, false},  {26, true},
              {35, false}, {36, true},  {99, true}, {108, false}, {109, true}};
  std::vector<int> descriptors;
  int64_t seen = open;
  for (const auto& row : rows) {
    descriptors.push_back(::dup(0));
    ++open;
    seen = row.is_read ? open : seen;
    EXPECT_EQ(recent.At(Instant(seconds(row.second))).open_descriptors, seen) << row.second;
  }
  for (const int descriptor : descriptors) {
    ::close(descriptor);
  }
}

TEST(RecentProcessUsage, TellsTheCpuTimeOfNow) {
  RecentProcessUsage recent;
  recent.At(Instant());
  recent.At(Instant(seconds(20)));
  const double before = recent.At(Instant(seconds(21))).cpu_seconds;
  while (ReadProcessUsage().cpu_seconds <= before) {
  }
  EXPECT_GT(recent.At(Instant(seconds(21))).cpu_seconds, before);
}

}  // namespace
}  // namespace podgpu
