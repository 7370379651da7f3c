#include "exporter/tick.h"

#include <algorithm>

#include "base/log.h"
#include "exporter/naming_note.h"
#include "exporter/self_metrics.h"
#include "view/finding_slots.h"

namespace podgpu {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// For so long after a client was refused for want of room the page says so.
constexpr std::chrono::minutes kCrowdIsTold{1};

// A profiling field takes two samples of the engine, the second of which may just miss a reading.
constexpr int kReadingsForRates = 3;

// The age beyond which numbers of processes are withdrawn.
Duration StaleAfter(const ProcessOptions& options) {
  constexpr int kPeriodsUntilStale = 3;
  constexpr milliseconds kShortest{5'000};
  return std::max(options.period * kPeriodsUntilStale, kShortest);
}

// The first samples of a watch come with the first reading or the second; and the driver's word
// that a device is lost comes with the next look at the list, seconds after its values have gone.
Duration PatienceWithSilence(const TickOptions& options) {
  constexpr milliseconds kShortest{5'000};
  return std::min(std::max(options.period + options.period / 2, kShortest), options.stale_after);
}

bool HasValue(const Grid& grid, FieldRow row) {
  const ColumnRange columns = grid.ColumnsOf(row);
  for (uint16_t i = 0; i < columns.count; ++i) {
    if (grid.at(row, EntityId{static_cast<uint16_t>(columns.first + i)}).present()) {
      return true;
    }
  }
  return false;
}

// Whether a profiling field, whose value is a rate between two samples, has no value yet.
bool AwaitsSecondSample(const Grid& grid) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (grid.fields()[row]->profiling && !HasValue(grid, FieldRow{row})) {
      return true;
    }
  }
  return false;
}

}  // namespace

Tick::Tick(TickOptions options, TickSources sources, Clock& clock, Wakeup& wakeup)
    : options_(std::move(options)),
      sources_(sources),
      clock_(clock),
      wakeup_(wakeup),
      started_seconds_(ProcessStartSeconds()),
      hearing_(PatienceWithSilence(options_)),
      selected_(options_.view.selections),
      processes_(options_.processes),
      vcuda_(options_.join.extra_resource_names, options_.node) {
  wanted_.Set(std::make_shared<const Metrics>(Metrics{options_.counters, {}}));
  shown_.Set(wanted_.Get());
  config_.Set(std::make_shared<const ConfigNotes>(options_.config));
}

void Tick::ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields) {
  wanted_.Set(std::make_shared<const Metrics>(Metrics{std::move(counters), std::move(fields)}));
  wakeup_.Nudge();
}

bool Tick::lacks_fields() const {
  const std::shared_ptr<const Metrics> wanted = wanted_.Get();
  const std::shared_ptr<const Snapshot> page = snapshots_.Get();
  if (wanted->fields.empty() || page == nullptr || page->parts().grid == nullptr) {
    return false;
  }
  const Grid& grid = *page->parts().grid;
  return grid.fields() != wanted->fields ||
         (readings_shown_.load() < kReadingsForRates && AwaitsSecondSample(grid));
}

void Tick::NoteConfig(ConfigNotes notes) {
  config_.Set(std::make_shared<const ConfigNotes>(std::move(notes)));
  wakeup_.Nudge();
}

