// How often the threads of the whole program wake up at the default pace when nothing happens.
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "exporter/exporter.h"
#include "kube/testing/fake_kubelet.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// Advances the clock second by second and returns the wake-ups of all threads meanwhile.
int WakeupsIn(ManualClock& clock, int whole_seconds) {
  constexpr int kThreads = 4;  // source, watchdog, kubelet, tick.
  const int before = clock.wakeups();
  for (int second = 0; second < whole_seconds; ++second) {
    clock.Advance(seconds(1));
    clock.AwaitSleepers(kThreads);
  }
  return clock.wakeups() - before;
}

TEST(QuietNode, WakesFourThreadsOnceAReading) {
  ManualClock clock;
  FakeDriver driver;
  FakeKubelet kubelet;
  kubelet.AnswerWith({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  ExporterOptions options;
  options.http.address = "127.0.0.1:0";
  options.kubernetes = true;
  options.view.kubernetes = true;
  options.view.hostname = "node-a";
  options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\n", "test.csv").value().counters;
  const StatusOr<std::unique_ptr<Exporter>> exporter = Exporter::Start(
      options, {clock, [&] { return std::make_unique<FakeSource>(driver); }, kubelet});
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  clock.AwaitSleepers(4);
  WakeupsIn(clock, 120);  // Until the pods count as quiet.
  constexpr int kReadingsAMinute = 2;
  EXPECT_EQ(WakeupsIn(clock, 60), 4 * kReadingsAMinute)
      << "a thread wakes up to find nothing, or a new one has a period";
  EXPECT_TRUE((*exporter)->Stop(hours(1)));
}

}  // namespace
}  // namespace podgpu
