#include "cluster/in_use_query.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kMoment{std::chrono::milliseconds(1'700'000'060'250)};

TEST(InUseQuery, ReadsItsParameters) {
  const auto query = ParseInUseQuery(
      "namespace=serving&workload=llm&model=NVIDIA+H100%2080GB&measure=sm&window=90s", minutes(2));
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->question.name_space, "serving");
  EXPECT_EQ(query->question.workload, "llm");
  EXPECT_EQ(query->question.model, "NVIDIA H100 80GB");
  EXPECT_EQ(query->question.measure, AveragedMeasure::kSm);
  EXPECT_EQ(query->window, seconds(90));
}

TEST(InUseQuery, EmptyParametersSelectEverything) {
  const auto query = ParseInUseQuery("namespace=&workload=&model=&measure=&window=", minutes(2));
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->question.name_space + query->question.workload + query->question.model, "");
  EXPECT_EQ(query->question.measure, AveragedMeasure::kMemoryCopy);
  EXPECT_EQ(query->window, minutes(1));
  EXPECT_EQ(ParseInUseQuery("", seconds(30))->window, seconds(30)) << "no longer than samples stay";
}

TEST(InUseQuery, RefusesWhatItDoesNotKnow) {
  struct Row {
    const char* query;
    const char* says;
  };
  const Row rows[] = {
      {"name_space=ml", "there is no parameter \"name_space\"; the parameters are namespace, "},
      {"pod=", "there is no parameter \"pod\""},
      {"namespace=a&namespace=b", "the parameter \"namespace\" stands there twice"},
      {"measure=speed", "\"measure\" is memory_copy, sm, tensor or memory_fill"},
      {"window=1", "\"window\" is from 10s to 120s, in whole steps of 5s"},
      {"window=5s", "from 10s to 120s"},
      {"window=12s", "in whole steps of 5s"},
      {"window=10s1us", "in whole steps of 5s"},
      {"window=3m", "--metrics-api-window sets how far samples reach back"},
  };
  for (const Row& row : rows) {
    const auto query = ParseInUseQuery(row.query, minutes(2));
    EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument) << row.query;
    EXPECT_NE(std::string(query.status().message()).find(row.says), std::string::npos)
        << query.status();
  }
}

TEST(InUseQuery, WritesTheMeanWithTheAgeOfItsOldestSample) {
  InUseQuery query;
  query.question.measure = AveragedMeasure::kSm;
  EXPECT_EQ(WriteInUse(query, {{45.123456, 1'700'000'002'000}, 8, 3}, kMoment),
            "{\"value\":45.123,\n\"unit\":\"percent\",\n\"measure\":\"sm\",\n\"gpus_in_use\":3,\n"
            "\"gpus\":8,\n\"oldest_sample_age_seconds\":58.25,\n\"window_seconds\":60}\n");
  EXPECT_NE(WriteInUse(query, {{0, 1'700'000'061'000}, 8, 0}, kMoment).find("age_seconds\":0,"),
            std::string::npos)
      << "never negative, when the node's clock is ahead";
  EXPECT_EQ(WriteInUse(query, {{0.0004, 1'700'000'002'000}, 8, 1}, kMoment).substr(0, 15),
            "{\"value\":0.001,");
}

}  // namespace
}  // namespace podgpu
