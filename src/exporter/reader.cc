#include "exporter/reader.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "fields/slow_fields.h"
#include "sample/columns.h"
#include "source/pci_bus.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// For as long, and as often, devices are let go of that the driver needs for itself.
constexpr std::chrono::seconds kLetGoFor{10};
constexpr std::chrono::seconds kLetGoAtMostEvery{60};
constexpr uint16_t kXidField =
    230;  // The stamp of its value is that of the event (observed, DCGM 4.6.0).

// A field that the engine samples at a pace of its own is stale after as many of its periods.
constexpr int kOwnPeriods = 3;

std::string Seconds(milliseconds duration) {
  return absl::StrFormat("%g s", std::chrono::duration<double>(duration).count());
}

// A GPU that does not say who it is may be one of those that are missed: together they are as many
// as are listed, or as have a name.
size_t CountGpus(const Topology& topology) {
  const auto named =
      std::ranges::count_if(topology.gpus, [](const Gpu& gpu) { return !gpu.uuid.empty(); });
  const auto listed = std::ranges::count_if(
      topology.gpus, [](const Gpu& gpu) { return gpu.state != DeviceState::kLost; });
  return static_cast<size_t>(std::max(named, listed));
}

// ", 4 switches, 140 links": what was looked for beside the GPUs, found or not.
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
    if (control_.let_go_for() > Duration::zero()) {
      LetGo(stop);
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
  source_.reset();  // On the thread that made it.
}

