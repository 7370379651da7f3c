#include "sim/dcgm/watches.h"

#include <algorithm>
#include <limits>

namespace podgpu::sim {
namespace {

constexpr TimeUs kForever = std::numeric_limits<TimeUs>::max();
constexpr TimeUs kMinPeriodUs = 1000;             // Limits the samples of one call.
constexpr TimeUs kDefaultKeepAgeUs = 30'000'000;  // DCGM's default age.
constexpr TimeUs kMaxKeepAgeUs = 3600LL * 1'000'000;
constexpr TimeUs kShortestRateUs = 100'000;  // Minimum time between two GPM samples.

WatchTerms Bounded(const WatchTerms& terms) {
  const TimeUs age = terms.keep_age_us > 0 ? terms.keep_age_us : kDefaultKeepAgeUs;
  return {.period_us = std::max(terms.period_us, kMinPeriodUs),
          .keep_age_us = std::min(age, kMaxKeepAgeUs),
          .keep_samples = std::max<int64_t>(terms.keep_samples, 0)};
}

}  // namespace

int64_t Series::Run::CountAt(TimeUs now) const {
  const TimeUs end = std::min(now, last);
  return end < first ? 0 : (end - first) / period + 1;
}

std::optional<TimeUs> Series::Run::BaseFor(TimeUs t) const {
  const int64_t count = CountAt(t - kShortestRateUs);
  return count == 0 ? std::nullopt : std::optional(first + (count - 1) * period);
}

void Series::Watch(Owner owner, const WatchTerms& terms, TimeUs now) {
  const bool was_watched = watched();
  watches_[owner] = Bounded(terms);
  Restart(now, was_watched);
}

void Series::Unwatch(Owner owner, TimeUs now) {
  if (watches_.erase(owner) != 0) {
    Restart(now, true);
  }
}

void Series::UnwatchGroup(uint64_t group, TimeUs now) {
  if (std::erase_if(watches_, [&](const auto& entry) { return entry.first.first == group; }) != 0) {
    Restart(now, true);
  }
}

void Series::Drop(bool (*stays)(uint64_t group), TimeUs now) {
  if (std::erase_if(watches_, [&](const auto& entry) { return !stays(entry.first.first); }) != 0) {
    Restart(now, true);
  }
}

// Ends the present run and begins one with the terms of the present watches.  A series that was
// watched all the time keeps its rhythm: the next sample comes one period after the last.
void Series::Restart(TimeUs now, bool was_watched) {
  Stop(now);
  if (watches_.empty()) {
    return;
  }
  const bool rates_go_on =
      was_watched || (!runs_.empty() && now - runs_.back().last <= terms_.keep_age_us);
  terms_ = watches_.begin()->second;
  for (const auto& [owner, terms] : watches_) {
    const bool unlimited = terms_.keep_samples == 0 || terms.keep_samples == 0;
    terms_ = {.period_us = std::min(terms_.period_us, terms.period_us),
              .keep_age_us = std::max(terms_.keep_age_us, terms.keep_age_us),
              .keep_samples = unlimited ? 0 : std::max(terms_.keep_samples, terms.keep_samples)};
  }
  TimeUs first = now;
  if (was_watched && !runs_.empty()) {
    first = std::max(now, runs_.back().last + terms_.period_us);
  }
  runs_.push_back(
      {.first = first, .period = terms_.period_us, .last = kForever, .fresh = !rates_go_on});
}

void Series::Stop(TimeUs now) {
  if (runs_.empty()) {
    return;
  }
  Run& run = runs_.back();
  const int64_t count = run.CountAt(now);
  if (count == 0) {
    runs_.pop_back();
  } else {
    run.last = run.first + (count - 1) * run.period;
  }
  Forget(now);
}

// Drops runs whose samples are all too old to be read; the two newest stay.
void Series::Forget(TimeUs now) {
  while (runs_.size() > 2 && runs_[1].last < now - terms_.keep_age_us) {
    runs_.erase(runs_.begin());
  }
}

std::optional<SampleTime> Series::Latest(TimeUs now) const {
  for (size_t i = runs_.size(); i-- > 0;) {
    const Run& run = runs_[i];
    const int64_t count = run.CountAt(now);
    if (count == 0) {
      continue;
    }
    SampleTime sample{.t = run.first + (count - 1) * run.period, .previous = std::nullopt};
    if (count > 1) {
      sample.previous = sample.t - run.period;
    } else if (!run.fresh && i > 0) {
      sample.previous = runs_[i - 1].BaseFor(sample.t);
    }
    return sample;
  }
  return std::nullopt;
}

std::vector<SampleTime> Series::Since(TimeUs since, TimeUs now) const {
  const TimeUs oldest = std::max(since, now - terms_.keep_age_us);
  const auto limit = static_cast<size_t>(terms_.keep_samples);
  std::vector<SampleTime> samples;
  std::optional<SampleTime> sample = Latest(now);
  while (sample && sample->t >= oldest && (limit == 0 || samples.size() < limit)) {
    samples.push_back(*sample);
    sample = Latest(sample->t - 1);
  }
  std::ranges::reverse(samples);
  return samples;
}

void Watches::Watch(Key key, Series::Owner owner, const WatchTerms& terms, TimeUs now) {
  series_[key].Watch(owner, terms, now);
}

bool Watches::Unwatch(Series::Owner owner, TimeUs now) {
  bool was_watched = false;
  for (auto& [key, series] : series_) {
    was_watched = series.IsWatchedBy(owner) || was_watched;
    series.Unwatch(owner, now);
  }
  return was_watched;
}

void Watches::UnwatchGroup(uint64_t group, TimeUs now) {
  for (auto& [key, series] : series_) {
    series.UnwatchGroup(group, now);
  }
}

const Series* Watches::Find(const Key& key) const {
  const auto found = series_.find(key);
  return found == series_.end() ? nullptr : &found->second;
}

}  // namespace podgpu::sim
