#include "tests/bench/scraper.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cmath>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kGoodStatus = "HTTP/1.1 200 ";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

// The number after "\r\nContent-Length: ", in upper or lower case.
std::optional<uint64_t> ContentLength(std::string_view head) {
  constexpr std::string_view kName = "\r\ncontent-length: ";
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  const auto found = std::search(head.begin(), head.end(), kName.begin(), kName.end(), same);
  if (found == head.end()) {
    return std::nullopt;
  }
  const std::string_view rest =
      head.substr(static_cast<size_t>(found - head.begin()) + kName.size());
  return ParseDecimal(rest.substr(0, rest.find('\r')));
}

}  // namespace

void RoundTrips::Add(Duration length) {
  lengths_ms_.push_back(std::chrono::duration<double, std::milli>(length).count());
}

double RoundTrips::Percentile(double percent) const {
  if (lengths_ms_.empty()) {
    return 0;
  }
  std::vector<double> sorted = lengths_ms_;
  std::ranges::sort(sorted);
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::min(static_cast<size_t>(std::max(rank, 1.0)), sorted.size()) - 1];
}

Scraper::Scraper(uint16_t port, Encoding encoding, std::string_view path, const char* from)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      request_("GET " + std::string(path) +
               " HTTP/1.1\r\nHost: bench\r\nAccept: text/plain;version=0.0.4\r\n") {
  request_ += encoding == Encoding::kGzip ? "Accept-Encoding: gzip\r\n\r\n" : "\r\n";
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval limit = {.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from, &address.sin_addr);
  ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  is_good_ =
      ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool Scraper::Receive() {
  const ssize_t count =
      ::recv(socket_.get(), buffer_.data() + held_bytes_, buffer_.size() - held_bytes_, 0);
  held_bytes_ += count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0;
}

size_t Scraper::Fetch() {
  is_good_ = is_good_ && ::send(socket_.get(), request_.data(), request_.size(), MSG_NOSIGNAL) ==
                             static_cast<ssize_t>(request_.size());
  held_bytes_ = 0;
  size_t head_bytes = std::string_view::npos;
  while (is_good_ && head_bytes == std::string_view::npos) {
    is_good_ = Receive();
    head_bytes = std::string_view(buffer_.data(), held_bytes_).find(kHeadEnd);
  }
  if (!is_good_) {
    return 0;
  }
  const std::string_view head(buffer_.data(), head_bytes + kHeadEnd.size());
  const std::optional<uint64_t> length = ContentLength(head);
  is_good_ = head.starts_with(kGoodStatus);
  const std::string_view begun(buffer_.data() + head.size(), held_bytes_ - head.size());
  const size_t got = length ? ReadLength(begun.size(), *length) : ReadChunks(begun);
  return is_good_ ? got : 0;
}

size_t Scraper::ReadLength(size_t got, size_t length) {
  while (is_good_ && got < length) {
    held_bytes_ = 0;
    is_good_ = Receive();
    got += held_bytes_;
  }
  return got;
}

// The last chunk is found by its bytes, which a page does not contain.
size_t Scraper::ReadChunks(std::string_view begun) {
  std::string tail(begun.substr(begun.size() - std::min(begun.size(), kLastChunk.size())));
  size_t got = begun.size();
  while (is_good_ && tail != kLastChunk) {
    held_bytes_ = 0;
    is_good_ = Receive();
    got += held_bytes_;
    tail.append(buffer_.data(), held_bytes_);
    tail.erase(0, tail.size() - std::min(tail.size(), kLastChunk.size()));
  }
  return got;
}

size_t Scraper::Fetch(RoundTrips& trips) {
  const SystemClock clock;
  const Instant start = clock.Now();
  const size_t bytes = Fetch();
  if (bytes > 0) {
    trips.Add(clock.Now() - start);
  }
  return bytes;
}

}  // namespace podgpu
