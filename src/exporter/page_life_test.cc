// The life of a page, explored exhaustively: every sequence of a few events in the world around
// podgpu, with a tick after each.  An event is a reading, an answer of the kubelet or of the API
// server, one of these getting stuck or going away, other devices, a younger pod of the same name,
// or time.  A page may never show
//   - a number under the labels of another epoch of the devices,
//   - a number after its time,
//   - an owner that the last answers do not name, or that they named too long ago,
//   - other lines than a page that is planned from the start,
// and it may say `ready` only with a fresh number on every device.
//
// Longer sequences are random; a failure prints the events, which Repeat() runs again.
#include <cstdlib>
#include <optional>
#include <random>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "exporter/testing/temp_rows.h"
#include "exporter/tick.h"
#include "kube/renewed_pods.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr size_t kGpuCount = 2;
constexpr seconds kStaleAfter{5};
constexpr seconds kOwnersStayFor{60};
constexpr seconds kMetadataStaysFor{300};

// The events.  The order of time events matters to Repeats() alone.
enum Event : char {
  kReading = 'r',        // A reading ends, unless the driver is stuck.
  kDriverSticks = 'h',   // A call of the driver begins to hang, past its deadline.
  kDriverReturns = 'H',  // It returns, without a reading.
  kNewDevices = 'e',     // The node has other devices from now on.
  kNewPod = 'p',         // A younger pod of the same name gets the other GPU.
  kKubelet = 'k',        // The kubelet answers.
  kKubeletGone = 'K',    // It does not.
  kApi = 'a',            // The API server answers, and goes on telling each change.
  kApiGone = 'A',        // It does not any more.
  kOneSecond = '1',
  kUntilStale = '5',       // Until values are too old.
  kUntilUnowned = '6',     // Until the kubelet's answer is too old.
  kUntilUnlabelled = '9',  // Until what the API server said is too old.
  kProcesses = 'q',        // A reading of processes ends, unless the driver is stuck.
  kStartOrEnd = 'x',       // A process of the pod starts, or ends.
};

constexpr std::string_view kEvents = "rhHepkKaA1569";
constexpr std::string_view kEventsOfProcesses = "rhHeqx15";

// Time passes with each event too: two answers never come at the same instant.  Ages count in ms.
constexpr std::chrono::milliseconds kBetweenEvents{1};

Duration StepOf(char event) {
  switch (event) {
    case kOneSecond:
      return seconds(1);
    case kUntilStale:
      return kStaleAfter + seconds(1);
    case kUntilUnowned:
      return kOwnersStayFor + seconds(1);
    case kUntilUnlabelled:
      return kMetadataStaysFor + seconds(1);
    default:
      return {};
  }
}

// Whether `next` after `last` leads to what a sequence without it, or in the other order, shows
// too.
bool Repeats(char last, char next) {
  const bool both_are_time = StepOf(last) > Duration() && StepOf(next) > Duration();
  return (last == next && next != kNewPod && next != kNewDevices) || (both_are_time && next < last);
}

std::string UuidOf(uint64_t epoch, size_t gpu) {
  return absl::StrFormat("GPU-00000000-0000-0000-%04d-%012d", epoch, gpu);
}

// The world, a Tick that sees it only through the facts that the other threads publish, and what
// the pages may show.
class PageLife {
 public:
  explicit PageLife(bool with_processes = false) {
    source_.Set(std::make_shared<const SourceStatus>(
        SourceStatus{PartState::kOk, "fake driver", 1, 0, kGpuCount}));
    kubelet_.Set(std::make_shared<const PodFacts>());
    api_.Set(std::make_shared<const ApiFacts>());
    TickOptions options;
    options.period = seconds(1);
    options.stale_after = kStaleAfter;
    options.owners_stay_for = kOwnersStayFor;
    options.metadata_stays_for = kMetadataStaysFor;
    options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\n", "t.csv").value().counters;
    options.views = {View::kDcgm, View::kCore};
    options.view.kubernetes = true;
    options.view.pod_uid = true;
    ExtraSources extra{.api_pods = &api_};
    if (with_processes) {
      options.views.insert(options.views.end(), {View::kNative, View::kProcess});
      options.processes.enabled = true;
      options.processes.period = kProcessPeriod;
      options.processes.table.retention = kProcessesStayFor;
      extra.processes = &processes_;
    }
    tick_.emplace(std::move(options),
                  TickSources{grids_, source_, kubelet_, guard_, written_off_, clients_, extra},
                  clock_, wakeup_);
  }

