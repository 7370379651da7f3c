#include "usage/pod_xid_counts.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace podgpu {
namespace {

template <typename A, typename B>
bool IsSameContainer(const A& one, const B& other) {
  return one.container == other.container && one.pod == other.pod &&
         one.pod_namespace == other.pod_namespace;
}

// Calls `visit` with each owner of GPU `gpu` of `topology`, or of an instance of it.
template <typename Visit>
void VisitHolders(const Topology& topology, const Owners& owners, size_t gpu, Visit visit) {
  for (size_t i = 0; i < std::min(topology.entities.size(), owners.by_entity.size()); ++i) {
    if (topology.entities[i].gpu == gpu) {
      std::ranges::for_each(owners.by_entity[i], visit);
    }
  }
}

// Lists these owners, each container once.
void ListHolders(const Topology& topology, const Owners& owners, size_t gpu,
                 std::vector<const Owner*>& holders) {
  VisitHolders(topology, owners, gpu, [&](const Owner& owner) {
    if (std::ranges::none_of(
            holders, [&](const Owner* holder) { return IsSameContainer(*holder, owner); })) {
      holders.push_back(&owner);
    }
  });
}

// In the order of PodXid's members.
using RowKey = std::tuple<uint32_t, std::string_view, int64_t, std::string_view, std::string_view,
                          std::string_view, bool>;
RowKey KeyOf(const PodXid& row) {
  return {row.gpu_id, row.uuid, row.code, row.pod_namespace, row.pod, row.container, row.shared};
}

std::optional<size_t> IndexOfGpu(const Topology& topology, const std::string& uuid) {
  const auto found = std::ranges::find(topology.gpus, uuid, &Gpu::uuid);
  return found == topology.gpus.end()
             ? std::nullopt
             : std::optional(static_cast<size_t>(found - topology.gpus.begin()));
}

}  // namespace

void PodXidCounts::Take(const Grid& grid, const std::shared_ptr<const Owners>& owners,
                        Instant now) {
  if (read_at_ == grid.read_at) {
    return;
  }
  read_at_ = grid.read_at;
  Holdings current{grid.shared_topology(), owners};
  const Findings& findings = grid.findings;
  for (size_t i = 0; i < findings.xids.size(); ++i) {
    const XidCount& xid = findings.xids[i];
    Seen& seen = At(current.topology->gpus[xid.gpu].uuid, xid.code, i);
    // A source that was opened again counts from 0.
    const uint64_t events = xid.total < seen.total ? xid.total : xid.total - seen.total;
    seen.total = xid.total;
    if (events > 0 && xid.code > 0) {
      CountFor(xid, events, current, now);
    }
  }
  last_ = std::move(current);
  Forget(now);
}

void PodXidCounts::AppendTo(std::vector<Value>& slots) const {
  for (const Count& count : counts_) {
    slots.push_back(Value::OfInt64(static_cast<int64_t>(count.events)));
  }
}

// Returns the entry of `code` on the GPU.  It is usually at place `hint`, as in the last reading.
PodXidCounts::Seen& PodXidCounts::At(const std::string& uuid, int64_t code, size_t hint) {
  const auto is_it = [&](const Seen& seen) { return seen.code == code && seen.uuid == uuid; };
  if (hint < seen_.size() && is_it(seen_[hint])) {
    return seen_[hint];
  }
  const auto found = std::ranges::find_if(seen_, is_it);
  if (found != seen_.end()) {
    return *found;
  }
  const auto place = static_cast<std::ptrdiff_t>(std::min(hint, seen_.size()));
  return *seen_.insert(seen_.begin() + place, {uuid, code, 0});
}

void PodXidCounts::CountFor(const XidCount& xid, uint64_t events, const Holdings& current,
                            Instant now) {
  const Gpu& gpu = current.topology->gpus[xid.gpu];
  // The holders at the previous reading come first: the XID may have ended their program.
  holders_.clear();
  if (last_.topology != nullptr) {
    if (const std::optional<size_t> before = IndexOfGpu(*last_.topology, gpu.uuid)) {
      ListHolders(*last_.topology, *last_.owners, *before, holders_);
    }
  }
  if (holders_.empty()) {
    ListHolders(*current.topology, *current.owners, xid.gpu, holders_);
  }
  for (const Owner* const holder : holders_) {
    Count& count = CountOf(gpu, xid.code, *holder);
    count.events += events;
    count.last = now;
  }
  holders_.clear();
  while (rows_.size() > kMostRows) {
    const auto oldest = std::ranges::min_element(counts_, {}, &Count::last);
    Remove(static_cast<size_t>(oldest - counts_.begin()));
  }
}

// Returns the count of `holder`, one of holders_; adds a row if there is none.
PodXidCounts::Count& PodXidCounts::CountOf(const Gpu& gpu, int64_t code, const Owner& holder) {
  const bool shared = holders_.size() > 1 || !holder.replica.empty();
  const RowKey key{gpu.gpu_id, gpu.uuid,         code,  holder.pod_namespace,
                   holder.pod, holder.container, shared};
  const auto found = std::ranges::lower_bound(rows_, key, {}, KeyOf);
  const auto place = found - rows_.begin();
  if (found == rows_.end() || KeyOf(*found) != key) {
    rows_.insert(found, {gpu.gpu_id, gpu.uuid, code, holder.pod_namespace, holder.pod,
                         holder.container, shared});
    counts_.insert(counts_.begin() + place, Count{});
    ++generation_;
  }
  return counts_[static_cast<size_t>(place)];
}

void PodXidCounts::Remove(size_t place) {
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(place));
  counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(place));
  ++generation_;
}

void PodXidCounts::Forget(Instant now) {
  const auto is_held = [&](const PodXid& row) {
    const std::optional<size_t> gpu = IndexOfGpu(*last_.topology, row.uuid);
    bool found = false;
    if (gpu) {
      VisitHolders(*last_.topology, *last_.owners, *gpu,
                   [&](const Owner& owner) { found = found || IsSameContainer(owner, row); });
    }
    return found;
  };
  for (size_t i = rows_.size(); i-- > 0;) {
    if (now - counts_[i].last > kStay && !is_held(rows_[i])) {
      Remove(i);
    }
  }
}

}  // namespace podgpu
