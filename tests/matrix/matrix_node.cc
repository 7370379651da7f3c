#include "tests/matrix/matrix_node.h"

#include <chrono>
#include <utility>

#include "base/process_usage.h"
#include "base/status.h"
#include "fields/counters_csv.h"
#include "tests/matrix/phase.h"

namespace podgpu {
namespace {

// One field of each kind: numbers of both types, a counter, an event, a label, profiling, and of
// each kind of part.
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

ExporterOptions Options() {
  ExporterOptions options;
  options.http.address = "127.0.0.1:0";
  options.collect_interval = kMatrixPeriod;
  options.stale_after = kMatrixStaleAfter;
  // So short that a count depends on the phase alone.
  options.xid_window = std::chrono::seconds(1);
  options.clock_window = std::chrono::seconds(1);
  options.kubernetes = true;
  options.view.kubernetes = true;
  options.view.hostname = "node-a";
  options.counters = ParseCounters(kCounters, "matrix.csv").value().counters;
  return options;
}

}  // namespace

MatrixNode::MatrixNode(const Vendor& vendor, size_t mode)
    : MatrixNode(vendor, mode, fake_kubelet_) {}

MatrixNode::MatrixNode(const Vendor& vendor, size_t mode, PodResources& kubelet)
    : vendor_(vendor.make_node(mode, {clock_, written_off_, kMatrixStaleAfter,
                                      [this](std::thread::id thread, bool blocks) {
                                        clock_.NoteBlocked(thread, blocks);
                                      }})),
      kubelet_(kubelet) {
  fake_kubelet_.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", "GPU-0"}});
}

MatrixNode::~MatrixNode() {
  client_.reset();
  if (exporter_ != nullptr) {
    PODGPU_CHECK(exporter_->Stop(std::chrono::hours(1)));
  }
}

void MatrixNode::Start() {
  const SourceOpener open = [this] {
    clock_.NoteWorker();
    return vendor_->open_source();
  };
  StatusOr<std::unique_ptr<Exporter>> exporter =
      Exporter::Start(Options(), {clock_, open, kubelet_, {}, written_off_});
  PODGPU_CHECK(exporter.ok());
  exporter_ = *std::move(exporter);
  clock_.NoteBystander();  // The HTTP thread.
  clock_.AwaitQuiet();
}

void MatrixNode::Step() {
  clock_.Advance(kMatrixStep);
  clock_.AwaitQuiet();
}

LoopbackResponse MatrixNode::Fetch(std::string_view path) {
  if (client_ == nullptr) {
    client_ = std::make_unique<LoopbackClient>(exporter_->port());
  }
  LoopbackResponse response = client_->Fetch(path);
  if (response.status == 0) {  // Closed since the last request, for being idle.
    client_ = std::make_unique<LoopbackClient>(exporter_->port());
    response = client_->Fetch(path);
  }
  return response;
}

int MatrixNode::phase() const { return PhaseOf(clock_.WallNow()); }

ProcessCounts MatrixNode::counts() const {
  const ProcessUsage usage = ReadProcessUsage();
  return {usage.threads.value_or(-1), usage.open_descriptors.value_or(-1)};
}

}  // namespace podgpu
