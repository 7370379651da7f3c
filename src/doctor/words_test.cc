#include "doctor/words.h"

#include <gtest/gtest.h>

#include "doctor/checks.h"
#include "source/dcgm/connection.h"

namespace podgpu {
namespace {

TEST(DoctorWords, CountAndList) {
  EXPECT_EQ(Counted(1, "GPU process"), "1 GPU process");
  EXPECT_EQ(Counted(2, "GPU process"), "2 GPU processes");
  EXPECT_EQ(GpuList({3}), "GPU 3");
  EXPECT_EQ(GpuList({0, 3, 5}), "GPUs 0, 3 and 5");
  EXPECT_EQ(OnSome(8, 8), "on all 8");
  EXPECT_EQ(OnSome(6, 8), "on 6 of 8");
}

TEST(DoctorEngine, ClientOlderThanTheEngineIsAWarn) {
  EXPECT_EQ(JudgeClient("4.6.0", "4.6.0").severity, Severity::kOk);
  EXPECT_EQ(JudgeClient("4.10.0", "4.6.0").severity, Severity::kOk);
  const Finding older = JudgeClient("3.3.9", "4.6.0");
  EXPECT_EQ(older.severity, Severity::kWarn);
  EXPECT_EQ(older.fact, "libdcgm 3.3.9 is older than the host engine 4.6.0");
  EXPECT_FALSE(older.remedy.empty());
}

TEST(DoctorEngine, ReadsTheVersionsOfADescription) {
  const DcgmVersions two = DcgmVersionsIn("dcgm 4.6.0 (library 4.2.0), remote engine host:5555");
  EXPECT_EQ(two.engine, "4.6.0");
  EXPECT_EQ(two.library, "4.2.0");
  const DcgmVersions one = DcgmVersionsIn("dcgm 4.6.0, embedded engine");
  EXPECT_EQ(one.engine, "4.6.0");
  EXPECT_EQ(one.library, "4.6.0");
  EXPECT_EQ(DcgmVersionsIn("dcgm (libdcgm.so.4), embedded engine").engine, "");
}

}  // namespace
}  // namespace podgpu
