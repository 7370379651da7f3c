// Clients that ask podgpu for every page, several times a second, and clients that misuse it.
//
// A rude client stops in the middle of a request, sends bytes that are not HTTP, does not read its
// answer, or asks for too much.  All run on threads of their own from construction to destruction.
// A test reads the counts from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace podgpu {

class RudeClients {
 public:
  // The counts outlive the clients, because a test stops and starts them.
  struct Counts {
    std::atomic<int64_t> pages = 0;    // Complete answers with status 200.
    std::atomic<int64_t> misuses = 0;  // Connections of rude clients.
  };

  // Talks to 127.0.0.1:`port`; `counts` must outlive the object.
  RudeClients(uint16_t port, Counts& counts);

 private:
  void Scrape(const std::stop_token& stop);
  void Misuse(const std::stop_token& stop);

  const uint16_t port_;
  Counts& counts_;
  std::vector<std::jthread> threads_;
};

}  // namespace podgpu