void Tick::Once() {
  TickFacts facts = Gather();
  TakeMetrics(facts);
  if (facts.grid != nullptr) {
    held_.Take(*facts.grid);
    pod_xids_.Take(*facts.grid, facts.owners, facts.now);
  }
  if (sources_.extra.processes != nullptr) {
    processes_.Take(*sources_.extra.processes, facts);
    TakeNaming(facts);
  }
  if (options_.processes.enabled && facts.grid != nullptr) {
    facts.grid = processes_.WithCounters(facts.grid, facts.now, StaleAfter(options_.processes));
  }
  if (options_.requested_vs_used) {
    vcuda_.Take(facts, processes_.table());
  }
  if (!PlanIsCurrent(facts)) {
    BuildPlan(facts);
  }
  facts.unknown_pod_values = unknown_pod_values_;
  const bool is_ready = JudgeFacts(facts);
  FillSlots(facts, is_ready, slots_);
  slot_history_.Withdraw(facts.grid != nullptr ? &facts.grid->topology() : nullptr, slots_);
  if (facts.grid != nullptr) {
    AppendFindings(facts.grid->findings, facts.devices_are_stale(), slots_);
    pod_xids_.AppendTo(slots_);
    AppendProcesses(facts);
  }
  auto snapshot = std::make_shared<const Snapshot>(
      SnapshotParts{plan_, facts.grid, facts.owners, slots_, facts.tick, other_plan_,
                    CountProcesses(facts)},
      last_text_bytes_);
  last_text_bytes_ = snapshot->text().size();
  last_series_ = snapshot->series_count();
  left_out_total_ += left_out_;
  snapshots_.Set(std::move(snapshot));
  const Instant ended = clock_.Now();
  last_tick_seconds_ = std::chrono::duration<double>(ended - facts.now).count();
  last_ended_.store(ended.time_since_epoch().count(), std::memory_order_relaxed);
}

// The numbers of the page of requests and use, then those of processes.
void Tick::AppendProcesses(const TickFacts& facts) {
  const Duration stale_after = StaleAfter(options_.processes);
  if (options_.requested_vs_used) {
    vcuda_.AppendTo(*facts.grid, processes_.table(), processes_.IsStale(facts.now, stale_after),
                    slots_);
  }
  if (options_.processes.enabled) {
    processes_.AppendTo(facts.now, stale_after, slots_);
  }
}

std::shared_ptr<const EntityCounts> Tick::CountProcesses(const TickFacts& facts) {
  return facts.grid == nullptr || sources_.extra.processes == nullptr
             ? nullptr
             : processes_.CountsOn(facts.grid->topology(), facts.now,
                                   StaleAfter(options_.processes));
}

void Tick::Run(const std::stop_token& stop) {
  do {
    Once();
    // A quarter of a period more than the reader takes: normally its nudge ends the sleep, once per
    // reading.
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + options_.period + options_.period / 4, stop));
}

TickFacts Tick::Gather() {
  TickFacts facts;
  facts.tick = ticks_.fetch_add(1, std::memory_order_relaxed) + 1;
  facts.now = clock_.Now();
  facts.stale_after = options_.stale_after;
  facts.source = sources_.source.Get();
  facts.running = sources_.guard.Current();
  facts.call_seconds = sources_.guard.LastSeconds();
  facts.interrupts = sources_.guard.interrupts();
  facts.written_off = static_cast<size_t>(sources_.written_off.load());
  facts.pods = sources_.pods.Get();
  facts.pods_age = duration_cast<milliseconds>(facts.now - facts.pods->answered_at);
  facts.owners_are_known =
      facts.pods->answer != nullptr && facts.pods_age <= options_.owners_stay_for;
  facts.jobs = sources_.extra.jobs != nullptr ? sources_.extra.jobs->Get() : nullptr;
  facts.api_pods = sources_.extra.api_pods != nullptr ? sources_.extra.api_pods->Get() : nullptr;
  facts.usable_pods = Usable(facts.api_pods, facts.now);
  facts.api_slices =
      sources_.extra.api_slices != nullptr ? sources_.extra.api_slices->Get() : nullptr;
  if (sources_.extra.processes != nullptr) {
    facts.processes = sources_.extra.processes->facts().Get();
  }
  facts.usage = ReadProcessUsage();
  facts.started_seconds = started_seconds_;
  facts.last_tick_seconds = last_tick_seconds_;
  facts.last_series = last_series_;
  facts.left_out = left_out_total_;
  facts.visible = &options_.visible;
  facts.config = config_.Get();
  TakeGrid(facts);
  TakeDevices(facts);
  TakeHang(facts);
  TakeOwners(facts);
  TakeClients(facts);
  if (sources_.extra.text_files != nullptr) {
    facts.text_files = TallyOf(*sources_.extra.text_files);
  }
  if (sources_.extra.dumps != nullptr) {
    facts.dumps = TallyOf(*sources_.extra.dumps);
  }
  return facts;
}

