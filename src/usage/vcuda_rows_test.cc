#include "usage/vcuda_rows.h"

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "exposition/text.h"
#include "fields/field_ids.h"
#include "source/testing/fake_source.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

const std::string kTrainerId(64, 'a');
const std::string kOtherId(64, 'b');
constexpr uint64_t kMibInBytes = uint64_t{1} << 20U;

// Two GPUs of 24 and 40 GiB and one with MIG instances; the test sets the answers of the kubelet
// and of the API server.
class VcudaRowsTest : public ::testing::Test {
 protected:
  VcudaRowsTest() {
    ProcessFacts told;
    told.uuids = {FakeDriver::Uuid(2), FakeDriver::Uuid(1), FakeDriver::Uuid(0)};
    facts_.processes = std::make_shared<const ProcessFacts>(told);
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(3));
    topology->gpus[2].mig_enabled = true;
    topology->instances = {
        {.gpu = 2, .gpu_instance_id = 1, .profile = "3g.40gb", .compute_instances = {}},
        {.gpu = 2, .gpu_instance_id = 9, .profile = "1g.10gb", .compute_instances = {}}};
    NumberEntities(*topology);
    topology->epoch = 1;
    auto grid = std::make_shared<Grid>(
        topology, std::vector<const Field*>{FindField(field_ids::kMemoryTotal)});
    for (const auto& [entity, mib] :
         {std::pair<uint16_t, int>{0, 24'576}, {1, 40'960}, {2, 81'920}, {3, 40'448}, {4, 9'728}}) {
      grid->at(FieldRow{0}, {entity}) = Value::OfInt64(mib);
    }
    facts_.grid = grid;
  }

  struct Runs {
    uint32_t pid = 0, gpu = 0;
    std::string container_id;
    uint64_t memory_mib = 0;
    uint32_t sm_percent = 0;
    uint32_t instance = kWholeGpu;
  };
  // The reading of a second later.
  void Read(const std::vector<Runs>& processes, bool listed = true) {
    now_ += seconds(1);
    ProcessReading reading{.at = now_, .devices = {}};
    for (uint32_t number = 0; number < 3; ++number) {
      reading.devices.push_back({.device = {number}, .at = now_, .listed = listed});
    }
    reading.devices[0].samples = BusySamples::kNotSupported;  // In MIG mode.
    for (const Runs& runs : processes) {
      auto identity = std::make_shared<ProcessIdentity>();
      identity->key = {.pid = runs.pid, .start_ticks = 1};
      identity->place.container_id = runs.container_id;
      DeviceReading& device = reading.devices[2 - runs.gpu];
      device.processes.push_back({.pid = runs.pid,
                                  .instance = runs.instance,
                                  .memory_bytes = runs.memory_mib * kMibInBytes,
                                  .identity = identity});
      device.busy.push_back(
          {.pid = runs.pid, .busy_percent_us = runs.sm_percent, .sm_percent = runs.sm_percent});
    }
    table_.Take(reading);
  }
  ApiObject& Pod(const std::string& name) {
    ApiObject& pod = pods_["ml/" + name];
    pod.name_space = "ml";
    pod.name = name;
    return pod;
  }
  void TellPods() { facts_.usable_pods = std::make_shared<const ApiObjects>(pods_); }
  // "pod/container" for each of the GPUs and instances, by entity.
  void Own(const std::vector<std::pair<uint16_t, std::string>>& holders) {
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(5);
    for (const auto& [entity, holder] : holders) {
      const size_t slash = holder.find('/');
      owners->by_entity[entity].push_back({.pod_namespace = "ml",
                                           .pod = holder.substr(0, slash),
                                           .container = holder.substr(slash + 1),
                                           .resource = "nvidia.com/gpu",
                                           .pod_uid = {},
                                           .claim = {},
                                           .replica = {}});
    }
    facts_.owners = owners;
  }
  std::string Page(bool is_stale = false) {
    rows_->Take(facts_, table_);
    PlanBuilder plan;
    rows_->AddTo(1, plan);
    std::vector<Value> slots(1);
    rows_->AppendTo(*facts_.grid, table_, is_stale, slots);
    EXPECT_EQ(slots.size(), 1 + rows_->slot_count());
    std::string text;
    RenderText(std::move(plan).Build(), facts_.grid.get(), slots, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status() << text;
    return text;
  }
  // Returns the value on the line with the labels of a container; "none" without such a line.
  std::string Told(const std::string& family, const std::string& label, const std::string& pod,
                   const std::string& container) {
    const std::string page = Page();
    for (size_t at = page.find("\n" + family + "{"); at != std::string::npos;
         at = page.find("\n" + family + "{", at + 1)) {
      const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
      if (line.find("container_name=\"" + container + '"') != std::string::npos &&
          line.find("pod_name=\"" + pod + '"') != std::string::npos &&
          line.find(label) != std::string::npos) {
        return line.substr(line.rfind(' ') + 1);
      }
    }
    return "none";
  }
  std::string Memory(const std::string& card, const std::string& pod = "p",
                     const std::string& container = "main") {
    return Told("container_gpu_memory_total", "gpu_memory=\"" + card + '"', pod, container);
  }
  std::string Busy(const std::string& card, const std::string& pod = "p",
                   const std::string& container = "main") {
    return Told("container_gpu_utilization", "gpu=\"" + card + '"', pod, container);
  }
  std::string MemoryAsked(const std::string& pod = "p", const std::string& container = "main") {
    return Told("container_request_gpu_memory", "", pod, container);
  }
  std::string CardsAsked(const std::string& pod = "p", const std::string& container = "main") {
    return Told("container_request_gpu_utilization", "", pod, container);
  }

  TickFacts facts_;
  ApiObjects pods_;
  ProcessTable table_{ProcessTableOptions{}};
  std::unique_ptr<VcudaRows> rows_ = std::make_unique<VcudaRows>(JoinOptions(), "node-a");
  Instant now_{std::chrono::hours(1)};
};

TEST_F(VcudaRowsTest, TheRequestsOfGpuManagerAreHundredthsOfCardsAnd256MiB) {
  Pod("half").containers = {
      {"main", "", {{"tencent.com/vcuda-core", 50}, {"tencent.com/vcuda-memory", 30}}}};
  Pod("two").containers = {
      {"main", "", {{"tencent.com/vcuda-core", 200}, {"tencent.com/vcuda-memory", 30}}}};
  Pod("whole").containers = {{"main", kTrainerId, {{"tencent.com/vcuda-core", 100}}}};
  TellPods();
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 100}});
  EXPECT_EQ(CardsAsked("half"), "0.5");
  EXPECT_EQ(CardsAsked("two"), "2");
  EXPECT_EQ(MemoryAsked("half"), "7680");
  EXPECT_EQ(MemoryAsked("whole"), "24576") << "no memory requested, and a card of 24576 MiB in use";
}

