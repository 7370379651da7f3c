#include "http/descriptor_memory.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <gtest/gtest.h>

#include "base/testing/allocations.h"

namespace podgpu {
namespace {

using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

// Descriptors as Asio sees them: what it allocates for the first, it keeps.
class DescriptorMemoryTest : public testing::Test {
 protected:
  // Opens descriptors until there are `count`, and returns the allocations for them.
  uint64_t OpenUntil(size_t count) {
    open_.reserve(kMost);
    const Allocations before = AllocationsOfThisThread();
    while (open_.size() < count) {
      open_.emplace_back(io_, ::eventfd(0, EFD_CLOEXEC));
    }
    return (AllocationsOfThisThread() - before).count;
  }

  static constexpr size_t kMost = 200;
  boost::asio::io_context io_{1};
  DescriptorMemory memory_{io_};
  std::vector<Descriptor> open_;
};

TEST_F(DescriptorMemoryTest, AllocatesForManyConnectionsAtOnce) {
  OpenUntil(1);  // Makes Asio's services.
  EXPECT_EQ(OpenUntil(9), 8U) << "without it, Asio allocates for each";
  memory_.ReserveBeyond(9);
  EXPECT_EQ(OpenUntil(41), 0U);
  EXPECT_EQ(OpenUntil(42), 1U);
}

TEST_F(DescriptorMemoryTest, AllocatesNothingForFew) {
  const Allocations before = AllocationsOfThisThread();
  for (size_t open = 0; open < 8; ++open) {
    memory_.ReserveBeyond(open);
  }
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

TEST_F(DescriptorMemoryTest, AllocatesNothingWhileThereIsEnough) {
  OpenUntil(20);
  memory_.ReserveBeyond(20);
  const Allocations before = AllocationsOfThisThread();
  memory_.ReserveBeyond(51);
  memory_.ReserveBeyond(3);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
  OpenUntil(52);
  memory_.ReserveBeyond(52);
  EXPECT_EQ(OpenUntil(84), 0U);
}

TEST_F(DescriptorMemoryTest, DoesWithoutWhenNoDescriptorIsLeft) {
  OpenUntil(10);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  memory_.ReserveBeyond(10);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(OpenUntil(11), 1U);
  memory_.ReserveBeyond(11);
  EXPECT_EQ(OpenUntil(43), 0U) << "it tries again at the next connection";
}

}  // namespace
}  // namespace podgpu
