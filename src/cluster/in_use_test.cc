// The mean over the GPUs in use, as the replaced exporter computes it, and podgpu's own families.
#include "cluster/in_use.h"

#include <deque>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

void SetUse(DeviceUse& use, UseMeasure measure, double value) {
  use.values[static_cast<size_t>(measure)] = UseValue{value, 0};
}

// GPUs with these percentages of memory copies; empty: the value is not known.
class UsedGpus {
 public:
  explicit UsedGpus(const std::vector<std::optional<double>>& percents) {
    for (const std::optional<double>& percent : percents) {
      ReportedGpu& gpu = gpus_.emplace_back();
      if (percent) {
        SetUse(gpu.use, UseMeasure::kMemoryCopy, *percent);
      }
    }
  }

  ReportedGpu& gpu(size_t index) { return gpus_[index]; }
  ClusterMap map() const {
    ClusterMap map;
    for (const ReportedGpu& gpu : gpus_) {
      map.gpus.push_back(&gpu);
    }
    return map;
  }

 private:
  std::deque<ReportedGpu> gpus_;
};

std::string InUsePage(const InUse& in_use) {
  PlanBuilder builder;
  AddSlotFamilies(InUseFamilies(in_use, 0), builder);
  std::vector<Value> slots;
  WriteInUseSlots(in_use, slots);
  std::string page;
  RenderText(std::move(builder).Build(), nullptr, slots, page);
  EXPECT_TRUE(ParseTextStrictly(page).ok()) << page;
  return page;
}

std::string AverageLine(const std::vector<std::optional<double>>& percents) {
  const std::string page = InUsePage(SumInUse(UsedGpus(percents).map(), true, InUseMeaning::kPod));
  const size_t at = page.find("\navg_GPU_utilization ");
  return page.substr(at + 1, page.find('\n', at + 1) - at - 1);
}

// Zeros do not count; numbers with a decimal point count; values that are not numbers do not.
TEST(InUse, IsTheMeanOverThoseThatAreNotZero) {
  EXPECT_EQ(AverageLine({0, 20, 40}), "avg_GPU_utilization 30.0");
  EXPECT_EQ(AverageLine({0, 0}), "avg_GPU_utilization 0.0");
  EXPECT_EQ(AverageLine({}), "avg_GPU_utilization 0.0");
  EXPECT_EQ(AverageLine({37.5, std::nullopt}), "avg_GPU_utilization 37.5");
  EXPECT_EQ(AverageLine({10, 20, 70}), "avg_GPU_utilization 33.333333333333336");
}

// While no node can be read, there is no mean.
TEST(InUse, IsAbsentWhileNothingIsKnown) {
  EXPECT_EQ(InUsePage(SumInUse({}, false, InUseMeaning::kValue)), "");
}

TEST(InUse, HasTheNamesOfTheReplacedExporter) {
  const std::string page = InUsePage(SumInUse({}, true, InUseMeaning::kValue));
  EXPECT_TRUE(page.starts_with(
      "# HELP avg_GPU_utilization Average GPU utilization of GPUs currently being used.\n"
      "# TYPE avg_GPU_utilization gauge\n"
      "avg_GPU_utilization 0.0\n"))
      << page;
}

TEST(InUse, MayMeanThatAPodHoldsIt) {
  UsedGpus used({0, 50, 20});
  used.gpu(0).use.owners = {{"ml", "train-0", "c", "", ""}};
  used.gpu(1).use.hidden_owners = 1;
  const InUse by_pod = SumInUse(used.map(), true, InUseMeaning::kPod);
  EXPECT_EQ(by_pod.all[0].devices, 2U);
  EXPECT_DOUBLE_EQ(by_pod.all[0].mean().value(), 0.25);
  const InUse by_value = SumInUse(used.map(), true, InUseMeaning::kValue);
  EXPECT_EQ(by_value.all[0].devices, 2U);
  EXPECT_DOUBLE_EQ(by_value.all[0].mean().value(), 0.35);
}

