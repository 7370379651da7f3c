#include "tests/matrix/matrix_node.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/process_usage.h"
#include "base/status.h"
#include "base/text.h"
#include "fields/counters_csv.h"
#include "tests/matrix/phase.h"

namespace podgpu {
namespace {

// The exporter's threads that sleep on its clock: source, watchdog, kubelet, tick.
constexpr int kWorkers = 4;

ExporterOptions OptionsFor(const Vendor& vendor) {
  ExporterOptions options;
  options.http.address = "127.0.0.1:0";
  options.collect_interval = kMatrixPeriod;
  options.stale_after = kMatrixStaleAfter;
  // So short that a count depends only on the phase.
  options.windows.xid_window = std::chrono::seconds(1);
  options.windows.clock_window = std::chrono::seconds(1);
  options.kubernetes = true;
  options.views = {View::kDcgm, View::kNative, View::kSelf};
  options.view.kubernetes = true;
  options.view.hostname = "node-a";
  options.counters = ParseCounters(vendor.counters, "matrix.csv").value().counters;
  return options;
}

// Returns whether a thread is about to exit: it has been joined, but the kernel still counts it.
bool SomeThreadIsEnding() {
  constexpr size_t kFlags = 6;          // Counted after the name in stat: proc(5), field 9.
  constexpr uint64_t kIsExiting = 0x4;  // PF_EXITING of the kernel.
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string stat = SystemFiles().Read((thread.path() / "stat").string()).value_or("");
    const std::vector<std::string_view> fields =
        Split(std::string_view(stat).substr(std::min(stat.rfind(')') + 2, stat.size())), ' ');
    if (fields.size() <= kFlags || (ParseDecimal(fields[kFlags]).value_or(0) & kIsExiting) != 0) {
      return true;  // It may have ended meanwhile.
    }
  }
  return false;
}

}  // namespace

MatrixNode::MatrixNode(const Vendor& vendor, size_t mode)
    : MatrixNode(vendor, mode, fake_kubelet_) {}

MatrixNode::MatrixNode(const Vendor& vendor, size_t mode, PodResources& kubelet)
    : source_vendor_(vendor),
      vendor_(vendor.make_node(mode, {clock_, written_off_, kMatrixStaleAfter,
                                      [this](std::thread::id thread, bool blocks) {
                                        clock_.NoteBlocked(thread, blocks);
                                      },
                                      [this](bool blocks) { clock_.NoteDetachedBlock(blocks); }})),
      kubelet_(kubelet) {
  if (vendor.idle_threads > 0) {
    clock_.ExpectWorkers(kWorkers, vendor.idle_threads);
  }
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
      Exporter::Start(OptionsFor(source_vendor_), {clock_, open, kubelet_, {}, written_off_});
  PODGPU_CHECK(exporter.ok());
  exporter_ = *std::move(exporter);
  clock_.NoteOtherThread();  // The HTTP thread.
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
  if (response.status == 0) {  // The server closed the idle connection.
    client_ = std::make_unique<LoopbackClient>(exporter_->port());
    response = client_->Fetch(path);
  }
  return response;
}

int MatrixNode::phase() const { return PhaseOf(clock_.WallNow()); }

HeldResources MatrixNode::counts() const {
  while (SomeThreadIsEnding()) {
  }
  const ProcessUsage usage = ReadProcessUsage();
  return {usage.threads.value_or(-1), usage.open_descriptors.value_or(-1)};
}

}  // namespace podgpu
