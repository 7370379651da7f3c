// The sample times of each watched field of each entity, computed without sampling.
//
// A watch has a start and a period, so the sample times of a series follow from the time of the
// call: no thread samples anything.  A series is a list of runs of evenly spaced times; a run ends
// when the watches of the series change.  With several watches the shortest period and the longest
// age apply.  After the last watch has ended its samples stay readable, and a new watch takes its
// first rate from the newest kept sample.  Other code computes the values at these times.  Part of
// the face: standard library only.  Not thread-safe; the session's lock guards it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/dcgm/entities.h"

namespace podgpu::sim {

// The time of a sample, and of the sample before it, which rates need.
struct SampleTime {
  TimeUs t = 0;
  std::optional<TimeUs> previous;
};

struct WatchTerms {
  TimeUs period_us = 0;
  TimeUs keep_age_us = 0;    // 0: DCGM's default.
  int64_t keep_samples = 0;  // 0: no limit.
};

// Sample times of one field of one entity.
class Series {
 public:
  // `owner` is the (group, field group) of the watch.
  using Owner = std::pair<uint64_t, uint64_t>;

  void Watch(Owner owner, const WatchTerms& terms, TimeUs now);
  void Unwatch(Owner owner, TimeUs now);
  void UnwatchGroup(uint64_t group, TimeUs now);
  bool IsWatchedBy(Owner owner) const { return watches_.contains(owner); }
  // Ends all watches except those of the groups for which `stays` returns true.
  void Drop(bool (*stays)(uint64_t group), TimeUs now);

  std::optional<SampleTime> Latest(TimeUs now) const;
  // Kept samples taken in [since, now], ascending.
  std::vector<SampleTime> Since(TimeUs since, TimeUs now) const;
  bool watched() const { return !watches_.empty(); }

 private:
  // first, first + period, ... up to last.
  struct Run {
    TimeUs first;
    TimeUs period;
    TimeUs last;
    bool fresh;  // Its first sample has no previous one for rates.
    int64_t CountAt(TimeUs now) const;
    // The newest sample from which a rate up to `t` can be taken.
    std::optional<TimeUs> BaseFor(TimeUs t) const;
  };
  void Restart(TimeUs now, bool was_watched);
  void Stop(TimeUs now);
  void Forget(TimeUs now);

  std::map<Owner, WatchTerms> watches_;
  WatchTerms terms_;  // Combined terms of all watches; kept after they end.
  std::vector<Run> runs_;
};

// All series of one engine connection.
class Watches {
 public:
  using Key = std::pair<EntityKey, uint16_t>;  // Global fields belong to entity (NONE, 0).

  void Watch(Key key, Series::Owner owner, const WatchTerms& terms, TimeUs now);
  // False when `owner` has no watch.
  bool Unwatch(Series::Owner owner, TimeUs now);
  void UnwatchGroup(uint64_t group, TimeUs now);
  // Drops watches as an engine does: for entities for which `is_meant` returns true, only watches
  // of groups for which `stays` returns true remain.  A series without any is as if it was never
  // watched.
  template <typename Predicate>
  void Drop(Predicate&& is_meant, bool (*stays)(uint64_t group), TimeUs now) {
    for (auto& [key, series] : series_) {
      if (is_meant(key.first)) {
        series.Drop(stays, now);
      }
    }
    std::erase_if(series_, [&](const auto& entry) {
      return is_meant(entry.first.first) && !entry.second.watched();
    });
  }
  // Null when it was never watched.
  const Series* Find(const Key& key) const;

 private:
  std::map<Key, Series> series_;
};

}  // namespace podgpu::sim
