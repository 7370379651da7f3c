// Readings of processes on their way from their refresher to the tick: each once and in order.
//
// Unlike everything else that threads share, a reading is not replaced by a newer one, since exits
// and busy time are news.  Readings are handed to and fro, so that their memory is used again;
// while the tick has not taken those that wait, no more are made, and the next one tells of a
// longer time. The locks are held for moves of pointers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/published.h"
#include "facts/thread_facts.h"
#include "process/process_reading.h"

namespace podgpu {

class ProcessFeed {
 public:
  static constexpr size_t kMostWaiting = 64;

  ProcessFeed() { facts_.Set(std::make_shared<const ProcessFacts>()); }

  // A reading to be filled; null when so many wait that none may be added.
  std::unique_ptr<ProcessReading> Begin() {
    MutexLock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      return nullptr;
    }
    if (spare_.empty()) {
      return std::make_unique<ProcessReading>();
    }
    std::unique_ptr<ProcessReading> reading = std::move(spare_.back());
    spare_.pop_back();
    return reading;
  }
  void Add(std::unique_ptr<ProcessReading> reading) {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(reading));
  }

  // Moves what waits to `readings`, which is empty; they are given back when they have been used.
  void Take(std::vector<std::unique_ptr<ProcessReading>>& readings) {
    MutexLock lock(mutex_);
    waiting_.swap(readings);
  }
  void GiveBack(std::vector<std::unique_ptr<ProcessReading>>& readings) {
    MutexLock lock(mutex_);
    for (std::unique_ptr<ProcessReading>& reading : readings) {
      spare_.push_back(std::move(reading));
    }
    readings.clear();
  }

  // Says of a reading what its device numbers mean before it is added.
  Published<ProcessFacts>& facts() { return facts_; }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<ProcessReading>> waiting_ PODGPU_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ProcessReading>> spare_ PODGPU_GUARDED_BY(mutex_);
  Published<ProcessFacts> facts_;
};

}  // namespace podgpu