  // Lets the event happen, then the tick; returns what is wrong with the page, or nothing.
  std::string Happens(char event) {
    Change(event);
    tick_->Once();
    return Fault();
  }

  std::vector<TempRow> Rows() const { return TempRowsOf(tick_->snapshots().Get()->text()); }
  std::string_view page() const { return tick_->snapshots().Get()->text(); }
  bool ready() const { return tick_->conditions().Get()->ready; }

 private:
  struct Given {
    uint64_t epoch = 0;
    uint64_t pod = 0;
    bool operator==(const Given&) const = default;
  };

  void Change(char event) {
    clock_.Advance(kBetweenEvents + StepOf(event));
    switch (event) {
      case kReading:
        return Read();
      case kDriverSticks:
        return Stick();
      case kDriverReturns:
        return call_.reset();
      case kNewDevices:
        ++epoch_;
        return;
      case kNewPod:
        ++pod_;
        return api_is_there_ ? AnswerAsApi() : void();
      case kKubelet:
        return AnswerAsKubelet();
      case kKubeletGone:
        return LoseKubelet();
      case kApi:
        return AnswerAsApi();
      case kApiGone:
        return LoseApi();
      case kProcesses:
        return ReadProcesses();
      case kStartOrEnd:
        process_ = process_ == nullptr ? NewProcess() : nullptr;
        return;
      default:
        return KeepApi();
    }
  }

