#include "exporter/counters_looks.h"

#include <algorithm>
#include <array>
#include <poll.h>
#include <string>

#include "fields/counters_csv.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr seconds kWatched{60};
constexpr seconds kUnwatched{10};
constexpr seconds kAfterANotice{1};
constexpr int kLooksAfterANotice = 2;

}  // namespace

CountersLooks::CountersLooks(const CountersSourceOptions& options, const std::string& config_file,
                             std::chrono::milliseconds interval)
    : counters_(options.path.empty() ? std::string(kDefaultCountersPath) : options.path),
      interval_(std::chrono::ceil<seconds>(interval)),
      has_config_map_(options.config_map.has_value()) {
  if (!config_file.empty() && config_file != options.path) {
    config_.emplace(config_file);
  }
}

bool CountersLooks::Await(int other) {
  using std::chrono::milliseconds;
  const auto wait = [](int descriptor) {  // poll(2) skips -1.
    return pollfd{.fd = descriptor, .events = POLLIN, .revents = 0};
  };
  std::array<pollfd, 3> waits = {wait(other), wait(listens() ? counters_.descriptor() : -1),
                                 wait(listens() && config_ ? config_->descriptor() : -1)};
  ::poll(waits.data(), waits.size(), static_cast<int>(milliseconds(pause()).count()));
  return Take();
}

seconds CountersLooks::pause() const {
  if (due_ > 0) {
    return kAfterANotice;
  }
  if (has_config_map_) {
    return std::clamp(interval_, seconds(1), kUnwatched);
  }
  const bool watches_all = counters_.is_watching() && (!config_ || config_->is_watching());
  return watches_all ? kWatched : kUnwatched;
}

bool CountersLooks::Take() {
  const bool was_due = due_ > 0;
  const bool of_counters = counters_.Take();
  if ((config_ && config_->Take()) || of_counters) {
    due_ = kLooksAfterANotice;
    return was_due;
  }
  counters_.Watch();  // The folder may have appeared.
  if (config_) {
    config_->Watch();
  }
  due_ = std::max(0, due_ - 1);
  return true;
}

}  // namespace podgpu
