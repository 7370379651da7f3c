// The finished pages of one tick, which a scrape gets, and the data that they were made from.
//
// The tick thread makes a Snapshot and publishes it; the HTTP thread sends its bytes.  The text
// form is there at once.  OpenMetrics and the compressed forms are made at the first request for
// them, at most once each, and then shared.  A snapshot is immutable to its readers and stays alive
// while a response still sends its bytes.  Any thread.
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

// A count for each entity of a topology; empty if the count is not known.
using EntityCounts = std::vector<std::optional<uint32_t>>;

// The input of a page. `grid` and `owners` are null before the first reading; then the plan refers
// to slots only.
struct SnapshotParts {
  std::shared_ptr<const SeriesPlan> plan;
  std::shared_ptr<const Grid> grid;
  std::shared_ptr<const Owners> owners;
  std::vector<Value> slots;
  uint64_t tick = 0;
  // Plan of another page of the same reading, which is rendered on request; null if there is none.
  // Its slots start at `first_other_slot`.
  std::shared_ptr<const SeriesPlan> other_plan = nullptr;
  std::shared_ptr<const EntityCounts> processes = {};  // Null if none are read.  Not on any page.
  size_t first_other_slot = 0;
};

// The content of a response.
struct Page {
  std::string_view bytes;
  std::string_view content_type;
  bool gzip = false;  // Content-Encoding: gzip.
};

class Snapshot {
 public:
  // Renders the text form. `text_bytes_hint`: the size of the last page, used as the buffer size.
  explicit Snapshot(SnapshotParts parts, size_t text_bytes_hint = 0);
  // Takes the text form of the same parts, and the number of its lines with a number.
  Snapshot(SnapshotParts parts, std::string text, size_t series_count);

  const SnapshotParts& parts() const { return parts_; }

  // The bytes are valid as long as the snapshot.  Each form is made at its first call.
  std::string_view text() const { return text_; }
  std::string_view text_gzip() const;
  std::string_view openmetrics() const;
  std::string_view openmetrics_gzip() const;

  // Returns the bytes in `form` with their content type.  A page below 1 KiB is not compressed.
  Page PageIn(const PageForm& form) const;

  // Number of lines with a number in the text form.
  size_t series_count() const { return series_count_; }

 private:
  SnapshotParts parts_;
  std::string text_;
  size_t series_count_ = 0;
  mutable std::once_flag text_gzip_once_, openmetrics_once_, openmetrics_gzip_once_;
  mutable std::string text_gzip_, openmetrics_, openmetrics_gzip_;
};

}  // namespace podgpu
