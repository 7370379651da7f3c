// READ THIS FIRST: the program is Tick::Once.
//
// Each tick takes the newest grid and facts, joins devices with their owners and builds the plan
// anew if the epoch has changed, computes its own numbers, renders the page, and publishes it.  It
// never calls the vendor and never waits on a network, so pages go on, and stale values leave them,
// while any of those hang.  Sole owner of the plan: no lock inside.  Run is the body of one thread;
// what the accessors below it give may be read from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "attribution/owner_facts.h"
#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "exporter/call_guard.h"
#include "exporter/condition.h"
#include "exporter/hearing.h"
#include "exporter/job_refresher.h"
#include "exporter/page_parts.h"
#include "exporter/pod_xid_counts.h"
#include "exporter/process_feed.h"
#include "exporter/process_rows.h"
#include "exporter/reader.h"
#include "exporter/refresher.h"
#include "exporter/selected_gpus.h"
#include "exporter/slot_history.h"
#include "exporter/state_log.h"
#include "exporter/tick_facts.h"
#include "exporter/vcuda_rows.h"
#include "exporter/write_counts.h"
#include "exposition/snapshot.h"
#include "fields/counters_csv.h"
#include "sample/grid_pool.h"
#include "ui/condition.h"
#include "view/held_measures.h"
#include "view/view.h"

