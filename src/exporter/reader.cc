#include "exporter/reader.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "base/log.h"
#include "sample/columns.h"
#include "sample/stale_values.h"
#include "source/pci_bus.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// A reset or a change of the MIG mode waits until no program uses the GPU.  The reader then
// releases the devices for this long, and at most this often: the wait may last, and readings must
// go on.
constexpr std::chrono::seconds kReleaseFor{10};
constexpr std::chrono::seconds kReleaseAtMostEvery{60};

std::string Seconds(milliseconds duration) {
  return absl::StrFormat("%g s", std::chrono::duration<double>(duration).count());
}

// A listed GPU without a UUID may be one of the lost GPUs, so the two must not be added up: the
// number is that of listed GPUs or of GPUs with a UUID, whichever is larger.
size_t CountGpus(const Topology& topology) {
  const auto named =
      std::ranges::count_if(topology.gpus, [](const Gpu& gpu) { return !gpu.uuid.empty(); });
  const auto listed = std::ranges::count_if(
      topology.gpus, [](const Gpu& gpu) { return gpu.state != DeviceState::kLost; });
  return static_cast<size_t>(std::max(named, listed));
}

// Returns ", 4 switches, 140 links": the parts beside GPUs that the scan included, found or not.
std::string CountParts(const Topology& topology, const PartKinds& kinds) {
  const struct {
    bool is_wanted;
    PartKind kind;
    const char* word;
  } rows[] = {{kinds.switches, PartKind::kNvSwitch, "switches"},
              {kinds.links, PartKind::kNvLink, "links"},
              {kinds.cpus, PartKind::kCpu, "CPUs"},
              {kinds.cores, PartKind::kCpuCore, "cores"}};
  std::string counted;
  for (const auto& row : rows) {
    if (row.is_wanted) {
      absl::StrAppendFormat(&counted, ", %d %s", topology.ColumnsOf(row.kind).count, row.word);
    }
  }
  return counted;
}

// Returns " (slow, 3 fields: every 600 s)".
std::string TellCollections(const FieldCollections* collections) {
  std::string told;
  for (size_t i = 0; collections != nullptr && i < collections->size(); ++i) {
    const FieldCollection& one = (*collections)[i];
    absl::StrAppendFormat(&told, "%s%s, %s: every %s", told.empty() ? " (" : "; ", one.name,
                          Counted(one.fields.size(), "field"), Seconds(one.interval));
  }
  return told.empty() ? "" : told + ")";
}

}  // namespace

Reader::Reader(SourceOpener open, ReaderOptions options, Clock& clock, CallGuard& guard,
               Wakeup& tick)
    : open_(std::move(open)),
      options_(std::move(options)),
      clock_(clock),
      guard_(guard),
      tick_(tick),
      control_(clock, news_),
      list_(std::make_shared<const ReadList>(options_.list)),
      retry_(options_.first_retry) {
  wanted_.Set(list_);
  Say(PartState::kStarting, "opening the driver library");
}

void Reader::ReadInstead(ReadList list) {
  wanted_.Set(std::make_shared<const ReadList>(std::move(list)));
  news_.Nudge();
}

void Reader::Run(const std::stop_token& stop) {
  CountExpected(Topology{});
  while (!stop.stop_requested()) {
    if (control_.release_time_left() > Duration::zero()) {
      ReleaseDevices(stop);
      continue;
    }
    Status status = Connect();
    if (status.ok()) {
      retry_ = options_.first_retry;
      status = ReadUntilFailure(stop);
    }
    if (!status.ok() && !WaitAfterFailure(status, stop)) {
      break;
    }
  }
  source_.reset();  // Must happen on the thread that made it.
}

Status Reader::Connect() {
  scan_failure_.clear();
  PODGPU_RETURN_IF_ERROR(OpenIfNeeded());
  PODGPU_RETURN_IF_ERROR(Discover());
  return WatchFields();
}

