#include "tests/matrix/nvml_vendor.h"

#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"

#include "abi/nvml_table.h"
#include "source/nvml/source.h"
#include "source/testing/fake_nvml_table.h"
#include "tests/matrix/phase.h"

namespace podgpu {
namespace {

using Outs = std::span<const FakeOut>;

// A field for every call; texts are labels.
constexpr std::string_view kNvmlCounters =
    "DCGM_FI_DEV_GPU_TEMP, gauge, x\n"
    "DCGM_FI_DEV_GPU_TEMP_LIMIT, gauge, x\n"
    "DCGM_FI_DEV_SLOWDOWN_TEMP, gauge, x\n"
    "DCGM_FI_DEV_POWER_USAGE, gauge, x\n"
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, x\n"
    "DCGM_FI_DEV_POWER_MGMT_LIMIT, gauge, x\n"
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN, gauge, x\n"
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF, gauge, x\n"
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT, gauge, x\n"
    "DCGM_FI_DEV_SM_CLOCK, gauge, x\n"
    "DCGM_FI_DEV_MAX_SM_CLOCK, gauge, x\n"
    "DCGM_FI_DEV_APP_SM_CLOCK, gauge, x\n"
    "DCGM_FI_DEV_GPU_UTIL, gauge, x\n"
    "DCGM_FI_DEV_ENC_UTIL, gauge, x\n"
    "DCGM_FI_DEV_DEC_UTIL, gauge, x\n"
    "DCGM_FI_DEV_FB_USED, gauge, x\n"
    "DCGM_FI_DEV_BAR1_USED, gauge, x\n"
    "DCGM_FI_DEV_PSTATE, gauge, x\n"
    "DCGM_FI_DEV_FAN_SPEED, gauge, x\n"
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER, counter, x\n"
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN, gauge, x\n"
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH, gauge, x\n"
    "DCGM_FI_DEV_PCIE_LINK_GEN, gauge, x\n"
    "DCGM_FI_DEV_PCIE_LINK_WIDTH, gauge, x\n"
    "DCGM_FI_DEV_ECC_DBE_VOL_DEV, counter, x\n"
    "DCGM_FI_DEV_RETIRED_SBE, counter, x\n"
    "DCGM_FI_DEV_BANKS_REMAP_ROWS_AVAIL_MAX, gauge, x\n"
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, gauge, x\n"
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L12, counter, x\n"
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS, gauge, x\n"
    "DCGM_FI_DEV_COMPUTE_MODE, gauge, x\n"
    "DCGM_FI_DEV_PERSISTENCE_MODE, gauge, x\n"
    "DCGM_FI_DEV_VIRTUAL_MODE, gauge, x\n"
    "DCGM_FI_DEV_CUDA_COMPUTE_CAPABILITY, gauge, x\n"
    "DCGM_FI_CUDA_DRIVER_VERSION, gauge, x\n"
    "DCGM_FI_DEV_XID_ERRORS, gauge, x\n"
    "DCGM_EXP_XID_ERRORS_COUNT, gauge, x\n"
    "DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, x\n"
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, x\n"
    "DCGM_FI_DRIVER_VERSION, label, x\n"
    "DCGM_FI_NVML_VERSION, label, x\n"
    "DCGM_FI_DEV_BRAND, label, x\n"
    "DCGM_FI_DEV_OEM_INFOROM_VER, label, x\n"
    "DCGM_FI_DEV_INFOROM_IMAGE_VER, label, x\n";

constexpr std::string_view kNvmlErrorString = "nvmlErrorString";

// Called on the thread that listens for events, for which no other thread waits.
bool IsOfListener(std::string_view symbol) {
  return symbol == "nvmlEventSetWait_v2" || symbol == "nvmlEventSetFree";
}

// Instances of GPU 1, before and after a new layout.
const std::vector<FakeMigDevice> kNvmlLayout = {{true, 3, 0, "MIG-x", "3g.40gb"}};
const std::vector<FakeMigDevice> kOtherNvmlLayout = {{true, 5, 0, "MIG-y", "2g.20gb"}};

class NvmlNode {
 public:
  explicit NvmlNode(NodeSeams seams) : seams_(std::move(seams)) {
    for (uint32_t id = 0; id < 2; ++id) {
      nvml_.gpus.push_back({"GPU-" + std::to_string(id), id + 10, {}});
    }
    nvml_.gpus[1].mig_enabled = true;
    nvml_.gpus[1].mig_devices = kNvmlLayout;
    // Numbers that are valid for every quantity and differ by device and reading.
    nvml_.measure = [this](const std::string& /*symbol*/, size_t gpu) {
      return static_cast<int64_t>(20 + 32 * gpu) + PhaseOf(seams_.clock.WallNow());
    };
    nvml_.gpm = [this](uint32_t /*metric*/) { return 20.0 + PhaseOf(seams_.clock.WallNow()); };
    nvml_.stamp = [this] { return ToMicroseconds(seams_.clock.WallNow()); };
    nvml_.on_block = [this](std::thread::id thread, const std::string& symbol, bool blocks) {
      if (IsOfListener(symbol)) {
        seams_.on_detached_block(blocks);
      } else {
        seams_.on_block(thread, blocks);
      }
    };
  }

