// READ THIS FIRST: the program is Tick::Once.
//
// Each tick takes the newest grid and facts, joins devices with their owners, updates the data of
// the page's sections (page_state.h), makes a new plan if one is needed, judges the condition of
// podgpu, lets the sections append their numbers, and publishes the page.  It never calls the
// vendor library and never waits on a network: while those hang, pages are still made, and stale
// values leave them.  Only the tick uses the plan, so the plan has no lock.  Run is the body of one
// thread; the accessors below it may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "attribution/owner_facts.h"
#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/process_usage.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "exporter/aged_grid.h"
#include "exporter/call_guard.h"
#include "exporter/owner_join.h"
#include "exporter/page_sections.h"
#include "exporter/page_state.h"
#include "exposition/page_builder.h"
#include "exposition/snapshot.h"
#include "exposition/text.h"
#include "facts/thread_facts.h"
#include "facts/tick_facts.h"
#include "fields/counters_csv.h"
#include "health/condition.h"
#include "health/freshness_tracker.h"
#include "health/lacked_metrics.h"
#include "health/selected_gpus.h"
#include "health/state_log.h"
#include "health/value_log.h"
#include "pages/gpu_timeline.h"
#include "pages/use_copy.h"
#include "pages/write_counts.h"
#include "ui/condition.h"
#include "usage/naming_note.h"
#include "usage/process_queue.h"
#include "usage/process_rows.h"
#include "view/view.h"

namespace podgpu {

struct TickOptions : PageOptions {
  std::chrono::milliseconds period{30'000};
  std::chrono::milliseconds stale_after{90'000};
  std::chrono::milliseconds owners_stay_for{60'000};  // After the last good answer of the kubelet.
  // After the API server was lost.  Later, a pod of the same name may be a different pod.
  std::chrono::milliseconds metadata_stays_for{300'000};
  std::string why_no_api = {};  // Why the API server is not asked for pods, if it is not.
};

// The facts of features that are off by default; null where the feature is off.
struct ExtraSources {
  const Published<JobFacts>* jobs = nullptr;
  const Published<ContainerFacts>* containers = nullptr;
  const WriteCounts* text_files = nullptr;
  const WriteCounts* dumps = nullptr;
  const Published<ApiFacts>* api_pods = nullptr;
  const Published<ApiFacts>* api_slices = nullptr;
  ProcessQueue* processes = nullptr;  // The tick takes from it.
  Wakeup* kubelet = nullptr;          // Nudged while a pod is younger than the kubelet's answer.
};

// The inputs of a tick.  All outlive the Tick.
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

  // Makes pages show `counters` once there is a reading of `fields`; until then they show the
  // current list.  Any thread; NoteConfig too.
  void ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields);
  void NoteConfig(ConfigNotes notes);
  // Returns whether the list of the last ShowInstead is not shown yet.
  bool is_reloading() const { return page_.counters.is_reloading(); }
  // Returns whether there is a page that lacks fields of the last ShowInstead: no reading has them
  // yet, or too few have them for the rates of profiling fields.  Any thread.
  bool lacks_fields() const;

  // Makes a page per period, and at once when it is nudged, until `stop`.
  void Run(const std::stop_token& stop);

  // Returns the newest page, rendered with a new plan.  It equals the published page unless the
  // generation of a section is wrong; tests compare the two.  Tick thread only.
  std::string TextOfNewPlan() const;

  const TickOptions& options() const { return options_; }
  const TickSources& sources() const { return sources_; }
  // The newest page and the condition that was judged with it; both null before the first tick.  A
  // page that shows both takes them together, so both know the same owners.
  struct Newest {
    std::shared_ptr<const Snapshot> snapshot;
    std::shared_ptr<const Condition> condition;
  };
  Newest newest() const;
  const Published<Snapshot>& snapshots() const { return snapshots_; }
  const Published<Condition>& conditions() const { return conditions_; }
  // Returns what happened to each GPU in the last minutes.
  const GpuTimeline& timeline() const { return timeline_; }
  // Copies what processes and pods use now.  Any thread but the tick's; the copy costs the tick
  // nothing, unless a reading of processes comes in the same microseconds.
  UseCopy CopyUse() const;
  uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  // Returns the time at which the last tick ended.
  Instant last_ended() const {
    return Instant(Duration(last_ended_.load(std::memory_order_relaxed)));
  }

 private:
  TickFacts Gather();
  // Takes the newest reading without values that are too old, and the state of each GPU.
  void TakeGrid(TickFacts& facts);
  void TakeHang(TickFacts& facts);
  void TakeClients(TickFacts& facts);
  // Returns the API server's objects, or null if it was lost too long ago.
  std::shared_ptr<const ApiObjects> Usable(const std::shared_ptr<const ApiFacts>& facts,
                                           Instant now) const;
  // Updates the data that the sections show.
  void TakeReadings();
  void RefreshPlans();
  // Judges the condition; returns whether the exporter is ready.
  bool JudgeFacts();
  // Publishes the page and its condition: a client that sees a state on /readyz, on `/` or in the
  // log finds it on /metrics too.
  void Publish();

  const TickOptions options_;
  const TickSources sources_;
  Clock& clock_;
  Wakeup& wakeup_;
  const std::optional<double> started_seconds_;
  Published<ConfigNotes> config_;

  AgedGrid aged_grid_;
  FreshnessTracker freshness_tracker_;
  RecentProcessUsage usage_;
  SelectedGpus selected_;
  LackedMetrics lacked_;
  OwnerJoin owner_join_;
  NamingNotes naming_notes_;
  StateLog state_log_;
  ValueLog value_log_;
  std::optional<Instant> hung_at_;     // Time at which a call was last seen to hang.
  uint64_t refused_clients_ = 0;       // Refused for lack of free connections, up to the last tick.
  std::optional<Instant> refused_at_;  // Time at which that number last grew.
  PageState page_;
  GpuTimeline timeline_;
  // Held while the accounts of processes change or are copied.  Published would copy at each tick.
  mutable Mutex accounts_mutex_;
  PageBuilder metrics_page_;
  PageBuilder requests_page_;  // Requests and use (/metric); has no plan where that page is off.
  std::vector<Value> slots_;   // Numbers of the first page, then of the second.
  size_t first_requests_slot_ = 0;
  TextRenderer renderer_;  // Renders the first page.
  size_t last_series_ = 0;
  uint64_t left_out_total_ = 0;  // Series that the budget left out, summed over all pages.
  double last_tick_seconds_ = 0;
  ConditionBasis basis_;                        // Basis of `condition_`.
  std::shared_ptr<const Condition> condition_;  // Condition of the newest page.

  std::atomic<uint64_t> ticks_ = 0;
  std::atomic<Duration::rep> last_ended_ = 0;
  // Held while the next two are set, and while both are read; a scrape reads one without it.
  mutable Mutex newest_mutex_;
  Published<Snapshot> snapshots_;
  Published<Condition> conditions_;
};

}  // namespace podgpu
