#include "usage/process_rows.h"

#include <gtest/gtest.h>

#include "exposition/page_builder.h"
#include "exposition/text.h"
#include "fields/field_ids.h"
#include "source/testing/fake_source.h"
#include "tests/strict_parser.h"
#include "usage/process_sections.h"
#include "view/accounting_view.h"
#include "view/energy_reading_view.h"
#include "view/energy_view.h"
#include "view/pod_use_view.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr char kUidOfTrainer[] = "0cc175b9-c0f1-46a8-a1c3-99e269772661";

// Two GPUs with processes, a kubelet and an API server; the test sets all their answers.
class ProcessRowsTest : public ::testing::Test {
 protected:
  explicit ProcessRowsTest(const ProcessOptions& options = {}) : rows_(options) {
    ProcessFacts told;
    told.uuids = {FakeDriver::Uuid(1), FakeDriver::Uuid(0)};  // In order of discovery.
    queue_.facts().Set(std::make_shared<const ProcessFacts>(told));
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
    topology->epoch = 1;
    facts_.grid = std::make_shared<Grid>(
        topology, std::vector<const Field*>{FindField(53), FindField(150),
                                            FindField(field_ids::kMemoryTotal)});
  }

  static std::shared_ptr<const ProcessIdentity> Trainer(uint32_t pid, std::string container_id,
                                                        std::string uid = kUidOfTrainer) {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->key = {.pid = pid, .start_ticks = 1};
    identity->name = "python3";
    identity->place = {.pod_uid = std::move(uid), .container_id = std::move(container_id)};
    return identity;
  }
  // A reading a second later; GPU 1 (device number 0) has used so much more energy.
  void Read(std::vector<std::shared_ptr<const ProcessIdentity>> who, uint64_t drawn_mj = 0) {
    now_ += seconds(1);
    counter_mj_ += drawn_mj;
    std::unique_ptr<ProcessReading> reading = queue_.Begin();
    reading->at = now_;
    reading->wall = WallTime(seconds(1'700'000'000));
    reading->devices.assign(2, {});
    for (uint32_t i = 0; i < 2; ++i) {
      reading->devices[i].device = {i};
      reading->devices[i].at = now_;
      reading->devices[i].counter_mj = i == 0 ? counter_mj_ : 5;
    }
    for (const auto& identity : who) {
      reading->devices[0].processes.push_back(
          {.pid = identity->key.pid, .memory_bytes = 1'024, .identity = identity});
      reading->devices[0].busy.push_back(
          {.pid = identity->key.pid, .busy_percent_us = 5, .sm_percent = 30});
    }
    queue_.Add(std::move(reading));
  }
  void Own(const std::vector<std::string>& containers) {
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(2);
    for (const std::string& container : containers) {
      owners->by_entity[1].push_back({.pod_namespace = "ml",
                                      .pod = "train-0",
                                      .container = container,
                                      .resource = "nvidia.com/gpu",
                                      .pod_uid = {},
                                      .claim = {},
                                      .replica = {}});
    }
    facts_.owners = owners;
  }
  void TellPods(std::vector<ApiContainer> containers = {}) {
    auto objects = std::make_shared<ApiObjects>();
    ApiObject& pod = (*objects)["ml/train-0"];
    pod.name_space = "ml";
    pod.name = "train-0";
    pod.uid = kUidOfTrainer;
    pod.containers = std::move(containers);
    auto api = std::make_shared<ApiFacts>();
    api->value = objects;
    facts_.api_pods = api;
    facts_.usable_pods = objects;
  }
  static std::shared_ptr<const PodFacts> FactsOfAKubelet() {
    auto pods = std::make_shared<PodFacts>();
    pods->value = std::make_shared<const PodAllocations>();
    return pods;
  }
  void Take() {
    facts_.now = now_;
    facts_.processes = queue_.facts().Get();
    rows_.Take(queue_, facts_);
    vcuda_.Take(facts_, rows_.table());
  }
  // All sections of the room.
  std::vector<Section> Sections(const ProcessPage& in) {
    return {ProcessSection(in),
            AccountsSection(in, "energy", {EnergySlotCount, AddEnergyView, AppendEnergy}),
            AccountsSection(in, "readings of energy counters",
                            {.count = EnergyReadingSlotCount,
                             .add = AddEnergyReadingView,
                             .append = AppendEnergyReadings,
                             .stays_when_stale = true}),
            AccountsSection(in, "accounting",
                            {AccountingSlotCount, AddAccountingView, AppendAccounting}),
            AccountsSection(in, "pods", {PodUseSlotCount, AddPodUseView, AppendPodUses}),
            VcudaSection(in, vcuda_)};
  }
  std::string Text(Duration age = seconds(0)) {
    TickFacts facts = facts_;
    facts.now = now_ + age;
    PageBuilder page(Sections({.rows = rows_, .facts = facts, .stale_after = seconds(5)}));
    page.Refresh(facts.grid.get(), facts.owners);
    return TextOf(page);
  }
  // The lines of a page that has a plan.
  std::string TextOf(const PageBuilder& page) const {
    std::vector<Value> slots;
    page.AppendTo(slots);
    std::string text;
    RenderText(*page.plan(), facts_.grid.get(), slots, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
    return text;
  }
  bool Shows(const std::string& part) { return Text().find(part) != std::string::npos; }

  ProcessQueue queue_;
  TickFacts facts_;
  ProcessRows rows_;
  VcudaRows vcuda_{{}, "node-a"};
  Instant now_{std::chrono::hours(1)};
  uint64_t counter_mj_ = 1'000;
};

TEST_F(ProcessRowsTest, NamesDevicesByTheirGpuIds) {
  Read({Trainer(11, "c1")});
  Read({Trainer(11, "c1")}, 500);
  Take();
  EXPECT_TRUE(Shows("podgpu_gpu_energy_by_method_joules_total{gpu=\"1\",UUID=\"" +
                    FakeDriver::Uuid(1) + "\",method=\"exclusive\"} 0.5\n"))
      << Text();
  EXPECT_TRUE(
      Shows("my_gpu_process_energy_joules{container=\"\",container_id=\"c1\",gpu=\"1\","
            "namespace=\"\",pid=\"11\",pod=\"\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\",process_name=\"python3\"} 0.5\n"))
      << Text();
}

// No API server: the kubelet has allocated GPU 1 to one container, so its process gets a name.
TEST_F(ProcessRowsTest, NamesProcessesFromTheKubeletAloneWhereADeviceHasOneOwner) {
  Own({"main"});
  Read({Trainer(11, "c1")});
  Take();
  Read({Trainer(11, "c1")}, 500);
  Take();
  EXPECT_TRUE(
      Shows("my_gpu_process_energy_joules{container=\"main\",container_id=\"c1\",gpu=\"1\","
            "namespace=\"ml\",pid=\"11\",pod=\"train-0\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\",process_name=\"python3\"} 0.5\n"))
      << Text();
  const std::string pod = "{gpu=\"1\",UUID=\"" + FakeDriver::Uuid(1) +
                          "\",namespace=\"ml\",pod=\"train-0\",pod_uid=\"" + kUidOfTrainer +
                          "\",container=\"main\",shared=\"false\"";
  EXPECT_TRUE(Shows("podgpu_pod_gpu_energy_joules_total" + pod + ",method=\"exclusive\"} 0.5\n"))
      << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_active_seconds_total" + pod + "} 1\n")) << Text();
  EXPECT_EQ(rows_.unnamed().count, 0U);
}

TEST_F(ProcessRowsTest, CountsProcessesWithoutNamesOnASharedDevice) {
  Own({"main", "side"});
  Read({Trainer(11, "c1"), Trainer(12, "c2")});
  Take();
  EXPECT_FALSE(Shows("pod=\"train-0\"")) << Text();
  EXPECT_EQ(rows_.unnamed().count, 2U);
  EXPECT_EQ(rows_.unnamed().pid, 11U);
  EXPECT_EQ(rows_.unnamed().gpu_id, 1U);
  EXPECT_EQ(rows_.unnamed().owners, 2U);
  TellPods();
  Take();
  EXPECT_TRUE(Shows("pod=\"train-0\"")) << Text();
  EXPECT_EQ(rows_.unnamed().count, 0U);
}

TEST_F(ProcessRowsTest, TakesEachReadingOnce) {
  Read({Trainer(11, "c1")});
  Take();
  Read({Trainer(11, "c1")}, 500);
  Take();
  const std::string once = Text();
  const uint64_t generation = rows_.generation();
  Take();
  EXPECT_EQ(Text(), once);
  EXPECT_EQ(rows_.generation(), generation);
}

// The first page can be made before the first reading, on GPUs that no process uses.
TEST_F(ProcessRowsTest, APageMadeBeforeTheFirstReadingGetsTheLinesOfIdleDevices) {
  Take();
  PageBuilder page(Sections({.rows = rows_, .facts = facts_, .stale_after = seconds(5)}));
  page.Refresh(facts_.grid.get(), facts_.owners);
  Read({});
  Take();
  EXPECT_TRUE(page.Refresh(facts_.grid.get(), facts_.owners));
  const std::string text = TextOf(page);
  EXPECT_NE(text.find("podgpu_gpu_energy_by_method_joules_total{gpu=\"0\""), std::string::npos)
      << text;
}

TEST_F(ProcessRowsTest, NamesPodsAndContainersAsTheApiServerDoes) {
  Read({Trainer(11, "c1"), Trainer(12, "c2")});
  Take();
  const uint64_t before = rows_.generation();
  TellPods(
      {{.name = "main", .id = "c1", .requests = {}}, {.name = "side", .id = "c2", .requests = {}}});
  Take();
  EXPECT_NE(rows_.generation(), before);
  EXPECT_TRUE(
      Shows("{container=\"main\",container_id=\"c1\",gpu=\"1\",namespace=\"ml\",pid=\"11\","
            "pod=\"train-0\""))
      << Text();
  EXPECT_TRUE(Shows("{container=\"side\",container_id=\"c2\"")) << Text();
}

TEST_F(ProcessRowsTest, NamesAContainerFromTheKubeletWhereThePodHasOneWithGpus) {
  TellPods();
  Own({"main"});
  Read({Trainer(11, "c1")});
  Take();
  EXPECT_TRUE(Shows("my_gpu_process_active{container=\"main\",container_id=\"c1\"")) << Text();
}

TEST_F(ProcessRowsTest, NamesNoContainerWhereTwoArePossible) {
  TellPods();
  Own({"main", "side"});
  Read({Trainer(11, "c1")});
  Take();
  EXPECT_TRUE(Shows("my_gpu_process_active{container=\"\",container_id=\"c1\"")) << Text();
}

TEST_F(ProcessRowsTest, AnEndedPodKeepsItsName) {
  TellPods();
  Own({"main"});
  Read({Trainer(11, "c1")});
  Take();
  auto api = std::make_shared<ApiFacts>();
  api->value = std::make_shared<const ApiObjects>();
  facts_.api_pods = api;
  Own({});
  Read({});
  Take();
  EXPECT_TRUE(
      Shows("my_gpu_process_active{container=\"main\",container_id=\"c1\",gpu=\"1\","
            "namespace=\"ml\",pid=\"11\",pod=\"train-0\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\",process_name=\"python3\"} 0\n"))
      << Text();
}

TEST_F(ProcessRowsTest, APodKeepsItsEnergyWhenItsProcessesEnd) {
  TellPods();
  Own({"main"});
  Read({Trainer(11, "c1")});
  Read({Trainer(11, "c1")}, 500);
  Take();
  const std::string labels = "{gpu=\"1\",UUID=\"" + FakeDriver::Uuid(1) +
                             "\",namespace=\"ml\",pod=\"train-0\",pod_uid=\"" + kUidOfTrainer +
                             "\",container=\"main\",shared=\"false\"";
  const std::string energy =
      "podgpu_pod_gpu_energy_joules_total" + labels + ",method=\"exclusive\"} 0.5\n";
  EXPECT_TRUE(Shows(energy)) << Text();
  EXPECT_FALSE(Shows("podgpu_pod_gpu_energy_joules_total" + labels + ",method=\"sm_share\"}"))
      << "nothing was charged by it";
  EXPECT_TRUE(Shows("podgpu_pod_gpu_allocated_seconds_total" + labels + "} 1\n")) << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_active_seconds_total" + labels + "} 1\n")) << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_sm_utilization_ratio" + labels + "} 0.3\n")) << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_memory_used_bytes" + labels + "} 1024\n")) << Text();
  for (int second = 0; second < 400; ++second) {
    Read({}, 100);
    Take();
  }
  EXPECT_FALSE(Shows("my_gpu_process_active{")) << "its row has left the page";
  EXPECT_TRUE(Shows("podgpu_pod_gpu_energy_joules_total" + labels + ",method=\"exclusive\"} 0.6\n"))
      << "it ended inside the next second: " << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_idle_seconds_total" + labels + "} 400\n")) << Text();
}

