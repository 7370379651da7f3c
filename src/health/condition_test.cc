#include "health/condition.h"

#include <functional>

#include <gtest/gtest.h>

#include "attribution/join.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TickFacts FactsOfNothing() {
  TickFacts facts;
  facts.source = std::make_shared<const SourceStatus>();
  facts.pods = std::make_shared<const PodFacts>();
  facts.config = std::make_shared<const ConfigNotes>();
  return facts;
}

// Each row: the facts, and the verdict that they give.
TEST(Condition, SaysWhyItIsNotReady) {
  struct Case {
    std::string_view label;
    int gpus;  // -1: no reading yet.
    DeviceState first_gpu;
    milliseconds age;
    size_t expected;
    bool ready;
    std::string_view verdict;
  };
  const Case cases[] = {
      {"nothing read", -1, DeviceState::kOk, {}, 0, false, "not ready: waiting for the driver"},
      {"fresh", 2, DeviceState::kOk, seconds(1), 2, true, "ready: 2 GPUs have fresh samples"},
      {"stale", 2, DeviceState::kOk, seconds(6), 2, false,
       "not ready: the newest sample is 6.0 s old and withdrawn"},
      {"no GPU ever", 0, DeviceState::kOk, seconds(1), 0, true,
       "ready: the driver answers and this node has no GPU"},
      {"GPUs gone", 0, DeviceState::kOk, seconds(1), 8, false,
       "not ready: the driver lists no GPU; expected GPUs: 8"},
      {"one lost", 2, DeviceState::kLost, seconds(1), 2, true, "ready: 1 of 2 GPUs served, 1 lost"},
  };
  for (const Case& row : cases) {
    TickFacts facts = FactsOfNothing();
    facts.stale_after = seconds(5);
    facts.grid_age = row.age;
    facts.source = std::make_shared<const SourceStatus>(
        SourceStatus{PartState::kWaiting, "waiting for the driver", 0, 0, row.expected});
    facts.pods = std::make_shared<const PodFacts>();
    if (row.gpus >= 0) {
      auto topology = std::make_shared<Topology>(FakeDriver::Gpus(static_cast<uint32_t>(row.gpus)));
      if (row.gpus > 0) {
        topology->gpus[0].state = row.first_gpu;
      }
      facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
      facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
    }
    const Condition condition = Judge(BasisOf(facts));
    EXPECT_EQ(condition.ready, row.ready) << row.label;
    EXPECT_EQ(condition.verdict, row.verdict) << row.label;
  }
}

TEST(Condition, AnEngineWithoutADriverIsNotANodeWithoutGpus) {
  TickFacts facts = FactsOfNothing();
  facts.stale_after = seconds(5);
  facts.grid_age = seconds(1);
  facts.source = std::make_shared<const SourceStatus>(
      SourceStatus{PartState::kWaiting, "dcgm runs without the driver's library", 0, 0, 0});
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(0));
  topology->driver_absence = "runs without the driver's library";
  facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
  facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
  const Condition condition = Judge(BasisOf(facts));
  EXPECT_FALSE(condition.ready);
  EXPECT_EQ(condition.verdict, "not ready: dcgm runs without the driver's library");
}

void MakeUnresponsive(TickFacts& facts, size_t gpu, Absence reason) {
  facts.freshness.unresponsive.set(gpu);
  facts.freshness.reasons[gpu] = reason;
}

TEST(Condition, NamesTheHungCall) {
  TickFacts facts = FactsOfNothing();
  facts.stale_after = seconds(10);
  facts.source = std::make_shared<const SourceStatus>();
  facts.pods = std::make_shared<const PodFacts>();
  facts.running = RunningCall{SourceCall::kRead, seconds(41), true};
  const PartCondition driver = Judge(BasisOf(facts)).parts[0];
  EXPECT_EQ(driver.state, PartState::kUnresponsive);
  EXPECT_EQ(driver.detail,
            "the call \"read\" has not returned for 41.0 s; values are withdrawn after 10.0 s");
}

