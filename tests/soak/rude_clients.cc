#include "tests/soak/rude_clients.h"

#include <array>
#include <poll.h>
#include <random>
#include <string>
#include <string_view>

#include "http/testing/loopback_client.h"

namespace podgpu {
namespace {

constexpr int kBetweenPagesMs = 50;
constexpr int kBetweenMisusesMs = 20;
constexpr int kScrapers = 2;

constexpr std::array<std::string_view, 8> kRequests = {
    "GET /metrics HTTP/1.1\r\nHost: t\r\n\r\n",
    "GET /metrics HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n",
    "GET /metrics HTTP/1.1\r\nHost: t\r\nAccept: application/openmetrics-text\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: t\r\n\r\n",
    "GET /api/v1/node HTTP/1.1\r\nHost: t\r\n\r\n",
    "GET /api/v1/status HTTP/1.1\r\nHost: t\r\n\r\n",
    "GET /explain?gpu=0 HTTP/1.1\r\nHost: t\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n"};

std::string RandomBytes(std::mt19937_64& random, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

// One connection of a rude client.
void MisuseOnce(uint16_t port, std::mt19937_64& random) {
  constexpr int kWays = 8;
  constexpr size_t kTooMuch = 100'000;
  constexpr int kSmallWindow = 2'048;
  const auto way = static_cast<int>(random() % kWays);
  LoopbackClient client(port, way == 0 ? kSmallWindow : 0);
  if (!client.connected()) {
    return;
  }
  switch (way) {
    case 0:  // Asks and does not read; the end resets the connection.
      client.Get("/metrics");
      break;
    case 1:  // Ends in the middle of a request.
      client.Send("GET /metrics HTTP/1.1\r\nHo");
      break;
    case 2:
      client.Send(RandomBytes(random, random() % kTooMuch));
      break;
    case 3:  // A header that is too long.
      client.Send("GET / HTTP/1.1\r\nX: " + std::string(kTooMuch, 'x') + "\r\n\r\n");
      break;
    case 4:  // Many requests at once, of which it reads one answer.
      for (int i = 0; i < 50 && client.Get("/metrics"); ++i) {
      }
      client.Read();
      break;
    case 5:  // A body that never comes.
      client.Send("POST /metrics HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000000\r\n\r\n");
      client.Read();
      break;
    case 6:
      client.Fetch("/" + std::string(random() % kTooMuch, '%'));
      break;
    default:;  // Connects and ends.
  }
}

}  // namespace

RudeClients::RudeClients(uint16_t port, Counts& counts) : port_(port), counts_(counts) {
  for (int i = 0; i < kScrapers; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Scrape(stop); });
  }
  threads_.emplace_back([this](const std::stop_token& stop) { Misuse(stop); });
}

void RudeClients::Scrape(const std::stop_token& stop) {
  size_t next = 0;
  while (!stop.stop_requested()) {
    LoopbackClient client(port_);
    while (client.connected() && !stop.stop_requested() &&
           client.Send(kRequests[next++ % kRequests.size()]) && client.Read().status == 200) {
      ++counts_.pages;
      ::poll(nullptr, 0, kBetweenPagesMs);
    }
    ::poll(nullptr, 0, kBetweenPagesMs);
  }
}

void RudeClients::Misuse(const std::stop_token& stop) {
  std::mt19937_64 random(1);
  while (!stop.stop_requested()) {
    MisuseOnce(port_, random);
    ++counts_.misuses;
    ::poll(nullptr, 0, kBetweenMisusesMs);
  }
}

}  // namespace podgpu