TEST_F(ProcessRowsTest, RowsOfAPodLeaveWithTheRowsOfItsProcesses) {
  TellPods();
  Own({"main"});
  Read({Trainer(11, "c1")});
  Read({Trainer(11, "c1")}, 500);
  Take();
  Own({});
  int with_rows = 0;
  for (int second = 0; second < 400; ++second) {
    Read({});
    Take();
    EXPECT_EQ(Shows("my_gpu_process_active{"), Shows("podgpu_pod_gpu_energy_joules_total{"))
        << second;
    with_rows += Shows("my_gpu_process_active{") ? 1 : 0;
  }
  EXPECT_EQ(with_rows, 300) << "the retention";
  EXPECT_TRUE(Shows(",pid=\"\",pod=\"\",pod_uid=\"\",process_name=\"ended\",UUID=\"" +
                    FakeDriver::Uuid(1) + "\",method=\"exclusive\"} 0.5\n"))
      << "the sum over the GPU must stay right: " << Text();
}

TEST_F(ProcessRowsTest, PodsThatShareADeviceHoldItAsShared) {
  TellPods();
  Own({"main"});
  auto owners = std::make_shared<Owners>(*facts_.owners);
  owners->by_entity[1].push_back(owners->by_entity[1].front());
  owners->by_entity[1].back().pod = "train-1";
  facts_.owners = owners;
  Read({});
  Take();
  EXPECT_TRUE(Shows("pod=\"train-0\",pod_uid=\"" + std::string(kUidOfTrainer) +
                    "\",container=\"main\",shared=\"true\"} "))
      << Text();
  EXPECT_FALSE(Shows("train-1")) << "without its uid its processes are unknown";
}