// The newest grid; when the source has fallen behind, a copy of it without the values that have
// become too old since.
void Tick::TakeGrid(TickFacts& facts) {
  facts.grid = sources_.grids.Get();
  if (facts.grid == nullptr) {
    return;
  }
  facts.grid_age = duration_cast<milliseconds>(facts.now - facts.grid->read_at);
  if (facts.grid_age <= options_.period) {
    aged_from_.reset();
    aged_.reset();
    return;
  }
  if (aged_from_ != facts.grid) {
    aged_from_ = facts.grid;
    aged_ = facts.grid;
  }
  std::shared_ptr<Grid> older = aged_grids_.Take(aged_->shared_topology(), aged_->fields());
  *older = *aged_;
  if (WithdrawStale(*older, options_.stale_after, facts.grid_age) > 0) {
    aged_ = std::move(older);
  }
  facts.grid = aged_;
}

// What the newest reading says of each GPU, and what is selected of them.
void Tick::TakeDevices(TickFacts& facts) {
  if (facts.grid == nullptr) {
    return;
  }
  hearing_.Take(*facts.grid);
  facts.heard = hearing_.heard();
  selected_.Take(facts.grid->topology());
  facts.excluded_gpus = selected_.excluded();
  facts.config = selected_.AddTo(facts.config);
}

// A call that has returned late is no proof that the next one will return: a reading is.
void Tick::TakeHang(TickFacts& facts) {
  if (facts.call_hangs()) {
    hung_at_ = facts.now;
  } else if (hung_at_ && facts.grid != nullptr && facts.grid->read_at > *hung_at_) {
    hung_at_.reset();
  }
  facts.awaits_reading = hung_at_.has_value();
}

// Makes the owners anew when the devices or one of the facts has changed; an answer of the kubelet
// that is too old counts as none.
void Tick::TakeOwners(TickFacts& facts) {
  if (facts.grid == nullptr) {
    return;
  }
  OwnerFacts known;
  known.pods = facts.owners_are_known ? facts.pods->answer : nullptr;
  known.jobs = facts.jobs != nullptr ? facts.jobs->jobs : nullptr;
  known.api_pods = facts.usable_pods;
  if (facts.api_pods != nullptr) {
    facts.younger_pods = RenewedSince(facts.api_pods->renewed, facts.pods->asked_at);
  }
  known.younger_pods = facts.younger_pods;
  // Never withdrawn: a name means the same device until the driver has told the API server.
  known.slices = facts.api_slices != nullptr ? facts.api_slices->objects : nullptr;
  const Topology& topology = facts.grid->topology();
  if (owners_ == nullptr || joined_epoch_ != topology.epoch || joined_facts_ != known) {
    auto owners = std::make_shared<const Owners>(MakeOwners(topology, known, options_.join));
    SayWhatIsUnmatched(*owners);
    SayWhatIsDropped(owners->dropped_labels);
    owners_ = std::move(owners);
    joined_epoch_ = topology.epoch;
    joined_facts_ = std::move(known);
  }
  facts.owners = owners_;
}

