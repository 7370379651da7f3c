#include "exposition/snapshot.h"

#include <utility>

#include "base/status.h"
#include "exposition/gzip.h"
#include "exposition/text.h"

namespace podgpu {
namespace {

// Pages grow a little from tick to tick, as numbers gain digits.
constexpr size_t kRoomToGrowBytes = 4096;
constexpr size_t kSmallestGzipBytes = 1024;

}  // namespace

Snapshot::Snapshot(SnapshotParts parts, size_t text_bytes_hint) : parts_(std::move(parts)) {
  PODGPU_CHECK(parts_.plan != nullptr);
  text_.reserve(text_bytes_hint + kRoomToGrowBytes);
  series_count_ = RenderText(*parts_.plan, parts_.grid.get(), parts_.slots, text_);
}

Snapshot::Snapshot(SnapshotParts parts, std::string text, size_t series_count)
    : parts_(std::move(parts)), text_(std::move(text)), series_count_(series_count) {
  PODGPU_CHECK(parts_.plan != nullptr);
}

std::string_view Snapshot::text_gzip() const {
  std::call_once(text_gzip_once_, [this] { text_gzip_ = Gzip(text_); });
  return text_gzip_;
}

std::string_view Snapshot::openmetrics() const {
  std::call_once(openmetrics_once_, [this] {
    openmetrics_.reserve(text_.size() + kRoomToGrowBytes);
    RenderOpenMetrics(*parts_.plan, parts_.grid.get(), parts_.slots, openmetrics_);
  });
  return openmetrics_;
}

std::string_view Snapshot::openmetrics_gzip() const {
  std::call_once(openmetrics_gzip_once_, [this] { openmetrics_gzip_ = Gzip(openmetrics()); });
  return openmetrics_gzip_;
}

Page Snapshot::PageIn(const PageForm& form) const {
  Page page{.bytes = form.openmetrics ? openmetrics() : text(),
            .content_type = form.openmetrics ? kOpenMetricsContentType : kTextContentType};
  if (form.gzip && page.bytes.size() >= kSmallestGzipBytes) {
    page.bytes = form.openmetrics ? openmetrics_gzip() : text_gzip();
    page.gzip = true;
  }
  return page;
}

}  // namespace podgpu