  void Read() {
    if (call_) {
      return;
    }
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(kGpuCount));
    topology->epoch = epoch_ + 1;
    for (size_t i = 0; i < kGpuCount; ++i) {
      topology->gpus[i].uuid = UuidOf(epoch_, i);
    }
    auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(150)});
    grid->read_at = clock_.Now();
    const auto value = static_cast<int64_t>(read_at_.size());
    read_at_.push_back({clock_.Now(), epoch_});
    for (uint16_t i = 0; i < kGpuCount; ++i) {
      grid->at(FieldRow{0}, EntityId{i}) = Value::OfInt64(value);
    }
    grids_.Set(grid);
  }

  std::shared_ptr<const ProcessIdentity> NewProcess() {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->key = {.pid = 7, .start_ticks = ++starts_};
    identity->name = "train";
    identity->place = {.pod_uid = absl::StrFormat("u-%d", pod_), .container_id = "c"};
    return identity;
  }

  // The process runs on one GPU of the two; each GPU has drawn a joule more.
  void ReadProcesses() {
    if (call_) {
      return;
    }
    auto facts = std::make_shared<ProcessFacts>(*processes_.facts().Get());
    for (uint64_t epoch = facts->uuids.size() / kGpuCount; epoch <= epoch_; ++epoch) {
      for (size_t gpu = 0; gpu < kGpuCount; ++gpu) {
        facts->uuids.push_back(UuidOf(epoch, gpu));
      }
    }
    processes_.facts().Set(facts);
    std::unique_ptr<ProcessReading> reading = processes_.Begin();
    *reading = {.at = clock_.Now()};
    counter_mj_ += 1'000;
    for (uint32_t gpu = 0; gpu < kGpuCount; ++gpu) {
      reading->devices.push_back({.device = {static_cast<uint32_t>(epoch_ * kGpuCount) + gpu},
                                  .at = clock_.Now(),
                                  .counter_mj = counter_mj_});
    }
    if (process_ != nullptr) {
      reading->devices[pod_ % kGpuCount].processes.push_back({.pid = 7, .identity = process_});
    }
    processes_.Add(std::move(reading));
    processes_read_at_ = clock_.Now();
  }

  void Stick() {
    if (!call_) {
      call_.emplace(guard_, nullptr, SourceCall::kRead);
      clock_.Advance(kCallDeadline);
      KeepApi();
    }
  }

  void AnswerAsKubelet() {
    PodFacts facts;
    facts.value = std::make_shared<const PodAllocations>(PodAllocations{
        "v1", 1, {{"ml", "a", "main", "nvidia.com/gpu", UuidOf(epoch_, pod_ % kGpuCount)}}});
    facts.asked_at = facts.good_at = clock_.Now();
    facts.state = PartState::kOk;
    kubelet_.Set(std::make_shared<const PodFacts>(facts));
    kubelet_said_ = Given{epoch_, pod_};
    kubelet_said_at_ = clock_.Now();
  }

  void LoseKubelet() {
    PodFacts facts = *kubelet_.Get();
    facts.state = PartState::kWaiting;
    facts.detail = "the kubelet does not answer";
    kubelet_.Set(std::make_shared<const PodFacts>(facts));
  }

  void AnswerAsApi() {
    ApiObject pod;
    pod.name_space = "ml";
    pod.name = "a";
    pod.uid = absl::StrFormat("u-%d", pod_);
    ApiFacts facts;
    facts.state = PartState::kOk;
    facts.value = std::make_shared<const ApiObjects>(ApiObjects{{"ml/a", pod}});
    facts.good_at = clock_.Now();
    renewed_.Take(*facts.value, clock_.Now());
    facts.renewed = renewed_.at();
    api_.Set(std::make_shared<const ApiFacts>(facts));
    api_is_there_ = true;
    api_said_ = pod_;
  }

  void LoseApi() {
    ApiFacts facts = *api_.Get();
    if (api_is_there_) {
      facts.good_at = clock_.Now();
    }
    facts.state = PartState::kDegraded;
    api_.Set(std::make_shared<const ApiFacts>(facts));
    api_is_there_ = false;
    api_lost_at_ = clock_.Now();
  }

  // While its watch lives, what the API server said is right.
  void KeepApi() {
    if (api_is_there_) {
      AnswerAsApi();
    }
  }

  std::string Fault() const {
    const std::vector<TempRow> rows = Rows();
    for (const TempRow& row : rows) {
      const std::string fault = FaultOf(row);
      if (!fault.empty()) {
        return absl::StrFormat("%s: UUID=%s pod=%s pod_uid=%s %d", fault, row.uuid, row.pod,
                               row.pod_uid, row.value);
      }
    }
    if (page() != tick_->TextOfNewPlan()) {
      return "other lines than a new plan has";
    }
    if (page().find("\nmy_gpu_process_active{") != std::string_view::npos &&
        clock_.Now() - processes_read_at_ > kStaleAfter) {
      return "a process after its time";
    }
    if (ready() && rows.size() != kGpuCount) {
      return "ready without a number on every device";
    }
    if (ready() && call_) {
      return "ready while a call hangs past its deadline";
    }
    return tick_->conditions().Get()->verdict.empty() ? "no verdict" : "";
  }

  std::string FaultOf(const TempRow& row) const {
    const Reading& reading = read_at_.at(static_cast<size_t>(row.value));
    if (row.uuid != UuidOf(reading.epoch, 0) && row.uuid != UuidOf(reading.epoch, 1)) {
      return "a number under the labels of another epoch";
    }
    if (clock_.Now() - reading.at > kStaleAfter) {
      return "a number after its time";
    }
    return row.pod.empty() ? "" : FaultOfOwner(row);
  }

  std::string FaultOfOwner(const TempRow& row) const {
    if (!kubelet_said_ || clock_.Now() - kubelet_said_at_ > kOwnersStayFor) {
      return "an owner that the kubelet named too long ago";
    }
    if (row.uuid != UuidOf(kubelet_said_->epoch, kubelet_said_->pod % kGpuCount)) {
      return "an owner that the kubelet's last answer does not name";
    }
    if (row.pod_uid.empty()) {
      return "";
    }
    if (!api_is_there_ && clock_.Now() - api_lost_at_ > kMetadataStaysFor) {
      return "a uid that the API server gave too long ago";
    }
    // Without the API server, a pod that took over a name cannot be told from the one before.
    const bool can_be_told = api_is_there_ || api_said_ >= kubelet_said_->pod;
    if (can_be_told && row.pod_uid != absl::StrFormat("u-%d", kubelet_said_->pod)) {
      return "the uid of another pod";
    }
    return "";
  }

  struct Reading {
    Instant at;
    uint64_t epoch = 0;
  };
  static constexpr seconds kCallDeadline{10};
  static constexpr seconds kProcessPeriod{1};
  static constexpr seconds kProcessesStayFor{3};

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, kCallDeadline};
  std::optional<CallGuard::Scope> call_;
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> kubelet_;
  Published<ApiFacts> api_;
  RenewedPods renewed_;
  ProcessQueue processes_;
  std::shared_ptr<const ProcessIdentity> process_;  // Null: none runs.
  uint64_t starts_ = 0;
  uint64_t counter_mj_ = 0;
  Instant processes_read_at_{};
  uint64_t epoch_ = 0;
  uint64_t pod_ = 0;
  std::vector<Reading> read_at_;  // By the value of its numbers.
  std::optional<Given> kubelet_said_;
  Instant kubelet_said_at_{};
  bool api_is_there_ = false;
  uint64_t api_said_ = 0;
  Instant api_lost_at_{};
  std::optional<Tick> tick_;
};