TEST_F(VcudaRowsTest, TheRequestsOfVolcanoAndGpushareAreThoseOfTheirUnits) {
  Pod("vgpu").containers = {{"main",
                             "",
                             {{"volcano.sh/vgpu-number", 2},
                              {"volcano.sh/vgpu-memory", 3'000},
                              {"volcano.sh/vgpu-cores", 25}},
                             {FakeDriver::Uuid(0), FakeDriver::Uuid(1)}}};
  Pod("share").containers = {{"main", "", {{"aliyun.com/gpu-mem", 4}}, {"1"}}};
  Pod("share").containers[0].gpu_memory_units = 39;
  Pod("early").containers = {{"main", "", {{"aliyun.com/gpu-mem", 4}}}};
  TellPods();
  Read({});
  EXPECT_EQ(CardsAsked("vgpu"), "0.5");
  EXPECT_EQ(MemoryAsked("vgpu"), "none") << "no pod tells the unit of Volcano's plugin";
  EXPECT_EQ(CardsAsked("share"), "1");
  EXPECT_EQ(MemoryAsked("share"), "4096");
  EXPECT_EQ(CardsAsked("early"), "none") << "no GPU has been chosen yet";
  EXPECT_EQ(MemoryAsked("early"), "none");
  rows_ = std::make_unique<VcudaRows>(JoinOptions(), "node-a", VcudaOptions{.volcano_unit_mib = 1});
  EXPECT_EQ(MemoryAsked("vgpu"), "6000");
}

TEST_F(VcudaRowsTest, TheTotalIsTheSumOverCards) {
  Pod("p").containers = {{"main", kTrainerId, {{"nvidia.com/gpu", 2}}}};
  TellPods();
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 100, .sm_percent = 10},
        {.pid = 2, .gpu = 0, .container_id = kTrainerId, .memory_mib = 50, .sm_percent = 30},
        {.pid = 3, .gpu = 1, .container_id = kTrainerId, .memory_mib = 7, .sm_percent = 70},
        {.pid = 4, .gpu = 1, .container_id = kOtherId, .memory_mib = 9, .sm_percent = 20}});
  EXPECT_EQ(Busy("gpu0"), "40");
  EXPECT_EQ(Busy("gpu1"), "70");
  EXPECT_EQ(Busy("total"), "110");
  EXPECT_EQ(Memory("gpu0"), "150");
  EXPECT_EQ(Memory("gpu1"), "7");
  EXPECT_EQ(Memory("total"), "157");
}

