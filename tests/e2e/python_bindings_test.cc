// NVIDIA's own Python bindings (nvidia-ml-py) read a simulated node and print the world's values.
// tools/setup fetches them if possible; without them the step `python` of ./dev check is not run.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/world/run_directory.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

using sim::DeviceRef;
using sim::Int128;
using sim::Integral;
using sim::TimeUs;
using sim::World;

constexpr char kBindings[] = "build/tools/nvidia-ml-py";

std::string Bytes(int64_t total, int64_t reserved, int64_t used) {
  return std::to_string(total) + " " + std::to_string(reserved) + " " + std::to_string(used) + " " +
         std::to_string(total - reserved - used);
}

std::string Lines(const std::string& device,
                  const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text.append(device).append(" ").append(name).append(" ").append(value).append("\n");
  }
  return text;
}

// The processes that used a GPU since the start, with the sum of their percents up to the last
// sample.
std::string UsesOf(const World& world, int gpu, TimeUs now) {
  constexpr TimeUs kSampleEnd = 12'333'333;  // The 74th of six a second.
  std::string pids;
  Int128 sm = 0;
  Int128 dram = 0;
  for (int i = 0; i < world.process_count(now); ++i) {
    const sim::ProcessFacts process = world.process(i, now);
    const Int128 used = world.IntegrateProcess(Integral::kSmPpmUs, process.pid, kSampleEnd);
    if (process.device.gpu == gpu && used > 0) {
      pids += std::to_string(process.pid) + " ";
      sm += used;
      dram += world.IntegrateProcess(Integral::kDramPpmUs, process.pid, kSampleEnd);
    }
  }
  const auto percent = [](Int128 sum) {
    const Int128 whole = Int128{10'000} * kSampleEnd;
    return std::to_string(static_cast<int>((sum * 2 + whole) / (whole * 2)));
  };
  return pids.empty() ? "NVMLError_NotFound" : pids + percent(sm) + "/" + percent(dram);
}

class PythonBindingsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(kBindings) + "/pynvml.py")) {
      FAIL() << kBindings << " lacks pynvml.py; `tools/setup \"\" check` fetches it with pip";
    }
  }
  // Starts the scenario and moves it to 12.345678 s.
  void Start(const std::string& scenario) {
    node_ = std::make_unique<SimNode>(scenario, SimNode::Pace::kManual);
    ASSERT_TRUE(node_->ready()) << node_->output();
    node_->Tick("+12345678us");
    std::string error;
    reader_ = sim::RunDirectory::Open(node_->directory(), error);
    ASSERT_NE(reader_, nullptr) << error;
  }
  const World& world() const { return reader_->world(); }
  TimeUs now() const { return reader_->Now(); }

  std::string ReadByPython() const {
    std::vector<std::string> variables = node_->variables();
    variables.push_back("LD_LIBRARY_PATH=" + node_->directory() + "/lib");
    variables.push_back(std::string("PYTHONPATH=") + kBindings);
    variables.emplace_back("PYTHONDONTWRITEBYTECODE=1");
    Child python({"/usr/bin/python3", "tests/e2e/read_node.py"}, variables);
    EXPECT_EQ(python.Wait(), 0) << python.output();
    return python.output();
  }

  // The processes on a device: "41:1024 42:2048".
  std::string Processes(const DeviceRef& device) const {
    std::string text;
    for (int i = 0; i < world().process_count(now()); ++i) {
      const sim::ProcessFacts process = world().process(i, now());
      const bool is_part = device.instance < 0 || (process.device.instance == device.instance &&
                                                   process.device.compute == device.compute);
      if (process.device.gpu == device.gpu && is_part) {
        text += text.empty() ? "" : " ";
        text += std::to_string(process.pid) + ":" + std::to_string(process.memory_bytes);
      }
    }
    return text.empty() ? "none" : text;
  }

  // The expected lines of a GPU.
  std::string GpuLines(int gpu) const {
    const sim::GpuFacts& facts = world().gpu(gpu);
    const DeviceRef whole{.gpu = gpu};
    const bool is_mig = world().mig_enabled(gpu, now());
    const std::string refused = "NVMLError_NotSupported";
    const auto percent = [&](Integral what) {
      return std::to_string(world().UtilizationPercent(what, whole, now()));
    };
    const std::string busy = percent(Integral::kSmPpmUs) + " " + percent(Integral::kDramPpmUs);
    const std::string energy = std::to_string(world().EnergyCounterMj(gpu, now()));
    const std::string uses = is_mig ? refused : UsesOf(world(), gpu, now());
    const std::vector<std::pair<std::string, std::string>> lines = {
        {"uuid", std::string(facts.uuid)},
        {"memory", Bytes(facts.memory_total_bytes, facts.memory_reserved_bytes,
                         world().MemoryUsedBytes(whole, now()))},
        {"processes", Processes(whole)},
        {"processes_v2", Processes(whole)},
        {"name", std::string(facts.model)},
        {"bus", std::string(facts.pci_bus_id)},
        {"energy", energy},
        {"power", std::to_string(world().PowerAverageMw(gpu, now()))},
        {"temperature", std::to_string(world().TemperatureC(gpu, now()))},
        {"sm_clock", std::to_string(world().SmClockMhz(gpu, now()))},
        {"utilization", is_mig ? refused : busy},
        {"field_83", energy},
        {"uses", uses},
        {"uses_info", uses},
        {"accounted", refused},
    };
    return Lines(std::to_string(gpu), lines);
  }

  // The expected lines of its MIG devices.
  std::string MigLines(int gpu) const {
    std::string text;
    int index = 0;
    for (int instance = 0; instance < world().instance_count(gpu, now()); ++instance) {
      const sim::GpuInstanceFacts facts = world().instance(gpu, instance, now());
      const int64_t used = world().MemoryUsedBytes({.gpu = gpu, .instance = instance}, now());
      for (int compute = 0; compute < world().compute_count(gpu, instance, now()); ++compute) {
        const std::string list = Processes({gpu, instance, compute});
        text +=
            Lines(std::to_string(gpu) + "/" + std::to_string(index++),
                  {{"uuid", std::string(world().compute(gpu, instance, compute, now()).mig_uuid)},
                   {"memory", Bytes(facts.memory_total_bytes, facts.memory_reserved_bytes, used)},
                   {"processes", list},
                   {"processes_v2", list}});
      }
    }
    return text;
  }

  std::unique_ptr<SimNode> node_;
  std::unique_ptr<sim::RunDirectory> reader_;
};

