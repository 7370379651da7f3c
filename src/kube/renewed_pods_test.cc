#include "kube/renewed_pods.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

ApiObjects PodWithUid(const std::string& uid) {
  ApiObject pod;
  pod.name_space = "ml";
  pod.name = "train-0";
  pod.uid = uid;
  return {{"ml/train-0", pod}};
}

TEST(RenewedPods, RemembersWhenANameWasReused) {
  RenewedPods renewed;
  const Instant start{seconds(1'000)};
  renewed.Take(PodWithUid("u-1"), start);
  EXPECT_EQ(renewed.at(), (RenewedAt{{"ml/train-0", start}}))
      << "the kubelet may have answered about a pod before it";
  renewed.Take(PodWithUid("u-1"), start + seconds(1));
  EXPECT_EQ(renewed.at(), (RenewedAt{{"ml/train-0", start}}));
  renewed.Take({}, start + seconds(2));
  renewed.Take(PodWithUid("u-2"), start + seconds(3));
  EXPECT_EQ(renewed.at(), (RenewedAt{{"ml/train-0", start + seconds(3)}}));
  EXPECT_EQ(RenewedSince(renewed.at(), start + seconds(2)), std::vector<std::string>{"ml/train-0"});
  EXPECT_EQ(RenewedSince(renewed.at(), start + seconds(4)), std::vector<std::string>());
}

TEST(RenewedPods, ForgetsNamesThatAreGone) {
  RenewedPods renewed;
  const Instant start{seconds(1'000)};
  renewed.Take(PodWithUid("u-1"), start);
  renewed.Take(PodWithUid("u-2"), start + seconds(1));
  renewed.Take({}, start + minutes(9));
  EXPECT_EQ(renewed.at().size(), 1U);
  renewed.Take({}, start + minutes(11));
  EXPECT_TRUE(renewed.at().empty());
  renewed.Take(PodWithUid("u-3"), start + minutes(12));
  EXPECT_EQ(renewed.at(), (RenewedAt{{"ml/train-0", start + minutes(12)}}));
}

}  // namespace
}  // namespace podgpu