TEST_F(VcudaRowsTest, EveryContainerOfAPodWithARequestHasALine) {
  Pod("p").containers = {{"main", "", {{"nvidia.com/gpu", 1}}},
                         {"side", "", {}},
                         {"first", "", {}, {}, false},
                         {"warm", "", {{"nvidia.com/gpu", 1}}, {}, false}};
  Pod("ended").containers = Pod("p").containers;
  Pod("ended").has_ended = true;
  Pod("plain").containers = {{"main", kOtherId, {{"example.com/nic", 1}}}};
  Pod("small").containers = {{"main", "", {{"tencent.com/vcuda-core", 50}}}};
  TellPods();
  Read({{.pid = 1, .gpu = 0, .container_id = kOtherId, .memory_mib = 9}});
  EXPECT_EQ(CardsAsked("p", "main"), "1");
  EXPECT_EQ(CardsAsked("p", "side"), "0");
  EXPECT_EQ(MemoryAsked("p", "side"), "0");
  EXPECT_EQ(Memory("total", "p", "side"), "none") << "it has no card";
  EXPECT_EQ(CardsAsked("p", "first"), "none") << "an init container without a request";
  EXPECT_EQ(CardsAsked("p", "warm"), "1");
  EXPECT_EQ(CardsAsked("ended"), "none");
  EXPECT_EQ(CardsAsked("small"), "none") << "less than a card without memory is no request";
  EXPECT_EQ(Page().find("plain"), std::string::npos) << "it requests no GPU";
}

TEST_F(VcudaRowsTest, CardsComeFromTheSchedulerElseTheKubeletAndFromProcesses) {
  Pod("p").containers = {
      {"main", "", {{"tencent.com/vcuda-core", 100}}, {"1", FakeDriver::Uuid(0), "9"}}};
  Pod("q").containers = {{"main", kTrainerId, {{"nvidia.com/gpu", 1}}}};
  Own({{1, "q/main"}, {1, "p/main"}});
  TellPods();
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 9}});
  EXPECT_EQ(Memory("gpu0"), "0") << "held, and no process runs there";
  EXPECT_EQ(MemoryAsked(), "65536");
  EXPECT_EQ(Memory("gpu1", "q"), "0");
  EXPECT_EQ(Memory("gpu0", "q"), "9") << "used without being allocated";
  EXPECT_EQ(MemoryAsked("q"), "40960");
}

TEST_F(VcudaRowsTest, AnInstanceIsAPartOfItsCard) {
  Pod("p").containers = {{"main", kTrainerId, {{"nvidia.com/mig-3g.40gb", 1}}}};
  Own({{3, "p/main"}});
  TellPods();
  Read({{.pid = 1, .gpu = 2, .container_id = kTrainerId, .memory_mib = 5, .instance = 1}});
  EXPECT_EQ(CardsAsked().substr(0, 7), "0.42857");
  EXPECT_EQ(MemoryAsked(), "40448");
  EXPECT_EQ(Memory("gpu2"), "5");
  EXPECT_EQ(Busy("gpu2"), "none") << "the driver has no samples of it in MIG mode";
  Read({});
  EXPECT_EQ(Busy("gpu2"), "0") << "no process runs there";
}