// The values of a reading can all be too old a little before the reading itself is.
TEST(Condition, NamesTheCallThatRunsWhileNoGpuHasAFreshValue) {
  TickFacts facts = FactsOfNothing();
  facts.stale_after = seconds(10);
  facts.grid_age = seconds(9);
  facts.source = std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "s", 1, 0, 2});
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
  facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
  facts.running = RunningCall{SourceCall::kRead, seconds(6), false};
  MakeUnresponsive(facts, 0, Absence::kStale);
  EXPECT_FALSE(facts.call_hangs()) << "GPU 1 has values";
  MakeUnresponsive(facts, 1, Absence::kStale);
  const PartCondition driver = Judge(BasisOf(facts)).parts[0];
  EXPECT_EQ(driver.state, PartState::kUnresponsive);
  EXPECT_EQ(driver.detail,
            "the call \"read\" has not returned for 6.0 s; values are withdrawn after 10.0 s");
  facts.running->elapsed = seconds(4);
  EXPECT_FALSE(facts.call_hangs()) << "it began after the values were too old";
}

TEST(Condition, ShowsTheWarningsOfTheConfiguration) {
  struct Case {
    std::vector<std::string> warnings;
    PartState state;
    std::string_view detail;
  };
  const Case cases[] = {
      {{}, PartState::kOk, "25 metrics of a.csv"},
      {{"a.csv:3: DCGM_EXP_P2P_STATUS is accepted but not served yet; the line yields no series"},
       PartState::kDegraded,
       "25 metrics of a.csv; 1 warning: a.csv:3: DCGM_EXP_P2P_STATUS is accepted but not served "
       "yet; the line yields no series"},
      {{"a.csv:3: one", "a.csv:4: two"},
       PartState::kDegraded,
       "25 metrics of a.csv; 2 warnings, the first: a.csv:3: one"},
  };
  for (const Case& row : cases) {
    TickFacts facts = FactsOfNothing();
    facts.config = std::make_shared<const ConfigNotes>(ConfigNotes{"a.csv", 25, row.warnings});
    EXPECT_EQ(Judge(BasisOf(facts)).parts[3],
              (PartCondition{"config", row.state, std::string(row.detail)}));
  }
}

TEST(Condition, SaysWhyHealthAndPathsAreNotReported) {
  using Notes = std::shared_ptr<const FindingsNote>;
  const auto note = [](bool is_fault) {
    return std::make_shared<const FindingsNote>(FindingsNote{is_fault, "health: not loaded"});
  };
  struct Case {
    FindingsAsked asked;
    size_t health, peers;  // How many GPUs or paths are reported.
    Notes note;
    PartState state;
    std::string_view detail;
  };
  const FindingsAsked both{.health = true, .peers = true};
  const Case cases[] = {
      {both, 2, 4, nullptr, PartState::kOk, "reported at each reading"},
      {{.health = true}, 2, 0, nullptr, PartState::kOk, "reported at each reading"},
      {both, 0, 4, note(true), PartState::kDegraded, "health: not loaded"},
      {both, 2, 0, note(false), PartState::kOk, "health: not loaded"},
      {both, 0, 0, nullptr, PartState::kDegraded,
       "this source does not report: health, paths between GPUs"},
      {both, 2, 0, nullptr, PartState::kDegraded,
       "this source does not report: paths between GPUs"},
  };
  for (const Case& row : cases) {
    TickFacts facts = FactsOfNothing();
    const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(2));
    auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{});
    grid->findings.asked = row.asked;
    grid->findings.health.resize(row.health);
    grid->findings.peers.resize(row.peers);
    grid->findings.note = row.note;
    facts.grid = grid;
    facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
    EXPECT_EQ(Judge(BasisOf(facts)).parts.back(),
              (PartCondition{"health and paths", row.state, std::string(row.detail)}));
    TickFacts unasked = facts;
    auto silent = std::make_shared<Grid>(*grid);
    silent->findings.asked = {};
    silent->findings.note = nullptr;
    unasked.grid = silent;
    EXPECT_EQ(Judge(BasisOf(unasked)).parts.back().part, "config");
    EXPECT_FALSE(BasisOf(facts) == BasisOf(unasked));
  }
}