Status Reader::Connect() {
  look_failure_.clear();
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

// The bus is read when the devices have changed, not at each look: a node has hundreds of devices.
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

Status Reader::Read() {
  PODGPU_ASSIGN_OR_RETURN(std::shared_ptr<Grid> grid, ReadGrid());
  if (rescan_trigger_.Note(*grid)) {
    PODGPU_RETURN_IF_ERROR(LookAgain());
    if (grid->shared_topology() != topology_) {
      PODGPU_ASSIGN_OR_RETURN(grid, ReadGrid());
    }
  }
  grids_.Set(std::move(grid));
  if (!reading_is_said_) {
    SayWhatIsRead();
    reading_is_said_ = true;
  }
  tick_.Nudge();
  return absl::OkStatus();
}

Status Reader::ReadUntilFailure(const std::stop_token& stop) {
  Instant due = clock_.Now();
  while (!stop.stop_requested()) {
    PODGPU_RETURN_IF_ERROR(Read());
    // A reading that took longer than the period is not caught up with.
    due = std::max(due + options_.period, clock_.Now());
    LetGoIfNeeded();
    if (!news_.SleepUntil(clock_, due, stop) || control_.let_go_for() > Duration::zero()) {
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
    PODGPU_RETURN_IF_ERROR(LookAgainIfDue());
  }
  return absl::OkStatus();
}

void Reader::LetGo(const std::stop_token& stop) {
  if (source_ != nullptr) {
    const CallGuard::Scope scope(guard_, source_.get(), SourceCall::kOpen);
    source_->Release();
  }
  Say(PartState::kWaiting,
      absl::StrFormat("the devices are let go of for %s%s; then they are taken back",
                      Seconds(std::chrono::ceil<std::chrono::seconds>(control_.let_go_for())),
                      need_.empty() ? "" : ", since " + need_));
  while (control_.let_go_for() > Duration::zero() &&
         news_.SleepUntil(clock_, clock_.Now() + control_.let_go_for(), stop)) {
  }
  need_.clear();
}

void Reader::LetGoIfNeeded() {
  std::string need = source_->ReleaseReason();
  const Instant now = clock_.Now();
  if (need.empty() || (needed_at_ && now - *needed_at_ < kLetGoAtMostEvery)) {
    return;
  }
  needed_at_ = now;
  Log(LogLevel::kInfo, "letting go of the devices, which the driver needs", {{"why", need}});
  need_ = std::move(need);
  control_.LetGoFor(kLetGoFor);
}

// While something is missing, its return is looked for at every reading.
Status Reader::LookAgainIfDue() {
  const Instant now = clock_.Now();
  if (now - discovered_at_ >= (AllIsWell() ? options_.rediscover_every : options_.period)) {
    return LookAgain();
  }
  const Duration patience = watch_.try_soon ? options_.period : options_.rewatch_every;
  if (!watch_.reason.empty() && now - watched_at_ >= patience) {
    return WatchFields();
  }
  return absl::OkStatus();
}

bool Reader::AllIsWell() const {
  return !topology_->gpus.empty() && look_failure_.empty() &&
         std::ranges::all_of(topology_->gpus,
                             [](const Gpu& gpu) { return gpu.state == DeviceState::kOk; });
}

Status Reader::LookAgain() {
  const uint64_t before = epoch_;
  reading_is_said_ = false;
  if (Status status = Discover(); !status.ok()) {
    discovered_at_ = clock_.Now();
    look_failure_ = std::string(status.message());
    return LostConnection(status) ? status : absl::OkStatus();
  }
  look_failure_.clear();
  if (epoch_ == before) {
    return absl::OkStatus();
  }
  Log(LogLevel::kInfo, "the devices have changed; watching the new set",
      {{"gpus", std::to_string(topology_->gpus.size())},
       {"instances", std::to_string(topology_->instances.size())}});
  return WatchFields();
}

bool Reader::WaitAfterFailure(const Status& failure, const std::stop_token& stop) {
  const bool was_reading = status_.connections > 0;
  Say(was_reading ? PartState::kUnresponsive : PartState::kWaiting,
      absl::StrFormat("%s. Next look in %s", failure.message(), Seconds(retry_)));
  const Instant next = clock_.Now() + retry_;
  // An engine that died is back within one reading of its return; a driver may take longer to come.
  const milliseconds longest = LostConnection(failure)
                                   ? std::max(options_.period, options_.first_retry)
                                   : options_.longest_retry;
  retry_ = std::min({retry_ * 2, longest, options_.longest_retry});
  return clock_.WaitUntil(next, stop);
}

void Reader::SayWhatIsRead() {
  if (!topology_->driver_absence.empty()) {
    Say(PartState::kWaiting, source_->Describe() + " " + topology_->driver_absence);
    return;
  }
  if (topology_->column_count() == 0) {
    Say(PartState::kWaiting, source_->Describe() + " answers and lists no GPU");
    return;
  }
  std::string what = absl::StrFormat(
      "%s: %d GPUs, %d MIG instances%s, read every %s%s", source_->Describe(),
      topology_->gpus.size(), topology_->instances.size(), CountParts(*topology_, kinds_),
      Seconds(options_.period), profiles_ ? "" : ", profiling paused on request");
  if (!look_failure_.empty()) {
    Say(PartState::kDegraded, what + "; the devices are as last seen, since " + look_failure_);
  } else if (topology_->gpus.empty()) {
    Say(PartState::kDegraded, what + "; it lists no GPU");
  } else if (!topology_->parts_absence.empty()) {
    Say(PartState::kDegraded, what + "; absent or as last seen are " + topology_->parts_absence);
  } else if (!watch_.reason.empty()) {
    const bool is_fault = watch_.is_fault || !list_->profiling_by_default;
    Say(is_fault ? PartState::kDegraded : PartState::kOk,
        what + "; some fields are absent: " + watch_.reason);
  } else {
    Say(PartState::kOk, std::move(what));
  }
}

void Reader::Say(PartState state, std::string detail) {
  status_.state = state;
  status_.detail = std::move(detail);
  const std::shared_ptr<const SourceStatus> last = statuses_.Get();
  if (last == nullptr || *last != status_) {
    statuses_.Set(std::make_shared<const SourceStatus>(status_));
    tick_.Nudge();
  }
}

size_t WithdrawStale(Grid& grid, milliseconds limit, milliseconds since_read) {
  size_t withdrawn = 0;
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    const uint16_t id = grid.fields()[row]->id;
    if (id == kXidField) {
      continue;
    }
    const milliseconds oldest = std::max<milliseconds>(limit, kOwnPeriods * OwnPeriodOf(id));
    for (Value& value : grid.CellsOf(FieldRow{row})) {
      if (value.present() && milliseconds(value.age_ms()) + since_read > oldest) {
        value = Value::OfAbsence(Absence::kStale);
        ++withdrawn;
      }
    }
  }
  return withdrawn;
}

}  // namespace podgpu