TEST_F(VcudaRowsTest, WithoutTheApiServerProcessesIdentifyTheOnlyHolderOfADevice) {
  Own({{0, "p/main"}, {1, "q/main"}, {1, "r/main"}, {4, "s/main"}});
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5, .sm_percent = 8},
        {.pid = 2, .gpu = 1, .container_id = kOtherId, .memory_mib = 6}});
  EXPECT_EQ(Memory("gpu0"), "5");
  EXPECT_EQ(Busy("total"), "8");
  EXPECT_EQ(Memory("gpu1", "q"), "none") << "two containers share the device";
  EXPECT_EQ(Memory("gpu1", "r"), "none");
  EXPECT_EQ(Memory("gpu2", "s"), "0");
  EXPECT_EQ(Page().find("container_request"), std::string::npos)
      << "requests are unknown without the API server";
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5},
        {.pid = 3, .gpu = 0, .container_id = kOtherId, .memory_mib = 7}});
  EXPECT_EQ(Memory("gpu0"), "none") << "one of the two does not belong to the holder";
}

TEST_F(VcudaRowsTest, WithoutTheApiServerAHolderOfTwoDevicesMustBeOneContainerOnBoth) {
  Own({{0, "p/main"}, {1, "p/main"}});
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5},
        {.pid = 2, .gpu = 1, .container_id = kTrainerId, .memory_mib = 6}});
  EXPECT_EQ(Memory("total"), "11");
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5},
        {.pid = 3, .gpu = 1, .container_id = kOtherId, .memory_mib = 6}});
  EXPECT_EQ(Memory("total"), "none");
  Own({{0, "p/main"}, {1, "p/main"}, {1, "q/main"}});
  Read({{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5},
        {.pid = 2, .gpu = 1, .container_id = kTrainerId, .memory_mib = 6},
        {.pid = 4, .gpu = 1, .container_id = kOtherId, .memory_mib = 7}});
  EXPECT_EQ(Memory("gpu1"), "6") << "identified by the card that it holds alone";
  EXPECT_EQ(Memory("gpu1", "q"), "none");
}

TEST_F(VcudaRowsTest, WithdrawsNumbersOfDevicesThatCannotBeRead) {
  Pod("p").containers = {{"main", kTrainerId, {{"nvidia.com/gpu", 1}}}};
  TellPods();
  const Runs runs{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5};
  Read({runs});
  EXPECT_EQ(Page(true).find("container_gpu"), std::string::npos);
  EXPECT_NE(Page(true).find("container_request"), std::string::npos)
      << "requests do not depend on readings";
  Read({runs}, false);
  EXPECT_EQ(Memory("gpu0"), "none") << "the list could not be read";
  Read({});
  EXPECT_EQ(Memory("gpu0"), "0") << "the process has ended";
}

TEST_F(VcudaRowsTest, MakesNewLinesOnlyWhenTheyChangeAndNumbersAllocateNothing) {
  Pod("p").containers = {{"main", kTrainerId, {{"nvidia.com/gpu", 1}}}};
  TellPods();
  const Runs runs{.pid = 1, .gpu = 0, .container_id = kTrainerId, .memory_mib = 5};
  Read({runs});
  Page();
  const uint64_t generation = rows_->generation();
  Read({runs});
  TellPods();  // The same pods again.
  Page();
  EXPECT_EQ(rows_->generation(), generation);
  std::vector<Value> slots;
  slots.reserve(64);
  const Allocations before = AllocationsOfThisThread();
  rows_->Take(facts_, table_);
  rows_->AppendTo(*facts_.grid, table_, false, slots);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
  Read({{.pid = 1, .gpu = 1, .container_id = kTrainerId, .memory_mib = 5}});
  Page();
  EXPECT_NE(rows_->generation(), generation);
}

}  // namespace
}  // namespace podgpu