TEST_F(PythonBindingsTest, ReadTheDemosNode) {
  Start("demo");
  std::string expected = "node driver " + std::string(world().driver_version()) + "\n";
  for (int gpu = 0; gpu < world().gpu_count(); ++gpu) {
    expected += GpuLines(gpu) + MigLines(gpu);
  }
  EXPECT_EQ(ReadByPython(), expected);
}

// With an old driver the bindings find fewer functions, and print that.
TEST_F(PythonBindingsTest, ReadANodeWithAnOldDriver) {
  const TemporaryFolder folder;
  Start(folder.Write("old.yaml", R"(format: 1
name: old
driver: {version: 470.199.02, nvml: 11.470.199.02, cuda: 11040, accounting: true}
gpus: [{class: a100-sxm4-80gb}]
orphans: [{pid: 41, gpu: 0, load: {sm: 50%}, memory: 2GiB}]
)"));
  const std::string output = ReadByPython();
  for (const char* line :
       {"node driver 470.199.02\n", "\n0 memory NVMLError_FunctionNotFound\n",
        "\n0 processes NVMLLibraryMismatchError\n", "\n0 processes_v2 41:2147483648\n",
        "\n0 utilization 50 0\n", "\n0 uses 41 50/0\n",
        "\n0 uses_info NVMLError_FunctionNotFound\n", "\n0 accounted 41\n"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << output;
  }
}

}  // namespace
}  // namespace podgpu
