// slow_clients_cost: the effect of a thousand bad clients on the exporter and on a good client.
//
// Four groups of bad clients, one after the other: clients that send nothing, clients that send one
// byte of a request per second, clients that request a large page and read nothing, and clients of
// ten machines that send 40 requests at once, read nothing, and reconnect when they are cut off.
// The kernel's TCP memory is read from /proc/net/sockstat, which counts both ends.  Meanwhile a
// good client scrapes over a new connection each time, another requests /healthz, and a third
// scrapes from one of the ten machines.  The life of a connection is measured at both ends: by the
// client when it sees the end, and by the exporter's count of open descriptors.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"
#include "base/text.h"
#include "http/server.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/process_cost.h"
#include "tests/bench/scraper.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr size_t kBadClients = 1'000;
constexpr int kGoodPaceMs = 10;
constexpr int kPollMs = 20;
constexpr double kTimeoutSeconds = 40;

// A window and segments so small that little of a page fits into the kernel's buffers.
constexpr int kSmallWindowBytes = 4096;
constexpr int kSmallSegmentBytes = 536;
constexpr double kKibPerMib = 1024;

double SecondsSince(Instant start) {
  return std::chrono::duration<double>(SystemClock().Now() - start).count();
}

enum class ClientKind : uint8_t { kIdle, kDripping, kNotReading, kFlooding };

constexpr int kRequestsAtOnce = 40;
constexpr size_t kMachines = 10;
constexpr double kFloodSeconds = 20;

// The kernel's TCP memory of this machine: "TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 3".
double KernelTcpMib() {
  std::ifstream table("/proc/net/sockstat");
  std::string line;
  while (std::getline(table, line)) {
    const size_t at = line.find(" mem ");
    if (line.starts_with("TCP: ") && at != std::string::npos) {
      const auto pages = ParseDecimal(std::string_view(line).substr(at + 5)).value_or(0);
      return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) /
             (kKibPerMib * kKibPerMib);
    }
  }
  return 0;
}

struct BadClient {
  FileDescriptor socket;
  Instant connected;
  double lived_seconds = -1;  // Negative while the connection lives.
};

// Clients of one kind.
class BadClients {
 public:
  BadClients(uint16_t port, ClientKind kind)
      : port_(port), kind_(kind), events_(::epoll_create1(EPOLL_CLOEXEC)), clients_(kBadClients) {
    for (size_t i = 0; i < clients_.size(); ++i) {
      Connect(i);
    }
    last_drip_ = SystemClock().Now();
  }

