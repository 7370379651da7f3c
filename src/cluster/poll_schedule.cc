#include "cluster/poll_schedule.h"

#include <algorithm>

#include "base/status.h"

namespace podgpu {

void PollSchedule::SetNodes(std::span<const std::string> ids, Instant now) {
  const std::set<std::string> wanted(ids.begin(), ids.end());
  std::erase_if(nodes_, [&](const auto& entry) {
    const auto& [id, node] = entry;
    const bool gone = !wanted.contains(id);
    if (gone && !node.is_running) {
      queue_.erase({node.due, id});
    }
    return gone;
  });
  for (const std::string& id : wanted) {
    if (const auto [entry, is_new] = nodes_.try_emplace(id); is_new) {
      Plan(id, entry->second, now);
    }
  }
}

std::vector<std::string> PollSchedule::TakeDue(Instant now) {
  std::vector<std::string> due;
  while (running_ < pace_.at_once && !queue_.empty() && queue_.begin()->first <= now) {
    const std::string id = queue_.begin()->second;
    queue_.erase(queue_.begin());
    Node& node = nodes_.at(id);
    node.is_running = true;
    node.asked = now;
    ++running_;
    due.push_back(id);
  }
  return due;
}

void PollSchedule::Succeeded(const std::string& id, Instant now) {
  if (Node* const node = End(id)) {
    // Each round is a random amount early, so nodes that were requested together drift apart.
    node->failures = 0;
    constexpr double kShare = 0.9;
    Plan(id, *node, std::max(now, node->asked + Jittered(pace_.interval, kShare)));
  }
}

void PollSchedule::Failed(const std::string& id, Instant now) {
  if (Node* const node = End(id)) {
    // Exponential back-off.  Nodes that failed together, for example in a network fault, must not
    // all be requested again at the same moment: half of the wait is random.
    constexpr uint32_t kMostDoublings = 16;
    const Duration doubled =
        pace_.interval * (uint64_t{1} << std::min(node->failures, kMostDoublings));
    const Duration cap = std::max(pace_.longest_wait, pace_.interval);
    ++node->failures;
    Plan(id, *node, now + Jittered(std::min<Duration>(doubled, cap), 0.5));
  }
}

Instant PollSchedule::next_due() const {
  return queue_.empty() || running_ >= pace_.at_once ? Instant::max() : queue_.begin()->first;
}

void PollSchedule::Plan(const std::string& id, Node& node, Instant due) {
  node.due = due;
  node.is_running = false;
  queue_.emplace(due, id);
}

Duration PollSchedule::Jittered(Duration whole, double share) {
  std::uniform_real_distribution<double> part(share, 1.0);
  return std::chrono::duration_cast<Duration>(whole * part(dice_));
}

PollSchedule::Node* PollSchedule::End(const std::string& id) {
  PODGPU_CHECK(running_ > 0);
  --running_;
  const auto found = nodes_.find(id);
  return found != nodes_.end() && found->second.is_running ? &found->second : nullptr;
}

}  // namespace podgpu
