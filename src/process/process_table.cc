#include "process/process_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace podgpu {
namespace {

// Name of nvidia-cuda-mps-server as the kernel cuts it. It holds a context for its clients.
constexpr std::string_view kMpsServer = "nvidia-cuda-mps";

// Limit of rows per device from accounting alone. A row lives for the retention, and programs that
// start and end many times a second would fill the page.
constexpr size_t kMostRowsWithEnded = 1'000;

// Degrees of knowledge about the place of a process: an identity is replaced only by a better one.
enum class PlaceKnown : uint8_t { kNothing, kNoContainer, kContainer, kPod };

PlaceKnown KnownOf(const ProcessIdentity* identity) {
  if (identity == nullptr) {
    return PlaceKnown::kNothing;
  }
  if (!identity->place.pod_uid.empty()) {
    return PlaceKnown::kPod;
  }
  return identity->place.container_id.empty() ? PlaceKnown::kNoContainer : PlaceKnown::kContainer;
}

void Fill(const DeviceReading& reading, DeviceInterval& interval) {
  interval.at = reading.at;
  interval.counter_mj = reading.counter_mj;
  interval.residents_known = reading.listed;
  interval.samples = reading.samples;
  interval.instances.assign(reading.instances.begin(), reading.instances.end());
  interval.holders.assign(reading.holders.begin(), reading.holders.end());
}

// Fills the interval of a missing device: the activity of its processes is unknown.
void FillGone(Instant now, DeviceInterval& interval) {
  interval.at = now;
  interval.counter_mj.reset();
  interval.residents_known = false;
  interval.instances.clear();
  interval.holders.clear();
}

bool HasMpsClients(const DeviceReading& reading) {
  return std::ranges::any_of(reading.processes, &ListedProcess::mps_client);
}

// Adds every process that was there since the last reading. An MPS server works for its clients,
// which are residents themselves, so it is left out.
void FillResidents(const ProcessTable::Rows& rows, bool mps, std::vector<Resident>& residents) {
  for (const auto& [key, row] : rows) {
    const bool serves = mps && row.identity != nullptr && row.identity->name == kMpsServer;
    if ((row.active || row.busy > 0) && !serves) {
      residents.push_back({.process = key,
                           .instance = row.instance,
                           .busy = row.busy,
                           .listed = row.listed,
                           .pod = row.pod});
    }
  }
}

void EndUnseen(Instant now, ProcessTable::Rows& rows) {
  for (auto& [key, row] : rows) {
    if (row.active && !row.seen) {
      row.active = false;
      row.ended_at = now;
    }
  }
}

// Returns whether the rows of two processes with one pid would have the same labels.
bool HaveSameLabels(const ProcessRow& a, const ProcessRow& b) {
  static const ProcessIdentity unidentified;
  const ProcessIdentity& of_a = a.identity != nullptr ? *a.identity : unidentified;
  const ProcessIdentity& of_b = b.identity != nullptr ? *b.identity : unidentified;
  return a.listed && b.listed && of_a.name == of_b.name &&
         of_a.place.container_id == of_b.place.container_id &&
         of_a.place.pod_uid == of_b.place.pod_uid;
}

// Returns whether another process with this pid takes the labels of `it`: a running process before
// an ended one, the newer before the older.  The start time is no label, so two processes with one
// pid may have the same labels, and a page must not have a series twice.
bool IsReplaced(const ProcessTable::Rows& rows, ProcessTable::Rows::const_iterator it) {
  const auto takes = [it](const ProcessTable::Rows::value_type& other) {
    return !it->second.active && HaveSameLabels(it->second, other.second) &&
           (other.second.active || other.first.start_ticks > it->first.start_ticks);
  };
  for (auto other = std::next(it); other != rows.end() && other->first.pid == it->first.pid;
       ++other) {
    if (takes(*other)) {
      return true;
    }
  }
  for (auto other = it; other != rows.begin();) {
    --other;
    if (other->first.pid != it->first.pid) {
      return false;
    }
    if (takes(*other)) {
      return true;
    }
  }
  return false;
}

void BeginReading(ProcessTable::Rows& rows) {
  for (auto& [key, row] : rows) {
    row.seen = false;
    row.busy = 0;
  }
}

}  // namespace

