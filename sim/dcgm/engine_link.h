// The client's end of a connection to the simulated remote engine.
//
// A real socket with the failures of the real client library (DCGM 4.6.0, seen).  Refused and
// unresolvable addresses are retried until the time-out.  Connecting to an engine that accepts but
// is stopped takes two minutes and then succeeds with a dead connection.  A request without a reply
// ends after a minute; a closed socket ends it at once; Shut() from another thread releases a
// blocked request.  Requests of several threads take turns.  Standard library only; any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/dcgm/engine_protocol.h"

namespace podgpu::sim {

// The address of an engine.
struct EngineAddress {
  bool is_unix = false;
  std::string path;        // When is_unix.
  std::string host, port;  // Otherwise.
};

// Parses "host", "host:port", "[v6]:port" or, with `is_unix`, a path; false when it is invalid.
bool ParseEngineAddress(const std::string& text, bool is_unix, EngineAddress& address);

// How long the client library waits; the vendor's figures divided by the world's time scale.
struct EngineDeadlines {
  std::chrono::milliseconds connect{5000};
  std::chrono::milliseconds login{120'000};
  std::chrono::milliseconds request{60'000};
};

enum class LinkResult : uint8_t { kAnswered, kTimedOut, kClosed };

// A time-out that starts at construction; a descriptor, so it can be polled with others.
class Countdown {
 public:
  explicit Countdown(std::chrono::milliseconds duration);
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;
  ~Countdown();

  // Waits until `descriptor` has `events`; false when the time is over first.
  bool Await(int descriptor, short events) const;
  // Waits for `pause`; false when the time is over first.
  bool Pause(std::chrono::milliseconds pause) const;
  // Becomes readable when the time is over.
  int timer() const { return timer_; }

 private:
  const int timer_;
};

class EngineLink {
 public:
  // Connects and sends the hello.  Null when nothing listened in time; a dead link (Ask() returns
  // kClosed) when the other side accepted but did not answer the hello.
  static std::shared_ptr<EngineLink> Connect(const EngineAddress& address,
                                             const EngineDeadlines& deadlines);

  EngineLink(int descriptor, std::chrono::milliseconds request_timeout, bool is_tcp);
  EngineLink(const EngineLink&) = delete;
  EngineLink& operator=(const EngineLink&) = delete;
  ~EngineLink();

  // One round trip.  After kAnswered, generation() is that of the engine that answered.
  LinkResult Ask(uint64_t call);
  bool is_tcp() const { return is_tcp_; }
  // The time limit of a request.
  std::chrono::milliseconds request_timeout() const { return request_timeout_; }
  // Waits for `pause` as if the engine were busy with a request of this connection, whose time
  // limit is `countdown`: kAnswered after the pause, kTimedOut or kClosed when that came first.
  LinkResult Stall(std::chrono::milliseconds pause, const Countdown& countdown);
  // Ends the connection; a blocked Ask() then returns kClosed.
  void Shut();

  uint64_t generation() const { return generation_.load(); }

 private:
  LinkResult AskWithin(uint64_t call, const Countdown& countdown);
  LinkResult Exchange(uint64_t call, const Countdown& countdown);
  LinkResult Receive(uint32_t number, const Countdown& countdown);
  LinkResult Close();

  const int descriptor_;
  const int turn_;  // A pollable semaphore of 1: held by the requesting thread.
  const std::chrono::milliseconds request_timeout_;
  const bool is_tcp_;
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<bool> closed_ = false;
  // Guarded by turn_.
  uint32_t next_number_ = 1;
  std::array<char, sizeof(EngineReply)> buffer_{};  // The reply so far.
  size_t filled_ = 0;
};

}  // namespace podgpu::sim
