// podgpu, killed many times at random moments while it is scraped: nothing needs repair, no process
// is left behind, and the next start serves.
//
// KILLS is the number of kills (`./dev kill-long`: 1,000), KILL_SEED sets the moments; a run prints
// both.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr uint64_t kKillsByDefault = 60;
constexpr int kPolls = 12'000;  // 2 min: long enough for a busy machine.
constexpr int kBetweenLooksMs = 10;

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : ParseDecimal(value).value_or(otherwise);
}

bool AwaitThat(const std::function<bool()>& holds) {
  for (int i = 0; i < kPolls && !holds(); ++i) {
    ::poll(nullptr, 0, kBetweenLooksMs);
  }
  return holds();
}

// A port outside the range that the system assigns by itself, so it stays free between two
// programs; it differs from run to run.
uint16_t PortOfOurs() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int first_given = 32'768;
  range >> first_given;
  constexpr int kFirst = 10'000;
  const int count = std::max(first_given - kFirst, 1);
  for (int i = 0;; ++i) {
    const int port = kFirst + (static_cast<int>(::getpid()) * 7 + i) % count;
    if (IsFreePort(port)) {
      return static_cast<uint16_t>(port);
    }
  }
}

// The names and labels on a page, without values.
std::set<std::string> SeriesOf(const std::string& page) {
  std::set<std::string> series;
  for (const std::string_view line : Split(page, '\n')) {
    if (!line.empty() && line.front() != '#') {
      series.emplace(line.substr(0, line.rfind(' ')));
    }
  }
  return series;
}

int DescriptorsOf(pid_t pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd", gone);
  return gone ? -1 : static_cast<int>(std::distance(begin(files), end(files)));
}

// Fetches pages without end from the program that listens on the port.
class Scraper {
 public:
  explicit Scraper(uint16_t port)
      : thread_([this, port](const std::stop_token& stop) { Run(port, stop); }) {}
  uint64_t pages() const { return pages_.load(); }

 private:
  void Run(uint16_t port, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      LoopbackClient client(port);
      while (client.connected() && client.Fetch("/metrics").status == 200 &&
             !stop.stop_requested()) {
        ++pages_;
      }
      ::poll(nullptr, 0, 1);  // No program listens at the moment.
    }
  }

  std::atomic<uint64_t> pages_ = 0;
  std::jthread thread_;
};

// Uses processor time, to reach a moment that no event marks.
void Spin(uint64_t turns) {
  std::atomic<uint64_t> turn = 0;
  while (turn.fetch_add(1, std::memory_order_relaxed) < turns) {
  }
}

// Counts over all kills, for the final line.
struct Tally {
  uint64_t kills = 0, terms = 0, before_serving = 0;
  Duration slowest_kill{}, slowest_term{};
};

