#include "usage/pod_values.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr uint64_t kMibOfPods = uint64_t{1} << 20U;

// Pods of one namespace share GPU 0; two pods share an instance of GPU 1.
class PodValuesTest : public ::testing::Test {
 protected:
  PodValuesTest() {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
    topology->gpus[1].mig_enabled = true;
    topology->instances = {
        {.gpu = 1, .gpu_instance_id = 5, .profile = "3g.40gb", .compute_instances = {}}};
    NumberEntities(*topology);
    facts_.grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(150)});
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(3);
    for (const auto& [entity, pod] :
         {std::pair(0, "a"), {0, "b"}, {0, "idle"}, {0, "new"}, {2, "a"}, {2, "b"}}) {
      owners->by_entity[static_cast<size_t>(entity)].push_back({.pod_namespace = "ml",
                                                                .pod = pod,
                                                                .container = "main",
                                                                .resource = "nvidia.com/gpu",
                                                                .pod_uid = {},
                                                                .claim = {},
                                                                .replica = "0"});
    }
    facts_.owners = owners;
    auto objects = std::make_shared<ApiObjects>();
    for (const std::string pod : {"a", "b", "idle"}) {
      (*objects)["ml/" + pod].uid = "uid-" + pod;
    }
    auto api = std::make_shared<ApiFacts>();
    api->value = objects;
    facts_.api_pods = api;
  }

  struct OfPod {
    uint32_t pid = 0, device = 0;
    std::string pod;
    std::optional<uint64_t> memory_bytes;
    uint32_t instance = kWholeGpu;
  };
  void Read(const std::vector<OfPod>& processes, bool listed = true) {
    now_ += seconds(1);
    ProcessReading reading{.at = now_, .devices = {}};
    reading.devices.push_back({.device = {0}, .at = now_, .listed = listed});
    reading.devices.push_back({.device = {1}, .at = now_, .listed = listed});
    reading.devices[1].samples = BusySamples::kNotSupported;
    for (const OfPod& process : processes) {
      auto identity = std::make_shared<ProcessIdentity>();
      identity->key = {.pid = process.pid, .start_ticks = 1};
      identity->place = {.pod_uid = "uid-" + process.pod, .container_id = "c"};
      DeviceReading& device = reading.devices[process.device];
      device.processes.push_back({.pid = process.pid,
                                  .instance = process.instance,
                                  .memory_bytes = process.memory_bytes,
                                  .identity = identity});
      device.busy.push_back({.pid = process.pid, .busy_percent_us = 1, .sm_percent = process.pid});
    }
    table_.Take(reading);
  }
  std::string Told(uint16_t field, uint16_t column, const std::string& pod) {
    std::vector<Value> slots(7);
    values_.AppendTo(table_, slots);
    EXPECT_EQ(slots.size(), 7 + values_.slot_count());
    const PodSlots places = values_.SlotsFrom(7);
    const auto place = places.find({field, column, "ml", pod});
    if (place == places.end()) {
      return "no place";
    }
    const Value& value = slots[place->second];
    return value.present() ? std::to_string(value.int64())
                           : std::string(AbsenceName(value.absence()));
  }
  bool Find() {
    facts_.now = now_;
    return values_.Find(facts_, {FakeDriver::Uuid(0), FakeDriver::Uuid(1)},
                        {.api = facts_.api_pods.get(), .learned = learned_}, table_.pods());
  }

  TickFacts facts_;
  const LearnedPods learned_;
  ProcessTable table_{ProcessTableOptions{}};
  PodValues values_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(PodValuesTest, AreSumsOverTheProcessesOfThePod) {
  EXPECT_TRUE(Find());
  Read({{11, 0, "a", 5 * kMibOfPods + 7}, {12, 0, "a", kMibOfPods}, {13, 0, "b", kMibOfPods}});
  EXPECT_EQ(Told(203, 0, "a"), "23");
  EXPECT_EQ(Told(252, 0, "a"), "6");
  EXPECT_EQ(Told(203, 0, "b"), "13");
  EXPECT_EQ(Told(252, 0, "idle"), "0");
  EXPECT_EQ(Told(203, 0, "idle"), "0");
  EXPECT_EQ(Told(203, 0, "new"), "no place") << "its uid is not known yet";
  EXPECT_FALSE(Find()) << "nothing has changed";
}

TEST_F(PodValuesTest, OnAnInstanceOnlyMemoryHasAValue) {
  Find();
  Read({{11, 1, "a", 5 * kMibOfPods, 5}, {12, 1, "a", kMibOfPods, 6}});
  EXPECT_EQ(Told(252, 2, "a"), "5");
  EXPECT_EQ(Told(203, 2, "a"), "not_supported");
  EXPECT_EQ(Told(252, 2, "b"), "0");
}

TEST_F(PodValuesTest, AValueThatOneProcessLacksIsUnknownForThePod) {
  Find();
  Read({{11, 0, "a", std::nullopt}, {12, 0, "a", kMibOfPods}});
  EXPECT_EQ(Told(252, 0, "a"), "not_supported");
  EXPECT_EQ(Told(203, 0, "a"), "23");
  Read({}, false);
  EXPECT_EQ(Told(203, 0, "a"), "no_processes") << "the list could not be read";
  EXPECT_EQ(Told(252, 0, "idle"), "no_processes");
}

}  // namespace
}  // namespace podgpu
