#include "exporter/tick.h"

#include <algorithm>
#include <string>

#include "base/log.h"

namespace podgpu {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// The time for which the page says that a client was refused for lack of free connections.
constexpr std::chrono::minutes kRefusalIsShownFor{1};

// The age beyond which numbers of processes are withdrawn.
Duration StaleAfter(const ProcessOptions& options) {
  constexpr int kPeriods = 3;
  constexpr milliseconds kShortest{5'000};
  return std::max(options.period * kPeriods, kShortest);
}

// The time that a GPU may be without fresh values before it counts as unresponsive.  The first
// samples of a watch come with the first or second reading; and the driver reports a lost device
// only at the next scan, seconds after its values have stopped.
Duration PatienceWithSilence(const TickOptions& options) {
  constexpr milliseconds kShortest{5'000};
  return std::min(std::max(options.period + options.period / 2, kShortest), options.stale_after);
}

}  // namespace

Tick::Tick(TickOptions options, TickSources sources, Clock& clock, Wakeup& wakeup)
    : options_(std::move(options)),
      sources_(sources),
      clock_(clock),
      wakeup_(wakeup),
      started_seconds_(ProcessStartSeconds()),
      aged_grid_(options_.period, options_.stale_after),
      freshness_tracker_(PatienceWithSilence(options_)),
      selected_(options_.view.selections),
      owner_join_(options_.join),
      naming_notes_(options_.why_no_api),
      value_log_(PatienceWithSilence(options_)),
      page_{.options = options_,
            .processes_stale_after = StaleAfter(options_.processes),
            .counters = ShownCounters(options_.counters),
            .processes = ProcessRows(options_.processes),
            .vcuda = VcudaRows(options_.join, options_.node, options_.vcuda)},
      timeline_(options_.period),
      metrics_page_(SectionsOf(options_.views, page_), options_.series_budget),
      requests_page_({VcudaSection(page_.process_page(), page_.vcuda)}) {
  config_.Set(std::make_shared<const ConfigNotes>(options_.config));
}

void Tick::ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields) {
  page_.counters.ShowInstead(std::move(counters), std::move(fields));
  wakeup_.Nudge();
}

bool Tick::lacks_fields() const {
  const std::shared_ptr<const Snapshot> page = snapshots_.Get();
  return page != nullptr && page->parts().grid != nullptr &&
         page_.counters.LacksFields(*page->parts().grid);
}

void Tick::NoteConfig(ConfigNotes notes) {
  config_.Set(std::make_shared<const ConfigNotes>(std::move(notes)));
  wakeup_.Nudge();
}

void Tick::Once() {
  page_.facts = Gather();
  TakeReadings();
  RefreshPlans();
  page_.is_ready = JudgeFacts();
  timeline_.Take(page_.facts, clock_.WallNow());
  slots_.clear();
  metrics_page_.AppendTo(slots_);
  first_requests_slot_ = slots_.size();
  if (requests_page_.plan() != nullptr) {
    requests_page_.AppendTo(slots_);
  }
  Publish();
}

void Tick::TakeReadings() {
  TickFacts& facts = page_.facts;
  page_.counters.Take(facts.grid.get());
  if (facts.grid != nullptr) {
    page_.held.Take(*facts.grid);
    page_.findings.Take(facts.grid->findings);
    page_.pod_xids.Take(*facts.grid, facts.owners, facts.now);
  }
  if (sources_.extra.processes != nullptr) {
    {
      MutexLock lock(accounts_mutex_);
      page_.processes.Take(*sources_.extra.processes, facts);
    }
    naming_notes_.Take(page_.processes.unnamed(), facts);
  }
  if (options_.processes.enabled && facts.grid != nullptr) {
    facts.grid = page_.processes.WithCounters(facts.grid, facts.now, page_.processes_stale_after);
  }
  if (options_.vcuda.enabled) {
    page_.vcuda.Take(facts, page_.processes.table());
  }
}

void Tick::RefreshPlans() {
  TickFacts& facts = page_.facts;
  const size_t left_out_before = metrics_page_.left_out();
  metrics_page_.Refresh(facts.grid.get(), facts.owners);
  facts.unknown_pod_values = metrics_page_.plan()->unknown_pod_values();
  if (options_.vcuda.enabled && facts.grid != nullptr) {
    requests_page_.Refresh(facts.grid.get(), facts.owners);
  }
  const size_t left_out = metrics_page_.left_out();
  if (left_out != left_out_before) {
    Log(left_out == 0 ? LogLevel::kInfo : LogLevel::kWarn,
        "the series budget leaves out DCGM families, highest field ids first",
        {{"series", std::to_string(left_out)}, {"budget", std::to_string(options_.series_budget)}});
  }
}

void Tick::Publish() {
  const TickFacts& facts = page_.facts;
  std::shared_ptr<const EntityCounts> process_counts;
  if (facts.grid != nullptr && sources_.extra.processes != nullptr) {
    process_counts =
        page_.processes.CountsOn(facts.grid->topology(), facts.now, page_.processes_stale_after);
  }
  const std::shared_ptr<const Snapshot> last = snapshots_.Get();
  std::string text = renderer_.Render(metrics_page_.plan(), facts.grid.get(), slots_,
                                      last == nullptr ? std::string_view() : last->text());
  last_series_ = renderer_.series_count();
  auto snapshot = std::make_shared<const Snapshot>(
      SnapshotParts{metrics_page_.plan(), facts.grid, facts.owners, slots_, facts.tick,
                    requests_page_.plan(), std::move(process_counts), first_requests_slot_},
      std::move(text), last_series_);
  left_out_total_ += metrics_page_.left_out();
  const std::shared_ptr<const Snapshot> previous = snapshots_.Get();  // Released after the lock.
  {
    MutexLock lock(newest_mutex_);
    snapshots_.Set(std::move(snapshot));
    conditions_.Set(condition_);
  }
  state_log_.Note(facts, basis_, *condition_);
  value_log_.Note(facts, condition_->ready);
  const Instant ended = clock_.Now();
  last_tick_seconds_ = std::chrono::duration<double>(ended - facts.now).count();
  last_ended_.store(ended.time_since_epoch().count(), std::memory_order_relaxed);
}

Tick::Newest Tick::newest() const {
  MutexLock lock(newest_mutex_);
  return {snapshots_.Get(), conditions_.Get()};
}

UseCopy Tick::CopyUse() const {
  MutexLock lock(accounts_mutex_);
  const ProcessRows& rows = page_.processes;
  return podgpu::CopyUse(
      rows.accounts(), rows.names(),
      options_.processes.enabled && !rows.IsStale(clock_.Now(), page_.processes_stale_after));
}

std::string Tick::TextOfNewPlan() const {
  std::string text;
  RenderText(metrics_page_.MakePlan(), page_.facts.grid.get(), slots_, text);
  return text;
}

void Tick::Run(const std::stop_token& stop) {
  do {
    Once();
    // A quarter of a period longer than the reader's period: normally the reader's nudge ends the
    // sleep, once per reading.
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + options_.period + options_.period / 4, stop));
}