Status Reader::OpenIfNeeded() {
  if (source_ != nullptr) {
    return absl::OkStatus();
  }
  const CallGuard::Scope scope(guard_, nullptr, SourceCall::kOpen);
  PODGPU_ASSIGN_OR_RETURN(source_, open_());
  return absl::OkStatus();
}

Status Reader::Discover() {
  kinds_ = PartsFor(wanted_.Get()->fields);
  StatusOr<Topology> found = [&] {
    const CallGuard::Scope scope(guard_, source_.get(), SourceCall::kDiscover);
    return source_->Discover(kinds_);
  }();
  PODGPU_RETURN_IF_ERROR(found.status());
  discovered_at_ = clock_.Now();
  const bool same_devices = topology_ != nullptr && SameDevices(*topology_, *found);
  if (!same_devices) {
    ++epoch_;
    CountExpected(*found);
  }
  if (!same_devices || !SameStates(*topology_, *found)) {
    found->epoch = epoch_;
    topology_ = std::make_shared<const Topology>(*std::move(found));
  }
  return absl::OkStatus();
}

// Reads the bus only when the devices have changed, not at each scan: a node has hundreds of PCI
// devices.
void Reader::CountExpected(const Topology& topology) {
  most_seen_ = std::max(most_seen_, CountGpus(topology));
  const size_t promised =
      options_.list_pci_gpus ? CountPromised(options_.list_pci_gpus(), topology) : 0;
  status_.expected_gpus = std::max(most_seen_, promised);
}

