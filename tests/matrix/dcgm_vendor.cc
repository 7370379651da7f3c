#include "tests/matrix/dcgm_vendor.h"

#include <chrono>
#include <utility>

#include "source/dcgm/source.h"
#include "source/testing/fake_dcgm_table.h"
#include "source/testing/fake_dcgm_values.h"
#include "source/testing/fake_nvml_table.h"
#include "tests/matrix/dcgm_columns.h"
#include "tests/matrix/phase.h"

namespace podgpu {
namespace {

constexpr uint16_t kXid = 230;

// An XID comes every so many steps, so there is a new one again and again.
constexpr int kStepsBetweenXids = 4;

// Indices of modes.
constexpr size_t kEmbedded = 1;
constexpr size_t kRemoteOld = 2;

// Instances of GPU 1, before and after a new layout.
const std::vector<FakeGpuInstance> kLayout = {{7, 1, 3, "3g.40gb", {{70, 0}}}};
const std::vector<FakeGpuInstance> kOtherLayout = {{9, 1, 5, "2g.20gb", {{90, 0}}}};

// A number from which field, device and reading can be recognised.
bool MeasureNow(const Clock& clock, abi::dcgmFieldValue_v2& raw) {
  if (raw.fieldType == abi::DCGM_FT_BINARY) {
    return false;  // A blob is never requested.
  }
  if (raw.fieldId == kXid) {
    const auto step = clock.WallNow().time_since_epoch() / kMatrixStep;
    raw.ts = ToMicroseconds(WallTime(step / kStepsBetweenXids * kStepsBetweenXids * kMatrixStep));
    raw.value.i64 = 43;
    return true;
  }
  raw.ts = ToMicroseconds(clock.WallNow());
  const int64_t number = int64_t{raw.fieldId} * 10'000 + int64_t{raw.entityGroupId} * 1'000 +
                         int64_t{raw.entityId} * 100 + PhaseOf(clock.WallNow());
  switch (raw.fieldType) {
    case abi::DCGM_FT_DOUBLE:
      raw.value.dbl = static_cast<double>(number) + 0.5;
      break;
    case abi::DCGM_FT_STRING:
      PutText(raw.value.str, "text of " + std::to_string(raw.fieldId));
      break;
    default:
      raw.value.i64 = number;
  }
  return true;
}

// One field of each kind: numbers of both types, a counter, an event, a label, a profiling field,
// and one for each kind of part.
constexpr std::string_view kCounters =
    "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
    "DCGM_FI_DEV_POWER_USAGE, gauge, p\n"
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, e\n"
    "DCGM_FI_DEV_XID_ERRORS, gauge, x\n"
    "DCGM_EXP_XID_ERRORS_COUNT, gauge, x\n"
    "DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, c\n"
    "DCGM_EXP_GPU_HEALTH_STATUS, gauge, h\n"
    "DCGM_EXP_P2P_STATUS, gauge, p\n"
    "DCGM_FI_DRIVER_VERSION, label, v\n"
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, g\n"
    "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT, gauge, s\n"
    "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX, counter, l\n"
    "DCGM_FI_DEV_CPU_UTIL_TOTAL, gauge, c\n";

class DcgmNode {
 public:
  DcgmNode(size_t mode, NodeSeams seams) : mode_(mode), seams_(std::move(seams)) {
    for (uint32_t id = 0; id < 2; ++id) {
      const std::string number = std::to_string(id);
      dcgm_.gpus.push_back({.gpu_id = id,
                            .uuid = "GPU-" + number,
                            .pci_bus_id = "00000000:0" + number + ":00.0",
                            .model = "NVIDIA H100 80GB HBM3",
                            .serial = "165" + number,
                            .vbios_version = "96.00",
                            .mig_enabled = id == 1});
      nvml_.gpus.push_back({"GPU-" + number, id + 10, {}});
    }
    nvml_.gpus[1].mig_devices = {{true, 3, 0, "MIG-x"}, {true, 5, 0, "MIG-y"}};
    dcgm_.instances = kLayout;
    dcgm_.links_up = {{0, {2}}};
    dcgm_.switches = {{0, {3}}};
    dcgm_.cpus = {{0, {5}}};
    dcgm_.peers = {{5, 0}, {0, 5}};
    for (uint16_t id = 1001; id < 1061; ++id) {
      dcgm_.profiling_fields.insert(id);
    }
    if (mode == kRemoteOld) {
      dcgm_.without.insert(abi::DcgmCapability::kConnection);
    }
    dcgm_.on_block = seams_.on_block;
    dcgm_.measure = [this](abi::dcgmFieldValue_v2& raw) { return MeasureNow(seams_.clock, raw); };
  }