// One line when other ids than before match no device.
void Tick::SayWhatIsUnmatched(const Owners& owners) const {
  const std::vector<UnmatchedDevice>& unmatched = owners.unmatched;
  if (owners_ == nullptr ? unmatched.empty() : unmatched == owners_->unmatched) {
    return;
  }
  if (unmatched.empty()) {
    const bool any_is_given = std::ranges::any_of(
        owners.by_entity, [](const std::vector<Owner>& of_entity) { return !of_entity.empty(); });
    Log(LogLevel::kInfo, any_is_given ? "all device ids of the kubelet match a device"
                                      : "the kubelet gives no device of this node to a pod now");
    return;
  }
  Log(LogLevel::kWarn, "device ids of the kubelet match no device; /explain says what helps",
      {{"ids", std::to_string(unmatched.size())},
       {"first", unmatched.front().device_id},
       {"resource", unmatched.front().resource},
       {"reason", std::string(UnmatchedReasonName(unmatched.front().reason))}});
}

// Which processes have no pod's name: a part of the configuration that serves nothing, since what
// is missing is a variable or a right.  One line in the log for each reason.
void Tick::TakeNaming(TickFacts& facts) {
  if (facts.grid == nullptr) {
    return;
  }
  const std::string why = WhyNotNamed(facts.api_pods.get(), options_.why_no_api);
  std::string note = NamingNote(processes_.unnamed(), why);
  if (note.empty()) {
    naming_note_.reset();
    return;
  }
  if (naming_note_ == nullptr || *naming_note_ != note) {
    naming_note_ = std::make_shared<const std::string>(std::move(note));
  }
  if (naming_said_ != why) {
    naming_said_ = why;
    Log(LogLevel::kWarn, "processes of pods have no names", {{"detail", *naming_note_}});
  }
  facts.naming_note = naming_note_;
}

// One line when other pods than before have too many labels.
void Tick::SayWhatIsDropped(const std::vector<DroppedLabels>& dropped) const {
  if (dropped.empty() || (owners_ != nullptr && dropped == owners_->dropped_labels)) {
    return;
  }
  Log(LogLevel::kWarn,
      "a pod has more labels than rows carry; the others are left out. Name those that are wanted: "
      "--kubernetes-pod-label-allowlist-regex",
      {{"pod", dropped.front().pod_namespace + "/" + dropped.front().pod},
       {"left_out", std::to_string(dropped.front().count)},
       {"pods", std::to_string(dropped.size())}});
}

// What the API server has said, unless it was lost too long ago.
std::shared_ptr<const ApiObjects> Tick::Usable(const std::shared_ptr<const ApiFacts>& facts,
                                               Instant now) const {
  const bool is_lost = facts == nullptr || (facts->state != PartState::kOk &&
                                            now - facts->lost_at > options_.metadata_stays_for);
  return is_lost ? nullptr : facts->objects;
}

void Tick::TakeClients(TickFacts& facts) {
  facts.clients = sources_.clients.Read();
  if (facts.clients.crowded_out() != crowded_out_) {
    crowded_out_ = facts.clients.crowded_out();
    crowded_at_ = facts.now;
  }
  facts.clients_crowd = crowded_at_ && facts.now - *crowded_at_ < kCrowdIsTold;
}

void Tick::TakeMetrics(const TickFacts& facts) {
  const std::shared_ptr<const Metrics> wanted = wanted_.Get();
  if (wanted != shown_.Get() && (facts.grid == nullptr || facts.grid->fields() == wanted->fields)) {
    shown_.Set(wanted);
    readings_shown_ = 0;
    plan_.reset();
  }
  const std::shared_ptr<const Snapshot> page = snapshots_.Get();
  const Grid* const last = page != nullptr ? page->parts().grid.get() : nullptr;
  if (facts.grid != nullptr && (last == nullptr || last->read_at != facts.grid->read_at)) {
    ++readings_shown_;
  }
}