class KillTest : public ::testing::Test {
 protected:
  // The engine stops without delay, since the test has many stops.
  KillTest()
      : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal, {"--prompt-engine"}),
        random_(seed_) {}

  void SetUp() override {
    ASSERT_TRUE(node_.ready()) << node_.output();
    engine_ = node_.engine_pid();
    engine_descriptors_ = DescriptorsOf(engine_);
    ExporterProcess exporter(node_, Flags(true));
    ASSERT_TRUE(exporter.ready()) << exporter.process().output();
    // Profiling values and owners come last.
    ASSERT_TRUE(exporter.Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{"));
    ASSERT_TRUE(exporter.Await("/metrics", "\npodgpu_allocation_info{"));
    series_ = SeriesOf(exporter.Get("/metrics"));
    exporter.process().Signal(SIGTERM);
    ASSERT_EQ(exporter.process().Wait(), 0) << exporter.process().output();
    // gRPC keeps a few descriptors after its first client.
    ASSERT_TRUE(AwaitThat([&] { return DescriptorsOf(engine_) == engine_descriptors_; }));
    kubelet_descriptors_ = SettledDescriptors();
  }

  // Uses the engine's process, or an embedded engine.
  std::vector<std::string> Flags(bool by_engine) const {
    std::vector<std::string> flags = {"-c=100", "--stale-after=60s", "--metrics-views=dcgm,native",
                                      "-a=127.0.0.1:" + std::to_string(port_)};
    if (by_engine) {
      flags.push_back("-r=unix://" + node_.engine_socket());
    }
    return flags;
  }

  // The kubelet's descriptors when every connection to it is closed.
  int SettledDescriptors() const {
    int least = DescriptorsOf(node_.pid());
    for (int same = 0; same < 20; ++same) {
      ::poll(nullptr, 0, kBetweenLooksMs);
      const int now = DescriptorsOf(node_.pid());
      same = now < least ? 0 : same;
      least = std::min(least, now);
    }
    return least;
  }

  uint64_t Draw(uint64_t most) { return std::uniform_int_distribution<uint64_t>(0, most)(random_); }

  // Lets it live up to a random moment: during its start, or after some lines of its log.
  void LiveAWhile(Child& victim) {
    constexpr uint64_t kLinesAtStart = 3;  // It serves, it found devices, it found owners.
    constexpr uint64_t kMostDoublings = 24;
    if (Draw(2) == 0) {
      for (uint64_t i = Draw(kLinesAtStart); i > 0; --i) {
        ASSERT_TRUE(victim.AwaitLine("").has_value()) << victim.output();
      }
    }
    Spin(uint64_t{1} << Draw(kMostDoublings));
  }

  // Kills it with one of the two signals, and checks the state that it leaves.
  void Kill(Child& victim) {
    const bool by_term = Draw(1) == 1;
    const int signal = by_term ? SIGTERM : SIGKILL;
    const bool served = victim.output().find("msg=\"serving\"") != std::string::npos;
    const Instant at = clock_.Now();
    victim.Signal(signal);
    const int exit_code = victim.Wait();
    const Duration took = clock_.Now() - at;
    Duration& slowest = by_term ? tally_.slowest_term : tally_.slowest_kill;
    slowest = std::max(slowest, took);
    ++(by_term ? tally_.terms : tally_.kills);
    tally_.before_serving += served ? 0 : 1;
    if (!by_term) {
      EXPECT_EQ(exit_code, -SIGKILL) << victim.output();
    } else if (served || exit_code != -SIGTERM) {  // Before that it may not handle signals yet.
      EXPECT_EQ(exit_code, 0) << victim.output();
    }
    // It led a process group, which would contain all its children.
    EXPECT_TRUE(::kill(-victim.pid(), 0) != 0 && errno == ESRCH)
        << "a process of its group is left";
  }

  // Engine and kubelet are the same processes, and have closed the dead client's connections.
  void ExpectUntouchedServers() {
    EXPECT_EQ(node_.engine_pid(), engine_);
    EXPECT_EQ(::kill(engine_, 0), 0);
    EXPECT_TRUE(AwaitThat([&] { return DescriptorsOf(engine_) == engine_descriptors_; }))
        << DescriptorsOf(engine_) << " descriptors, were " << engine_descriptors_;
    EXPECT_TRUE(AwaitThat([&] { return DescriptorsOf(node_.pid()) <= kubelet_descriptors_; }))
        << DescriptorsOf(node_.pid()) << " descriptors, were " << kubelet_descriptors_;
  }

  void KillOneEarlyAndOneThatServes(bool by_engine) {
    {
      Child victim(ExporterProcess::Arguments(node_, Flags(by_engine)), node_.variables());
      LiveAWhile(victim);
      Kill(victim);
      ExpectUntouchedServers();
    }
    ExporterProcess next(node_, Flags(by_engine));
    ASSERT_TRUE(next.ready()) << next.process().output() << "the port must be free at once";
    ASSERT_TRUE(next.AwaitPage("/metrics", [&](const std::string& page) {
      return SeriesOf(page) == series_;
    })) << next.Get("/metrics");
    for (uint64_t i = Draw(20); i > 0; --i) {
      EXPECT_EQ(next.Fetch("/metrics").status, 200);
    }
    Kill(next.process());
    ExpectUntouchedServers();
  }

  SystemClock clock_;
  const SimNode node_;
  const uint64_t seed_ = Setting("KILL_SEED", 1);
  std::mt19937_64 random_;
  const uint16_t port_ = PortOfOurs();
  pid_t engine_ = 0;
  int engine_descriptors_ = 0, kubelet_descriptors_ = 0;
  std::set<std::string> series_;  // The series of a full page.
  Tally tally_;
};

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

TEST_F(KillTest, LeavesNothingToRepairAtAnyMoment) {
  const Scraper scraper(port_);
  const Scraper other(port_);
  const uint64_t wanted = Setting("KILLS", kKillsByDefault);
  while (tally_.kills + tally_.terms < wanted && !HasFailure()) {
    SCOPED_TRACE(absl::StrFormat("seed %d, after %d kills", seed_, tally_.kills + tally_.terms));
    KillOneEarlyAndOneThatServes(Draw(1) == 0);
  }
  std::printf(
      "kill_test: seed %llu: %llu SIGKILLs and %llu SIGTERMs, %llu of them before it served, under "
      "%llu scrapes; slowest stop %.1f ms after SIGKILL, %.1f ms after SIGTERM\n",
      static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(tally_.kills),
      static_cast<unsigned long long>(tally_.terms),
      static_cast<unsigned long long>(tally_.before_serving),
      static_cast<unsigned long long>(scraper.pages() + other.pages()),
      Milliseconds(tally_.slowest_kill), Milliseconds(tally_.slowest_term));
}

}  // namespace
}  // namespace podgpu