TEST(Condition, SaysWhyDcgmsEnergyOfProcessesIsNotReported) {
  TickFacts facts = FactsOfNothing();
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(1));
  auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{});
  grid->findings.note =
      std::make_shared<const FindingsNote>(FindingsNote{true, "energy of processes: refused"});
  facts.grid = grid;
  facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
  EXPECT_EQ(
      Judge(BasisOf(facts)).parts.back(),
      (PartCondition{"DCGM's findings", PartState::kDegraded, "energy of processes: refused"}));
}

TEST(Condition, SaysWhyEventsAreMissing) {
  TickFacts facts = FactsOfNothing();
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{});
  facts.grid = grid;
  facts.owners = std::make_shared<const Owners>(Join(*topology, {}, {}));
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back().part, "config");
  grid->findings.events_note =
      std::make_shared<const FindingsNote>(FindingsNote{true, "the last alone: why"});
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back(),
            (PartCondition{"events", PartState::kDegraded, "the last alone: why"}));
}

TEST(Condition, SaysHowManyClientsWereRefused) {
  struct Case {
    HttpServerStats clients;
    bool too_many;
    PartState state;
    std::string_view detail;
  };
  const Case cases[] = {
      {{.open_connections = 3, .requests = 70},
       false,
       PartState::kOk,
       "no client was refused since the start"},
      {{.bad_requests = 2, .deadlines = 1},
       false,
       PartState::kOk,
       "all clients are served. Refused since the start: 2 bad requests, 1 closed at a deadline"},
      {{.displaced = 4, .turned_away = 5, .accept_errors = 6},
       true,
       PartState::kDegraded,
       "too many connections in the last minute; probes have reserved slots. Refused since the "
       "start: 4 closed for newer ones, 5 turned away, 6 not accepted"},
  };
  for (const Case& row : cases) {
    TickFacts facts = FactsOfNothing();
    facts.clients = row.clients;
    facts.too_many_clients = row.too_many;
    EXPECT_EQ(Judge(BasisOf(facts)).parts[2],
              (PartCondition{"clients", row.state, std::string(row.detail)}));
  }
}

// A fact that no sentence shows must not give a new condition; a fact that one shows must.
TEST(Condition, HasANewBasisWhenAndOnlyWhenASentenceChanges) {
  struct Case {
    std::string_view label;
    bool same;
    std::function<void(TickFacts&)> change;
  };
  const Case cases[] = {
      {"another tick", true, [](TickFacts& f) { f.now += seconds(1); }},
      {"a fresh grid's age", true, [](TickFacts& f) { f.grid_age = milliseconds(7); }},
      {"a new answer with the same words", true,
       [](TickFacts& f) {
         auto pods = std::make_shared<PodFacts>(*f.pods);
         pods->good_at += seconds(1);
         f.pods = pods;
       }},
      {"requests and connections", true,
       [](TickFacts& f) { f.clients = {.open_connections = 9, .requests = 9}; }},
      {"a running call before its deadline", true,
       [](TickFacts& f) {
         f.running = RunningCall{SourceCall::kRead, seconds(1), false};
       }},
      {"a call past its deadline", false,
       [](TickFacts& f) {
         f.running = RunningCall{SourceCall::kRead, seconds(11), true};
       }},
      {"stale devices", false, [](TickFacts& f) { f.grid_age = seconds(9); }},
      {"a silent GPU", false, [](TickFacts& f) { f.freshness.unresponsive.set(1); }},
      {"another selection", false, [](TickFacts& f) { f.excluded_gpus.set(1); }},
      {"a call that has returned", false, [](TickFacts& f) { f.awaits_reading = true; }},
      {"a bad request", false, [](TickFacts& f) { f.clients.bad_requests = 1; }},
      {"too many connections", false, [](TickFacts& f) { f.too_many_clients = true; }},
      {"another state of the kubelet", false,
       [](TickFacts& f) {
         auto pods = std::make_shared<PodFacts>(*f.pods);
         pods->detail = "x";
         f.pods = pods;
       }},
      {"another state of the source", false,
       [](TickFacts& f) {
         f.source = std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "x"});
       }},
      {"other devices", false,
       [](TickFacts& f) {
         f.grid = std::make_shared<const Grid>(std::make_shared<Topology>(FakeDriver::Gpus(1)),
                                               std::vector<const Field*>{});
       }},
      {"other owners", false,
       [](TickFacts& f) { f.owners = std::make_shared<const Owners>(*f.owners); }},
  };
  TickFacts facts = FactsOfNothing();
  facts.stale_after = seconds(5);
  facts.grid = std::make_shared<const Grid>(std::make_shared<Topology>(FakeDriver::Gpus(2)),
                                            std::vector<const Field*>{});
  facts.owners = std::make_shared<const Owners>(Join(facts.grid->topology(), {}, {}));
  for (const Case& row : cases) {
    TickFacts changed = facts;
    row.change(changed);
    EXPECT_EQ(BasisOf(facts) == BasisOf(changed), row.same) << row.label;
    if (row.same) {
      EXPECT_EQ(Judge(BasisOf(facts)), Judge(BasisOf(changed))) << row.label;
    }
  }
}