void ProcessTable::Take(const ProcessReading& reading) {
  forgotten_.clear();
  forgotten_pods_.clear();
  for (const DeviceReading& device : reading.devices) {
    const bool is_new = devices_.try_emplace(device.device).second;
    generation_ += is_new ? 1 : 0;  // A device has series of its own, also without processes.
  }
  intervals_.resize(devices_.size());
  size_t next = 0;
  for (auto& [device, rows] : devices_) {
    DeviceInterval& interval = intervals_[next++];
    interval.device = device;
    interval.residents.clear();
    BeginReading(rows);
    const auto found = std::ranges::find(reading.devices, device, &DeviceReading::device);
    if (found == reading.devices.end()) {
      FillGone(reading.at, interval);
      EndUnseen(reading.at, rows);
    } else {
      Fill(*found, interval);
      for (const PodNumber holder : found->holders) {
        pods_.Use(holder, reading.at);
      }
      if (found->listed) {
        TakeLists(*found, rows);
        FillResidents(rows, HasMpsClients(*found), interval.residents);
        EndUnseen(found->at, rows);
      }
    }
    DropOld(reading.at, device, rows);
  }
  pods_.Forget(reading.at, options_.retention, forgotten_pods_);
}

void ProcessTable::TakeLists(const DeviceReading& reading, Rows& rows) {
  for (const ListedProcess& process : reading.processes) {
    Enter(process, reading, rows);
  }
  for (const EndedProcess& ended : reading.ended) {
    EnterEnded(ended, reading.at, rows);
  }
  for (const ProcessBusy& busy : reading.busy) {
    if (busy.busy_percent_us > 0) {
      EnterBusy(busy, reading.at, rows);
    }
  }
}

void ProcessTable::Enter(const ListedProcess& process, const DeviceReading& reading, Rows& rows) {
  const ProcessKey key =
      process.identity != nullptr ? process.identity->key : ProcessKey{.pid = process.pid};
  const auto [it, born] = rows.try_emplace(key);
  ProcessRow& row = it->second;
  if (born) {
    row.listed = options_.all_processes;
    generation_ += row.listed ? 1 : 0;
  }
  Identify(process.identity, reading.at, row);
  if (!row.seen) {
    row.computes = row.draws = false;
    row.instance = process.instance;
    row.memory_bytes = process.memory_bytes;
    const bool measured = reading.samples == BusySamples::kMeasured;
    row.sm_percent = measured ? std::optional<uint32_t>(0) : std::nullopt;
    row.memory_percent = row.sm_percent;
  } else if (process.memory_bytes) {
    // The process is on several lists or in several instances.
    row.memory_bytes = std::max(row.memory_bytes.value_or(0), *process.memory_bytes);
  }
  (process.graphics ? row.draws : row.computes) = true;
  row.active = true;
  row.seen = true;
}

// A row whose pod is known stays as it is: the labels of a process never change, and the search for
// its pod costs nothing any more.
void ProcessTable::Identify(const std::shared_ptr<const ProcessIdentity>& identity, Instant now,
                            ProcessRow& row) {
  if (identity != nullptr && KnownOf(row.identity.get()) < PlaceKnown::kPod) {
    const std::shared_ptr<const ProcessIdentity> best = WithPod(identity);
    const bool is_better = KnownOf(best.get()) > KnownOf(row.identity.get());
    if (is_better) {
      row.identity = best;
      row.pod = pods_.NumberOf(best->place.pod_uid, now);
    }
    const bool was_listed = std::exchange(row.listed, IsListed(row));
    const bool is_unlisted = was_listed && !row.listed;
    row.was_unlisted = row.was_unlisted || is_unlisted;
    generation_ += is_unlisted || (is_better && row.listed) ? 1 : 0;
  }
  pods_.Use(row.pod, now);
}

bool ProcessTable::IsListed(const ProcessRow& row) const {
  const PlaceKnown least = is_in_kubernetes() ? PlaceKnown::kPod : PlaceKnown::kContainer;
  return options_.all_processes || KnownOf(row.identity.get()) >= least;
}