TEST(InUse, MayMeanThatAProcessIsOnIt) {
  UsedGpus used({0, 50, 80, 20});
  used.gpu(0).use.processes = 2;  // The processes hold memory and wait.
  used.gpu(1).use.processes = 1;
  used.gpu(2).use.processes = 0;
  used.gpu(0).use.owners = {{"ml", "train-0", "c", "", ""}};
  used.gpu(2).use.owners = {{"ml", "train-1", "c", "", ""}};
  const InUse by_process = SumInUse(used.map(), true, InUseMeaning::kProcess);
  EXPECT_EQ(by_process.all[0].devices, 2U);
  EXPECT_DOUBLE_EQ(by_process.all[0].mean().value(), 0.25);
  EXPECT_EQ(by_process.all[0].unknown, 1U) << "the node of the fourth reads no processes";
  EXPECT_EQ(by_process.workloads.at({"ml", "train"})[0].devices, 1U);
}

TEST(InUse, HasALineForEachWorkloadAndMeasure) {
  UsedGpus used({40, 60, std::nullopt});
  for (const size_t gpu : {size_t{0}, size_t{1}}) {
    SetUse(used.gpu(gpu).use, UseMeasure::kSmActive, 0.5);
    used.gpu(gpu).use.owners = {{"ml", "train-" + std::to_string(gpu), "a", "", ""},
                                {"ml", "train-" + std::to_string(gpu), "b", "", ""}};
  }
  ReportedInstance instance;
  SetUse(instance.use, UseMeasure::kMemoryUsed, 10);
  SetUse(instance.use, UseMeasure::kMemoryTotal, 40);
  instance.use.owners = {{"web", "chat-7c9d8b5f4-x2k4l", "c", "", ""}};
  used.gpu(2).instances = {instance};
  const std::string page = InUsePage(SumInUse(used.map(), true, InUseMeaning::kValue));
  for (const std::string_view line :
       {"\npodgpu_in_use_devices{measure=\"memory_copy\"} 2\n",
        "\npodgpu_in_use_ratio{measure=\"memory_copy\"} 0.5\n",
        "\npodgpu_in_use_devices{measure=\"tensor\"} 0\n",
        "\npodgpu_in_use_ratio{measure=\"memory_fill\"} 0.25\n",
        "\npodgpu_workload_in_use_devices{namespace=\"ml\",workload=\"train\",measure=\"sm\"} 2\n",
        "\npodgpu_workload_in_use_ratio{namespace=\"ml\",workload=\"train\",measure=\"sm\"} 0.5\n",
        "\npodgpu_workload_in_use_ratio{namespace=\"web\",workload=\"chat\",measure=\"memory_"
        "fill\"}"
        " 0.25\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  EXPECT_EQ(page.find("podgpu_in_use_ratio{measure=\"tensor\"}"), std::string::npos)
      << "without devices there is no mean";
}

TEST(WorkloadOf, CutsWhatControllersAdd) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"llama-train-0", "llama-train"},
      {"db-12", "db"},
      {"chat-7c9d8b5f4-x2k4l", "chat"},
      {"chat-a-7c9d8b5f4d-x2k4l", "chat-a"},
      {"job-x2k4l", "job"},
      {"agent-zz9pq", "agent"},
      {"notebook-ada", "notebook-ada"},
      {"single", "single"},
      {"-0", "-0"},
      {"0", "0"},
      {"", ""},
  };
  for (const auto& [pod, workload] : rows) {
    EXPECT_EQ(WorkloadOf(pod), workload) << pod;
  }
}

TEST(InUseMeaning, IsAWord) {
  EXPECT_EQ(ParseInUseMeaning("value").value(), InUseMeaning::kValue);
  EXPECT_EQ(ParseInUseMeaning("pod").value(), InUseMeaning::kPod);
  EXPECT_FALSE(ParseInUseMeaning("").ok());
}

}  // namespace
}  // namespace podgpu
