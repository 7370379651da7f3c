// The samples of the last minutes of one GPU and field, in a ring buffer that grows to the size
// that it needs.
//
// Holds time stamps and values, oldest first.  Push and PopBefore return the sample that they
// remove, so the caller can keep counts of the samples in the window.  At most 65,536 samples are
// kept (18 hours at one a second); beyond that Push removes the oldest.  Used on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace podgpu {

class SampleWindow {
 public:
  static constexpr size_t kMostSamples = 65'536;

  struct Sample {
    int64_t stamp_us = 0;
    int64_t value = 0;
  };

  // Adds the newest sample.  Returns the oldest one when it was removed because the window is full.
  std::optional<Sample> Push(Sample sample) {
    std::optional<Sample> left;
    if (count_ == kMostSamples) {
      left = PopBefore(INT64_MAX);
    } else if (count_ == ring_.size()) {
      Grow();
    }
    ring_[(first_ + count_) % ring_.size()] = sample;
    ++count_;
    return left;
  }

  // Removes and returns the oldest sample if it is older than `stamp_us`.
  std::optional<Sample> PopBefore(int64_t stamp_us) {
    if (count_ == 0 || ring_[first_].stamp_us >= stamp_us) {
      return std::nullopt;
    }
    const Sample sample = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --count_;
    return sample;
  }

  void Clear() { first_ = count_ = 0; }
  size_t size() const { return count_; }

 private:
  void Grow() {
    constexpr size_t kFirstSize = 16;
    std::vector<Sample> larger(ring_.empty() ? kFirstSize : 2 * ring_.size());
    for (size_t i = 0; i < count_; ++i) {
      larger[i] = ring_[(first_ + i) % ring_.size()];
    }
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Sample> ring_;
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace podgpu
