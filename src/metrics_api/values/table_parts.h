// What the maker of a table (use_window_table.cc) computes with: numbers for texts, means and sums
// with the time of the oldest sample in them.
//
// For that file only. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "metrics_api/values/metrics_table.h"

namespace podgpu {

// Numbers texts in the order of their first use.
class Interned {
 public:
  explicit Interned(std::vector<std::string>& texts) : texts_(texts) {}

  uint32_t Of(std::string_view text) {
    const auto [place, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) {
      texts_.emplace_back(text);
    }
    return place->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // Views of texts that outlive it.
};

// Sums samples to a mean with the time of the oldest.
class MeanOfSamples {
 public:
  void Add(double value, int64_t at_ms) {
    sum_ += value;
    oldest_ms_ = count_ == 0 ? at_ms : std::min(oldest_ms_, at_ms);
    ++count_;
  }
  std::optional<TimedValue> mean() const {
    return count_ == 0 ? std::nullopt
                       : std::optional(TimedValue{sum_ / static_cast<double>(count_), oldest_ms_});
  }

 private:
  double sum_ = 0;
  int64_t oldest_ms_ = 0;
  size_t count_ = 0;
};

// Adds up the parts of a pod's figure; absent as soon as one part is absent.
class SumOfParts {
 public:
  void Add(const std::optional<TimedValue>& part) {
    if (!part) {
      is_absent_ = true;
      return;
    }
    sum_.value += part->value;
    sum_.oldest_ms = parts_ == 0 ? part->oldest_ms : std::min(sum_.oldest_ms, part->oldest_ms);
    ++parts_;
  }
  std::optional<TimedValue> sum() const {
    return is_absent_ || parts_ == 0 ? std::nullopt : std::optional(sum_);
  }
  std::optional<TimedValue> mean() const {
    std::optional<TimedValue> mean = sum();
    if (mean) {
      mean->value /= static_cast<double>(parts_);
    }
    return mean;
  }

 private:
  TimedValue sum_;
  size_t parts_ = 0;
  bool is_absent_ = false;
};

}  // namespace podgpu