// Cgroups of a static pod carry the hash of its file; the API server gives the pod another uid.
TEST_F(ProcessRowsTest, NamesAStaticPodByTheHashOfItsFile) {
  const std::string hash = "a81259cef8e959c624df1d456e5d3297";
  TellPods({{.name = "side", .id = "c2", .requests = {}}});
  auto objects = std::make_shared<ApiObjects>(*facts_.api_pods->value);
  objects->at("ml/train-0").config_hash = hash;
  auto api = std::make_shared<ApiFacts>();
  api->value = objects;
  facts_.api_pods = api;
  Own({"main"});
  Read({Trainer(11, "c1", hash)});
  Read({Trainer(11, "c1", hash)}, 500);
  Take();
  EXPECT_TRUE(
      Shows("my_gpu_process_energy_joules{container=\"main\",container_id=\"c1\",gpu=\"1\","
            "namespace=\"ml\",pid=\"11\",pod=\"train-0\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\",process_name=\"python3\"} 0.5\n"))
      << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_active_seconds_total{gpu=\"1\",UUID=\"" + FakeDriver::Uuid(1) +
                    "\",namespace=\"ml\",pod=\"train-0\",pod_uid=\"" + kUidOfTrainer +
                    "\",container=\"main\",shared=\"false\"} 1\n"))
      << Text();
  Read({Trainer(11, "c1", hash), Trainer(12, "c2", "")});
  Take();
  EXPECT_TRUE(
      Shows("{container=\"side\",container_id=\"c2\",gpu=\"1\",namespace=\"ml\","
            "pid=\"12\",pod=\"train-0\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\""))
      << "joined by its container: " << Text();
}