TickFacts Tick::Gather() {
  TickFacts facts;
  facts.tick = ticks_.fetch_add(1, std::memory_order_relaxed) + 1;
  facts.now = clock_.Now();
  facts.stale_after = options_.stale_after;
  facts.owners_stay_for = options_.owners_stay_for;
  facts.metadata_stays_for = options_.metadata_stays_for;
  facts.running = sources_.guard.Current();
  facts.call_seconds = sources_.guard.LastSeconds();
  facts.interrupts = sources_.guard.interrupts();
  facts.written_off = static_cast<size_t>(sources_.written_off.load());
  facts.pods = sources_.pods.Get();
  facts.pods_age = duration_cast<milliseconds>(facts.now - facts.pods->good_at);
  facts.owners_are_known =
      facts.pods->value != nullptr && facts.pods_age <= options_.owners_stay_for;
  facts.jobs = sources_.extra.jobs != nullptr ? sources_.extra.jobs->Get() : nullptr;
  facts.containers =
      sources_.extra.containers != nullptr ? sources_.extra.containers->Get() : nullptr;
  facts.api_pods = sources_.extra.api_pods != nullptr ? sources_.extra.api_pods->Get() : nullptr;
  facts.usable_pods = Usable(facts.api_pods, facts.now);
  facts.api_slices =
      sources_.extra.api_slices != nullptr ? sources_.extra.api_slices->Get() : nullptr;
  if (sources_.extra.processes != nullptr) {
    facts.processes = sources_.extra.processes->facts().Get();
  }
  facts.usage = usage_.At(facts.now);
  facts.started_seconds = started_seconds_;
  facts.last_tick_seconds = last_tick_seconds_;
  facts.last_series = last_series_;
  facts.left_out = left_out_total_;
  facts.dropped_log_lines = DroppedLogLines();
  facts.visible = &options_.visible;
  facts.config = config_.Get();
  TakeGrid(facts);
  TakeHang(facts);
  owner_join_.Take(facts);
  if (sources_.extra.kubelet != nullptr && !facts.younger_pods.empty() &&
      facts.pods->state == PartState::kOk) {
    sources_.extra.kubelet->Nudge();
  }
  TakeClients(facts);
  if (sources_.extra.text_files != nullptr) {
    facts.text_files = TallyOf(*sources_.extra.text_files);
  }
  if (sources_.extra.dumps != nullptr) {
    facts.dumps = TallyOf(*sources_.extra.dumps);
  }
  return facts;
}

