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

CountersLooks::CountersLooks(const CountersSourceOptions& options,
                             std::chrono::milliseconds interval)
    : notice_(options.path.empty() ? std::string(kDefaultCountersPath) : options.path),
      interval_(std::chrono::ceil<seconds>(interval)),
      has_config_map_(options.config_map.has_value()) {}

bool CountersLooks::Await(int other) {
  using std::chrono::milliseconds;
  std::array<pollfd, 2> waits = {pollfd{.fd = other, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = descriptor(), .events = POLLIN, .revents = 0}};
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
  return notice_.is_watching() ? kWatched : kUnwatched;
}

bool CountersLooks::Take() {
  const bool was_due = due_ > 0;
  if (notice_.Take()) {
    due_ = kLooksAfterANotice;
    return was_due;
  }
  notice_.Watch();  // The folder may have appeared.
  due_ = std::max(0, due_ - 1);
  return true;
}

}  // namespace podgpu