// Runs the events; returns the first fault with the events that led to it.
std::string Repeat(std::string_view events) {
  PageLife life(events.find(kProcesses) != std::string_view::npos);
  for (size_t i = 0; i < events.size(); ++i) {
    const std::string fault = life.Happens(events[i]);
    if (!fault.empty()) {
      return absl::StrFormat("after \"%s\": %s", events.substr(0, i + 1), fault);
    }
  }
  return {};
}

// Runs every sequence of `length` more events of `choice` after `events`; returns how many.
size_t Explore(std::string_view choice, std::string& events, size_t length,
               std::vector<std::string>& faults) {
  if (length == 0) {
    const std::string fault = Repeat(events);
    if (!fault.empty()) {
      faults.push_back(fault);
    }
    return 1;
  }
  size_t sequences = 0;
  for (const char event : choice) {
    if (!events.empty() && Repeats(events.back(), event)) {
      continue;
    }
    events.push_back(event);
    sequences += Explore(choice, events, length - 1, faults);
    events.pop_back();
    if (faults.size() >= 3) {
      break;
    }
  }
  return sequences;
}

struct Extent {
  size_t length;
  int walks;
};

// PAGE_LIFE=full has thirteen times as many sequences as the check of a change has time for.
// Sanitizers and the emulator that runs the tests for arm64 are slow, and look for other faults.
Extent ExtentOfTheExploration() {
#if defined(PODGPU_THREAD_SANITIZER) || defined(PODGPU_ADDRESS_SANITIZER) || defined(__aarch64__)
  return {2, 20};
#else
  const char* const extent = std::getenv("PAGE_LIFE");
  return extent != nullptr && std::string_view(extent) == "full" ? Extent{4, 200} : Extent{3, 40};
#endif
}
const size_t kLength = ExtentOfTheExploration().length;
const int kWalks = ExtentOfTheExploration().walks;

std::string Joined(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) {
    absl::StrAppendFormat(&text, "%s\n", fault);
  }
  return text;
}

TEST(PageLife, HoldsFromTheStartInEverySequence) {
  std::string events;
  std::vector<std::string> faults;
  EXPECT_GT(Explore(kEvents, events, kLength, faults), 100u);
  EXPECT_TRUE(faults.empty()) << Joined(faults);
}

TEST(PageLife, HoldsOnAHealthyNodeInEverySequence) {
  std::string events = "akr";
  std::vector<std::string> faults;
  EXPECT_GT(Explore(kEvents, events, kLength, faults), 100u);
  EXPECT_TRUE(faults.empty()) << Joined(faults);
}

TEST(PageLife, HoldsWithProcessesInEverySequence) {
  for (const std::string_view begin : {"", "akr", "akrxq"}) {
    std::string events(begin);
    std::vector<std::string> faults;
    EXPECT_GT(Explore(kEventsOfProcesses, events, kLength, faults), 40u);
    EXPECT_TRUE(faults.empty()) << Joined(faults);
  }
}

TEST(PageLife, HoldsInLongRandomSequences) {
  constexpr size_t kSteps = 100;
  std::mt19937 random(20'261'125);
  const std::string all = std::string(kEvents) + "qqxx";
  for (int walk = 0; walk < kWalks; ++walk) {
    std::string events;
    while (events.size() < kSteps) {
      events.push_back(all[random() % all.size()]);
    }
    ASSERT_EQ(Repeat(events), "");
  }
}

// The exploration is worth something only if pages come to show what it forbids to be wrong.
TEST(PageLife, ShowsNumbersOwnersAndUidsOnAHealthyNode) {
  PageLife life;
  for (const char event : std::string_view("akr")) {
    ASSERT_EQ(life.Happens(event), "");
  }
  const std::vector<TempRow> rows = life.Rows();
  ASSERT_EQ(rows.size(), kGpuCount);
  EXPECT_EQ(rows[0].pod, "a");
  EXPECT_EQ(rows[0].pod_uid, "u-0");
  EXPECT_EQ(rows[1].pod, "");
  EXPECT_TRUE(life.ready());
}

TEST(PageLife, ShowsTheProcessAndItsEnergyOnAHealthyNode) {
  PageLife life(true);
  for (const char event : std::string_view("akrxqq")) {
    ASSERT_EQ(life.Happens(event), "");
  }
  EXPECT_NE(life.page().find("\nmy_gpu_process_energy_joules{container=\"main\",container_id=\"c\","
                             "gpu=\"0\",namespace=\"ml\",pid=\"7\",pod=\"a\",pod_uid=\"u-0\","
                             "process_name=\"train\"} 1\n"),
            std::string_view::npos)
      << life.page();
}

}  // namespace
}  // namespace podgpu