  // Runs the clients for a moment.
  void Live() {
    std::array<epoll_event, 256> events{};
    const int count =
        ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), kPollMs);
    for (int i = 0; i < count; ++i) {
      LookAt(clients_[events[static_cast<size_t>(i)].data.u64]);
    }
    if (kind_ == ClientKind::kDripping && SecondsSince(last_drip_) >= 1) {
      last_drip_ = SystemClock().Now();
      Drip();
    }
  }

  const std::vector<BadClient>& clients() const { return clients_; }
  void HangUp() { clients_.clear(); }

 private:
  static constexpr std::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: a-name-that-is-longer-than-any-deadline\r\n\r\n";

  // Connects client `index`, sends its first bytes, and registers for its end.
  void Connect(size_t index) {
    BadClient& client = clients_[index];
    client.socket = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (kind_ == ClientKind::kNotReading) {
      ::setsockopt(client.socket.get(), SOL_SOCKET, SO_RCVBUF, &kSmallWindowBytes,
                   sizeof kSmallWindowBytes);
      ::setsockopt(client.socket.get(), IPPROTO_TCP, TCP_MAXSEG, &kSmallSegmentBytes,
                   sizeof kSmallSegmentBytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (kind_ == ClientKind::kFlooding) {
      address.sin_addr.s_addr =
          htonl(INADDR_LOOPBACK + 1 + static_cast<uint32_t>(index % kMachines));
      ::bind(client.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PODGPU_CHECK(::connect(client.socket.get(), reinterpret_cast<const sockaddr*>(&address),
                           sizeof address) == 0);
    client.connected = SystemClock().Now();
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = index}};
    if (kind_ == ClientKind::kNotReading || kind_ == ClientKind::kFlooding) {
      event.events = EPOLLRDHUP;  // Errors and hang-ups are always reported.
      for (int i = 0; i < (kind_ == ClientKind::kFlooding ? kRequestsAtOnce : 1); ++i) {
        ::send(client.socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
    ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, client.socket.get(), &event);
  }

  void LookAt(BadClient& client) {
    char bytes[4096];
    const bool reads = kind_ != ClientKind::kNotReading && kind_ != ClientKind::kFlooding;
    const ssize_t count =
        !reads ? 0 : ::recv(client.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0 || client.lived_seconds >= 0) {
      return;
    }
    client.lived_seconds = SecondsSince(client.connected);
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, client.socket.get(), nullptr);
    if (kind_ == ClientKind::kFlooding) {
      client.lived_seconds = -1;
      Connect(static_cast<size_t>(&client - clients_.data()));
    }
  }

  void Drip() {
    const char byte = kRequest[drips_++ % kRequest.size()];
    for (const BadClient& client : clients_) {
      if (client.lived_seconds < 0) {
        ::send(client.socket.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
  }

  const uint16_t port_;
  const ClientKind kind_;
  FileDescriptor events_;
  std::vector<BadClient> clients_;
  Instant last_drip_;
  size_t drips_ = 0;
};

// A well-behaved client on its own thread, until it is destroyed.
class GoodClient {
 public:
  GoodClient(uint16_t port, const char* path, const char* from) {
    thread_ = std::jthread([this, port, path, from](const std::stop_token& stop) {
      SystemClock clock;
      while (clock.WaitUntil(clock.Now() + std::chrono::milliseconds(kGoodPaceMs), stop)) {
        const Instant start = clock.Now();
        const size_t bytes = Scraper(port, Scraper::Encoding::kGzip, path, from).Fetch();
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

// When each connection ended, as the client saw it; a client that does not read sees no end.
void PrintLives(const BadClients& bad_clients) {
  const double deadline_seconds =
      std::chrono::duration<double>(HttpServerOptions().request_timeout).count();
  size_t early = 0;
  size_t at_deadline = 0;
  double latest = 0;
  for (const BadClient& client : bad_clients.clients()) {
    early += client.lived_seconds >= 0 && client.lived_seconds < deadline_seconds - 0.5 ? 1U : 0U;
    at_deadline += client.lived_seconds >= deadline_seconds - 0.5 ? 1U : 0U;
    latest = std::max(latest, client.lived_seconds);
  }
  std::printf("  %-28s %zu before their deadline of %.0f s, %zu at it, %zu not\n",
              "closed, as they see it", early, deadline_seconds, at_deadline,
              bad_clients.clients().size() - early - at_deadline);
  std::printf("  %-28s %.2f s after its deadline\n", "the last of them", latest - deadline_seconds);
}

// Runs one group against the exporter `pid` on `port`.
void MeasureUnder(pid_t pid, uint16_t port, ClientKind kind, const char* name) {
  std::printf("\n%zu clients that %s\n", kBadClients, name);
  std::fflush(stdout);
  const Memory before = MemoryOf(pid);
  const int64_t descriptors = DescriptorsOf(pid);
  const double cpu_ms = CpuMsOf(pid);
  // The second scraper shares its address with some of the clients that reconnect.
  GoodClient scrapes(port, "/metrics", "127.0.0.1");
  GoodClient neighbour(port, "/metrics", "127.0.0.2");
  GoodClient probes(port, "/healthz", "127.0.0.1");
  const Instant start = SystemClock().Now();
  const double kernel_mib = KernelTcpMib();
  BadClients bad_clients(port, kind);
  Memory peak = before;
  double most_kernel_mib = kernel_mib;
  const double patience_seconds = kind == ClientKind::kFlooding ? kFloodSeconds : kTimeoutSeconds;
  int64_t most_descriptors = descriptors;
  double all_closed_seconds = -1;
  constexpr int64_t kGoodOnes = 3;
  while (all_closed_seconds < 0 && SecondsSince(start) < patience_seconds) {
    bad_clients.Live();
    const int64_t now = DescriptorsOf(pid);
    most_descriptors = std::max(most_descriptors, now);
    most_kernel_mib = std::max(most_kernel_mib, KernelTcpMib());
    peak.resident_kib = std::max(peak.resident_kib, MemoryOf(pid).resident_kib);
    if (kind != ClientKind::kFlooding && now <= descriptors + kGoodOnes) {
      all_closed_seconds = SecondsSince(start);
    }
  }
  bad_clients.Live();
  scrapes.Stop();
  neighbour.Stop();
  probes.Stop();
  scrapes.Print("good client, /metrics");
  neighbour.Print("from 127.0.0.2, /metrics");
  probes.Print("good client, /healthz");
  if (kind == ClientKind::kIdle || kind == ClientKind::kDripping) {
    PrintLives(bad_clients);
  }
  if (kind != ClientKind::kFlooding) {
    std::printf("  %-28s %.2f s after the clients came\n", "the exporter has closed all",
                all_closed_seconds);
  }
  std::printf("  %-28s %.1f MiB at first, %.1f MiB at most\n", "the kernel, for TCP", kernel_mib,
              most_kernel_mib);
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
  // For this process; the exporter keeps its own limit.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);

  const uint16_t port = exporter.port();
  const pid_t pid = exporter.process().pid();
  std::printf("slow_clients_cost: at most %zu connections and %zu for probes\n",
              HttpServerOptions().max_connections, HttpServerOptions().probe_slots);
  MeasureUnder(pid, port, ClientKind::kIdle, "send nothing");
  MeasureUnder(pid, port, ClientKind::kDripping, "send a byte each second");
  MeasureUnder(pid, port, ClientKind::kNotReading, "ask for the page and read nothing");
  MeasureUnder(pid, port, ClientKind::kFlooding,
               "ask 40 times at once, read nothing and come again");
  return 0;
}

}  // namespace
}  // namespace podgpu

int main() { return podgpu::Run(); }