// A private cgroup namespace hides the pod of a process in podgpu's own pod.
TEST_F(ProcessRowsTest, JoinsAProcessByItsContainerWhereTheCgroupHidesThePod) {
  TellPods({{.name = "main", .id = "c1", .requests = {}}});
  Own({"main"});
  Read({Trainer(11, "c1", "")});
  Read({Trainer(11, "c1", "")}, 500);
  Take();
  EXPECT_TRUE(
      Shows("my_gpu_process_energy_joules{container=\"main\",container_id=\"c1\",gpu=\"1\","
            "namespace=\"ml\",pid=\"11\",pod=\"train-0\",pod_uid=\"" +
            std::string(kUidOfTrainer) + "\",process_name=\"python3\"} 0.5\n"))
      << Text();
  EXPECT_TRUE(Shows("podgpu_pod_gpu_energy_joules_total{gpu=\"1\",UUID=\"" + FakeDriver::Uuid(1) +
                    "\",namespace=\"ml\",pod=\"train-0\",pod_uid=\"" + kUidOfTrainer +
                    "\",container=\"main\",shared=\"false\",method=\"exclusive\"} 0.5\n"))
      << Text();
}

// The kubelet alone has answered: nothing names containers.
TEST_F(ProcessRowsTest, AContainerWithoutAPodIsOutsideKubernetes) {
  facts_.pods = FactsOfAKubelet();
  Own({"main"});
  Read({Trainer(11, "c1", "")});
  Read({Trainer(11, "c1", "")}, 500);
  Take();
  EXPECT_FALSE(Shows("pid=\"11\"")) << Text();
  EXPECT_TRUE(Shows("method=\"outside_kubernetes\"} 0.5\n")) << Text();
  TellPods({{.name = "main", .id = "c1", .requests = {}}});
  Read({Trainer(11, "c1", "")}, 200);
  Take();
  EXPECT_TRUE(Shows("pid=\"11\",pod=\"train-0\"")) << "named later: " << Text();
  EXPECT_TRUE(Shows("method=\"outside_kubernetes\"} 0.5\n")) << Text();
}

