// The number of processes that podgpu reports for each GPU and instance.
#include "usage/process_counts.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Two GPUs, of which the first has the instances 1 and 2.
class ProcessCountsTest : public ::testing::Test {
 protected:
  ProcessCountsTest() : topology_(FakeDriver::Gpus(2)) {
    for (const uint32_t id : {1U, 2U}) {
      GpuInstance instance;
      instance.gpu_instance_id = id;
      topology_.instances.push_back(instance);
    }
    NumberEntities(topology_);
  }

  ProcessReading ReadingOf(std::vector<ListedProcess> first, std::vector<ListedProcess> second) {
    ProcessReading reading;
    reading.at = now_;
    reading.devices.resize(2);
    reading.devices[0].device = {0};
    reading.devices[0].processes = std::move(first);
    reading.devices[1].device = {1};
    reading.devices[1].processes = std::move(second);
    return reading;
  }

  std::shared_ptr<const EntityCounts> Counts() {
    return counts_.Of(topology_, {FakeDriver::Uuid(0), FakeDriver::Uuid(1)}, now_, seconds(5));
  }

  Instant now_{seconds(100)};
  Topology topology_;
  ProcessCounts counts_;
};

TEST_F(ProcessCountsTest, CountsEachPidOnceOnItsInstanceAndItsGpu) {
  counts_.Take(ReadingOf({{.pid = 7, .instance = 1},
                          {.pid = 7, .instance = 1},
                          {.pid = 8, .instance = 1},
                          {.pid = 9, .instance = 2}},
                         {}));
  EXPECT_EQ(*Counts(), (EntityCounts{3, 2, 1, 0}));
}

TEST_F(ProcessCountsTest, HasNoCountForDevicesWhoseListIsTooOld) {
  EXPECT_EQ(*Counts(), (EntityCounts{{}, {}, {}, {}}));
  counts_.Take(ReadingOf({{.pid = 7}}, {{.pid = 8}}));
  now_ += seconds(5);
  ProcessReading later = ReadingOf({{.pid = 7}, {.pid = 9}}, {});
  later.devices[1].listed = false;
  counts_.Take(later);
  EXPECT_EQ(*Counts(), (EntityCounts{2, 0, 0, 1})) << "its last list is not too old";
  now_ += seconds(1);
  EXPECT_EQ(*Counts(), (EntityCounts{2, 0, 0, {}}));
}

TEST_F(ProcessCountsTest, ReturnsTheSameObjectWhileNoCountChanges) {
  counts_.Take(ReadingOf({}, {{.pid = 8}}));
  const auto before = Counts();
  counts_.Take(ReadingOf({}, {{.pid = 9}}));
  EXPECT_EQ(Counts(), before);
}

TEST_F(ProcessCountsTest, CountsOnlyPresentDevices) {
  counts_.Take(ReadingOf({}, {{.pid = 8}}));
  EXPECT_EQ(*counts_.Of(topology_, {"GPU-of-another-node"}, now_, seconds(5)),
            (EntityCounts{{}, {}, {}, {}}));
}

}  // namespace
}  // namespace podgpu
