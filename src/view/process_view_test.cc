#include "view/process_view.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr DeviceNumber kGpuOfProcesses{3};
constexpr DeviceNumber kSecondGpuOfProcesses{5};
constexpr char kPodUid[] = "0cc175b9-c0f1-46a8-a1c3-99e269772661";
const std::string kContainerId(64, 'c');

std::shared_ptr<const ProcessIdentity> Trainer(uint32_t pid, uint64_t start_ticks,
                                               const std::string& name) {
  auto identity = std::make_shared<ProcessIdentity>();
  identity->key = {.pid = pid, .start_ticks = start_ticks};
  identity->name = name;
  identity->place = {.pod_uid = kPodUid, .container_id = kContainerId};
  identity->started_at = WallTime(std::chrono::microseconds(1'700'000'000'250'000));
  return identity;
}

// One GPU that is read each second.
class ProcessPage {
 public:
  explicit ProcessPage(const ProcessTableOptions& options = {}, const LedgerOptions& ledger = {})
      : accounts_(options, ledger) {
    names.gpus[kGpuOfProcesses] = "0";
    names.uuids[kGpuOfProcesses] = "GPU-a";
    names.pods[kPodUid] = {.name_space = "ml", .name = "train-0"};
    names.containers[kContainerId] = "main";
    gpu_.device = kGpuOfProcesses;
    gpu_.counter_mj = 0;
  }

  void Take(std::vector<std::shared_ptr<const ProcessIdentity>> processes, uint64_t drawn_mj,
            std::vector<ProcessBusy> busy = {}) {
    now_ += seconds(1);
    gpu_.at = now_;
    *gpu_.counter_mj += drawn_mj;
    gpu_.processes.clear();
    for (const auto& identity : processes) {
      gpu_.processes.push_back(
          {.pid = identity->key.pid, .memory_bytes = 1024, .identity = identity});
    }
    gpu_.busy = std::move(busy);
    accounts_.Take({.at = now_, .devices = {gpu_}});
  }

  SeriesPlan Plan() const {
    PlanBuilder builder;
    AddProcessView(accounts_, names, kProcessPrefix, 2, builder);
    return std::move(builder).Build();
  }
  std::vector<Value> Slots() const {
    std::vector<Value> slots(2);
    AppendProcesses(accounts_, slots);
    return slots;
  }
  std::string Text() const {
    std::string text;
    RenderText(Plan(), nullptr, Slots(), text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
    return text;
  }
  std::string OpenMetrics() const {
    std::string text;
    RenderOpenMetrics(Plan(), nullptr, Slots(), text);
    return text;
  }
  // Returns the numbers of a family, in the order of its lines.
  std::vector<std::string> Numbers(const std::string& family) const {
    std::vector<std::string> numbers;
    const std::string text = Text();
    const std::string begin = "\n" + std::string(kProcessPrefix) + family + "{";
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      const size_t number = text.find("} ", at) + 2;
      numbers.push_back(text.substr(number, text.find('\n', number) - number));
    }
    return numbers;
  }

  // The same processes on a second GPU.
  void AddGpu(uint64_t drawn_mj) {
    names.gpus[kSecondGpuOfProcesses] = "1";
    DeviceReading second = gpu_;
    second.device = kSecondGpuOfProcesses;
    for (const uint64_t counter_mj : {uint64_t{0}, drawn_mj}) {
      now_ += seconds(1);
      gpu_.at = now_;
      second.at = now_;
      second.counter_mj = counter_mj;
      accounts_.Take({.at = now_, .devices = {gpu_, second}});
    }
  }

  const ProcessAccounts& accounts() const { return accounts_; }
  DeviceReading& gpu() { return gpu_; }
  ProcessNames names;

 private:
  ProcessAccounts accounts_;
  DeviceReading gpu_;
  Instant now_{std::chrono::hours(1)};
};

using Lines = std::vector<std::string>;

std::string LineOfMethod(const std::string& labels, const std::string& method,
                         const std::string& number) {
  return "podgpu_process_energy_joules_total" + labels.substr(0, labels.size() - 2) +
         ",UUID=\"GPU-a\",method=\"" + method + "\"} " + number + "\n";
}

TEST(ProcessView, HasTheSevenFamiliesOfMyGpuExporter) {
  ProcessPage page;
  const auto trainer = Trainer(4101, 100, "python3");
  page.Take({trainer}, 0);
  page.Take({trainer}, 123'456,
            {{.pid = 4101, .busy_percent_us = 5, .sm_percent = 37, .memory_percent = 8}});
  const std::string labels =
      "{container=\"main\",container_id=\"" + kContainerId +
      "\",gpu=\"0\",namespace=\"ml\",pid=\"4101\",pod=\"train-0\",pod_uid=\"" + kPodUid +
      "\",process_name=\"python3\"} ";
  const std::string help =
      "Energy in joules that the process is charged with. It is measured while the process is "
      "alone on the GPU. While several share the GPU, its energy is apportioned by SM time, so the "
      "parts add up to the device; among unlike processes a share can be wrong by more than 100 "
      "%.\n";
  EXPECT_EQ(page.Text(),
            "# HELP my_gpu_process_active 1 while the process uses the GPU, 0 after its end.\n"
            "# TYPE my_gpu_process_active gauge\n"
            "my_gpu_process_active" +
                labels +
                "1\n"
                "# HELP my_gpu_process_energy_joules " +
                help +
                "# TYPE my_gpu_process_energy_joules counter\n"
                "my_gpu_process_energy_joules" +
                labels +
                "123.456\n"
                "# HELP my_gpu_process_energy_joules_total " +
                help +
                "# TYPE my_gpu_process_energy_joules_total counter\n"
                "my_gpu_process_energy_joules_total" +
                labels +
                "123.456\n"
                "# HELP my_gpu_process_memory_used_bytes GPU memory that the process holds now, in "
                "bytes; for a process that lived between two readings, the most that it held.\n"
                "# TYPE my_gpu_process_memory_used_bytes gauge\n"
                "my_gpu_process_memory_used_bytes" +
                labels +
                "1024\n"
                "# HELP my_gpu_process_memory_utilization_ratio Share of time in which the process "
                "read or "
                "wrote GPU memory, from 0 to 1.\n"
                "# TYPE my_gpu_process_memory_utilization_ratio gauge\n"
                "my_gpu_process_memory_utilization_ratio" +
                labels +
                "0.08\n"
                "# HELP my_gpu_process_sm_utilization_ratio Share of time in which a kernel of the "
                "process ran, from 0 to 1.\n"
                "# TYPE my_gpu_process_sm_utilization_ratio gauge\n"
                "my_gpu_process_sm_utilization_ratio" +
                labels +
                "0.37\n"
                "# HELP my_gpu_process_start_time_seconds When the process started, in seconds "
                "since 1970.\n"
                "# TYPE my_gpu_process_start_time_seconds gauge\n"
                "my_gpu_process_start_time_seconds" +
                labels +
                "1700000000.25\n"
                "# HELP podgpu_process_energy_joules_total Energy that the process is charged "
                "with, by method: exclusive is measured; sm_share, mig_activity and equal are "
                "apportioned. Rows without a pid: ended is for processes whose rows are gone, idle "
                "for an idle GPU that the pod holds; so the sum over a pod never falls.\n"
                "# TYPE podgpu_process_energy_joules_total counter\n" +
                LineOfMethod(labels, "exclusive", "123.456"));
}

TEST(ProcessView, KeepsTheLastNumbersOfAProcessThatHasEnded) {
  ProcessPage page;
  const auto trainer = Trainer(4101, 100, "python3");
  page.Take({trainer}, 0);
  page.Take({trainer}, 5'000, {{.pid = 4101, .busy_percent_us = 5, .sm_percent = 37}});
  page.Take({}, 5'000);
  page.Take({}, 5'000);
  EXPECT_EQ(page.Numbers("_active"), Lines{"0"});
  EXPECT_EQ(page.Numbers("_energy_joules"), Lines{"10"}) << "it ended inside the third second";
  EXPECT_EQ(page.Numbers("_sm_utilization_ratio"), Lines{"0.37"});
  EXPECT_EQ(page.Numbers("_memory_used_bytes"), Lines{"1024"});
}

std::string RestLabels(const std::string& what) {
  return "{container=\"\",container_id=\"\",gpu=\"0\",namespace=\"ml\",pid=\"\",pod=\"train-0\","
         "pod_uid=\"" +
         std::string(kPodUid) + "\",process_name=\"" + what + "\"} ";
}

TEST(ProcessView, CountsTheEnergyOfARemovedRowAsEnded) {
  ProcessPage page({.retention = seconds(0), .all_processes = false});
  page.Take({Trainer(4101, 100, "python3"), Trainer(4102, 100, "python3")}, 0);
  page.Take({Trainer(4101, 100, "python3")}, 1'000,
            {{.pid = 4101, .busy_percent_us = 1}, {.pid = 4102, .busy_percent_us = 3}});
  const std::string text = page.Text();
  EXPECT_EQ(page.Numbers("_energy_joules"), Lines{"0.25"}) << "its families have processes alone";
  EXPECT_NE(text.find(LineOfMethod(RestLabels("ended"), "exclusive", "0") +
                      LineOfMethod(RestLabels("ended"), "sm_share", "0.75")),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("method=\"equal\""), std::string::npos) << "nothing was charged by it";
}

TEST(ProcessView, CountsTheEnergyOfAProcessAsEndedIfANewerOneHasItsLabels) {
  ProcessPage page;
  page.Take({Trainer(4101, 100, "python3")}, 0);
  page.Take({Trainer(4101, 100, "python3")}, 1'000);
  page.Take({Trainer(4101, 200, "python3")}, 0);
  page.Take({Trainer(4101, 200, "python3")}, 7'000);
  EXPECT_NE(page.Text().find(LineOfMethod(RestLabels("ended"), "exclusive", "1")),
            std::string::npos)
      << page.Text();
}

TEST(ProcessView, ReportsTheIdleEnergyOfAPodWithoutAPid) {
  ProcessPage page({}, {.idle_power_mw = 60'000, .idle_energy = IdleEnergy::kAllocated});
  page.Take({Trainer(4101, 100, "python3")}, 0);
  const auto row = page.accounts().table().devices().at(kGpuOfProcesses).begin();
  page.gpu().holders = {row->second.pod};
  page.Take({Trainer(4101, 100, "python3")}, 100'000);
  EXPECT_EQ(page.Numbers("_energy_joules"), Lines{"40"});
  EXPECT_NE(page.Text().find(LineOfMethod(RestLabels("idle"), "equal", "60")), std::string::npos)
      << page.Text();
}

TEST(ProcessView, LeavesOutUnknownNumbers) {
  ProcessPage page({.retention = seconds(60), .all_processes = true});
  page.gpu().samples = BusySamples::kNotSupported;
  auto nameless = std::make_shared<ProcessIdentity>();
  nameless->key = {.pid = 7, .start_ticks = 1};
  page.Take({nameless}, 0);
  const std::string text = page.Text();
  EXPECT_NE(text.find("my_gpu_process_active{container=\"\",container_id=\"\",gpu=\"0\",namespace="
                      "\"\",pid=\"7\",pod=\"\",pod_uid=\"\",process_name=\"\"} 1\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("utilization"), std::string::npos);
  EXPECT_EQ(text.find("start_time"), std::string::npos);
}

TEST(ProcessView, ListsNoProcessOutsideContainersUnlessAskedTo) {
  ProcessPage page;
  auto nameless = std::make_shared<ProcessIdentity>();
  nameless->key = {.pid = 7, .start_ticks = 1};
  page.Take({nameless}, 0);
  page.Take({nameless}, 500);
  EXPECT_EQ(page.Text(), "");
  EXPECT_EQ(page.Slots().size(), 2U);
}

TEST(ProcessView, ApportionsTheEnergyOfSeveralProcesses) {
  ProcessPage page;
  const auto one = Trainer(4101, 100, "one");
  const auto two = Trainer(4102, 100, "two");
  page.Take({one, two}, 0);
  page.Take({one, two}, 4'000,
            {{.pid = 4101, .busy_percent_us = 3}, {.pid = 4102, .busy_percent_us = 1}});
  EXPECT_EQ(page.Numbers("_energy_joules_total"), (Lines{"3", "1"}));
}

TEST(ProcessView, HasALineOfEachFamilyForEachGpuOfAProcess) {
  ProcessPage page;
  const auto trainer = Trainer(4101, 100, "python3");
  page.Take({trainer}, 0);
  page.Take({trainer}, 2'000);
  page.AddGpu(5'000);
  EXPECT_EQ(page.Numbers("_energy_joules"), (Lines{"2", "5"}));
  for (const FamilyDoc& doc : ProcessFamilies()) {
    const std::string& name = doc.family.name;
    if (name.starts_with(kProcessPrefix)) {
      EXPECT_EQ(page.Numbers(name.substr(kProcessPrefix.size())).size(), 2U) << name;
    }
  }
}

// A scraper drops the whole page if a header or a line occurs twice.
TEST(ProcessView, HasOneLineIfTwoProcessesHaveTheSameLabels) {
  ProcessPage page;
  const auto old_one = Trainer(4101, 100, "python3");
  const auto new_one = Trainer(4101, 200, "python3");
  page.Take({old_one}, 0);
  page.Take({old_one}, 1'000);
  page.Take({new_one}, 0);
  page.Take({new_one}, 7'000);
  EXPECT_EQ(page.Numbers("_active"), Lines{"1"});
  EXPECT_EQ(page.Numbers("_energy_joules"), Lines{"7"});
  page.Take({Trainer(4101, 300, "other")}, 0);
  EXPECT_EQ(page.Numbers("_active").size(), 2U);
}

TEST(ProcessView, EscapesTheNamesOfProcesses) {
  ProcessPage page;
  page.Take({Trainer(4101, 100, "a\"} 1\nb\\")}, 0);
  EXPECT_NE(page.Text().find("process_name=\"a\\\"} 1\\nb\\\\\"} 1\n"), std::string::npos);
}

TEST(ProcessView, HasFamiliesOfTypeUnknownInOpenMetrics) {
  ProcessPage page;
  page.Take({Trainer(4101, 100, "python3")}, 0);
  const std::string text = page.OpenMetrics();
  EXPECT_NE(text.find("# TYPE my_gpu_process_energy_joules unknown\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE my_gpu_process_energy_joules_total unknown\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE my_gpu_process_active gauge\n"), std::string::npos);
}

TEST(ProcessView, ADeviceWithoutANameHasNoRows) {
  ProcessPage page;
  page.Take({Trainer(4101, 100, "python3")}, 0);
  page.names.gpus.clear();
  EXPECT_EQ(page.Text(), "");
  EXPECT_EQ(page.Slots().size(), 2U + 10U) << "the slots of other processes do not move";
}

TEST(ProcessView, AllocatesNothingPerTick) {
  ProcessPage page;
  const auto trainer = Trainer(4101, 100, "python3");
  page.Take({trainer}, 0);
  std::vector<Value> slots = page.Slots();
  slots.resize(2);
  const Allocations before = AllocationsOfThisThread();
  AppendProcesses(page.accounts(), slots);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

}  // namespace
}  // namespace podgpu