TEST_F(ProcessRowsTest, WithoutKubernetesAContainerHasRows) {
  Read({Trainer(11, "c1", "")});
  Read({Trainer(11, "c1", "")}, 500);
  Take();
  EXPECT_TRUE(Shows("container_id=\"c1\"")) << Text();
  EXPECT_TRUE(Shows("method=\"exclusive\"} 0.5\n")) << Text();
}

TEST_F(ProcessRowsTest, HasNoPodLabelsWithoutAnySourceOfNames) {
  Own({"main", "side"});
  Read({Trainer(11, "c1")});
  Take();
  EXPECT_FALSE(Shows("podgpu_pod_gpu_energy_joules_total{"));
}

TEST_F(ProcessRowsTest, WithdrawsNumbersThatAreTooOld) {
  Own({"main"});
  TellPods({{.name = "main", .id = "c1", .requests = {{"nvidia.com/gpu", 1}}}});
  Read({Trainer(11, "c1")});
  Read({Trainer(11, "c1")}, 500);
  Take();
  const std::string fresh = Text(seconds(5));
  const std::string old = Text(seconds(6));
  for (const char* family : {"my_gpu_process_active{", "podgpu_gpu_energy_by_method_joules_total{",
                             "podgpu_pod_gpu_energy_joules_total{", "container_gpu_utilization{"}) {
    EXPECT_NE(fresh.find(family), std::string::npos) << family << '\n' << fresh;
    EXPECT_EQ(old.find(family), std::string::npos) << family << '\n' << old;
  }
  for (const char* family :  // When a counter was read and what a pod requests stay true.
       {"podgpu_gpu_energy_reading_timestamp_seconds{", "container_request_gpu_utilization{"}) {
    EXPECT_NE(fresh.find(family), std::string::npos) << family << '\n' << fresh;
    EXPECT_NE(old.find(family), std::string::npos) << family << '\n' << old;
  }
}

// Processes may be read before the devices: then no section is on the page.
TEST_F(ProcessRowsTest, SectionsAwaitTheFirstReadingOfTheDevices) {
  Own({"main"});
  TellPods({{.name = "main", .id = "c1", .requests = {{"nvidia.com/gpu", 1}}}});
  Read({Trainer(11, "c1")});
  Take();
  for (const Section& section :
       Sections({.rows = rows_, .facts = facts_, .stale_after = seconds(5)})) {
    PageBuilder page({section});
    page.Refresh(nullptr, nullptr);
    std::vector<Value> slots;
    page.AppendTo(slots);
    EXPECT_TRUE(slots.empty()) << section.name;
    EXPECT_TRUE(page.plan()->families().empty()) << section.name;
    page.Refresh(facts_.grid.get(), facts_.owners);
    page.AppendTo(slots);
    EXPECT_FALSE(slots.empty()) << section.name;
    EXPECT_FALSE(page.plan()->families().empty()) << section.name;
  }
}

// Each section says when its lines change, so a page with a plan made earlier shows them.
TEST_F(ProcessRowsTest, SectionsGiveNewLinesToAPageThatHasAPlan) {
  Own({"main"});
  TellPods({{.name = "main", .id = "c1", .requests = {{"nvidia.com/gpu", 1}}}});
  Read({});
  Take();
  PageBuilder page(Sections({.rows = rows_, .facts = facts_, .stale_after = seconds(5)}));
  page.Refresh(facts_.grid.get(), facts_.owners);
  EXPECT_FALSE(page.Refresh(facts_.grid.get(), facts_.owners)) << "nothing changed";
  Read({Trainer(11, "c1")});
  Take();
  EXPECT_TRUE(page.Refresh(facts_.grid.get(), facts_.owners));
  const std::string text = TextOf(page);
  EXPECT_NE(text.find("my_gpu_process_active{container=\"main\""), std::string::npos) << text;
  EXPECT_NE(text.find("container_gpu_utilization{"), std::string::npos) << text;
}

}  // namespace
}  // namespace podgpu