void Tick::TakeGrid(TickFacts& facts) {
  facts.grid = sources_.grids.Get();
  facts.source = sources_.source.Get();  // Taken after the grid, so it is at least as new.
  if (facts.grid == nullptr) {
    return;
  }
  facts.grid_age = duration_cast<milliseconds>(facts.now - facts.grid->read_at);
  facts.grid = aged_grid_.Take(facts.grid, facts.grid_age);
  freshness_tracker_.Take(*facts.grid);
  facts.freshness = freshness_tracker_.freshness();
  selected_.Take(facts.grid->topology());
  facts.excluded_gpus = selected_.excluded();
  lacked_.Take(facts.grid->findings.lacked, page_.counters.Get());
  facts.config = lacked_.AddTo(selected_.AddTo(facts.config));
}

// A late return of a hung call does not prove that the driver works again; a complete reading that
// began after the hang does.
void Tick::TakeHang(TickFacts& facts) {
  if (facts.call_hangs()) {
    hung_at_ = facts.now;
  } else if (hung_at_ && facts.grid != nullptr && facts.grid->read_at > *hung_at_) {
    hung_at_.reset();
  }
  facts.awaits_reading = hung_at_.has_value();
}

std::shared_ptr<const ApiObjects> Tick::Usable(const std::shared_ptr<const ApiFacts>& facts,
                                               Instant now) const {
  const bool is_lost = facts == nullptr || (facts->state != PartState::kOk &&
                                            now - facts->good_at > options_.metadata_stays_for);
  return is_lost ? nullptr : facts->value;
}

void Tick::TakeClients(TickFacts& facts) {
  facts.clients = sources_.clients.Read();
  if (facts.clients.refused_clients() != refused_clients_) {
    refused_clients_ = facts.clients.refused_clients();
    refused_at_ = facts.now;
  }
  facts.too_many_clients = refused_at_ && facts.now - *refused_at_ < kRefusalIsShownFor;
}

bool Tick::JudgeFacts() {
  TickFacts& facts = page_.facts;
  ConditionBasis basis = BasisOf(facts);
  if (condition_ == nullptr || basis != basis_) {
    condition_ = std::make_shared<const Condition>(Judge(basis));
    basis_ = std::move(basis);
  }
  facts.driver = condition_->parts.front().state;
  return condition_->ready;
}

}  // namespace podgpu
