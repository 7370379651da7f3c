// When each node is to be asked: its own rhythm, slower while it fails.
//
// A node that answers is asked once per interval, a little early and by chance, so that thousands
// spread out and stay spread.  One that fails is asked after half to all of its wait, which doubles
// with each failure up to a cap.  At most so many are asked at the same time, the longest due
// first. Pure but for its dice; one thread.
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
  std::chrono::milliseconds longest_wait{60'000};  // After many failures.
  size_t at_once = 256;
};

class PollSchedule {
 public:
  PollSchedule(PollPace pace, uint32_t seed) : pace_(pace), dice_(seed) {}

  // Exactly these are asked from now on; those that are new at once.
  void SetNodes(std::span<const std::string> ids, Instant now);

  // The ids to ask now; they run until Succeeded or Failed is told of them.
  std::vector<std::string> TakeDue(Instant now);
  // Of an id that is not known any more, nothing happens but that its place is free.
  void Succeeded(const std::string& id, Instant now);
  void Failed(const std::string& id, Instant now);

  // When the next one is due; the end of time when there is none or no place is free.
  Instant next_due() const;
  size_t running() const { return running_; }

 private:
  struct Node {
    Instant due{};
    Instant asked{};
    bool is_running = false;
    uint32_t failures = 0;  // In a row.
  };

  void Plan(const std::string& id, Node& node, Instant due);
  // Chosen evenly between `share` of `whole` and all of it.
  Duration Jittered(Duration whole, double share);
  Node* End(const std::string& id);

  const PollPace pace_;
  std::minstd_rand dice_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<Instant, std::string>> queue_;  // Those that do not run.
  size_t running_ = 0;
};

}  // namespace podgpu