TEST(Condition, SaysWhyFilesAreNotWritten) {
  TickFacts facts = FactsOfNothing();
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back().part, "config")
      << "no part for files while all can be written";
  const ConditionBasis before = BasisOf(facts);
  facts.text_files.failure = std::make_shared<const std::string>("/a is full");
  EXPECT_FALSE(BasisOf(facts) == before);
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back(),
            (PartCondition{"text files", PartState::kDegraded, "/a is full"}));
  facts.dumps = WriteTally{1, 2, std::make_shared<const std::string>("/b is full")};
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back(),
            (PartCondition{"dumps", PartState::kDegraded, "/b is full"}));
}

TEST(Condition, SaysWhyTheDirectoryOfJobsCannotBeListed) {
  TickFacts facts = FactsOfNothing();
  EXPECT_EQ(Judge(BasisOf(facts)).parts.back().part, "config") << "off";
  JobFacts jobs;
  jobs.state = PartState::kWaiting;
  jobs.detail = "/jobs: no such directory";
  facts.jobs = std::make_shared<const JobFacts>(jobs);
  const ConditionBasis basis = BasisOf(facts);
  EXPECT_EQ(Judge(basis).parts.back(),
            (PartCondition{"jobs", PartState::kWaiting, "/jobs: no such directory"}));
  ++jobs.failures;
  facts.jobs = std::make_shared<const JobFacts>(jobs);
  EXPECT_TRUE(basis == BasisOf(facts)) << "one more failure changes a metric only";
  jobs.state = PartState::kOk;
  facts.jobs = std::make_shared<const JobFacts>(jobs);
  EXPECT_FALSE(basis == BasisOf(facts));
}

TEST(Condition, SaysWhyResourceSlicesAreMissing) {
  TickFacts facts = FactsOfNothing();
  ApiFacts slices;
  slices.state = PartState::kWaiting;
  slices.detail = "this cluster has no resource.k8s.io";
  facts.api_slices = std::make_shared<const ApiFacts>(slices);
  const ConditionBasis basis = BasisOf(facts);
  EXPECT_EQ(Judge(basis).parts.back(), (PartCondition{"resource slices", PartState::kWaiting,
                                                      "this cluster has no resource.k8s.io"}));
  slices.requests = 7;
  facts.api_slices = std::make_shared<const ApiFacts>(slices);
  EXPECT_TRUE(basis == BasisOf(facts));
  slices.detail = "another";
  facts.api_slices = std::make_shared<const ApiFacts>(slices);
  EXPECT_FALSE(basis == BasisOf(facts));
}

}  // namespace
}  // namespace podgpu