  StatusOr<std::unique_ptr<Source>> Open() {
    return std::make_unique<NvmlSource>(
        nvml_.Library(),
        NvmlSourceOptions{.stale_after = seams_.stale_after, .written_off = seams_.written_off},
        seams_.clock);
  }

  FakeNvml& nvml() { return nvml_; }

 private:
  const NodeSeams seams_;
  FakeNvml nvml_;
};

void SetLayout(FakeNvml& nvml, Layout layout) {
  switch (layout) {
    case Layout::kUsual:
    case Layout::kUsualOutsideMig:
      nvml.gpus[1].mig_devices = kNvmlLayout;
      break;
    case Layout::kOther:
    case Layout::kOtherOutsideMig:
      nvml.gpus[1].mig_devices = kOtherNvmlLayout;
      break;
    default:
      nvml.gpus[1].mig_devices.clear();
  }
  nvml.gpus[1].mig_enabled = layout <= Layout::kNone;
}

std::unique_ptr<VendorNode> MakeNvmlNode(size_t /*mode*/, NodeSeams seams) {
  auto node = std::make_shared<NvmlNode>(std::move(seams));
  FakeNvml& nvml = node->nvml();
  auto verbs = std::make_unique<VendorNode>();
  verbs->open_source = [node] { return node->Open(); };
  verbs->called = [&nvml] { return nvml.called(); };
  verbs->forget_calls = [&nvml] { nvml.ForgetCalls(); };
  verbs->inject = [&nvml](const std::string& symbol, const FakeFault& fault) {
    nvml.Inject(symbol, fault);
  };
  verbs->free = [&nvml](const std::string& symbol) { nvml.Free(symbol); };
  verbs->heal = [&nvml](const std::string& symbol) { nvml.Heal(symbol); };
  verbs->set_layout = [&nvml](Layout layout) { nvml.Change([&] { SetLayout(nvml, layout); }); };
  verbs->set_down = [&nvml](bool down) { nvml.SetDown(down); };
  return verbs;
}

// -- columns

FakeFault Filled(std::function<uint8_t()> next) {
  FakeFault fault;
  fault.spoil = [next = std::move(next)](Outs outs) {
    for (const FakeOut& out : outs) {
      std::ranges::generate(std::span(static_cast<uint8_t*>(out.bytes), out.size), next);
    }
  };
  return fault;
}

// Returns whether the program keeps the answer until the library is initialised again.
bool IsKept(const std::string& symbol) {
  return symbol == "nvmlEventSetCreate" || symbol == "nvmlDeviceGetSupportedEventTypes" ||
         symbol == "nvmlDeviceRegisterEvents" || symbol == "nvmlGpmQueryDeviceSupport";
}

// Returns whether the code is a normal answer: no GPU, no MIG, no MIG device with that index, no
// event.
bool IsBelieved(const std::string& symbol, int code) {
  return (symbol == "nvmlDeviceGetMigMode" &&
          (code == abi::NVML_ERROR_NOT_SUPPORTED || code == abi::NVML_ERROR_FUNCTION_NOT_FOUND)) ||
         (symbol == "nvmlDeviceGetMigDeviceHandleByIndex" &&
          (code == abi::NVML_ERROR_NOT_FOUND || code == abi::NVML_ERROR_INVALID_ARGUMENT)) ||
         (symbol == "nvmlInit_v2" && code == abi::NVML_ERROR_GPU_NOT_FOUND) ||
         (IsKept(symbol) && code == abi::NVML_ERROR_NOT_SUPPORTED);
}

void AddNvmlCodes(const std::string& symbol, std::vector<FaultColumn>& columns) {
  constexpr int kLast = 30;
  constexpr int kNeverGiven[] = {-1, 12'345};
  const auto add = [&](int code) {
    columns.push_back({absl::StrFormat("NVML %d", code),
                       FaultKind::kCode,
                       {.code = code},
                       IsKept(symbol) && IsBelieved(symbol, code),
                       IsBelieved(symbol, code)});
  };
  for (int code = 1; code <= kLast; ++code) {
    add(code);
  }
  add(abi::NVML_ERROR_UNKNOWN);
  for (const int code : kNeverGiven) {
    add(code);
  }
}

void AddNvmlHangs(std::vector<FaultColumn>& columns) {
  using Block = FakeFault::Block;
  columns.push_back({"blocks until freed",
                     FaultKind::kBlock,
                     {.code = abi::NVML_ERROR_UNKNOWN, .block = Block::kUntilFreed}});
  columns.push_back({"is late", FaultKind::kLate, {.code = 0, .block = Block::kUntilFreed}});
}

// A wrong plain number cannot be distinguished from a right one.
void AddNvmlGarbage(const std::string& symbol, std::vector<FaultColumn>& columns) {
  const auto add = [&](std::string name, FakeFault fault) {
    columns.push_back(
        {std::move(name), FaultKind::kGarbage, std::move(fault), IsKept(symbol), true});
  };
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    add(absl::StrFormat("random bytes %d", seed),
        Filled([random = std::mt19937(seed)]() mutable { return static_cast<uint8_t>(random()); }));
  }
  add("all bits clear", Filled([] { return uint8_t{0}; }));
  add("text without end", Filled([] { return uint8_t{'A'}; }));
  const bool is_minus_one =  // A valid temperature.
      symbol == "nvmlDeviceGetTemperatureV" || symbol == "nvmlDeviceGetMarginTemperature";
  columns.push_back({"all bits set", FaultKind::kSentinel, Filled([] { return uint8_t{0xff}; }),
                     IsKept(symbol), is_minus_one});
}

std::vector<FaultColumn> NvmlColumns(const std::string& symbol) {
  std::vector<FaultColumn> columns;
  columns.push_back({"the driver goes", FaultKind::kVanish, {.kills_engine = true}});
  if (symbol != kNvmlErrorString) {
    AddNvmlHangs(columns);
    AddNvmlCodes(symbol, columns);
    AddNvmlGarbage(symbol, columns);
  }
  return columns;
}

}  // namespace

Vendor NvmlVendor() {
  Vendor vendor;
  vendor.name = "NVML";
  vendor.modes = {"nvml"};
  vendor.make_node = MakeNvmlNode;
#define X(result, symbol, capability, parameters) vendor.symbols.insert(#symbol);
  PODGPU_NVML_API(X)
#undef X
  vendor.of_every_scene = {"nvmlEventSetWait_v2"};
  // Called only when newer symbols are missing, beside DCGM, or for processes; nvml_processes_test
  // and nvml_accounting_test test their faults.
  vendor.optional = {"nvmlDeviceGetHandleByUUID",
                     "nvmlDeviceGetMemoryInfo",
                     "nvmlDeviceGetTemperature",
                     "nvmlDeviceGetTotalEnergyConsumption",
                     "nvmlDeviceGetCurrentClocksThrottleReasons",
                     std::string(kNvmlErrorString),  // Called only after faults.
                     "nvmlDeviceGetComputeRunningProcesses_v2",
                     "nvmlDeviceGetComputeRunningProcesses_v3",
                     "nvmlDeviceGetGraphicsRunningProcesses_v2",
                     "nvmlDeviceGetGraphicsRunningProcesses_v3",
                     "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                     "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                     "nvmlDeviceGetProcessUtilization",
                     "nvmlDeviceGetProcessesUtilizationInfo",
                     "nvmlDeviceGetAccountingMode",
                     "nvmlDeviceSetAccountingMode",
                     "nvmlDeviceGetAccountingPids",
                     "nvmlDeviceGetAccountingStats",
                     "nvmlDeviceGetAccountingStats_v2"};
  vendor.columns = NvmlColumns;
  vendor.counters = kNvmlCounters;
  vendor.idle_threads = 2;   // The call thread and the events thread.
  vendor.steps_to_heal = 3;  // Profiling needs two readings.
  return vendor;
}

}  // namespace podgpu