bool Tick::PlanIsCurrent(const TickFacts& facts) const {
  if (plan_ == nullptr) {
    return false;
  }
  if (facts.grid == nullptr) {
    return planned_owners_ == nullptr;
  }
  if (planned_owners_ == nullptr || planned_epoch_ != facts.grid->topology().epoch ||
      planned_fields_ != facts.grid->fields() || planned_held_ != held_.generation() ||
      planned_pod_xids_ != pod_xids_.generation() ||
      planned_processes_ != processes_.generation() || planned_vcuda_ != vcuda_.generation() ||
      !SameLines(planned_findings_, facts.grid->findings)) {
    return false;
  }
  return (planned_owners_ == facts.owners || *planned_owners_ == *facts.owners) &&
         plan_->LabelsAreCurrent(*facts.grid);
}

void Tick::BuildPlan(const TickFacts& facts) {
  PlanBuilder builder;
  AddParts(facts, builder);
  KeepToBudget(builder);
  plan_ = std::make_shared<const SeriesPlan>(std::move(builder).Build());
  if (options_.requested_vs_used && facts.grid != nullptr) {
    PlanBuilder other;
    vcuda_.AddTo(FirstVcudaSlot(*facts.grid), other);
    other_plan_ = std::make_shared<const SeriesPlan>(std::move(other).Build());
  }
  planned_owners_ = facts.owners;
  planned_fields_ = facts.grid != nullptr ? facts.grid->fields() : std::vector<const Field*>();
  planned_findings_ = facts.grid != nullptr ? facts.grid->findings : Findings();
  planned_held_ = held_.generation();
  planned_pod_xids_ = pod_xids_.generation();
  planned_processes_ = processes_.generation();
  planned_vcuda_ = vcuda_.generation();
  planned_epoch_ = facts.grid != nullptr ? facts.grid->topology().epoch : 0;
}

uint32_t Tick::FirstVcudaSlot(const Grid& grid) const {
  const uint32_t first_xid = FindingSlots(grid.findings, SlotCount(&grid.topology())).end();
  return first_xid + static_cast<uint32_t>(pod_xids_.rows().size());
}

void Tick::AddParts(const TickFacts& facts, PlanBuilder& builder) {
  if (facts.grid == nullptr) {
    unknown_pod_values_ = AddPageParts(options_.views, {}, builder);
    return;
  }
  const Topology& topology = facts.grid->topology();
  const uint32_t first_finding = SlotCount(&topology);
  const uint32_t first_process = FirstVcudaSlot(*facts.grid) + vcuda_.slot_count();
  const PodSlots pod_slots = processes_.PodSlotsFrom(first_process);
  const std::shared_ptr<const Metrics> metrics = shown_.Get();
  const ViewInput devices{*facts.grid,   *facts.owners, metrics->counters,
                          options_.view, &pod_slots,    first_finding,
                          &held_};
  unknown_pod_values_ =
      AddPageParts(options_.views,
                   {.topology = &topology,
                    .devices = &devices,
                    .pod_xids = &pod_xids_,
                    .processes = options_.processes.enabled ? &processes_ : nullptr,
                    .first_xid_slot = FindingSlots(facts.grid->findings, first_finding).end(),
                    .first_process_slot = first_process},
                   builder);
}

void Tick::KeepToBudget(PlanBuilder& builder) {
  const size_t before = left_out_;
  left_out_ = options_.series_budget == 0 ? 0 : builder.TrimTo(options_.series_budget);
  if (left_out_ != before) {
    Log(left_out_ == 0 ? LogLevel::kInfo : LogLevel::kWarn,
        "the series budget leaves DCGM families out, those of the highest ids first",
        {{"series", std::to_string(left_out_)},
         {"budget", std::to_string(options_.series_budget)}});
  }
}

bool Tick::JudgeFacts(TickFacts& facts) {
  ConditionBasis basis = BasisOf(facts);
  std::shared_ptr<const Condition> condition = conditions_.Get();
  if (condition == nullptr || basis != basis_) {
    condition = std::make_shared<const Condition>(Judge(basis));
    conditions_.Set(condition);
    basis_ = std::move(basis);
  }
  facts.driver = condition->parts.front().state;
  state_log_.Note(facts, basis_, *condition);
  return condition->ready;
}

}  // namespace podgpu
