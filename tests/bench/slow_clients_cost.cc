// slow_clients_cost: what a thousand bad clients do to the running exporter and to a good one.
//
// Three crowds, one after the other: clients that send nothing, clients that send a byte of a
// request each second, and clients that ask for a large page and read nothing.  Meanwhile a good
// client scrapes over a new connection each time, and another asks for /healthz.  A connection's
// life is taken at both ends: by the client when it sees the end, and by the exporter's count of
// open descriptors.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"
#include "http/server.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/process_cost.h"
#include "tests/bench/scraper.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr size_t kCrowd = 1'000;
constexpr int kGoodPaceMs = 10;
constexpr int kLookMs = 20;
constexpr double kPatienceSeconds = 40;

// A window and segments so small that little of a page finds room in the kernel's buffers.
constexpr int kSmallWindowBytes = 4096;
constexpr int kSmallSegmentBytes = 536;
constexpr double kKibPerMib = 1024;

double SecondsSince(Instant start) {
  return std::chrono::duration<double>(SystemClock().Now() - start).count();
}

enum class Manner : uint8_t { kIdle, kDripping, kNotReading };

struct BadClient {
  FileDescriptor socket;
  Instant connected;
  double lived_seconds = -1;  // Below 0: it lives.
};

// Clients of one manner.
class Crowd {
 public:
  Crowd(uint16_t port, Manner manner)
      : manner_(manner), events_(::epoll_create1(EPOLL_CLOEXEC)), clients_(kCrowd) {
    for (size_t i = 0; i < clients_.size(); ++i) {
      Connect(clients_[i], port);
      epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = i}};
      if (manner == Manner::kNotReading) {
        event.events = EPOLLRDHUP;  // Errors and hang-ups are always told.
        ::send(clients_[i].socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
      }
      ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, clients_[i].socket.get(), &event);
    }
    last_drip_ = SystemClock().Now();
  }

  // Goes on for a moment.
  void Live() {
    std::array<epoll_event, 256> events{};
    const int count =
        ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), kLookMs);
    for (int i = 0; i < count; ++i) {
      LookAt(clients_[events[static_cast<size_t>(i)].data.u64]);
    }
    if (manner_ == Manner::kDripping && SecondsSince(last_drip_) >= 1) {
      last_drip_ = SystemClock().Now();
      Drip();
    }
  }

  const std::vector<BadClient>& clients() const { return clients_; }
  void HangUp() { clients_.clear(); }

 private:
  static constexpr std::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: a-name-that-is-longer-than-any-deadline\r\n\r\n";

  void Connect(BadClient& client, uint16_t port) const {
    client.socket = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (manner_ == Manner::kNotReading) {
      ::setsockopt(client.socket.get(), SOL_SOCKET, SO_RCVBUF, &kSmallWindowBytes,
                   sizeof kSmallWindowBytes);
      ::setsockopt(client.socket.get(), IPPROTO_TCP, TCP_MAXSEG, &kSmallSegmentBytes,
                   sizeof kSmallSegmentBytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PODGPU_CHECK(::connect(client.socket.get(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof address) == 0);
    client.connected = SystemClock().Now();
  }

  void LookAt(BadClient& client) {
    char bytes[4096];
    const ssize_t count = manner_ == Manner::kNotReading
                              ? 0
                              : ::recv(client.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0 || client.lived_seconds >= 0) {
      return;
    }
    client.lived_seconds = SecondsSince(client.connected);
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, client.socket.get(), nullptr);
  }

  void Drip() {
    const char byte = kRequest[drips_++ % kRequest.size()];
    for (const BadClient& client : clients_) {
      if (client.lived_seconds < 0) {
        ::send(client.socket.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
  }

  const Manner manner_;
  FileDescriptor events_;
  std::vector<BadClient> clients_;
  Instant last_drip_;
  size_t drips_ = 0;
};

// A client that means well, on a thread of its own, until it goes.
class GoodClient {
 public:
  GoodClient(uint16_t port, const char* path) {
    thread_ = std::jthread([this, port, path](const std::stop_token& stop) {
      SystemClock clock;
      while (clock.WaitUntil(clock.Now() + std::chrono::milliseconds(kGoodPaceMs), stop)) {
        const Instant start = clock.Now();
        const size_t bytes = Scraper(port, Scraper::Encoding::kGzip, path).Fetch();
        asked_++;
        if (bytes > 0) {
          trips_.Add(clock.Now() - start);  // The connect is part of it.
        }
      }
    });
  }

  void Stop() {
    thread_.request_stop();
    thread_.join();
  }
  void Print(const char* what) const {
    std::printf("  %-28s p50 %.2f ms, p99 %.2f ms, %zu of %zu answered\n", what,
                trips_.Percentile(50), trips_.Percentile(99), trips_.count(), asked_);
  }

 private:
  RoundTrips trips_;
  size_t asked_ = 0;
  std::jthread thread_;
};

// The end of each connection as the client saw it; one that does not read sees none.
void PrintLives(const Crowd& crowd) {
  const double deadline_seconds =
      std::chrono::duration<double>(HttpServerOptions().request_timeout).count();
  size_t early = 0;
  size_t at_deadline = 0;
  double latest = 0;
  for (const BadClient& client : crowd.clients()) {
    early += client.lived_seconds >= 0 && client.lived_seconds < deadline_seconds - 0.5 ? 1U : 0U;
    at_deadline += client.lived_seconds >= deadline_seconds - 0.5 ? 1U : 0U;
    latest = std::max(latest, client.lived_seconds);
  }
  std::printf("  %-28s %zu before their deadline of %.0f s, %zu at it, %zu not\n",
              "closed, as they see it", early, deadline_seconds, at_deadline,
              crowd.clients().size() - early - at_deadline);
  std::printf("  %-28s %.2f s after its deadline\n", "the last of them", latest - deadline_seconds);
}

// One crowd against the exporter `pid` on `port`.
void Suffer(pid_t pid, uint16_t port, Manner manner, const char* name) {
  std::printf("\n%zu clients that %s\n", kCrowd, name);
  std::fflush(stdout);
  const Memory before = MemoryOf(pid);
  const int64_t descriptors = DescriptorsOf(pid);
  const double cpu_ms = CpuMsOf(pid);
  GoodClient scrapes(port, "/metrics");
  GoodClient probes(port, "/healthz");
  const Instant start = SystemClock().Now();
  Crowd crowd(port, manner);
  Memory peak = before;
  int64_t most_descriptors = descriptors;
  double all_closed_seconds = -1;
  constexpr int64_t kGoodOnes = 2;
  while (all_closed_seconds < 0 && SecondsSince(start) < kPatienceSeconds) {
    crowd.Live();
    const int64_t now = DescriptorsOf(pid);
    most_descriptors = std::max(most_descriptors, now);
    peak.resident_kib = std::max(peak.resident_kib, MemoryOf(pid).resident_kib);
    if (now <= descriptors + kGoodOnes) {
      all_closed_seconds = SecondsSince(start);
    }
  }
  crowd.Live();
  scrapes.Stop();
  probes.Stop();
  scrapes.Print("good client, /metrics");
  probes.Print("good client, /healthz");
  if (manner != Manner::kNotReading) {
    PrintLives(crowd);
  }
  std::printf("  %-28s %.2f s after the crowd came\n", "the exporter has closed all",
              all_closed_seconds);
  std::printf("  %-28s %.1f MiB at first, %.1f MiB at most; %lld connections at most\n",
              "exporter, resident", before.resident_kib / kKibPerMib,
              peak.resident_kib / kKibPerMib,
              static_cast<long long>(most_descriptors - descriptors));
  std::printf("  %-28s %.1f ms per second\n", "exporter, CPU",
              (CpuMsOf(pid) - cpu_ms) / SecondsSince(start));
  std::fflush(stdout);
}

int Run() {
  TemporaryFolder files;
  const SimNode node(files.Write("node.yaml", ScenarioOf({.gpus = 16, .instances_per_gpu = 7})),
                     SimNode::Pace::kReal);
  PODGPU_CHECK(node.ready());
  ExporterProcess exporter(node, {"-f=" + files.Write("counters.csv", SixtyCounters()),
                                  "--metrics-views=dcgm,native,self"});
  PODGPU_CHECK(exporter.ready() && exporter.Await("/metrics", "pod=\"train-0\""));
  // For us; the exporter keeps what it was started with.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);

  const uint16_t port = exporter.port();
  const pid_t pid = exporter.process().pid();
  std::printf("slow_clients_cost: at most %zu connections and %zu for probes\n",
              HttpServerOptions().max_connections, HttpServerOptions().probe_slots);
  Suffer(pid, port, Manner::kIdle, "send nothing");
  Suffer(pid, port, Manner::kDripping, "send a byte each second");
  Suffer(pid, port, Manner::kNotReading, "ask for the page and read nothing");
  return 0;
}

}  // namespace
}  // namespace podgpu

int main() { return podgpu::Run(); }
