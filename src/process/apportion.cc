#include "process/apportion.h"

#include <algorithm>

#include "base/status.h"

namespace podgpu {

std::span<const uint64_t> Apportioner::ByWeight(uint64_t total, std::span<const uint64_t> weights) {
  Wide sum = 0;
  for (const uint64_t weight : weights) {
    sum += weight;
  }
  if (sum == 0) {
    return {};
  }
  shares_.clear();
  remainders_.clear();
  uint64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Wide product = Wide{total} * weights[i];
    const auto share = static_cast<uint64_t>(product / sum);
    shares_.push_back(share);
    remainders_.push_back({.size = product % sum, .index = i});
    left -= share;
  }
  // The remainders add up to left * sum and each is below sum, so fewer units are left than there
  // are remainders above 0: no unit goes to a weight of zero.
  PODGPU_CHECK(left < weights.size());
  const auto larger = [](const Remainder& a, const Remainder& b) {
    return a.size != b.size ? a.size > b.size : a.index < b.index;
  };
  const auto last = remainders_.begin() + static_cast<std::ptrdiff_t>(left);
  std::nth_element(remainders_.begin(), last, remainders_.end(), larger);
  for (auto it = remainders_.begin(); it != last; ++it) {
    ++shares_[it->index];
  }
  return shares_;
}

std::span<const uint64_t> Apportioner::Equally(uint64_t total, size_t count) {
  shares_.clear();
  for (size_t i = 0; i < count; ++i) {
    shares_.push_back(total / count + (i < total % count ? 1 : 0));
  }
  return shares_;
}

}  // namespace podgpu
