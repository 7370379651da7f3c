#include "refresh/fact_publisher.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "facts/fact.h"

namespace podgpu {
namespace {

class FactPublisherTest : public ::testing::Test {
 protected:
  Wakeup tick_;
  FactPublisher<Fact<std::string>> publisher_{
      {.message = "thing state changed"}, Fact<std::string>(), tick_};
};

TEST_F(FactPublisherTest, PublishesEveryFact) {
  EXPECT_EQ(publisher_.facts().Get()->state, PartState::kStarting);
  Fact<std::string> next = publisher_.current();
  next.value = std::make_shared<const std::string>("good");
  next.state = PartState::kOk;
  next.good_at = Instant(std::chrono::seconds(5));
  publisher_.Publish(next);
  EXPECT_EQ(*publisher_.facts().Get()->value, "good");

  next.good_at = Instant(std::chrono::seconds(15));
  ++next.failures;
  publisher_.Publish(next);
  EXPECT_EQ(publisher_.facts().Get()->good_at, Instant(std::chrono::seconds(15)));
  EXPECT_EQ(publisher_.current().failures, 1U);
}

TEST_F(FactPublisherTest, LogsEachChangeOfState) {
  Fact<std::string> next;
  next.state = PartState::kWaiting;
  next.detail = "no such thing";
  ::testing::internal::CaptureStderr();
  publisher_.Publish(next);
  next.detail = "still no such thing";
  publisher_.Publish(next);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("level=WARN msg=\"thing state changed\" state=waiting "
                     "detail=\"no such thing\""),
            std::string::npos)
      << log;
  EXPECT_EQ(log.find("still"), std::string::npos) << log;
}

}  // namespace
}  // namespace podgpu
