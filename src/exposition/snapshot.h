// What a scrape gets: the finished bytes of one tick, and what they were made from.
//
// The tick thread makes a Snapshot and publishes it; HTTP hands out its bytes.  The text form is
// rendered at once; OpenMetrics and the compressed forms are made at the first request that wants
// them, at most once each, and shared by all later ones.  A snapshot is immutable to its readers
// and stays alive while any of them still sends its bytes. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/owner.h"
#include "exposition/negotiate.h"
#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

// A count for each entity of a topology; nothing where it is not known.
using EntityCounts = std::vector<std::optional<uint32_t>>;

// What a page is rendered from.  `grid` and `owners` are null before the first data; then the plan
// refers to slots only.
struct SnapshotParts {
  std::shared_ptr<const SeriesPlan> plan;
  std::shared_ptr<const Grid> grid;
  std::shared_ptr<const Owners> owners;
  std::vector<Value> slots;
  uint64_t tick = 0;
  // Of another page of the same reading, which is rendered when it is asked for; null where there
  // is none.  Its numbers are the slots from `first_other_slot` on.
  std::shared_ptr<const SeriesPlan> other_plan = nullptr;
  std::shared_ptr<const EntityCounts> processes = {};  // Null where none are read.  On no page.
  size_t first_other_slot = 0;
};

// What a response carries.
struct Page {
  std::string_view bytes;
  std::string_view content_type;
  bool gzip = false;  // Content-Encoding: gzip.
};

class Snapshot {
 public:
  // Renders the text form now.  `text_bytes_hint` (the size of the last page) sizes the buffer.
  explicit Snapshot(SnapshotParts parts, size_t text_bytes_hint = 0);

  const SnapshotParts& parts() const { return parts_; }

  // Bytes, valid as long as the snapshot.  Made at the first call where they are not there yet.
  std::string_view text() const { return text_; }
  std::string_view text_gzip() const;
  std::string_view openmetrics() const;
  std::string_view openmetrics_gzip() const;

  // The bytes in the wanted form, and what to call them.  A page below 1 KiB is not compressed.
  Page PageIn(const PageForm& form) const;

  // Lines with a number in the text form.
  size_t series_count() const { return series_count_; }

 private:
  SnapshotParts parts_;
  std::string text_;
  size_t series_count_ = 0;
  mutable std::once_flag text_gzip_once_, openmetrics_once_, openmetrics_gzip_once_;
  mutable std::string text_gzip_, openmetrics_, openmetrics_gzip_;
};

}  // namespace podgpu