namespace podgpu {

struct TickOptions {
  std::chrono::milliseconds period{30'000};
  std::chrono::milliseconds stale_after{90'000};
  std::chrono::milliseconds owners_stay_for{60'000};  // After the last good answer of the kubelet.
  // After the API server was lost.  A pod of the same name may be another one by then.
  std::chrono::milliseconds metadata_stays_for{300'000};
  std::vector<View> views = {View::kDcgm, View::kCore, View::kSelf};
  std::vector<Counter> counters;
  size_t series_budget = 0;  // 0: none.
  ViewOptions view;
  JoinOptions join;
  VisibleNamespaces visible;  // On `/` and under /explain and /api.
  ConfigNotes config;
  ProcessOptions processes;
  bool requested_vs_used = false;  // With `processes`: vcuda's page, as the snapshot's other plan.
  std::string node = {};           // What that page calls this node.
  std::string why_no_api = {};     // Why the API server is not asked for pods, where it is not.
};

// What refreshers of features that are off by default publish; null where the feature is off.
struct ExtraSources {
  const Published<JobFacts>* jobs = nullptr;
  const WriteCounts* text_files = nullptr;
  const WriteCounts* dumps = nullptr;
  const Published<ApiFacts>* api_pods = nullptr;
  const Published<ApiFacts>* api_slices = nullptr;
  ProcessFeed* processes = nullptr;  // The tick takes from it.
};

// Where a tick takes its facts from.  All outlive the Tick.
struct TickSources {
  const Published<Grid>& grids;
  const Published<SourceStatus>& source;
  const Published<PodFacts>& pods;
  const CallGuard& guard;
  const std::atomic<int>& written_off;  // Threads that hang in a foreign call for good.
  const HttpCounters& clients;
  ExtraSources extra = {};
};

class Tick {
 public:
  Tick(TickOptions options, TickSources sources, Clock& clock, Wakeup& wakeup);

  // Makes one page.
  void Once();

  // Pages show `counters` as soon as a reading of `fields` is there, and what they show now until
  // then.  Any thread, as NoteConfig.
  void ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields);
  void NoteConfig(ConfigNotes notes);
  // Whether what ShowInstead asked for is not shown yet.
  bool is_reloading() const { return wanted_.Get() != shown_.Get(); }
  // Whether there is a page, and it lacks fields that ShowInstead asked for last: no reading has
  // them yet, or too few for the rates of profiling fields.  Any thread.
  bool lacks_fields() const;

  // Makes a page per period, and at once when there is news, until `stop`.
  void Run(const std::stop_token& stop);

  const TickOptions& options() const { return options_; }
  const TickSources& sources() const { return sources_; }
  const Published<Snapshot>& snapshots() const { return snapshots_; }
  const Published<Condition>& conditions() const { return conditions_; }
  uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  // When the last tick ended.
  Instant last_ended() const {
    return Instant(Duration(last_ended_.load(std::memory_order_relaxed)));
  }

 private:
  // A list of metrics, and the fields that are read for it.
  struct Metrics {
    std::vector<Counter> counters;
    std::vector<const Field*> fields;
  };

  std::shared_ptr<const EntityCounts> CountProcesses(const TickFacts& facts);
  TickFacts Gather();
  void TakeMetrics(const TickFacts& facts);
  void TakeGrid(TickFacts& facts);
  void TakeOwners(TickFacts& facts);
  void TakeNaming(TickFacts& facts);
  void SayWhatIsUnmatched(const Owners& owners) const;
  void SayWhatIsDropped(const std::vector<DroppedLabels>& dropped) const;
  std::shared_ptr<const ApiObjects> Usable(const std::shared_ptr<const ApiFacts>& facts,
                                           Instant now) const;
  void TakeClients(TickFacts& facts);
  void AppendProcesses(const TickFacts& facts);
  bool PlanIsCurrent(const TickFacts& facts) const;
  void BuildPlan(const TickFacts& facts);
  void AddParts(const TickFacts& facts, PlanBuilder& builder);
  void KeepToBudget(PlanBuilder& builder);
  // Where the numbers of that page begin; those of processes follow.
  uint32_t FirstVcudaSlot(const Grid& grid) const;
  void TakeHang(TickFacts& facts);
  void TakeDevices(TickFacts& facts);
  // Publishes a new condition if the facts lead to one; returns whether the exporter is ready.
  bool JudgeFacts(TickFacts& facts);

  const TickOptions options_;
  const TickSources sources_;
  Clock& clock_;
  Wakeup& wakeup_;
  const std::optional<double> started_seconds_;
  Published<ConfigNotes> config_;
  Published<Metrics> wanted_;
  Published<Metrics> shown_;
  std::atomic<int> readings_shown_ = 0;  // Since `shown_` changed.

  // Epoch data: what the plan was made from.
  std::shared_ptr<const SeriesPlan> plan_;
  std::shared_ptr<const Owners> owners_;
  std::shared_ptr<const Owners> planned_owners_;
  OwnerFacts joined_facts_;
  uint64_t joined_epoch_ = 0;
  std::vector<const Field*> planned_fields_;
  Findings planned_findings_;
  uint64_t planned_held_ = 0, planned_pod_xids_ = 0, planned_processes_ = 0;  // Generations.
  std::shared_ptr<const SeriesPlan> other_plan_;  // Null where requests and use are not shown.
  uint64_t planned_vcuda_ = 0, planned_epoch_ = 0;
  size_t unknown_pod_values_ = 0;  // Of the plan.
  std::shared_ptr<const std::string> naming_note_;
  std::string naming_said_;  // The reason that stands in the log.

  // Tick data.
  std::shared_ptr<const Grid> aged_from_;  // A published grid that has become old; else null.
  std::shared_ptr<const Grid> aged_;       // The same without what has become too old.
  GridPool aged_grids_;
  Hearing hearing_;
  SelectedGpus selected_;
  StateLog state_log_;
  std::optional<Instant> hung_at_;     // When a call was last seen to hang.
  uint64_t crowded_out_ = 0;           // Clients, at the last tick.
  std::optional<Instant> crowded_at_;  // When the number grew last.
  HeldMeasures held_;
  SlotHistory slot_history_;
  PodXidCounts pod_xids_;
  ProcessRows processes_;
  VcudaRows vcuda_;
  std::vector<Value> slots_;
  size_t last_text_bytes_ = 0;
  size_t last_series_ = 0;
  size_t left_out_ = 0;          // Series of the plan, by the budget.
  uint64_t left_out_total_ = 0;  // The same, summed over all pages.
  double last_tick_seconds_ = 0;
  ConditionBasis basis_;  // Of the published condition.

  std::atomic<uint64_t> ticks_ = 0;
  std::atomic<Duration::rep> last_ended_ = 0;
  Published<Snapshot> snapshots_;
  Published<Condition> conditions_;
};

}  // namespace podgpu
