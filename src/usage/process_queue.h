// The queue of process readings from the process refresher to the tick: each reading once and in
// order.
//
// Other threads replace an old fact by a newer one; a process reading must not be lost, since it
// reports exits and busy time.  Used readings come back, and their memory is used again.  When the
// queue is full, the refresher makes no reading, and the next one covers a longer time.  The locks
// are held only while pointers move.
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

class ProcessQueue {
 public:
  static constexpr size_t kMostWaiting = 64;

  ProcessQueue() { facts_.Set(std::make_shared<const ProcessFacts>()); }

  // Returns a reading to fill; null when the queue is full.
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

  // Moves the waiting readings to `readings`, which is empty.  Call GiveBack after use.
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

  // The refresher publishes the UUIDs of device numbers here before it adds a reading that uses
  // them.
  Published<ProcessFacts>& facts() { return facts_; }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<ProcessReading>> waiting_ PODGPU_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ProcessReading>> spare_ PODGPU_GUARDED_BY(mutex_);
  Published<ProcessFacts> facts_;
};

}  // namespace podgpu
