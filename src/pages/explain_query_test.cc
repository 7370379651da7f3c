#include "pages/explain_query.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(ExplainQuery, ReadsWhatIsAsked) {
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

TEST(ExplainQuery, TakesWhatIsNoEncodingAsItStands) {
  for (const auto& [text, uuid] :
       {std::pair("UUID=%", "%"), std::pair("UUID=%4", "%4"), std::pair("UUID=%zz", "%zz"),
        std::pair("UUID=%41%2B", "A+"), std::pair("UUID=a+b", "a b"), std::pair("UUID", "")}) {
    const StatusOr<ExplainQuery> query = ParseExplainQuery(text);
    ASSERT_TRUE(query.ok()) << text;
    EXPECT_EQ(query->uuid, uuid) << text;
  }
}

TEST(ExplainQuery, RefusesInOneLineWithTheRemedy) {
  struct Row {
    std::string_view text, message;
  };
  const Row rows[] = {
      {"gpu=x", "gpu is a number, and \"x\" is none"},
      {"gpu=4294967296", "gpu is a number, and \"4294967296\" is none"},
      {"gpu=", "gpu is a number, and \"\" is none"},
      {"GPU_I_ID=7", "GPU_I_ID needs gpu: ask as ?gpu=0&GPU_I_ID=7"},
      {"pod=x", "pod is namespace/name, and \"x\" is not: ask as ?pod=research/train-0"},
      {"pod=/x", "pod is namespace/name, and \"/x\" is not: ask as ?pod=research/train-0"},
      {"device=0",
       "there is no parameter \"device\"; ask by gpu, GPU_I_ID, UUID, pod or metric, such as "
       "?gpu=0"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ParseExplainQuery(row.text).status().message(), std::string(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace podgpu
