// Schedules the requests to each node: at an interval, less often while the node fails.
//
// A node that answers is requested once per interval, a random amount early, so the requests to
// thousands of nodes spread out and stay spread.  A node that fails is requested after a random
// time between half and all of its wait; the wait doubles with each failure up to a limit.  The
// number of concurrent requests is limited; the nodes that are due longest come first.  Depends
// only on its calls and its random generator; used on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace podgpu {

struct PollPace {
  std::chrono::milliseconds interval{15'000};
  std::chrono::milliseconds longest_wait{60'000};  // The limit after many failures.
  size_t at_once = 256;
};

class PollSchedule {
 public:
  PollSchedule(PollPace pace, uint32_t seed) : pace_(pace), dice_(seed) {}

  // Sets the nodes to request from now on; new ones are due at once.
  void SetNodes(std::span<const std::string> ids, Instant now);

  // Returns the ids to request now; each runs until Succeeded or Failed is called for it.
  std::vector<std::string> TakeDue(Instant now);
  // For an id that was removed meanwhile, these only free its place.
  void Succeeded(const std::string& id, Instant now);
  void Failed(const std::string& id, Instant now);

  // Returns the time of the next request; Instant::max() if there is none or no place is free.
  Instant next_due() const;
  size_t running() const { return running_; }

 private:
  struct Node {
    Instant due{};
    Instant asked{};
    bool is_running = false;
    uint32_t failures = 0;  // Consecutive failures.
  };

  void Plan(const std::string& id, Node& node, Instant due);
  // Returns a random duration, uniform between `share` of `whole` and `whole`.
  Duration Jittered(Duration whole, double share);
  Node* End(const std::string& id);

  const PollPace pace_;
  std::minstd_rand dice_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<Instant, std::string>> queue_;  // The nodes that are not running.
  size_t running_ = 0;
};

}  // namespace podgpu