// Returns a copy that has the pod of its container, if the cgroup does not tell the pod and a list
// of pods does.
std::shared_ptr<const ProcessIdentity> ProcessTable::WithPod(
    const std::shared_ptr<const ProcessIdentity>& identity) const {
  if (!containers_ || KnownOf(identity.get()) != PlaceKnown::kContainer) {
    return identity;
  }
  const auto pod = containers_->find(identity->place.container_id);
  if (pod == containers_->end()) {
    return identity;
  }
  auto found = std::make_shared<ProcessIdentity>(*identity);
  found->place.pod_uid = pod->second;
  return found;
}

// Called before EnterBusy, which then finds the row. A row that earlier samples made belongs to the
// same process.
void ProcessTable::EnterEnded(const EndedProcess& ended, Instant now, Rows& rows) {
  const auto first = rows.lower_bound({.pid = ended.pid});
  for (auto it = first; it != rows.end() && it->first.pid == ended.pid; ++it) {
    if (it->second.active || it->second.started_at == ended.started_at) {
      return;  // The lists or the accounting have already reported it.
    }
  }
  ProcessKey key{.pid = ended.pid};
  if (ended.identity != nullptr) {
    key = ended.identity->key;
  } else if (const auto nameless = rows.find(key);
             ended.started_at && (nameless == rows.end() || nameless->second.started_at)) {
    key.start_ticks = static_cast<uint64_t>(ToMicroseconds(*ended.started_at));
  }
  if (!rows.contains(key) && rows.size() >= kMostRowsWithEnded) {
    return;
  }
  const auto [it, born] = rows.try_emplace(key);
  ProcessRow& row = it->second;
  if (born) {
    row.listed = options_.all_processes;
    row.active = false;
    row.ended_at = now;
    generation_ += row.listed ? 1 : 0;
  }
  Identify(ended.identity, now, row);
  row.started_at = ended.started_at;
  row.memory_bytes = ended.memory_bytes;
  row.sm_percent = ended.sm_percent;
  row.memory_percent = ended.memory_percent;
}

void ProcessTable::EnterBusy(const ProcessBusy& busy, Instant now, Rows& rows) {
  // Several processes may have had this pid. Order: the current one, then the one that was current
  // until this reading, then the last one, because samples may come late.
  const auto better = [](const ProcessRow& a, const ProcessRow& b) {
    if (a.seen != b.seen || a.active != b.active) {
      return a.seen != b.seen ? a.seen : a.active;
    }
    return a.ended_at >= b.ended_at;
  };
  ProcessRow* row = nullptr;
  for (auto it = rows.lower_bound({.pid = busy.pid}); it != rows.end() && it->first.pid == busy.pid;
       ++it) {
    if (row == nullptr || better(it->second, *row)) {
      row = &it->second;
    }
  }
  if (row == nullptr) {
    // It lived between two readings; its identity can no longer be found.
    row = &rows.try_emplace({.pid = busy.pid}).first->second;
    row->listed = options_.all_processes;
    row->active = false;
    row->ended_at = now;
    row->seen = true;
    generation_ += row->listed ? 1 : 0;
  }
  row->busy += busy.busy_percent_us;
  if (row->seen) {  // A process that ended keeps its last numbers.
    row->sm_percent = busy.sm_percent;
    row->memory_percent = busy.memory_percent;
  }
}

void ProcessTable::DropOld(Instant now, DeviceNumber device, Rows& rows) {
  for (auto it = rows.begin(); it != rows.end();) {
    ProcessRow& row = it->second;
    pods_.Use(row.pod, row.active ? now : row.ended_at);
    if (row.active || now - row.ended_at < options_.retention) {
      const bool was_replaced = std::exchange(row.replaced, IsReplaced(rows, it));
      generation_ += row.replaced != was_replaced ? 1 : 0;
      const bool was_unlisted = std::exchange(row.was_unlisted, false);
      if (row.replaced || was_unlisted) {
        forgotten_.push_back({it->first, device});
      }
      ++it;
    } else {
      generation_ += row.listed ? 1 : 0;
      forgotten_.push_back({it->first, device});
      it = rows.erase(it);
    }
  }
}

}  // namespace podgpu
