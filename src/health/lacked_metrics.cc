#include "health/lacked_metrics.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {

std::vector<std::string> LackedWarnings(const LackedFields* lacked,
                                        const std::vector<Counter>& counters) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const Counter& counter : counters) {
    if (lacked != nullptr && counter.field != nullptr &&
        std::ranges::find(lacked->fields, counter.field) != lacked->fields.end()) {
      names.push_back(counter.name);
    }
  }
  if (names.empty()) {
    return {};
  }
  return {absl::StrFormat("GPUs of this node can never give %d %s of the list: %s; %s. %s",
                          names.size(), names.size() == 1 ? "metric" : "metrics",
                          ListedFirst(names, kMostNamed), lacked->why, kLetDcgmRead)};
}

void LackedMetrics::Take(const std::shared_ptr<const LackedFields>& lacked,
                         const std::shared_ptr<const std::vector<Counter>>& counters) {
  if (lacked == lacked_ && counters == counters_) {
    return;
  }
  lacked_ = lacked;
  counters_ = counters;
  warnings_.Set(LackedWarnings(lacked.get(), *counters));
}

}  // namespace podgpu
