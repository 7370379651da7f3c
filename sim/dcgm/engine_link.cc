#include "sim/dcgm/engine_link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

namespace podgpu::sim {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryPause{50};  // Between attempts to connect (DCGM 4.6.0).
constexpr const char* kDefaultPort = "5555";

// A connected socket, or -1.
int ConnectSocket(const sockaddr* address, socklen_t length, const Countdown& countdown) {
  const int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return -1;
  }
  bool connected = connect(descriptor, address, length) == 0;
  if (!connected && errno == EINPROGRESS && countdown.Await(descriptor, POLLOUT)) {
    int error = 0;
    socklen_t error_length = sizeof(error);
    connected =
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &error_length) == 0 && error == 0;
  }
  if (!connected) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

int ConnectUnix(const std::string& path, const Countdown& countdown) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return -1;
  }
  path.copy(address.sun_path, path.size());
  return ConnectSocket(reinterpret_cast<const sockaddr*>(&address), sizeof(address), countdown);
}

int ConnectTcp(const EngineAddress& address, const Countdown& countdown) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0) {
    return -1;
  }
  int descriptor = -1;
  for (const addrinfo* entry = found; entry != nullptr && descriptor < 0; entry = entry->ai_next) {
    descriptor = ConnectSocket(entry->ai_addr, entry->ai_addrlen, countdown);
  }
  freeaddrinfo(found);
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return descriptor;
}

}  // namespace

bool ParseEngineAddress(const std::string& text, bool is_unix, EngineAddress& address) {
  address = EngineAddress{.is_unix = is_unix, .path = is_unix ? text : "", .host = "", .port = ""};
  if (is_unix || text.empty()) {
    return !text.empty();
  }
  const size_t bracket = text.front() == '[' ? text.find(']') : 0;
  if (bracket == std::string::npos) {
    return false;
  }
  const size_t colon = text.find(':', bracket);
  address.host = bracket == 0 ? text.substr(0, colon) : text.substr(1, bracket - 1);
  address.port = colon == std::string::npos ? kDefaultPort : text.substr(colon + 1);
  return !address.host.empty() && !address.port.empty() && address.port.size() <= 5 &&
         std::ranges::all_of(address.port, [](char c) { return c >= '0' && c <= '9'; });
}

Countdown::Countdown(milliseconds duration)
    : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const std::chrono::nanoseconds rest = duration - seconds;
  itimerspec when{};
  when.it_value.tv_sec = seconds.count();
  when.it_value.tv_nsec = std::max<int64_t>(rest.count(), duration.count() > 0 ? 0 : 1);
  timerfd_settime(timer_, 0, &when, nullptr);
}

Countdown::~Countdown() { close(timer_); }

bool Countdown::Await(int descriptor, short events) const {
  std::array<pollfd, 2> polled = {{{.fd = descriptor, .events = events, .revents = 0},
                                   {.fd = timer_, .events = POLLIN, .revents = 0}}};
  int count = -1;
  while (count < 0) {
    count = poll(polled.data(), polled.size(), -1);
    if (count < 0 && errno != EINTR) {
      return false;
    }
  }
  return polled[0].revents != 0;
}

bool Countdown::Pause(milliseconds pause) const {
  pollfd polled{.fd = timer_, .events = POLLIN, .revents = 0};
  return poll(&polled, 1, static_cast<int>(pause.count())) <= 0;
}

std::shared_ptr<EngineLink> EngineLink::Connect(const EngineAddress& address,
                                                const EngineDeadlines& deadlines) {
  const Countdown countdown(deadlines.connect);
  int descriptor = -1;
  do {
    descriptor =
        address.is_unix ? ConnectUnix(address.path, countdown) : ConnectTcp(address, countdown);
  } while (descriptor < 0 && countdown.Pause(kRetryPause));
  if (descriptor < 0) {
    return nullptr;
  }
  auto link = std::make_shared<EngineLink>(descriptor, deadlines.request, !address.is_unix);
  if (link->AskWithin(EngineCall("login"), Countdown(deadlines.login)) != LinkResult::kAnswered) {
    link->Shut();
  }
  return link;
}

EngineLink::EngineLink(int descriptor, milliseconds request_timeout, bool is_tcp)
    : descriptor_(descriptor),
      turn_(eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)),
      request_timeout_(request_timeout),
      is_tcp_(is_tcp) {}

EngineLink::~EngineLink() {
  close(turn_);
  close(descriptor_);
}

LinkResult EngineLink::Ask(uint64_t call) { return AskWithin(call, Countdown(request_timeout_)); }

LinkResult EngineLink::Stall(milliseconds pause, const Countdown& countdown) {
  std::array<pollfd, 2> polled = {{{.fd = descriptor_, .events = POLLRDHUP, .revents = 0},
                                   {.fd = countdown.timer(), .events = POLLIN, .revents = 0}}};
  poll(polled.data(), polled.size(), static_cast<int>(pause.count()));
  if (closed_ || polled[0].revents != 0) {
    return Close();
  }
  return polled[1].revents != 0 ? LinkResult::kTimedOut : LinkResult::kAnswered;
}

void EngineLink::Shut() {
  closed_ = true;
  shutdown(descriptor_, SHUT_RDWR);
}

LinkResult EngineLink::Close() {
  closed_ = true;
  return LinkResult::kClosed;
}

// Waits for this thread's turn, then makes the round trip; `countdown` limits both together.
LinkResult EngineLink::AskWithin(uint64_t call, const Countdown& countdown) {
  eventfd_t token = 0;
  while (eventfd_read(turn_, &token) != 0) {
    if (!countdown.Await(turn_, POLLIN)) {
      return closed_ ? LinkResult::kClosed : LinkResult::kTimedOut;
    }
  }
  const LinkResult result = closed_ ? LinkResult::kClosed : Exchange(call, countdown);
  eventfd_write(turn_, 1);
  return result;
}

LinkResult EngineLink::Exchange(uint64_t call, const Countdown& countdown) {
  const EngineRequest request{.magic = kEngineMagic, .number = next_number_++, .call = call};
  const ssize_t sent = send(descriptor_, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno == EAGAIN) {
    return LinkResult::kTimedOut;  // Earlier requests, which timed out, fill the socket.
  }
  if (sent != static_cast<ssize_t>(sizeof(request))) {
    return Close();
  }
  return Receive(request.number, countdown);
}

// Reads replies up to that of `number`; older ones belong to requests that timed out.
LinkResult EngineLink::Receive(uint32_t number, const Countdown& countdown) {
  for (;;) {
    if (!countdown.Await(descriptor_, POLLIN)) {
      return closed_ ? LinkResult::kClosed : LinkResult::kTimedOut;
    }
    const ssize_t count =
        recv(descriptor_, buffer_.data() + filled_, buffer_.size() - filled_, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      return Close();
    }
    filled_ += count > 0 ? static_cast<size_t>(count) : 0;
    if (filled_ < buffer_.size()) {
      continue;
    }
    filled_ = 0;
    EngineReply reply{};
    std::memcpy(&reply, buffer_.data(), sizeof(reply));
    if (reply.magic != kEngineMagic) {
      return Close();
    }
    if (reply.number == number) {
      generation_ = reply.generation;
      return LinkResult::kAnswered;
    }
  }
}

}  // namespace podgpu::sim
