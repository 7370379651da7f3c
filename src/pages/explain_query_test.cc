#include "pages/explain_query.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(ExplainQuery, ReadsEachParameter) {
  const StatusOr<ExplainQuery> all = ParseExplainQuery("");
  ASSERT_TRUE(all.ok());
  EXPECT_FALSE(all->gpu || all->gpu_instance_id);
  EXPECT_EQ(all->uuid + all->pod + all->metric, "");

  const StatusOr<ExplainQuery> some =
      ParseExplainQuery("gpu=3&GPU_I_ID=7&&UUID=GPU-1&metric=DCGM_FI_DEV_GPU_TEMP&pod=a%2fb%20c");
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->gpu, 3U);
  EXPECT_EQ(some->gpu_instance_id, 7U);
  EXPECT_EQ(some->uuid, "GPU-1");
  EXPECT_EQ(some->metric, "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(some->pod_namespace, "a");
  EXPECT_EQ(some->pod, "b c");
}

TEST(ExplainQuery, LeavesInvalidEncodingsAsTheyAre) {
  for (const auto& [text, uuid] :
       {std::pair("UUID=%", "%"), std::pair("UUID=%4", "%4"), std::pair("UUID=%zz", "%zz"),
        std::pair("UUID=%41%2B", "A+"), std::pair("UUID=a+b", "a b"), std::pair("UUID", "")}) {
    const StatusOr<ExplainQuery> query = ParseExplainQuery(text);
    ASSERT_TRUE(query.ok()) << text;
    EXPECT_EQ(query->uuid, uuid) << text;
  }
}

TEST(ExplainQuery, RefusesBadQueriesInOneLineWithTheRemedy) {
  struct Row {
    std::string_view text, message;
  };
  const Row rows[] = {
      {"gpu=x", "gpu must be a number, and \"x\" is not"},
      {"gpu=4294967296", "gpu must be a number, and \"4294967296\" is not"},
      {"gpu=", "gpu must be a number, and \"\" is not"},
      {"GPU_I_ID=7", "GPU_I_ID needs gpu: example ?gpu=0&GPU_I_ID=7"},
      {"pod=x", "pod must be namespace/name, and \"x\" is not: example ?pod=research/train-0"},
      {"pod=/x", "pod must be namespace/name, and \"/x\" is not: example ?pod=research/train-0"},
      {"device=0",
       "there is no parameter \"device\"; use gpu, GPU_I_ID, UUID, pod or metric, for example "
       "?gpu=0"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ParseExplainQuery(row.text).status().message(), std::string(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace podgpu
