// page_cost [EXPORTER...]: the cost of making and serving a page at three sizes, for podgpu and for
// other exporters of the same rows.
//
// Each EXPORTER is a program that takes the path of a page, prints "port=N" and serves the same
// rows with new values at each request.  Such an exporter makes its page during the request; podgpu
// makes one each period and serves it.  For a fair comparison, each is scraped once per period, and
// all work of podgpu in one period, reading and rendering included, counts as one scrape.  Its cost
// without any scrape is shown beside it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "tests/bench/process_cost.h"
#include "tests/bench/scraper.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

using Encoding = Scraper::Encoding;

constexpr double kKibPerMib = 1024;
constexpr size_t kWarmUps = 2;
constexpr double kQuietMs = 2'000;

struct Size {
  size_t series;
  const char* gpus;
  const char* instances;
  int period_ms;
  size_t scrapes;
  size_t peer_scrapes;
};
constexpr Size kSizes[] = {
    {480, "8", "0", 50, 100, 100},
    {6'720, "16", "7", 50, 100, 30},
    {99'960, "238", "7", 500, 30, 4},
};

double MsSince(Instant start) {
  return std::chrono::duration<double, std::milli>(SystemClock().Now() - start).count();
}

struct Cost {
  double cpu_ms = 0;       // Of one page, made and served.
  double made_cpu_ms = 0;  // The part that is spent without any scrape.
  double p50_ms = 0;
  double p99_ms = 0;
  size_t bytes = 0;
  double resident_mib = 0;
};

// A running exporter.
class Server {
 public:
  explicit Server(const std::vector<std::string>& arguments) : process_(arguments) {
    const std::optional<std::string> line = process_.AwaitLine("port=");
    PODGPU_CHECK(line.has_value());
    port_ = static_cast<uint16_t>(ParseDecimal(line->substr(line->find("port=") + 5)).value_or(0));
  }

  pid_t pid() const { return process_.pid(); }
  uint16_t port() const { return port_; }

 private:
  Child process_;
  uint16_t port_ = 0;
};

// CPU of a period without a scrape.
double QuietCpuMs(pid_t pid, int period_ms) {
  const double cpu_ms = CpuMsOf(pid);
  const Instant start = SystemClock().Now();
  ::poll(nullptr, 0, static_cast<int>(kQuietMs));
  return (CpuMsOf(pid) - cpu_ms) / MsSince(start) * period_ms;
}

// One scrape in each period, so each is the first of its page; where a scrape takes longer than a
// period, one in each second or third period.
Cost ScrapeEachPage(const Server& server, Encoding encoding, int period_ms, size_t count) {
  const pid_t pid = server.pid();
  Cost cost{.made_cpu_ms = QuietCpuMs(pid, period_ms)};
  Scraper scraper(server.port(), encoding);
  for (size_t i = 0; i < kWarmUps; ++i) {
    PODGPU_CHECK((cost.bytes = scraper.Fetch()) > 0);
  }
  RoundTrips trips;
  const double cpu_ms = CpuMsOf(pid);
  const Instant start = SystemClock().Now();
  int periods = 0;
  for (size_t i = 0; i < count; ++i) {
    PODGPU_CHECK(scraper.Fetch(trips) > 0);
    const double passed_ms = MsSince(start);
    const int next = static_cast<int>(passed_ms / period_ms) + 1;
    ::poll(nullptr, 0, static_cast<int>(next * period_ms - passed_ms) + 1);
    periods = next;
  }
  // A period without a scrape is not the scrapes' cost.
  const double unasked = static_cast<double>(periods) - static_cast<double>(count);
  cost.cpu_ms = (CpuMsOf(pid) - cpu_ms - unasked * cost.made_cpu_ms) / static_cast<double>(count);
  cost.p50_ms = trips.Percentile(50);
  cost.p99_ms = trips.Percentile(99);
  cost.resident_mib = MemoryOf(pid).resident_kib / kKibPerMib;
  return cost;
}

void Print(const std::string& name, const char* encoding, const Cost& cost) {
  std::printf("%-14s %-6s %9.3f %9.3f %9.2f %9.2f %8.1f %10zu", name.c_str(), encoding, cost.cpu_ms,
              cost.made_cpu_ms, cost.p50_ms, cost.p99_ms, cost.resident_mib, cost.bytes);
}

// How many times as much CPU as `ours` a scrape takes.
void PrintRatio(const Cost& cost, const Cost& ours) {
  std::printf(" %8.1f x\n", cost.cpu_ms / ours.cpu_ms);
  std::fflush(stdout);
}

// The page, once it carries pods.
std::string FullPage(uint16_t port) {
  LoopbackClient client(port);
  std::string page;
  while (page.find("pod=\"train-0\"") == std::string::npos) {
    page = client.Fetch("/metrics").body;
  }
  return page;
}

struct Way {
  Encoding encoding;
  const char* name;
};
constexpr std::array kWays = {Way{Encoding::kPlain, "plain"}, Way{Encoding::kGzip, "gzip"}};

void MeasureSize(const Size& size, std::span<char* const> peers) {
  const TemporaryFolder files;
  std::array<Cost, kWays.size()> ours;
  std::string path;
  std::printf("\n%zu series\n", size.series);
  std::printf("%-14s %-6s %9s %9s %9s %9s %8s %10s\n", "", "", "CPU, ms", "(unasked)", "p50, ms",
              "p99, ms", "MiB", "bytes");
  {
    const Server podgpu({PODGPU_BINARY_DIR "/bin/synthetic_exporter", size.gpus, size.instances,
                         std::to_string(size.period_ms)});
    path = files.Write("page.prom", FullPage(podgpu.port()));
    for (size_t i = 0; i < kWays.size(); ++i) {
      ours[i] = ScrapeEachPage(podgpu, kWays[i].encoding, size.period_ms, size.scrapes);
      Print("podgpu", kWays[i].name, ours[i]);
      std::printf("\n");
    }
  }
  for (const std::string peer : peers) {
    const Server server({peer, path});
    for (size_t i = 0; i < kWays.size(); ++i) {
      const Cost cost =
          ScrapeEachPage(server, kWays[i].encoding, size.period_ms, size.peer_scrapes);
      Print(peer.substr(peer.rfind('/') + 1), kWays[i].name, cost);
      PrintRatio(cost, ours[i]);
    }
  }
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  std::printf("page_cost: one page made and served once; round trips as the client sees them\n");
  for (const podgpu::Size& size : podgpu::kSizes) {
    podgpu::MeasureSize(size, words.subspan(1));
  }
}