  StatusOr<std::unique_ptr<Source>> Open() {
    using Kind = DcgmEndpoint::Kind;
    const DcgmEndpoint place = mode_ == kEmbedded ? DcgmEndpoint{Kind::kEmbedded, ""}
                                                  : DcgmEndpoint{Kind::kTcp, "host:5555"};
    const DcgmSourceOptions options{.endpoint = place,
                                    .connect_timeout = std::chrono::milliseconds(1'000),
                                    .stale_after = seams_.stale_after,
                                    .written_off = seams_.written_off};
    NvmlIdentity nvml([this]() -> StatusOr<abi::NvmlLibrary> { return nvml_.Library(); },
                      seams_.written_off);
    return std::make_unique<DcgmSource>(dcgm_.Library(), options, std::move(nvml), seams_.clock);
  }

  FakeDcgm& dcgm() { return dcgm_; }

 private:
  const size_t mode_;
  const NodeSeams seams_;
  FakeDcgm dcgm_;
  FakeNvml nvml_;
};

void SetLayout(FakeDcgm& dcgm, Layout layout) {
  switch (layout) {
    case Layout::kUsual:
    case Layout::kUsualOutsideMig:
      dcgm.instances = kLayout;
      break;
    case Layout::kOther:
    case Layout::kOtherOutsideMig:
      dcgm.instances = kOtherLayout;
      break;
    default:
      dcgm.instances.clear();
  }
  dcgm.gpus[1].mig_enabled = layout <= Layout::kNone;
}

std::unique_ptr<VendorNode> MakeNode(size_t mode, NodeSeams seams) {
  auto node = std::make_shared<DcgmNode>(mode, std::move(seams));
  FakeDcgm& dcgm = node->dcgm();
  auto verbs = std::make_unique<VendorNode>();
  verbs->open_source = [node] { return node->Open(); };
  verbs->called = [&dcgm] { return dcgm.called(); };
  verbs->forget_calls = [&dcgm] { dcgm.ForgetCalls(); };
  verbs->inject = [&dcgm](const std::string& symbol, const FakeFault& fault) {
    dcgm.Inject(symbol, fault);
  };
  verbs->free = [&dcgm](const std::string& symbol) { dcgm.Free(symbol); };
  verbs->heal = [&dcgm](const std::string& symbol) { dcgm.Heal(symbol); };
  verbs->set_layout = [&dcgm](Layout layout) { dcgm.Change([&] { SetLayout(dcgm, layout); }); };
  verbs->set_down = [&dcgm](bool down) { dcgm.SetDown(down); };
  return verbs;
}

}  // namespace

Vendor DcgmVendor() {
  Vendor vendor;
  vendor.name = "DCGM";
  vendor.modes = {"remote", "embedded", "remote without dcgmConnect_v3"};
  vendor.make_node = MakeNode;
#define X(result, symbol, capability, parameters) vendor.symbols.insert(#symbol);
  PODGPU_DCGM_API(X)
#undef X
  // Look a number up in a table of the library, without engine, lock or output; dcgm_findings_test
  // shows numbers that no list of names has.
  vendor.optional = {"dcgmErrorGetPriorityByCode", "dcgmErrorGetCategoryByCode"};
  vendor.columns = DcgmColumns;
  vendor.counters = kCounters;
  return vendor;
}

}  // namespace podgpu