Status Reader::WatchFields() {
  watch_ = {};
  watched_at_ = clock_.Now();
  reading_is_said_ = false;
  list_ = wanted_.Get();
  profiles_ = control_.profiling_paused_for() == Duration::zero();
  source_->SetProfiling(profiles_);
  source_->SetCollections(list_->collections);
  if (topology_->column_count() > 0) {
    const CallGuard::Scope scope(guard_, source_.get(), SourceCall::kWatch);
    PODGPU_ASSIGN_OR_RETURN(watch_, source_->Watch(*topology_, list_->fields, options_.period));
  }
  ++status_.connections;
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<Grid>> Reader::ReadGrid() {
  std::shared_ptr<Grid> grid = grid_pool_.Take(topology_, list_->fields);
  grid->findings.asked = list_->asked;
  grid->read_at = clock_.Now();
  grid->read_at_wall = clock_.WallNow();
  grid->SetCollections(list_->collections, options_.period);
  if (topology_->column_count() > 0) {
    const CallGuard::Scope scope(guard_, source_.get(), SourceCall::kRead);
    if (Status status = source_->Read(*grid); !status.ok()) {
      ++status_.read_failures;
      return status;
    }
  }
  WithdrawStale(*grid, options_.stale_after, milliseconds(0));
  return grid;
}

milliseconds Reader::ReadingPeriod() const {
  return list_->collections == nullptr ? options_.period
                                       : ShortestInterval(*list_->collections, options_.period);
}

Status Reader::Read() {
  PODGPU_ASSIGN_OR_RETURN(std::shared_ptr<Grid> grid, ReadGrid());
  if (rescan_trigger_.Note(*grid)) {
    PODGPU_RETURN_IF_ERROR(Rescan());
    if (grid->shared_topology() != topology_) {
      PODGPU_ASSIGN_OR_RETURN(grid, ReadGrid());
    }
  }
  // The status comes first: a page of this grid must not have the status, and with it the number of
  // expected GPUs, of the time before it.
  if (!reading_is_said_) {
    SayWhatIsRead();
    reading_is_said_ = true;
  }
  grids_.Set(std::move(grid));
  tick_.Nudge();
  return absl::OkStatus();
}

Status Reader::ReadUntilFailure(const std::stop_token& stop) {
  Instant due = clock_.Now();
  while (!stop.stop_requested()) {
    PODGPU_RETURN_IF_ERROR(Read());
    // After a reading that took longer than the period, the missed readings are skipped.
    due = std::max(due + ReadingPeriod(), clock_.Now());
    ReleaseIfNeeded();
    if (!news_.SleepUntil(clock_, due, stop) || control_.release_time_left() > Duration::zero()) {
      break;
    }
    const bool profiles = control_.profiling_paused_for() == Duration::zero();
    if (wanted_.Get() != list_ || profiles != profiles_) {
      due = clock_.Now();
      if (PartsFor(wanted_.Get()->fields) != kinds_) {
        PODGPU_RETURN_IF_ERROR(Discover());
      }
      PODGPU_RETURN_IF_ERROR(WatchFields());
    }
    PODGPU_RETURN_IF_ERROR(RescanIfDue());
  }
  return absl::OkStatus();
}

void Reader::ReleaseDevices(const std::stop_token& stop) {
  if (source_ != nullptr) {
    const CallGuard::Scope scope(guard_, source_.get(), SourceCall::kOpen);
    source_->Release();
  }
  Say(PartState::kWaiting,
      absl::StrFormat(
          "the devices are released for %s%s; podgpu opens them again afterwards",
          Seconds(std::chrono::ceil<std::chrono::seconds>(control_.release_time_left())),
          need_.empty() ? "" : ", since " + need_));
  while (control_.release_time_left() > Duration::zero() &&
         news_.SleepUntil(clock_, clock_.Now() + control_.release_time_left(), stop)) {
  }
  need_.clear();
}

void Reader::ReleaseIfNeeded() {
  std::string need = source_->ReleaseReason();
  const Instant now = clock_.Now();
  if (need.empty() || (needed_at_ && now - *needed_at_ < kReleaseAtMostEvery)) {
    return;
  }
  needed_at_ = now;
  Log(LogLevel::kInfo, "releasing the devices because the driver needs them", {{"why", need}});
  need_ = std::move(need);
  control_.ReleaseFor(kReleaseFor);
}

// While a device is missing or unhealthy, each reading is preceded by a scan: its return must show
// on the next page.
Status Reader::RescanIfDue() {
  const Instant now = clock_.Now();
  if (now - discovered_at_ >= (AllIsWell() ? options_.rediscover_every : options_.period)) {
    return Rescan();
  }
  const Duration patience = watch_.try_soon ? options_.period : options_.rewatch_every;
  const bool is_incomplete = !watch_.reason.empty() || !watch_.stand_in.empty();
  if (is_incomplete && now - watched_at_ >= patience) {
    return WatchFields();
  }
  return absl::OkStatus();
}

bool Reader::AllIsWell() const {
  return !topology_->gpus.empty() && scan_failure_.empty() && !topology_->is_paused &&
         std::ranges::none_of(topology_->instances, &GpuInstance::is_misread) &&
         std::ranges::all_of(topology_->gpus,
                             [](const Gpu& gpu) { return gpu.state == DeviceState::kOk; });
}

Status Reader::Rescan() {
  const std::shared_ptr<const Topology> before = topology_;
  reading_is_said_ = false;
  if (Status status = Discover(); !status.ok()) {
    discovered_at_ = clock_.Now();
    scan_failure_ = std::string(status.message());
    return LostConnection(status) ? status : absl::OkStatus();
  }
  scan_failure_.clear();
  if (epoch_ == before->epoch) {
    return absl::OkStatus();
  }
  if (!SameHardware(*before, *topology_)) {
    Log(LogLevel::kInfo, "the devices have changed; watching the new set",
        {{"gpus", std::to_string(topology_->gpus.size())},
         {"instances", std::to_string(topology_->instances.size())}});
  }
  return WatchFields();
}

bool Reader::WaitAfterFailure(const Status& failure, const std::stop_token& stop) {
  const std::string detail =
      absl::StrFormat("%s. Retrying in %s", failure.message(), Seconds(retry_));
  const bool was_reading = status_.connections > 0 && !status_.needs_no_driver;
  if (was_reading ? SetStatus(PartState::kUnresponsive, detail) : SayNoDriver(detail)) {
    tick_.Nudge();
  }
  const Instant next = clock_.Now() + retry_;
  // A restarted engine must be found within one period; a driver that is being installed may take
  // minutes, so the wait may grow longer.
  const milliseconds longest = LostConnection(failure)
                                   ? std::max(options_.period, options_.first_retry)
                                   : options_.longest_retry;
  retry_ = std::min({retry_ * 2, longest, options_.longest_retry});
  return clock_.WaitUntil(next, stop);
}

bool Reader::SayNoDriver(const std::string& detail, std::string remedy) {
  NoDriver told = options_.explain_no_driver ? options_.explain_no_driver() : NoDriver();
  status_.needs_no_driver = told.has_no_gpu && most_seen_ == 0;
  if (status_.needs_no_driver) {
    return SetStatus(
        PartState::kOk,
        absl::StrFormat("no NVIDIA GPU on this node: the PCI bus has none, and the driver is not "
                        "loaded; podgpu looks again every %s%s",
                        Seconds(options_.longest_retry),
                        told.library_is_named ? ". " + detail : ""));
  }
  return SetStatus(PartState::kWaiting, detail,
                   std::move(told.remedy.empty() ? remedy : told.remedy));
}

void Reader::SayWhatIsRead() {
  if (!topology_->driver_absence.empty()) {
    SayNoDriver(source_->Describe() + " " + topology_->driver_absence,
                "install the driver; restart a host engine that was started before it");
    return;
  }
  status_.needs_no_driver = false;
  if (topology_->column_count() == 0) {
    SetStatus(PartState::kWaiting, source_->Describe() + " answers and lists no GPU");
    return;
  }
  std::string what = absl::StrFormat(
      "%s: %s, %s%s, read every %s%s%s", source_->Describe(),
      Counted(topology_->gpus.size(), "GPU"), Counted(topology_->instances.size(), "MIG instance"),
      CountParts(*topology_, kinds_), Seconds(options_.period),
      TellCollections(list_->collections.get()), profiles_ ? "" : ", profiling paused on request");
  what += watch_.note.empty() ? "" : "; " + watch_.note;
  if (!scan_failure_.empty()) {
    SetStatus(PartState::kDegraded,
              what + "; shows the last known devices, since " + scan_failure_);
  } else if (topology_->gpus.empty()) {
    SetStatus(PartState::kDegraded, what + "; it lists no GPU");
  } else if (!watch_.stand_in.empty()) {
    SetStatus(PartState::kDegraded, what + "; " + watch_.stand_in, watch_.remedy);
  } else if (!topology_->parts_absence.empty()) {
    SetStatus(PartState::kDegraded,
              what + "; absent or from the last scan: " + topology_->parts_absence);
  } else if (!watch_.reason.empty()) {
    const bool is_fault = watch_.is_fault || !list_->profiling_by_default;
    SetStatus(is_fault ? PartState::kDegraded : PartState::kOk,
              what + "; some fields are absent: " + watch_.reason);
  } else {
    SetStatus(PartState::kOk, std::move(what));
  }
}

void Reader::Say(PartState state, std::string detail) {
  if (SetStatus(state, std::move(detail))) {
    tick_.Nudge();
  }
}

bool Reader::SetStatus(PartState state, std::string detail, std::string remedy) {
  status_.state = state;
  status_.detail = std::move(detail);
  status_.remedy = std::move(remedy);
  const std::shared_ptr<const SourceStatus> last = statuses_.Get();
  if (last != nullptr && *last == status_) {
    return false;
  }
  statuses_.Set(std::make_shared<const SourceStatus>(status_));
  return true;
}

}  // namespace podgpu
