// One device fails, changes or lies; the others go on: what the page says of each.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

class DeviceFailure : public FailureFixture {
 protected:
  DeviceFailure() : FailureFixture(kThreeGpus) {}

  void SetUp() override { StartExporter(); }
};

// The profiles of GPU 2's instances on a page, each as often as it is there.
std::multiset<std::string> ProfilesOn(const MetricPage& page) {
  std::multiset<std::string> profiles;
  for (const std::string_view line : page.Lines("podgpu_gpu_instance_info", {R"(gpu="2")"})) {
    profiles.insert(MetricPage::Label(line, "profile"));
  }
  return profiles;
}

// The ids of the instances that carry a family.
std::multiset<std::string> InstancesOf(const MetricPage& page, std::string_view family) {
  std::multiset<std::string> ids;
  for (const std::string_view line : page.Lines(family, {R"(gpu="2")", "GPU_I_ID="})) {
    ids.insert(MetricPage::Label(line, "GPU_I_ID"));
  }
  return ids;
}

// Whether the instances' memory fits on their GPU, whatever the layout is at this moment.
bool FitsOnItsGpu(const MetricPage& page) {
  const double whole =
      page.Sum("podgpu_gpu_memory_total_bytes", {R"(gpu="2")", R"(scope="device")"});
  const double parts =
      page.Sum("podgpu_gpu_memory_total_bytes", {R"(gpu="2")", R"(scope="instance")"});
  return whole == 0 || parts <= whole;
}

TEST_F(DeviceFailure, AMigLayoutThatChangesIsOnThePageAsItIs) {
  const std::vector<std::vector<std::string>> layouts = {
      {"1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"}, {"7g.80gb"}, {"3g.40gb", "3g.40gb"}};
  for (const std::vector<std::string>& layout : layouts) {
    std::vector<std::string> words = {"mig", "--gpu=2"};
    words.insert(words.end(), layout.begin(), layout.end());
    node_.Command(words);
    const std::multiset<std::string> wanted(layout.begin(), layout.end());
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      EXPECT_TRUE(FitsOnItsGpu(page)) << page.text();
      EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")})) << "the other GPUs go on";
      return ProfilesOn(page) == wanted && page.Has("DCGM_FI_PROF_DRAM_ACTIVE", {Gpu("2")});
    })) << layout.front();
    const MetricPage page = Page();
    const std::multiset<std::string> ids = InstancesOf(page, "podgpu_gpu_instance_info");
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), layout.size());
    for (const char* family : {"DCGM_FI_DEV_FB_USED", "podgpu_gpu_memory_used_bytes"}) {
      EXPECT_EQ(InstancesOf(page, family), ids) << family;
    }
  }
}

TEST_F(DeviceFailure, AGpuThatLeavesMigModeIsWholeAgain) {
  node_.Command({"mig", "--gpu=2", "off"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return ProfilesOn(page).empty() && page.Has("DCGM_FI_DEV_GPU_UTIL", {Gpu("2")});
  }));
  EXPECT_TRUE(Page().Has("podgpu_gpu_info", {Gpu("2"), R"(mig="false")"}));
}

}  // namespace
}  // namespace podgpu
